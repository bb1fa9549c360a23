"""Coalescing: overlapping and touching periods become one."""

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks, sort
from timeloom.kernels.sequenced.difference import Pieces
from timeloom.model.ticks import MAX_TICK


def coalesce(starts: Ticks, ends: Ticks, threads: int = 1) -> Pieces:
    """Merge periods that overlap or touch; each result names the row that begins it (of equals, the first)."""
    by_start = sort(starts, threads, ends)
    return Pieces(*merge_sorted(by_start.values, by_start.ids, by_start.beside))


@compiled
def merge_near(starts: Ticks, ends: Ticks, groups: Ticks, ids: Positions, gap: int) -> tuple[Positions, Ticks, Ticks]:
    """Merge periods of one group that lie at most ``gap`` ticks apart; ``ids`` are the rows by group and start."""
    size = 0
    rows = np.empty(ids.size, np.int32)
    merged_starts = np.empty(ids.size, np.int64)
    merged_ends = np.empty(ids.size, np.int64)
    for row in ids:
        last = size - 1
        if size > 0 and groups[rows[last]] == groups[row]:
            reach = merged_ends[last] + gap if merged_ends[last] <= MAX_TICK - gap else MAX_TICK
            if starts[row] <= reach:
                merged_ends[last] = max(merged_ends[last], ends[row])
                continue
        rows[size] = row
        merged_starts[size] = starts[row]
        merged_ends[size] = ends[row]
        size += 1
    return rows[:size].copy(), merged_starts[:size].copy(), merged_ends[:size].copy()


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
