"""Counts and sums over rectangles: for each row, the points (start, end) with low <= start <= high on both axes.

In rank space, let F(k, t) tell how many of the first k points in start order stand below slot t in end order. A
rectangle is a sum of four such corners, and many of them are plain ranks. The others are answered offline: points
enter in the order of their starts, each at the slot of its end, and a corner asks when the right number is in.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.counts.dominance_ranks import Points, Ranks
from timeloom.kernels.counts.dominance_sweeps import sweep_counts, sweep_sums
from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, sort

Numbers = NDArray[np.int64]

NO_TOTALS = np.zeros(0, np.int64)
NOTHING, BY_START, BY_END, SWEEP = 0, 1, 2, 3


class Pending(NamedTuple):
    """Corners that need a sweep: of the first ``taken`` points, those at slots in [low, high), for a row."""

    rows: Positions
    taken: Positions
    low: Positions
    high: Positions


class Weights(NamedTuple):
    """Weights of the points in start order, and their running totals along both orders."""

    entering: Numbers
    by_start: Numbers
    by_end: Numbers


def count_ranked(points: Points, slots: Positions, ranked: Ranks) -> Numbers:
    """Count the points in each rectangle; ``slots`` matter only if some row needs a sweep."""
    counts, upper, lower = settle(ranked, points.size, NO_TOTALS, NO_TOTALS)
    for pending, sign in ((upper, 1), (lower, -1)):
        if pending.rows.size:
            sweep_counts(slots, *in_sweep_order(pending), sign, counts)
    return counts


def sum_ranked(points: Points, slots: Positions, ranked: Ranks, weights: Weights) -> Numbers:
    """Add up the weights of the points in each rectangle; ``slots`` matter only if some row needs a sweep."""
    sums, upper, lower = settle(ranked, points.size, weights.by_start, weights.by_end)
    for pending, sign in ((upper, 1), (lower, -1)):
        if pending.rows.size:
            sweep_sums(slots, weights.entering, *in_sweep_order(pending), sign, sums)
    return sums


def weights_of(points: Points, weights: Numbers) -> Weights:
    """Prepare a column of weights. The absolute weights together must fit into an int64."""
    entering = weights[points.by_start.ids]
    return Weights(entering, running_totals(entering), running_totals(weights[points.by_end.ids]))


def in_sweep_order(pending: Pending) -> Pending:
    """Order the corners by the number of points that must be in."""
    if (pending.taken[1:] >= pending.taken[:-1]).all():
        return pending
    order = sort(pending.taken.astype(np.int64)).ids
    return Pending(*(column[order] for column in pending))


def running_totals(weights: Numbers) -> Numbers:
    """Prefix sums, beginning with 0."""
    totals = np.zeros(weights.size + 1, np.int64)
    np.cumsum(weights, out=totals[1:])
    return totals


@compiled
def rows_to_sweep(ranked: Ranks, size: int) -> int:
    """How many rows have a corner that no rank answers."""
    found = 0
    for row in range(ranked.first.size):
        first, last, low, high = ranked.first[row], ranked.last[row], ranked.low[row], ranked.high[row]
        found += (
            corner(last, high, size, False) == SWEEP
            or corner(last, low, size, ranked.nested[row]) == SWEEP
            or corner(first, high, size, False) == SWEEP
            or corner(first, low, size, False) == SWEEP
        )
    return found


def settle(ranked: Ranks, size: int, start_totals: Numbers, end_totals: Numbers) -> tuple[Numbers, Pending, Pending]:
    """Answer every corner that is a plain rank; gather the others, apart for the last and the first position."""
    rows = ranked.first.size
    settled = np.zeros(rows, np.int64)
    upper, lower = (Pending(*(np.empty(rows, np.int32) for _ in range(4))) for _ in range(2))
    uppers, lowers = settle_rows(ranked, size, start_totals, end_totals, settled, upper, lower)
    return settled, Pending(*(column[:uppers] for column in upper)), Pending(*(column[:lowers] for column in lower))


@compiled
def settle_rows(
    ranked: Ranks,
    size: int,
    start_totals: Numbers,
    end_totals: Numbers,
    settled: Numbers,
    upper: Pending,
    lower: Pending,
) -> tuple[int, int]:
    """Settle row by row; the numbers of pending entries written."""
    uppers, lowers, weighted = 0, 0, start_totals.size > 0
    for row in range(settled.size):
        first, last, low, high = ranked.first[row], ranked.last[row], ranked.low[row], ranked.high[row]
        if last == 0:
            continue
        to_high, to_low = corner(last, high, size, False), corner(last, low, size, ranked.nested[row])
        settled[row] = number(to_high, last, high) - number(to_low, last, low)
        if weighted:
            settled[row] = weight(to_high, last, high, start_totals, end_totals)
            settled[row] -= weight(to_low, last, low, start_totals, end_totals)
        if to_high == SWEEP or to_low == SWEEP:
            note(upper, uppers, row, last, low if to_low == SWEEP else 0, high if to_high == SWEEP else 0)
            uppers += 1
        if first == 0:
            continue
        to_high, to_low = corner(first, high, size, False), corner(first, low, size, False)
        if weighted:
            settled[row] -= weight(to_high, first, high, start_totals, end_totals)
            settled[row] += weight(to_low, first, low, start_totals, end_totals)
        else:
            settled[row] -= number(to_high, first, high) - number(to_low, first, low)
        if to_high == SWEEP or to_low == SWEEP:
            note(lower, lowers, row, first, low if to_low == SWEEP else 0, high if to_high == SWEEP else 0)
            lowers += 1
    return uppers, lowers


@compiled
def corner(taken: int, slot: int, size: int, nested: bool) -> int:
    """Say what answers F at this corner; ``nested`` when all points below the slot are in by then."""
    if taken == 0 or slot == 0:
        return NOTHING
    if taken == size or nested:
        return BY_END
    if slot == size:
        return BY_START
    return SWEEP


@compiled
def number(answer: int, taken: int, slot: int) -> int:
    """How many points a corner holds, if a rank answers it, else 0."""
    if answer == BY_START:
        return taken
    return slot if answer == BY_END else 0


@compiled
def weight(answer: int, taken: int, slot: int, start_totals: Numbers, end_totals: Numbers) -> int:
    """What the points of a corner weigh, if a rank answers it, else 0."""
    if answer == BY_START:
        return int(start_totals[taken])
    return int(end_totals[slot]) if answer == BY_END else 0


@compiled
def note(pending: Pending, entry: int, row: int, taken: int, low: int, high: int) -> None:
    """Keep what a sweep must answer; slot 0 stands for a corner that is settled."""
    pending.rows[entry], pending.taken[entry], pending.low[entry], pending.high[entry] = row, taken, low, high
