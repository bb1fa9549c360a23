"""Whether the arrays of a stab-forest are one: for forests that come from a file.

Every list is determined by the events but for the order of equal ends, so nothing is left to trust: an event belongs to
the list of node k, of weight w (its lowest bit), if it starts at one of the nodes k - w + 1 .. k - 1 and ends in the
scope of one of the nodes k .. k + w - 1; for a dummy node in its own scope or later. Each test takes constant time.
"""

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.stab_forest.build import first_dummy
from timeloom.kernels.stab_forest.layout import BASE, EVENTS, FOREVER, LISTED, NEVER, NODES, NOWHERE, STRIDE, Forest

SOUND, WRONG_EVENTS, WRONG_KEYS, WRONG_NODE, WRONG_LIST, WRONG_SIZES = range(6)

FAULTS = {
    WRONG_EVENTS: "events are empty or out of order",
    WRONG_KEYS: "the nodes do not fit the starts",
    WRONG_NODE: "a node does not fit its events",
    WRONG_LIST: "a list does not fit its node",
    WRONG_SIZES: "counts and sizes contradict each other",
}


def fault_of(forest: Forest) -> int:
    """The first fault of a forest without room to grow, or SOUND; reads nothing outside the arrays."""
    if forest.counts.size != 6 or (forest.counts < 0).any() or forest.counts[4:].any():
        return WRONG_SIZES
    events, nodes, listed, base = (int(count) for count in forest.counts[:4])
    sizes = events, events, nodes + 1, nodes // STRIDE + 1, nodes + 2
    found = forest.starts.size, forest.ends.size, forest.dkey.size, forest.guide.size, forest.nodes.size
    if sizes != found or nodes > events or listed != base or listed > forest.lists.size:
        return WRONG_SIZES
    return int(event_fault(forest) or list_fault(forest))


@compiled
def event_fault(forest: Forest) -> int:
    """Check the event list, and that there is a node for each start but the last."""
    events, nodes, node = forest.counts[EVENTS], forest.counts[NODES], 0
    for row in range(events):
        if forest.ends[row] <= forest.starts[row]:
            return WRONG_EVENTS
        if row and forest.starts[row] == forest.starts[row - 1]:
            if forest.ends[row] < forest.ends[row - 1]:
                return WRONG_EVENTS
            continue
        if row and forest.starts[row] < forest.starts[row - 1]:
            return WRONG_EVENTS
        node += 1
        if node > nodes + 1 or forest.nodes[node]["first"] != row:
            return WRONG_KEYS
        if node <= nodes and forest.dkey[node] != forest.starts[row]:
            return WRONG_KEYS
    if node != (nodes + 1 if events else nodes) or (events == 0 and forest.nodes[1]["first"] != 0):
        return WRONG_KEYS
    if forest.dkey[0] != NEVER or forest.guide[0] != NEVER:
        return WRONG_KEYS
    for mark in range(1, forest.guide.size):
        if forest.guide[mark] != forest.dkey[mark * STRIDE]:
            return WRONG_KEYS
    return SOUND


@compiled
def list_fault(forest: Forest) -> int:
    """Check each node's own events and its list, and that every event before the tail is in one of them.

    An event can belong to one list only. So if both orders of each list hold only events that belong there, none twice,
    and the lists together are as long as they should be, nothing is missing. All loops stand here, as calls that pass
    arrays cost more.
    """
    count, pool, left, dummy, expected = forest.counts[NODES], forest.counts[BASE], 0, 0, 0
    nodes, lists, ends, dkey = forest.nodes, forest.lists, forest.ends, forest.dkey
    seen = np.zeros(ends.size, np.bool_)
    for node in range(1, count + 1):
        if node > dummy:
            dummy = first_dummy(count, node)
        weight, low, stop = node & -node, nodes[node]["list_at"], nodes[node]["list_stop"]
        first, own_stop, after = nodes[node]["first"], nodes[node]["own_stop"], nodes[node + 1]["first"]
        if own_stop < first or own_stop > after or low < 0 or stop < low:
            return WRONG_NODE
        expected += after - own_stop
        bound, last_end = FOREVER, FOREVER
        if node == dummy:
            if low != pool or stop > lists.size or own_stop != after:
                return WRONG_NODE
            pool = stop
        else:
            if stop > forest.counts[LISTED]:
                return WRONG_NODE
            left += stop - low
            bound, last_end = dkey[node + weight - 1], ends[own_stop - 1] if own_stop > first else NEVER
            if (own_stop > first and last_end - 1 > bound) or (own_stop < after and ends[own_stop] - 1 <= bound):
                return WRONG_NODE
            last_end = max(last_end, lists[low]["end"] if stop > low else NEVER)
        if nodes[node]["last_end"] != last_end or nodes[node]["earliest"] != (
            lists[low]["asc"] if stop > low else NOWHERE
        ):
            return WRONG_NODE
        begin, least, before = nodes[node - weight + 1]["first"], dkey[node - 1], FOREVER
        last = begin - 1
        for entry in range(low, stop):
            position = lists[entry]["asc"]
            if position <= last or position >= first or not least < ends[position] - 1 <= bound:
                return WRONG_LIST
            last = position
            position, end = lists[entry]["desc"], lists[entry]["end"]
            if position < begin or position >= first or end > before or not least < end - 1 <= bound:
                return WRONG_LIST
            if seen[position] or end != ends[position]:
                return WRONG_LIST
            seen[position], before = True, end
    return SOUND if left == forest.counts[LISTED] and pool == lists.size == expected else WRONG_LIST
