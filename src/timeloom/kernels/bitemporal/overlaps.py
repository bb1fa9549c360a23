"""Whether versions of one key are ever believed together about the same application time."""

import numpy as np

from timeloom.kernels.bitemporal.windows import Ticks
from timeloom.kernels.jit import compiled


@compiled
def overlapping_pair(
    order: Ticks, keys: Ticks, sys_start: Ticks, sys_end: Ticks, app_start: Ticks, app_end: Ticks
) -> tuple[int, int]:
    """Find two versions of one key that overlap in both times, or (-1, -1); ``order`` is by key and system start.

    A sweep over system time: each version is compared with those of its key that are believed when it comes.
    """
    believed, count = np.empty(16, np.int64), 0
    for at in range(order.size):
        row = order[at]
        if at > 0 and keys[order[at - 1]] != keys[row]:
            count = 0
        kept = 0
        for i in range(count):
            other = believed[i]
            if sys_end[other] > sys_start[row]:
                if app_start[other] < app_end[row] and app_start[row] < app_end[other]:
                    return other, row
                believed[kept] = other
                kept += 1
        if kept == believed.size:
            grown = np.empty(2 * kept, np.int64)
            grown[:kept] = believed
            believed = grown
        believed[kept] = row
        count = kept + 1
    return -1, -1
