"""Many stabs at once: which events are active at any of the instants, and which at each of them.

Instants are taken in ascending order. Each step finds the events that are active at its instant and stand behind all
that was passed before: a multi-stab-query is these, each event once; the answer to a single instant is these together
with what still lasts of the answer before. A step reads the event list if its instant is near and the index if it is
far; ``reach`` is the number of events up to which it is near, the threshold constant c times the height of the index
(stab-forest paper, section 4).
"""

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks
from timeloom.kernels.stab_forest.layout import EVENTS, NODES, Forest, end_at
from timeloom.kernels.stab_forest.stab import STEPS, first_after, locate, visit

ROW, SEEN, NODE_AT, ACTIVE = range(4)

THRESHOLD = 32
"""The threshold constant c, if none is given: at this value a join is about as fast as the better of its two ways."""


def reach_of(c: int, nodes: int) -> int:
    """How many events ahead an instant may lie before the index is used."""
    return c * max(1, nodes.bit_length())


def new_marks(forests: int = 1) -> Ticks:
    """A bookmark for each level: the list that was read last, and how far; and a count of what was looked at."""
    return np.zeros((STEPS + 1) * forests, np.int64)


@compiled
def stab_step(
    forest: Forest, t: int, seen: int, node: int, reach: int, marks: Ticks, out: Ticks, at: int
) -> tuple[int, int, int]:
    """Write the events from position ``seen`` on that are active at t; the output must have room for all events.

    ``node`` is any node whose scope is not after t. Returns the new fill, the position of the first event that
    starts after t, and the node of t (or, if the index was not asked, the given one).
    """
    starts, ends, events = forest.starts, forest.ends, forest.counts[EVENTS]
    if seen + reach >= events or starts[seen + reach] > t:
        begun = seen
        while seen < events and starts[seen] <= t:
            if ends[seen] > t and end_at(forest, seen) > t:
                out[at] = seen
                at += 1
            seen += 1
        if marks.size:
            marks[STEPS] += seen - begun
        return at, seen, node
    node = locate(forest, node, t)
    return visit(forest, t, seen, node, marks, out, at), first_after(forest, node, t), node


@compiled
def multi_stab(forest: Forest, ts: Ticks, reach: int, marks: Ticks, seen: int = 0) -> tuple[Ticks, Ticks]:
    """The events active at any of the ascending instants, and where the new ones of each instant begin.

    Events that stand before ``seen`` are left out: whoever gives the first position behind an instant leaves out what
    has started by then, which is what later instants do by themselves.
    """
    out = np.empty(forest.counts[EVENTS], np.int64)
    offsets = np.zeros(ts.size + 1, np.int64)
    node, at = 1, 0
    for row in range(ts.size):
        at, seen, node = stab_step(forest, ts[row], seen, node, reach, marks, out, at)
        offsets[row + 1] = at
    return out[:at], offsets


@compiled
def stab_each(
    forest: Forest,
    ts: Ticks,
    reach: int,
    marks: Ticks,
    state: Ticks,
    active: Ticks,
    active_ends: Ticks,
    offsets: Ticks,
    out: Ticks,
) -> bool:
    """Answer ascending instants from the state on until the output is full; tell whether all are answered.

    ``active`` holds the answer to the last instant. Taking a step again changes nothing, so a step whose answer finds
    no room is taken again when there is more.
    """
    starts, ends, events = forest.starts, forest.ends, forest.counts[EVENTS]
    row, seen, node, count = state[ROW], state[SEEN], state[NODE_AT], state[ACTIVE]
    while row < ts.size:
        t, lasting = ts[row], 0
        for rank in range(count):
            if active_ends[rank] > t:
                active[lasting], active_ends[lasting] = active[rank], active_ends[rank]
                lasting += 1
        count = lasting
        if seen + reach < events and starts[seen + reach] <= t:
            node = locate(forest, node, t)
            count = visit(forest, t, seen, node, marks, active, lasting)
            seen = first_after(forest, node, t)
            for rank in range(lasting, count):
                active_ends[rank] = end_at(forest, active[rank])
        while seen < events and starts[seen] <= t:
            if ends[seen] > t and end_at(forest, seen) > t:
                active[count], active_ends[count] = seen, end_at(forest, seen)
                count += 1
            seen += 1
        at = offsets[row]
        if at + count > out.size:
            break
        for rank in range(count):
            out[at + rank] = active[rank]
        row += 1
        offsets[row] = at + count
    state[ROW], state[SEEN], state[NODE_AT], state[ACTIVE] = row, seen, node, count
    return bool(row == ts.size)


@compiled
def put_in_order(rows: Positions, offsets: Ticks, found: Ticks) -> tuple[Ticks, Ticks]:
    """Bring the answers of sorted instants into the order of the rows that the instants came from."""
    placed = np.zeros(offsets.size, np.int64)
    for rank in range(rows.size):
        placed[rows[rank] + 1] = offsets[rank + 1] - offsets[rank]
    for row in range(rows.size):
        placed[row + 1] += placed[row]
    out = np.empty(found.size, np.int64)
    for rank in range(rows.size):
        at = placed[rows[rank]]
        for source in range(offsets[rank], offsets[rank + 1]):
            out[at + source - offsets[rank]] = found[source]
    return placed, out


def stab_ascending(forest: Forest, ts: Ticks, c: int) -> tuple[Ticks, Ticks]:
    """The events active at each of the ascending instants."""
    events = int(forest.counts[EVENTS])
    active, active_ends = np.empty(events, np.int64), np.empty(events, np.int64)
    offsets, out = np.zeros(ts.size + 1, np.int64), np.empty(max(1024, 4 * ts.size), np.int64)
    state, marks = np.array([0, 0, 1, 0]), new_marks()
    reach = reach_of(c, int(forest.counts[NODES]))
    while not stab_each(forest, ts, reach, marks, state, active, active_ends, offsets, out):
        used = int(offsets[state[ROW]])
        wider = np.empty(max(2 * out.size, used + int(state[ACTIVE])), np.int64)
        wider[:used] = out[:used]
        out = wider
    return offsets, out[: offsets[-1]]


@compiled
def with_runs(offsets: Ticks, found: Ticks, begins: Ticks, stops: Ticks) -> tuple[Ticks, Ticks]:
    """Put behind each answer a run of positions, which may be empty."""
    joined = np.zeros(offsets.size, np.int64)
    for row in range(begins.size):
        joined[row + 1] = joined[row] + offsets[row + 1] - offsets[row] + max(0, stops[row] - begins[row])
    out = np.empty(joined[-1], np.int64)
    for row in range(begins.size):
        at = joined[row]
        for hit in range(offsets[row], offsets[row + 1]):
            out[at] = found[hit]
            at += 1
        for position in range(begins[row], stops[row]):
            out[at] = position
            at += 1
    return joined, out
