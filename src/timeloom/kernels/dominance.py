"""Counts and sums over rectangles: for each row, the points (start, end) with low <= start <= high on both axes.

Let F(x, y) tell how many points have start <= x and end <= y. A rectangle is a sum of four such corners. Many of
them are plain ranks: one axis may be unbounded there, and as every start lies before its end, end <= y implies
start <= x as soon as y - 1 <= x. What is left is answered offline, in rank space: points enter in the order of their
starts, each at the slot of its end, and a corner asks how many of the first so many points stand below a slot.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.counting import Counts, below, up_to
from timeloom.kernels.dominance_sweeps import sweep_counts, sweep_sums
from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Order, Positions, Ticks, sort

NO_WEIGHTS = np.zeros(0, np.int64)


class Points(NamedTuple):
    """The counted side: its starts and its ends in order."""

    by_start: Order
    by_end: Order


class Rectangles(NamedTuple):
    """Inclusive bounds for each row; MIN and MAX leave a side open, and low > high makes a row empty."""

    low_start: Ticks
    high_start: Ticks
    low_end: Ticks
    high_end: Ticks


class Ranks(NamedTuple):
    """Rectangles in rank space, half-open: positions in start order, and slots in end order."""

    first: Positions
    last: Positions
    low: Positions
    high: Positions


class Pending(NamedTuple):
    """Corners that need a sweep: of the first ``taken`` points, those at slots in [low, high), for a row."""

    rows: Positions
    taken: Positions
    low: Positions
    high: Positions


def points_of(starts: Ticks, ends: Ticks) -> Points:
    """Sort the counted side by both of its endpoints."""
    return Points(sort(starts), sort(ends))


def ranks_of(points: Points, rectangles: Rectangles) -> Ranks:
    """Move rectangles to rank space."""
    return Ranks(
        below(points.by_start, rectangles.low_start),
        up_to(points.by_start, rectangles.high_start),
        below(points.by_end, rectangles.low_end),
        up_to(points.by_end, rectangles.high_end),
    )


def end_slots(points: Points) -> Positions:
    """For each point in start order, its place in end order."""
    return places(points.by_start.ids, points.by_end.ids)


def count_rectangles(points: Points, rectangles: Rectangles) -> Counts:
    """Count the points in each rectangle."""
    counts, upper, lower = _settle(points, rectangles, NO_WEIGHTS, NO_WEIGHTS)
    if upper.rows.size or lower.rows.size:
        slots = end_slots(points)
        for pending, sign in ((upper, 1), (lower, -1)):
            if pending.rows.size:
                sweep_counts(slots, *_in_sweep_order(pending), sign, counts)
    return counts


def sum_rectangles(points: Points, rectangles: Rectangles, weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Add up the weights of the points in each rectangle. The absolute weights together must fit into an int64."""
    entering = weights[points.by_start.ids]
    totals, upper, lower = _settle(
        points, rectangles, running_totals(entering), running_totals(weights[points.by_end.ids])
    )
    if upper.rows.size or lower.rows.size:
        slots = end_slots(points)
        for pending, sign in ((upper, 1), (lower, -1)):
            if pending.rows.size:
                sweep_sums(slots, entering, *_in_sweep_order(pending), sign, totals)
    return totals


