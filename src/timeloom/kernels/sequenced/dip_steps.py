"""The steps of an anti-join by DIPMerge, compiled: each compares an outer row with a lead and goes on, never back."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks
from timeloom.kernels.sequenced.dip import Partitions
from timeloom.model.ticks import FOREVER, MIN_TICK

GROUP, INNER, TURN, LIVE, REACH, OPEN, COMPARISONS, MOVED = range(8)
"""Where a merge stands: first outer partition of the group, inner row, current outer partition, how many of these are
left, the largest inner end so far, whether the group is open; and what was counted."""


class Lanes(NamedTuple):
    """The outer partitions of a group that are not yet exhausted, side by side.

    For each: the position of its current row, and where it stops. Positions are unsigned, which saves the compiler a
    look at each whether it counts from the end.
    """

    at: NDArray[np.uint64]
    stops: NDArray[np.uint64]

    @classmethod
    def room(cls, m: int) -> "Lanes":
        """Space for a group of so many."""
        return cls(*np.empty((2, m), np.uint64))


@compiled
def open_group(outer: Partitions, group: int, lanes: Lanes) -> int:
    """Set the partitions from ``group`` on to their first rows; how many of them there are."""
    live = min(lanes.at.size, outer.offsets.size - 1 - group)
    for lane in range(live):
        lanes.at[lane], lanes.stops[lane] = outer.offsets[group + lane], outer.offsets[group + lane + 1]
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
    at, stops = lanes
    one, count = np.uint64(1), inner.starts.size
    while state[GROUP] < outer.offsets.size - 1:
        live, turn, k, reach = state[LIVE], state[TURN], state[INNER], state[REACH]
        if not state[OPEN]:
            live, turn, k, reach = open_group(outer, state[GROUP], lanes), 0, 0, MIN_TICK
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
