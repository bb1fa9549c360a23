"""Counts by ranks: how many rows of the other side stand below a tick, without listing any of them.

A period r meets every s that starts before r ends, save those that have ended when r starts. As an s that ends in time
also starts in time, the two sets are nested, and the count is a difference of two ranks. This is smart counting
(count semi-join paper, section 3.2) without the merged endpoint list: the global counter at the end of r is the first
rank, and the counter less the active ones at its start is the second.
"""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Order, Positions, Ticks, rank, ranks, sort
from timeloom.model.ticks import MAX_TICK as MAX
from timeloom.model.ticks import MIN_TICK as MIN

Counts = NDArray[np.int64]


def below(order: Order, wanted: Ticks) -> Positions:
    """Count, for each wanted tick, the values below it."""
    if not wanted.size or wanted.max() == MIN:
        return np.zeros(wanted.size, np.int32)
    return ranks(order.values, order.offsets, order.base, order.shift, wanted)


def up_to(order: Order, wanted: Ticks) -> Positions:
    """Count, for each wanted tick, the values at or below it."""
    if not wanted.size or wanted.min() == MAX:
        return np.full(wanted.size, order.values.size, np.int32)
    return ranks_up_to(order.values, order.offsets, order.base, order.shift, wanted)


def count_intersecting(starts: Ticks, ends: Ticks, of_starts: Ticks, of_ends: Ticks) -> Counts:
    """Count, for each period, the periods of the other side that share a tick with it."""
    by_start, by_end = sort(of_starts), sort(of_ends)
    counts = np.empty(starts.size, np.int64)
    fill_intersecting(
        starts,
        ends,
        (by_start.values, by_start.offsets, by_start.base, by_start.shift),
        (by_end.values, by_end.offsets, by_end.base, by_end.shift),
        counts,
        0,
        starts.size,
    )
    return counts


@compiled
def ranks_up_to(values: Ticks, offsets: Positions, base: int, shift: int, wanted: Ticks) -> Positions:
    """Count, for each wanted tick, the sorted values at or below it."""
    counts = np.empty(wanted.size, np.int32)
    for row in range(wanted.size):
        value = wanted[row]
        counts[row] = values.size if value == MAX else rank(values, offsets, base, shift, value + 1)
    return counts


@compiled
def fill_intersecting(
    starts: Ticks,
    ends: Ticks,
    by_start: tuple[Ticks, Positions, int, int],
    by_end: tuple[Ticks, Positions, int, int],
    counts: Counts,
    first: int,
    last: int,
) -> None:
    """Write the counts of rows first..last."""
    start_values, start_offsets, start_base, start_shift = by_start
    end_values, end_offsets, end_base, end_shift = by_end
    for row in range(first, last):
        begun = rank(start_values, start_offsets, start_base, start_shift, ends[row])
        over = rank(end_values, end_offsets, end_base, end_shift, starts[row] + 1)
        counts[row] = begun - over
