"""Counts by ranks: how many rows of the other side stand below a tick, without listing any of them.

A period r meets every s that starts before r ends, save those that have ended when r starts. As an s that ends in time
also starts in time, the two sets are nested, and the count is a difference of two ranks. This is smart counting
(count semi-join paper, section 3.2) without the merged endpoint list: the global counter at the end of r is the first
rank, and the counter less the active ones at its start is the second.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Order, Positions, Ticks, bucket, rank

Counts = NDArray[np.int64]

REGION = 13
"""So many buckets of a sorted column, as a power of two, stay in a small cache with their values and offsets."""


class Periods(NamedTuple):
    """Periods and the rows at which they stood."""

    starts: Ticks
    ends: Ticks
    rows: Positions


def count_intersecting(by_start: Order, by_end: Order, starts: Ticks, ends: Ticks) -> Counts:
    """Count, for each period, the periods of the other side, sorted by start and by end, that share a tick with it."""
    counts = np.empty(starts.size, np.int64)
    fill_intersecting(by_start, by_end, starts, ends, counts)
    return counts


@compiled
def fill_intersecting(by_start: Order, by_end: Order, starts: Ticks, ends: Ticks, counts: Counts) -> None:
    """Write the counts. No period is empty, so a start is never the last tick."""
    start_values, _, start_offsets, start_base, start_shift, _ = by_start
    end_values, _, end_offsets, end_base, end_shift, _ = by_end
    for row in range(starts.size):
        begun = rank(start_values, start_offsets, start_base, start_shift, ends[row])
        over = rank(end_values, end_offsets, end_base, end_shift, starts[row] + 1)
        counts[row] = begun - over


def by_region(order: Order, starts: Ticks, ends: Ticks) -> Periods:
    """Bring together the periods that start in one region of a sorted column, so that ranking stays in a cache."""
    regions = ((order.offsets.size - 2) >> REGION) + 1
    moved = Periods(np.empty_like(starts), np.empty_like(ends), np.empty(starts.size, np.int32))
    move_to_regions(starts, ends, order.base, order.shift + REGION, np.zeros(regions + 1, np.int64), moved)
    return moved


@compiled
def move_to_regions(
    starts: Ticks, ends: Ticks, base: int, shift: int, positions: NDArray[np.int64], moved: Periods
) -> None:
    """Count the periods of each region, then move them, in row order."""
    moved_starts, moved_ends, rows = moved
    regions = positions.size - 1
    for row in range(starts.size):
        positions[bucket(starts[row], base, shift, regions) + 1] += 1
    for region in range(regions):
        positions[region + 1] += positions[region]
    for row in range(starts.size):
        region = bucket(starts[row], base, shift, regions)
        position = positions[region]
        positions[region] = position + 1
        moved_starts[position], moved_ends[position], rows[position] = starts[row], ends[row], row
