"""The stab-forest as arrays: a sorted event list, complete trees without pointers, left-lists and max-lists.

The distinct starts, numbered from 1, are the nodes; the last start is the tail and has no node yet. Where a node is
in its tree follows from its number k alone: its level is the number of trailing zero bits of k, its children are
k - 2**(level - 1) and k + 2**(level - 1). The forest-points are the binary digits of the number of nodes: a digit of
weight w owns the next w nodes, the last of which is its dummy node while the others are its tree. So an append moves
no node; it only turns max-lists into left-lists.

Lists hold positions in the event list, so "starts later" is "has a larger position", and the events of a node's own
start (the d-part of a list) are a stretch of the event list, read backwards for descending ends. Only events that
started earlier (the n-part) are copied, by descending end and by ascending start.

Periods are half-open; an open event ends at ``FOREVER``. An end that comes in another order than the paper's would move
many entries, so it is kept apart: the event stays where it is, as an open one, and its end is looked up where that
matters. The index then finds too much, never too little. The same holds for the tail: while events of one start
arrive in any order of their ends it is a few sorted runs instead of one, as long as the binary digits of its size.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import borrowing
from timeloom.kernels.order import Positions, Ticks

FOREVER = 2**63 - 1
NEVER = -(2**63)
NOWHERE = 2**31 - 1
STRIDE = 64
EVENTS, NODES, LISTED, BASE, LATE, LOOSE = range(6)

NODE = np.dtype(
    [
        ("last_end", "i8"),
        ("first", "i4"),
        ("own_stop", "i4"),
        ("list_at", "i4"),
        ("list_stop", "i4"),
        ("earliest", "i4"),
    ],
    align=True,
)
ENTRY = np.dtype([("end", "i8"), ("desc", "i4"), ("asc", "i4")], align=True)
Records = NDArray[np.void]


class Forest(NamedTuple):
    """All arrays of one stab-forest, with room for more events.

    ``counts`` holds the number of events, of nodes and of left-list entries, where max-lists begin in ``lists``, the
    number of ends that are kept apart, and whether the tail is in runs.
    Node k has the start ``dkey[k]`` and owns the events from ``nodes[k].first`` on; of these, those before its
    ``own_stop`` are the d-part of its list, whose n-part is ``list_at:list_stop`` of ``lists``. The list is the
    max-list of a forest-point if the node is its dummy, and a left-list otherwise; nothing in it ends after
    ``last_end``, and nothing in its n-part stands before ``earliest``. The tail begins at ``first`` of the node behind
    the last. ``guide`` repeats every 64th start, for short searches; no event that starts at one of the nodes through
    64 * k ends after ``latest[k]``, and if no event was finished since the forest was built or resized, one ends then.
    An open event at position p that is in the n-part
    of a max-list stands there at ``slot[p]``. If ``late[p]`` is not 0, the open event at p has ended: the event
    ``late_at[late[p] - 1]``, which is p, at ``late_ends[late[p] - 1]``.

    The entry k of a list holds two things side by side: the end and the position of its k-th event by descending end,
    and the position of its k-th event by ascending start.
    """

    counts: Ticks
    starts: Ticks
    ends: Ticks
    dkey: Ticks
    guide: Ticks
    latest: Ticks
    nodes: Records
    lists: Records
    slot: Positions
    late: Positions
    late_at: Positions
    late_ends: Ticks


def allocate(capacity: int) -> Forest:
    """Make room for this many events; memory that is never written costs nothing."""
    forest = Forest(
        counts=np.array([0, 0, 0, capacity, 0, 0]),
        starts=np.empty(capacity, np.int64),
        ends=np.empty(capacity, np.int64),
        dkey=np.empty(capacity + 1, np.int64),
        guide=np.empty(capacity // STRIDE + 1, np.int64),
        latest=np.empty(capacity // STRIDE + 1, np.int64),
        nodes=np.empty(capacity + 2, NODE),
        lists=np.empty(3 * capacity, ENTRY),
        slot=np.empty(capacity, np.int32),
        **no_late(capacity),
    )
    forest.dkey[0] = forest.guide[0] = forest.latest[0] = NEVER
    forest.nodes[:2] = 0
    return forest


def no_late(capacity: int) -> "dict[str, NDArray[Any]]":
    """The arrays for ends that are kept apart: so many that putting them in order is worth reading all events."""
    most = late_room(capacity)
    return {
        "late": np.zeros(capacity, np.int32),
        "late_at": np.empty(most, np.int32),
        "late_ends": np.empty(most, np.int64),
    }


def late_room(events: int) -> int:
    """How many ends are kept apart at most: both reading past them and putting them in order cost the square root."""
    return max(64, 8 * math.isqrt(events))


def in_use(forest: Forest) -> dict[str, NDArray[np.generic]]:
    """The used part of each array (``slot`` excepted: it follows from the lists), max-lists right behind left-lists."""
    events, nodes, listed, base = (int(count) for count in forest.counts[:4])
    pooled = int(forest.nodes[nodes]["list_stop"]) - base if nodes else 0
    compact = forest.nodes[: nodes + 2].copy()
    compact["list_at"][dummies(nodes)] += listed - base
    compact["list_stop"][dummies(nodes)] += listed - base
    return {
        "counts": np.array([events, nodes, listed, listed]),
        "starts": forest.starts[:events],
        "ends": forest.ends[:events],
        "dkey": forest.dkey[: nodes + 1],
        "guide": forest.guide[: nodes // STRIDE + 1],
        "nodes": compact,
        "lists": np.concatenate([forest.lists[:listed], forest.lists[base : base + pooled]]),
    }


def dummies(nodes: int) -> list[int]:
    """The dummy nodes of the forest-points that this many nodes form: the number, cut off after each of its digits."""
    cuts = [nodes >> level << level for level in range(nodes.bit_length()) if nodes >> level & 1]
    return cuts[::-1]


def resized(forest: Forest, capacity: int) -> Forest:
    """Copy a forest into arrays with room for this many events."""
    copy = allocate(capacity)
    events, nodes, listed, base = (int(count) for count in forest.counts[:4])
    sizes = {"starts": events, "ends": events, "dkey": nodes + 1, "guide": nodes // STRIDE + 1, "nodes": nodes + 2}
    for name, size in {**sizes, "lists": listed}.items():
        getattr(copy, name)[:size] = getattr(forest, name)[:size]
    pooled = int(forest.nodes[nodes]["list_stop"]) - base if nodes else 0
    copy.lists[capacity : capacity + pooled] = forest.lists[base : base + pooled]
    for name in ("list_at", "list_stop"):
        copy.nodes[name][dummies(nodes)] += capacity - base
    copy.counts[:3] = events, nodes, listed
    late = int(forest.counts[LATE])
    copy.counts[LATE:] = forest.counts[LATE:]
    copy.late_at[:late], copy.late_ends[:late] = forest.late_at[:late], forest.late_ends[:late]
    copy.late[copy.late_at[:late]] = np.arange(1, late + 1)
    mark_open(copy)
    note_latest(copy)
    return copy


def ends_of(forest: Forest, positions: NDArray[np.integer] | slice) -> Ticks:
    """When some events end, as an array of its own."""
    ends = np.array(forest.ends[positions])
    if forest.counts[LATE]:
        late = forest.late[positions]
        ends[late > 0] = forest.late_ends[late[late > 0] - 1]
    return ends


@borrowing
def end_at(forest: Forest, position: int) -> int:
    """When an event ends, wherever that is kept."""
    end = forest.ends[position]
    if end == FOREVER and forest.counts[LATE] and forest.late[position]:
        return int(forest.late_ends[forest.late[position] - 1])
    return int(end)


@borrowing
def navigation_key(forest: Forest, node: int) -> int:
    """The first instant in a node's scope: just after the start before it; the first node has only its own start."""
    return int(forest.dkey[node - 1] + 1 if node > 1 else forest.dkey[node])


