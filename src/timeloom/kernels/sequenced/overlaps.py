"""Where more than one row is active."""

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Ticks


@compiled
def crowded(starts: Ticks, ends: Ticks) -> tuple[Ticks, Ticks]:
    """The maximal periods in which at least two rows are active.

    Rows are in the order of their starts. A period begins where a row starts before the latest end so far; rows that
    touch a period of others, or each other within it, go on with it.
    """
    found_starts, found_ends = np.empty(starts.size, np.int64), np.empty(starts.size, np.int64)
    size, latest = 0, 0
    for row in range(starts.size):
        if row > 0 and starts[row] < latest:
            end = min(ends[row], latest)
            if size > 0 and starts[row] <= found_ends[size - 1]:
                found_ends[size - 1] = max(found_ends[size - 1], end)
            else:
                found_starts[size] = starts[row]
                found_ends[size] = end
                size += 1
        latest = ends[row] if row == 0 else max(latest, ends[row])
    return found_starts[:size].copy(), found_ends[:size].copy()