def running_totals(weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Prefix sums, beginning with 0."""
    totals = np.zeros(weights.size + 1, np.int64)
    np.cumsum(weights, out=totals[1:])
    return totals


def _settle(
    points: Points, rectangles: Rectangles, start_totals: NDArray[np.int64], end_totals: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Pending, Pending]:
    ranked = ranks_of(points, rectangles)
    settled, upper, lower = settle(rectangles, ranked, points.by_start.values.size, start_totals, end_totals)
    return settled, Pending(*upper), Pending(*lower)


def _in_sweep_order(pending: Pending) -> Pending:
    order = sort(pending.taken.astype(np.int64)).ids
    return Pending(*(column[order] for column in pending))


@compiled
def places(ids: Positions, other_ids: Positions) -> Positions:
    """For each row in the first order, its place in the other."""
    place_of = np.empty(ids.size, np.int32)
    for place in range(other_ids.size):
        place_of[other_ids[place]] = place
    return place_of[ids]


@compiled
def total(totals: NDArray[np.int64], number: int) -> np.int64:
    """The weight of the first points of an order; without weights, their number."""
    if totals.size:
        return np.int64(totals[number])
    return np.int64(number)


@compiled
def settle(
    bounds: Rectangles,
    ranked: Ranks,
    size: int,
    start_totals: NDArray[np.int64],
    end_totals: NDArray[np.int64],
) -> tuple[
    NDArray[np.int64],
    tuple[Positions, Positions, Positions, Positions],
    tuple[Positions, Positions, Positions, Positions],
]:
    """Answer every corner that is a plain rank; gather the others, apart for the upper and the lower start bound."""
    low_start, high_start, low_end, high_end = bounds
    first, last, low, high = ranked
    settled = np.zeros(low_start.size, np.int64)
    upper = empty_pending(low_start.size)
    lower = empty_pending(low_start.size)
    uppers, lowers = 0, 0
    for row in range(low_start.size):
        a, b, c, d = low_start[row], high_start[row], low_end[row], high_end[row]
        if a > b or c > d or first[row] >= last[row] or low[row] >= high[row]:
            continue
        to_high = corner(last[row], high[row], size, d <= b or d - 1 <= b)
        to_low = corner(last[row], low[row], size, c <= b or c - 1 <= b + 1)
        sum_high = by_rank(to_high, last[row], high[row], start_totals, end_totals)
        sum_low = by_rank(to_low, last[row], low[row], start_totals, end_totals)
        settled[row] = sum_high - sum_low
        uppers = note(upper, uppers, row, last[row], low[row], high[row], to_low, to_high)
        to_high = corner(first[row], high[row], size, d <= a)
        to_low = corner(first[row], low[row], size, c <= a or c - 1 <= a)
        sum_high = by_rank(to_high, first[row], high[row], start_totals, end_totals)
        sum_low = by_rank(to_low, first[row], low[row], start_totals, end_totals)
        settled[row] -= sum_high - sum_low
        lowers = note(lower, lowers, row, first[row], low[row], high[row], to_low, to_high)
    return settled, shortened(upper, uppers), shortened(lower, lowers)


NOTHING, BY_START, BY_END, SWEEP = 0, 1, 2, 3


@compiled
def corner(taken: int, slot: int, size: int, implied: bool) -> int:
    """Say what answers F at this corner; ``implied`` when an end below the slot implies a start in time."""
    if taken == 0 or slot == 0:
        return NOTHING
    if taken == size or implied:
        return BY_END
    if slot == size:
        return BY_START
    return SWEEP


@compiled
def by_rank(
    answer: int, taken: int, slot: int, start_totals: NDArray[np.int64], end_totals: NDArray[np.int64]
) -> np.int64:
    """F at a corner, if a rank answers it, else 0."""
    if answer == BY_START:
        return total(start_totals, taken)
    if answer == BY_END:
        return total(end_totals, slot)
    return np.int64(0)


@compiled
def empty_pending(size: int) -> tuple[Positions, Positions, Positions, Positions]:
    """Room for as many pending corners."""
    return np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)


@compiled
def note(
    pending: tuple[Positions, Positions, Positions, Positions],
    size: int,
    row: int,
    taken: int,
    low: int,
    high: int,
    to_low: int,
    to_high: int,
) -> int:
    """Keep what a sweep must answer: slot 0 stands for a corner that is settled; the new number of entries."""
    if to_low != SWEEP and to_high != SWEEP:
        return size
    rows, takens, lows, highs = pending
    rows[size], takens[size] = row, taken
    lows[size] = low if to_low == SWEEP else 0
    highs[size] = high if to_high == SWEEP else 0
    return size + 1


@compiled
def shortened(
    pending: tuple[Positions, Positions, Positions, Positions], size: int
) -> tuple[Positions, Positions, Positions, Positions]:
    """The entries that are in use."""
    rows, taken, low, high = pending
    return rows[:size], taken[:size], low[:size], high[:size]