@borrowing
def append_events(forest: Forest, starts: Ticks, ends: Ticks) -> None:
    """Append events in the order of (start, end), none before the tail; there must be room for them."""
    at = forest.counts[EVENTS]
    for row in range(starts.size):
        if at > 0 and starts[row] != forest.starts[at - 1]:
            index_tail(forest, at)
        forest.starts[at] = starts[row]
        forest.ends[at] = ends[row]
        at += 1
    forest.counts[EVENTS] = at


@borrowing
def index_tail(forest: Forest, events: int) -> None:
    """Turn the tail into a forest-point, then merge the last two points while their heights agree."""
    node = forest.counts[NODES] + 1
    record = forest.nodes[node]
    forest.dkey[node] = forest.starts[record["first"]]
    forest.nodes[node + 1]["first"] = events
    if node % STRIDE == 0:
        forest.guide[node // STRIDE] = forest.dkey[node]
        note_latest_of(forest, node // STRIDE)
    record["own_stop"] = events
    record["last_end"] = FOREVER
    record["list_at"] = forest.nodes[node - 1]["list_stop"] if node > 1 else forest.counts[BASE]
    record["list_stop"] = record["list_at"]
    record["earliest"] = NOWHERE
    weight = 1
    while node & weight == 0:
        merge_points(forest, node - weight, node)
        weight *= 2
    forest.counts[NODES] = node


@borrowing
def merge_points(forest: Forest, root: int, last: int) -> None:
    """Merge the last two forest-points: the first dummy becomes the root of the tree, the second stays the dummy.

    Events that end before the scope of the last node stay behind in the root's left-list; the others, and all of
    the second max-list, form the n-part of the new max-list.
    """
    bound = navigation_key(forest, last)
    record = forest.nodes[root]
    begin, middle, stop = record["list_at"], record["list_stop"], forest.nodes[last]["list_stop"]
    first, own_stop = record["first"], record["own_stop"]
    own, kept = own_stop, begin
    while own > first and forest.ends[own - 1] > bound:
        own -= 1
    while kept < middle and forest.lists[kept]["end"] > bound:
        kept += 1
    record["own_stop"] = own
    record["last_end"] = forest.ends[own - 1] if own > first else NEVER
    retire(forest, root, begin, kept, middle, bound)
    grown = kept + (own_stop - own) + (stop - middle)
    if grown > kept:
        join_ascending(forest, kept, own, own_stop, middle, stop)
        join_descending(forest, begin, kept, own, own_stop, middle, stop)
    forest.nodes[last]["list_at"] = begin
    forest.nodes[last]["list_stop"] = grown
    forest.nodes[last]["earliest"] = forest.lists[begin]["asc"] if grown > begin else NOWHERE
    mark_open_between(forest, begin, grown)


@borrowing
def retire(forest: Forest, root: int, begin: int, kept: int, middle: int, bound: int) -> None:
    """Move the ended part of a max-list to the left-list of the root; both orders of the rest close up."""
    record, at = forest.nodes[root], forest.counts[LISTED]
    record["list_at"] = at
    record["list_stop"] = at + middle - kept
    forest.counts[LISTED] = at + middle - kept
    record["earliest"] = NOWHERE
    if kept == middle:
        return
    record["last_end"] = max(record["last_end"], forest.lists[kept]["end"])
    for entry in range(kept, middle):
        forest.lists[at + entry - kept]["end"] = forest.lists[entry]["end"]
        forest.lists[at + entry - kept]["desc"] = forest.lists[entry]["desc"]
    write = begin
    for entry in range(begin, middle):
        position = forest.lists[entry]["asc"]
        if forest.ends[position] > bound:
            forest.lists[write]["asc"] = position
            write += 1
        else:
            forest.lists[at]["asc"] = position
            at += 1
    record["earliest"] = forest.lists[record["list_at"]]["asc"]


@borrowing
def join_ascending(forest: Forest, kept: int, own: int, own_stop: int, middle: int, stop: int) -> None:
    """Put the root's own events and then the second list behind the kept entries: each starts later."""
    count, target = stop - middle, kept + own_stop - own
    if target > middle:
        for entry in range(count - 1, -1, -1):
            forest.lists[target + entry]["asc"] = forest.lists[middle + entry]["asc"]
    else:
        for entry in range(count):
            forest.lists[target + entry]["asc"] = forest.lists[middle + entry]["asc"]
    for position in range(own, own_stop):
        forest.lists[kept + position - own]["asc"] = position


@borrowing
def join_descending(forest: Forest, begin: int, kept: int, own: int, own_stop: int, middle: int, stop: int) -> None:
    """Merge three lists by descending end: kept entries, the root's own events backwards, the second list.

    Of equal ends the later start comes first, as in an event list read backwards. The merged list is built in the
    free room behind both lists and then moved to its position.
    """
    lists, ends = forest.lists, forest.ends
    free = max(stop, kept + (own_stop - own) + (stop - middle))
    old, tail, new, at = begin, own_stop - 1, middle, free
    while old < kept or tail >= own or new < stop:
        own_end = ends[tail] if tail >= own else NEVER
        old_end = lists[old]["end"] if old < kept else NEVER
        if new < stop and lists[new]["end"] >= max(own_end, old_end):
            lists[at]["end"], lists[at]["desc"] = lists[new]["end"], lists[new]["desc"]
            new += 1
        elif own_end >= old_end:
            lists[at]["end"], lists[at]["desc"] = own_end, tail
            tail -= 1
        else:
            lists[at]["end"], lists[at]["desc"] = old_end, lists[old]["desc"]
            old += 1
        at += 1
    for entry in range(at - free):
        lists[begin + entry]["end"] = lists[free + entry]["end"]
        lists[begin + entry]["desc"] = lists[free + entry]["desc"]


@borrowing
def mark_open_between(forest: Forest, begin: int, stop: int) -> None:
    """Note where the open events of one max-list stand: they come first, as nothing ends later."""
    entry = begin
    while entry < stop and forest.lists[entry]["end"] == FOREVER:
        forest.slot[forest.lists[entry]["desc"]] = entry
        entry += 1


@borrowing
def mark_open(forest: Forest) -> None:
    """Note where the open events of all max-lists stand."""
    node = forest.counts[NODES]
    while node:
        mark_open_between(forest, forest.nodes[node]["list_at"], forest.nodes[node]["list_stop"])
        node &= node - 1


@borrowing
def note_latest_of(forest: Forest, block: int) -> None:
    """Note when the last of all events ends that start at nodes through that of the guide's entry."""
    last = forest.latest[block - 1]
    for position in range(forest.nodes[(block - 1) * STRIDE + 1]["first"], forest.nodes[block * STRIDE + 1]["first"]):
        last = max(last, forest.ends[position])
    forest.latest[block] = last


@borrowing
def note_latest(forest: Forest) -> None:
    """Note the same for all entries of the guide."""
    forest.latest[0] = NEVER
    for block in range(1, forest.counts[NODES] // STRIDE + 1):
        note_latest_of(forest, block)
