"""Appending many events at once: the same forest that single appends make, without merging lists step by step.

The new number of nodes says which forest-points are left when all have been merged. Only what stands in the lists of
points that are gone, and the new events, has another place then; that place follows from a few bit operations, as in
bulk building.
"""

import numpy as np

from timeloom.kernels.jit import borrowing
from timeloom.kernels.order import Positions, Ticks, sort
from timeloom.kernels.stab_forest.build import first_dummy, first_reaching, highest_between
from timeloom.kernels.stab_forest.layout import (
    BASE,
    EVENTS,
    FOREVER,
    LISTED,
    NEVER,
    NODES,
    NOWHERE,
    STRIDE,
    Forest,
    dummies,
    mark_open_between,
    note_latest_of,
)


def append_many(forest: Forest, starts: Ticks, ends: Ticks) -> None:
    """Append events in the order of (start, end), all of which start after the tail; there must be room for them."""
    tail, before = int(forest.nodes[forest.counts[NODES] + 1]["first"]), int(forest.counts[NODES])
    after = number_starts(forest, starts, ends)
    were, are = dummies(before), dummies(after)
    stay = [dummy for dummy in were if dummy in are]
    gone = np.array(were[len(stay) :], np.int64)
    changed = np.concatenate([gone, np.arange(before + 1, after + 1)])
    pool = int(forest.nodes[stay[-1]]["list_stop"] if stay else forest.counts[BASE])
    listed = int(forest.nodes[before]["list_stop"]) - pool if before else 0
    own = int((forest.nodes["first"][gone + 1] - forest.nodes["first"][gone]).sum())
    most = listed + own + int(forest.counts[EVENTS]) - tail
    positions, homes = np.empty(most, np.int32), np.empty(most, np.int32)
    found = find_places(forest, changed, gone.size, after, positions, homes)
    positions, homes = positions[:found], homes[:found]
    lay_out(forest, changed, after, homes, pool)
    fill(forest, changed, positions, homes, sort(forest.ends[positions]).ids)
    for dummy in are[len(stay) :]:
        mark_open_between(forest, int(forest.nodes[dummy]["list_at"]), int(forest.nodes[dummy]["list_stop"]))
    forest.counts[NODES] = after


@borrowing
def number_starts(forest: Forest, starts: Ticks, ends: Ticks) -> int:
    """Write the events behind the others, and number their starts; tell how many nodes there are, without the tail."""
    at, node = forest.counts[EVENTS], forest.counts[NODES] + 1
    last = forest.starts[at - 1]
    forest.dkey[node] = last
    for row in range(starts.size):
        forest.starts[at], forest.ends[at] = starts[row], ends[row]
        if starts[row] != last:
            node += 1
            forest.nodes[node]["first"] = at
            if node % STRIDE == 1:
                forest.guide[node // STRIDE] = last
                note_latest_of(forest, node // STRIDE)
            last = starts[row]
            forest.dkey[node] = last
        at += 1
    forest.counts[EVENTS] = at
    return int(node - 1)


@borrowing
def find_places(forest: Forest, changed: Ticks, gone: int, after: int, positions: Positions, homes: Positions) -> int:
    """The events in the n-parts of the lists of changed nodes, by position, and their nodes; tell how many there are.

    The first of these nodes, ``gone``, were dummies. What was in their max-lists started in the trees before them,
    and outlived them: it belongs to the highest node between them and its end.
    """
    nodes, ends, dkey, at, dummy = forest.nodes, forest.ends, forest.dkey, 0, 0
    for number in range(changed.size):
        node = changed[number]
        if node > dummy:
            dummy = first_dummy(after, node)
        record = nodes[node]
        low, high = (record["list_at"], record["list_stop"]) if number < gone else (0, 0)
        for entry in range(low, high):
            position = forest.lists[entry]["asc"]
            positions[at] = position
            homes[at] = highest_between(node, first_reaching(dkey, node, dummy, ends[position] - 1))
            at += 1
        own_stop, scope, last_end = record["first"], node, NEVER
        for position in range(own_stop, nodes[node + 1]["first"]):
            scope = first_reaching(dkey, scope, dummy, ends[position] - 1)
            home = highest_between(node, scope)
            if home == node:
                own_stop, last_end = position + 1, ends[position]
            else:
                positions[at], homes[at] = position, home
                at += 1
        record["own_stop"] = own_stop
        record["last_end"] = last_end if node < dummy else FOREVER
        record["earliest"] = NOWHERE
    return at


@borrowing
def lay_out(forest: Forest, changed: Ticks, after: int, homes: Positions, pool: int) -> None:
    """Give each changed node its stretch of the list entries: left-lists behind the others, max-lists in the pool."""
    nodes, dummy = forest.nodes, 0
    for number in range(changed.size):
        nodes[changed[number]]["list_stop"] = 0
    for entry in range(homes.size):
        nodes[homes[entry]]["list_stop"] += 1
    left = forest.counts[LISTED]
    for number in range(changed.size):
        node = changed[number]
        if node > dummy:
            dummy = first_dummy(after, node)
        record = nodes[node]
        size = record["list_stop"]
        if node == dummy:
            record["list_at"] = record["list_stop"] = pool
            pool += size
        else:
            record["list_at"] = record["list_stop"] = left
            left += size
    forest.counts[LISTED] = left


@borrowing
def fill(forest: Forest, changed: Ticks, positions: Positions, homes: Positions, by_end: Positions) -> None:
    """Distribute events from the last end to the first, and then in the order of their starts."""
    nodes, lists, ends = forest.nodes, forest.lists, forest.ends
    for row in range(homes.size - 1, -1, -1):
        event = by_end[row]
        record, position = nodes[homes[event]], positions[event]
        entry = lists[record["list_stop"]]
        entry["desc"], entry["end"] = position, ends[position]
        record["last_end"] = max(record["last_end"], ends[position])
        record["list_stop"] += 1
    for number in range(changed.size):
        nodes[changed[number]]["list_stop"] = nodes[changed[number]]["list_at"]
    for event in range(homes.size):
        record = nodes[homes[event]]
        lists[record["list_stop"]]["asc"] = positions[event]
        record["list_stop"] += 1
        record["earliest"] = min(record["earliest"], positions[event])
