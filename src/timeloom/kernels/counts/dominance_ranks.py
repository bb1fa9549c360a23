"""Rectangles over the points (start, end) of one side, moved to rank space.

A rectangle's bounds become positions in start order and slots in end order. Every start lies before its end, so some
bounds follow from others and are dropped here, and some corners are known to be plain ranks.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Order, Positions, Ticks, rank
from timeloom.model.ticks import MAX_TICK, MIN_TICK


class Points(NamedTuple):
    """The side that is counted: its starts and its ends in order."""

    by_start: Order
    by_end: Order

    @property
    def size(self) -> int:
        """How many points there are."""
        return self.by_start.values.size


class Rectangles(NamedTuple):
    """Inclusive bounds for each row; the smallest and the largest tick leave a side open, low > high is empty."""

    low_start: Ticks
    high_start: Ticks
    low_end: Ticks
    high_end: Ticks


class Ranks(NamedTuple):
    """Rectangles in rank space: positions in [first, last) and slots in [low, high); (0, 0, 0, 0) when empty.

    ``nested`` says that every point below slot ``low`` is among the first ``last`` ones.
    """

    first: Positions
    last: Positions
    low: Positions
    high: Positions
    nested: NDArray[np.bool_]


def _room_for(rows: int) -> Ranks:
    """Ranks of so many rows, all empty."""
    first, last, low, high = (np.zeros(rows, np.int32) for _ in range(4))
    return Ranks(first, last, low, high, np.zeros(rows, np.bool_))


def rank_rectangles(points: Points, rectangles: Rectangles) -> Ranks:
    """Move rectangles to rank space."""
    ranked = _room_for(rectangles.low_start.size)
    rank_rows(points.by_start, points.by_end, rectangles, ranked)
    return ranked


def end_slots(points: Points) -> Positions:
    """For each point in start order, its position in end order."""
    return positions_in(points.by_start.ids, points.by_end.ids)


@compiled
def rank_rows(by_start: Order, by_end: Order, rectangles: Rectangles, ranked: Ranks) -> None:
    """Rank rectangles, and drop the bounds that follow from others.

    Points have start < end. So ``end <= d`` implies ``start <= b`` if d - 1 <= b; ``start >= a`` implies ``end >= c``
    if c - 1 <= a, and contradicts ``end <= d`` if d <= a; and ``end < c`` implies ``start <= b`` if c - 2 <= b.
    """
    starts, _, start_offsets, start_base, start_shift, _ = by_start
    ends, _, end_offsets, end_base, end_shift, _ = by_end
    low_start, high_start, low_end, high_end = rectangles
    firsts, lasts, lows, highs, nested = ranked
    size = starts.size
    for row in range(firsts.size):
        a, b, c, d = low_start[row], high_start[row], low_end[row], high_end[row]
        if a > b or c > d or d <= a:
            continue
        first, last, low, high = 0, size, 0, size
        if a != MIN_TICK:
            first = rank(starts, start_offsets, start_base, start_shift, a)
        if b != MAX_TICK and d - 1 > b:
            last = rank(starts, start_offsets, start_base, start_shift, b + 1)
        if c != MIN_TICK and c - 1 > a:
            low = rank(ends, end_offsets, end_base, end_shift, c)
        if d != MAX_TICK:
            high = rank(ends, end_offsets, end_base, end_shift, d + 1)
        if first < last and low < high:
            firsts[row], lasts[row], lows[row], highs[row] = first, last, low, high
            nested[row] = low > 0 and (c - 1 <= b or c - 1 == b + 1)


def positions_in(ids: Positions, other_ids: Positions) -> Positions:
    """For each row in the first order, its position in the other."""
    position_of, found = np.empty(ids.size, np.int32), np.empty(ids.size, np.int32)
    find_positions(ids, other_ids, position_of, found)
    return found


@compiled
def find_positions(ids: Positions, other_ids: Positions, position_of: Positions, found: Positions) -> None:
    """Invert one order and follow it from the other."""
    for position in range(other_ids.size):
        position_of[other_ids[position]] = position
    for position in range(ids.size):
        found[position] = position_of[ids[position]]
