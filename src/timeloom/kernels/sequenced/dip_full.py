"""The full outer operator of DIPMerge on two partitions: matches and remainders of both in one scan, in order."""

from typing import NamedTuple

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks
from timeloom.model.ticks import FOREVER, MIN_TICK

NO_LINEAGE: Positions = np.empty(0, np.int32)


class Joined(NamedTuple):
    """Disjoint, ascending periods with the rows of either side that they stem from; -1 stands for an absent one."""

    starts: Ticks
    ends: Ticks
    outer: Positions
    inner: Positions
    comparisons: int
    unproductive: int


def full_join(outer_starts: Ticks, outer_ends: Ticks, inner_starts: Ticks, inner_ends: Ticks) -> Joined:
    """Sequenced full outer join of two partitions (algorithm 2); the result is a partition again."""
    most = most_periods(outer_starts.size, inner_starts.size)
    periods, rows = np.empty((2, most), np.int64), np.empty((2, most), np.int32)
    room = periods[0], periods[1], rows[0], rows[1]
    size, comparisons, matches = full_merge(outer_starts, outer_ends, inner_starts, inner_ends, *room)
    starts, ends, outer, inner = periods[0, :size], periods[1, :size], rows[0, :size], rows[1, :size]
    return Joined(starts, ends, outer, inner, comparisons, comparisons - matches)


def most_periods(outer: int, inner: int) -> int:
    """How many periods the join of two partitions with so many rows can have: two for each comparison."""
    return 2 * (outer + inner)


@compiled
def full_merge(
    outer_starts: Ticks,
    outer_ends: Ticks,
    inner_starts: Ticks,
    inner_ends: Ticks,
    starts: Ticks,
    ends: Ticks,
    outer: Positions,
    inner: Positions,
) -> tuple[int, int, int]:
    """Compare row with row, each with the lead of the other, too, until both partitions are exhausted.

    What overlaps a lead is written before what overlaps the row after it, so the result ascends. Without room for
    ``outer`` and ``inner`` only periods are written. Returns how many there are, the comparisons, and how many of these
    found rows that share time.
    """
    r, s, size, comparisons, matches = 0, 0, 0, 0, 0
    r_reach, s_reach, lineage = MIN_TICK, MIN_TICK, outer.size > 0
    while r < outer_starts.size or s < inner_starts.size:
        comparisons += 1
        r_start, r_end, s_start, s_end = FOREVER, FOREVER, FOREVER, FOREVER
        if r < outer_starts.size:
            r_start, r_end = outer_starts[r], outer_ends[r]
        if s < inner_starts.size:
            s_start, s_end = inner_starts[s], inner_ends[s]
        for case in range(3):
            low, high = max(r_start, s_start), min(r_end, s_end)
            if case == 0:
                low, high = max(r_reach, s_start), min(r_start, s_end)
            elif case == 1:
                low, high = max(r_start, s_reach), min(r_end, s_start)
            if low < high:
                starts[size], ends[size] = low, high
                if lineage:
                    outer[size], inner[size] = -1 if case == 0 else r, -1 if case == 1 else s
                matches += case == 2
                size += 1
        if r < outer_starts.size and (s == inner_starts.size or r_end <= s_end):
            r_reach = r_end
            r += 1
        else:
            s_reach = s_end
            s += 1
    return size, comparisons, matches
