"""Coalescing: overlapping and touching periods become one."""

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks, sort
from timeloom.kernels.sequenced.difference import Pieces


def coalesce(starts: Ticks, ends: Ticks, threads: int = 1) -> Pieces:
    """Merge periods that overlap or touch; each result names the row that begins it (of equals, the first)."""
    by_start = sort(starts, threads, ends)
    return Pieces(*merge_sorted(by_start.values, by_start.ids, by_start.beside))


@compiled
def merge_sorted(starts: Ticks, ids: Positions, ends: Ticks) -> tuple[Positions, Ticks, Ticks]:
    """Merge periods in the order of their starts, given with their rows."""
    size = 0
    rows = np.empty(starts.size, np.int32)
    merged_starts = np.empty(starts.size, np.int64)
    merged_ends = np.empty(starts.size, np.int64)
    for k in range(starts.size):
        end = ends[k]
        if size > 0 and starts[k] <= merged_ends[size - 1]:
            merged_ends[size - 1] = max(merged_ends[size - 1], end)
            continue
        rows[size] = ids[k]
        merged_starts[size] = starts[k]
        merged_ends[size] = end
        size += 1
    return rows[:size].copy(), merged_starts[:size].copy(), merged_ends[:size].copy()
