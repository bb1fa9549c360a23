"""Counts by ranks: how many rows of the other side stand below a tick, without listing any of them.

A period r meets every s that starts before r ends, save those that have ended when r starts. As an s that ends in time
also starts in time, the two sets are nested, and the count is a difference of two ranks. This is smart counting
(count semi-join paper, section 3.2) without the merged endpoint list: the global counter at the end of r is the first
rank, and the counter less the active ones at its start is the second.
"""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Order, Ticks, rank

Counts = NDArray[np.int64]


def count_intersecting(by_start: Order, by_end: Order, starts: Ticks, ends: Ticks) -> Counts:
    """Count, for each period, the periods of the other side, sorted by start and by end, that share a tick with it."""
    counts = np.empty(starts.size, np.int64)
    fill_intersecting(by_start, by_end, starts, ends, counts)
    return counts


@compiled
def fill_intersecting(by_start: Order, by_end: Order, starts: Ticks, ends: Ticks, counts: Counts) -> None:
    """Write the counts. No period is empty, so a start is never the last tick."""
    start_values, _, start_offsets, start_base, start_shift = by_start
    end_values, _, end_offsets, end_base, end_shift = by_end
    for row in range(starts.size):
        begun = rank(start_values, start_offsets, start_base, start_shift, ends[row])
        over = rank(end_values, end_offsets, end_base, end_shift, starts[row] + 1)
        counts[row] = begun - over
