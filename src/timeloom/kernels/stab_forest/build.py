"""Bulk building of a stab-forest: linear once the events are sorted, the same forest that single appends make.

An event stays at its own node if it ends in that node's cover. Otherwise it belongs to the highest node between the
one where it starts and the one in whose scope it ends, or to its forest-point if it outlives the point's tree. That
node is a matter of a few bit operations, so every list is a counting sort away.
"""

import numpy as np

from timeloom.kernels.jit import borrowing, compiled
from timeloom.kernels.order import Positions, Ticks, sort
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
    allocate,
    mark_open,
    note_latest,
)


def build(starts: Ticks, ends: Ticks) -> Forest:
    """Index events that are sorted by (start, end); the forest has no room for more until it is resized."""
    forest = allocate(starts.size)
    fill_events(forest, starts, ends)
    homes = find_homes(forest)
    size = lay_out_lists(forest, homes)
    forest = forest._replace(lists=forest.lists[:size])
    fill_descending(forest, homes, sort(forest.ends).ids)
    fill_ascending(forest, homes)
    mark_open(forest)
    return forest


def event_order(starts: Ticks, ends: Ticks) -> Positions | None:
    """The rows in order of (start, end), or None if they are in that order already."""
    if is_sorted(starts, ends):
        return None
    order = sort(starts)
    sort_runs(order.values, ends, order.ids)
    return order.ids


@borrowing
def is_sorted(starts: Ticks, ends: Ticks) -> bool:
    """Tell whether rows ascend by (start, end)."""
    for row in range(1, starts.size):
        if starts[row - 1] > starts[row] or (starts[row - 1] == starts[row] and ends[row - 1] > ends[row]):
            return False
    return True


@compiled
def sort_runs(starts: Ticks, ends: Ticks, rows: Positions) -> None:
    """Order the rows of equal starts by their ends, in place."""
    begin = 0
    while begin < starts.size:
        stop = begin + 1
        while stop < starts.size and starts[stop] == starts[begin]:
            stop += 1
        if stop - begin > 32:
            run = rows[begin:stop].copy()
            rows[begin:stop] = run[np.argsort(ends[run], kind="mergesort")]
        else:
            for at in range(begin + 1, stop):
                row, gap = rows[at], at
                while gap > begin and ends[rows[gap - 1]] > ends[row]:
                    rows[gap] = rows[gap - 1]
                    gap -= 1
                rows[gap] = row
        begin = stop


@borrowing
def fill_events(forest: Forest, starts: Ticks, ends: Ticks) -> None:
    """Copy the events and number their distinct starts; the last start is the tail."""
    node = 0
    for row in range(starts.size):
        forest.starts[row] = starts[row]
        forest.ends[row] = ends[row]
        if row == 0 or starts[row] != starts[row - 1]:
            node += 1
            forest.dkey[node] = starts[row]
            forest.nodes[node]["first"] = row
    nodes = max(0, node - 1)
    forest.counts[EVENTS], forest.counts[NODES] = starts.size, nodes
    for mark in range(1, nodes // STRIDE + 1):
        forest.guide[mark] = forest.dkey[mark * STRIDE]
    note_latest(forest)


@compiled
def find_homes(forest: Forest) -> Positions:
    """The node in whose n-part each event belongs, 0 for those that stay at their own node or in the tail."""
    nodes = forest.counts[NODES]
    homes = np.zeros(forest.counts[EVENTS], np.int32)
    dummy = 0
    for node in range(1, nodes + 1):
        if node > dummy:
            dummy = first_dummy(nodes, node)
        record = forest.nodes[node]
        own_stop, scope, last_end = record["first"], node, NEVER
        for position in range(own_stop, forest.nodes[node + 1]["first"]):
            scope = first_reaching(forest.dkey, scope, dummy, forest.ends[position] - 1)
            home = highest_between(node, scope)
            if home == node:
                own_stop = position + 1
                last_end = forest.ends[position]
            else:
                homes[position] = home
        record["own_stop"] = own_stop
        record["last_end"] = last_end if node < dummy else FOREVER
        record["list_stop"] = 0
        record["earliest"] = NOWHERE
    return homes


@borrowing
def first_dummy(nodes: int, node: int) -> int:
    """The dummy of the forest-point that owns a node: the number of nodes, cut off as soon as that suffices."""
    level = 31
    while nodes >> level << level < node:
        level -= 1
    return nodes >> level << level


@borrowing
def first_reaching(keys: Ticks, low: int, last: int, wanted: int) -> int:
    """The first index from ``low`` on whose key is at least the wanted one, by doubling steps; at most ``last``."""
    step = 1
    while low + step <= last and keys[low + step - 1] < wanted:
        low += step
        step *= 2
    high = min(last, low + step)
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@borrowing
def highest_between(low: int, high: int) -> int:
    """The number with the most trailing zero bits in low..high: the common ancestor of two nodes."""
    while low <= high & (high - 1):
        high &= high - 1
    return high


@borrowing
def lay_out_lists(forest: Forest, homes: Positions) -> int:
    """Give each node its stretch of the list entries, max-lists behind all left-lists; return how many there are."""
    for position in range(homes.size):
        if homes[position]:
            forest.nodes[homes[position]]["list_stop"] += 1
    at = 0
    for node in range(1, forest.counts[NODES] + 1):
        record = forest.nodes[node]
        if record["last_end"] != FOREVER:
            record["list_at"] = at
            at += record["list_stop"]
            record["list_stop"] = record["list_at"]
    forest.counts[LISTED] = forest.counts[BASE] = at
    node = 0
    while node < forest.counts[NODES]:
        node = first_dummy(forest.counts[NODES], node + 1)
        record = forest.nodes[node]
        record["list_at"] = at
        at += record["list_stop"]
        record["list_stop"] = record["list_at"]
    return at


@borrowing
def fill_descending(forest: Forest, homes: Positions, by_end: Positions) -> None:
    """Distribute events from the last end to the first; then rewind all lists."""
    for row in range(homes.size - 1, -1, -1):
        position = by_end[row]
        if homes[position]:
            record = forest.nodes[homes[position]]
            entry = forest.lists[record["list_stop"]]
            entry["desc"] = position
            entry["end"] = forest.ends[position]
            record["last_end"] = max(record["last_end"], forest.ends[position])
            record["list_stop"] += 1
    for node in range(1, forest.counts[NODES] + 1):
        forest.nodes[node]["list_stop"] = forest.nodes[node]["list_at"]


@borrowing
def fill_ascending(forest: Forest, homes: Positions) -> None:
    """Distribute events in the order of their starts."""
    for position in range(homes.size):
        if homes[position]:
            record = forest.nodes[homes[position]]
            forest.lists[record["list_stop"]]["asc"] = position
            record["list_stop"] += 1
            record["earliest"] = min(record["earliest"], position)
