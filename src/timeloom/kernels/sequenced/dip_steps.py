"""The steps of DIPMerge, compiled: each compares two rows and goes on to the next one of either list, never back."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks
from timeloom.kernels.sequenced.dip import Partitions
from timeloom.model.ticks import FOREVER, MIN_TICK

GROUP, PART, INNER, TURN, LIVE, REACH, OPEN, COMPARISONS, MOVED = range(9)
"""Where a merge stands: first outer partition of the group, inner partition, inner row, current outer partition, how
many of these are left, the largest inner end so far, whether the group is open; and what was counted."""


class Lanes(NamedTuple):
    """The outer partitions of a group that are not yet exhausted, side by side.

    For each: the positions of its current row and of the inner row that it is compared with, and where it stops.
    Positions are unsigned, which saves the compiler a look at each whether it counts from the end.
    """

    at: NDArray[np.uint64]
    stops: NDArray[np.uint64]
    others: NDArray[np.uint64]

    @classmethod
    def room(cls, m: int) -> "Lanes":
        """Space for a group of so many."""
        return cls(*np.empty((3, m), np.uint64))


@compiled
def open_group(outer: Partitions, group: int, first: int, lanes: Lanes) -> int:
    """Set the partitions from ``group`` on to their first rows, beside an inner one; how many of them there are."""
    live = min(lanes.at.size, outer.offsets.size - 1 - group)
    for lane in range(live):
        lanes.at[lane], lanes.stops[lane] = outer.offsets[group + lane], outer.offsets[group + lane + 1]
        lanes.others[lane] = first
    return live


@compiled
def join_on(
    outer: Partitions,
    inner: Partitions,
    state: Ticks,
    lanes: Lanes,
    rows: Positions,
    others: Positions,
    starts: Ticks,
    ends: Ticks,
) -> int:
    """Merge each group with each inner partition, until the room may not do for another step of all lanes.

    Without any room all is counted and nothing written. Lanes take their steps in turns: a step does not depend on
    that of another lane, so a processor makes several of them at a time.
    """
    size, comparisons, moved, one, writes, full = 0, 0, 0, np.uint64(1), rows.size > 0, False
    group, part, live = state[GROUP], state[PART], state[LIVE]
    at, stops, beside = lanes
    while group < outer.offsets.size - 1 and not full:
        last = np.uint64(inner.offsets[part + 1])
        if live == 0:
            live = open_group(outer, group, inner.offsets[part], lanes)
            moved += live
        while live > 0 and not full:
            ended = 0
            while ended == 0:
                full = writes and size + live > rows.size
                if full:
                    break
                comparisons += live
                for lane in range(live):
                    r, s = at[lane], beside[lane]
                    r_end, s_end = outer.ends[r], inner.ends[s]
                    low, high = max(outer.starts[r], inner.starts[s]), min(r_end, s_end)
                    if writes:
                        # Written before it is judged: whether rows meet cannot be foretold, and a wrong guess costs
                        # more. The same goes for which list to go on in.
                        rows[size], others[size], starts[size], ends[size] = r, s, low, high
                    size += low < high
                    passed = np.uint64(r_end <= s_end)
                    r, s = r + passed, s + one - passed
                    at[lane], beside[lane] = r, s
                    ended += bool(r == stops[lane]) | bool(s == last)
            moved += ended
            live = 0 if ended == live else drop_ended(lanes, live, last)
        if live == 0:
            part += 1
            if part == inner.offsets.size - 1:
                part, group = 0, group + at.size
    state[GROUP], state[PART], state[LIVE] = group, part, live
    state[COMPARISONS] += comparisons
    state[MOVED] += moved
    return size


@compiled
def drop_ended(lanes: Lanes, live: int, last: np.uint64) -> int:
    """Take out the lanes that are through with either list; the last ones take their positions. How many are left."""
    at, stops, others = lanes
    lane = 0
    while lane < live:
        if at[lane] == stops[lane] or others[lane] == last:
            live -= 1
            at[lane], stops[lane], others[lane] = at[live], stops[live], others[live]
        else:
            lane += 1
    return live


@compiled
def leads_on(
    outer: Partitions,
    inner: Partitions,
    to_lead: bool,
    state: Ticks,
    lanes: Lanes,
    rows: Positions,
    others: Positions,
    starts: Ticks,
    ends: Ticks,
) -> int:
    """Merge each group with the leads of one inner list until all is done or the room is full; how much was found.

    A lead is the uncovered time before an inner row, from the largest end so far to its start, and at last the open
    time after all of them. Each partition resumes where it stopped for the inner row before: no result lies behind.
    """
    size, comparisons, moved, writes = 0, 0, 0, rows.size > 0
    at, stops, _ = lanes
    one, count = np.uint64(1), inner.starts.size
    while state[GROUP] < outer.offsets.size - 1:
        live, turn, k, reach = state[LIVE], state[TURN], state[INNER], state[REACH]
        if not state[OPEN]:
            live, turn, k, reach = open_group(outer, state[GROUP], 0, lanes), 0, 0, MIN_TICK
            moved += live
        while live > 0 and k <= count:
            s_start, s_end = FOREVER, FOREVER
            if k < count:
                s_start, s_end = inner.starts[k], inner.ends[k]
            limit = s_start if to_lead else s_end
            while turn < live:
                if writes and size == rows.size:
                    state[INNER], state[TURN], state[LIVE], state[REACH], state[OPEN] = k, turn, live, reach, 1
                    state[COMPARISONS] += comparisons
                    state[MOVED] += moved
                    return size
                comparisons += 1
                r_end = outer.ends[at[turn]]
                low, high = max(outer.starts[at[turn]], reach), min(r_end, s_start)
                if writes:
                    rows[size], others[size], starts[size], ends[size] = at[turn], k, low, high
                size += low < high
                if r_end > limit:
                    turn += 1
                    continue
                at[turn] += one
                moved += 1
                if at[turn] == stops[turn]:
                    live -= 1
                    at[turn], stops[turn] = at[live], stops[live]
            turn, k, reach = 0, k + 1, max(reach, s_end)
        state[OPEN] = 0
        state[GROUP] += at.size
    state[COMPARISONS] += comparisons
    state[MOVED] += moved
    return size
