"""A batch as it arrives: whether its ends can be, how far system time gets by it, and which rows end, in order."""

import numpy as np

from timeloom.kernels.bitemporal.buckets import Rows
from timeloom.kernels.bitemporal.windows import Ticks
from timeloom.kernels.jit import compiled
from timeloom.model.ticks import FOREVER, MIN_TICK

NONE = -1


@compiled
def unfit_end(rows: Ticks, at: Ticks, sys_start: Ticks, sys_end: Ticks) -> int:
    """The first of some ends that cannot be: of a row that has ended, before the row begins, or at no instant."""
    for i in range(rows.size):
        row = rows[i]
        if sys_end[row] != FOREVER or at[i] == FOREVER or at[i] < sys_start[row]:
            return i
    return NONE


@compiled
def all_last(starts: Ticks, ends: Ticks) -> bool:
    """Tell whether all of some periods hold an instant."""
    for row in range(starts.size):
        if ends[row] <= starts[row]:
            return False
    return True


@compiled
def reached(sys_start: Ticks, sys_end: Ticks, app_start: Ticks, app_end: Ticks) -> tuple[int, bool]:
    """The latest system time at which any of some rows begins or ends, and whether all of them last on both axes."""
    latest = MIN_TICK
    for row in range(sys_start.size):
        latest = max(latest, sys_start[row])
        if sys_end[row] != FOREVER:
            latest = max(latest, sys_end[row])
    return latest, all_last(sys_start, sys_end) and all_last(app_start, app_end)


@compiled
def closing_rows(begin: int, sys_start: Ticks, sys_end: Ticks, ended: Ticks, at: Ticks) -> Rows:
    """All rows that end by a batch, in order of their ends: earlier ones, which are in order, and new ones.

    New rows, which have the numbers from ``begin`` on, count if they lasted; of equal ends earlier rows come first.
    """
    born = np.flatnonzero((sys_end != FOREVER) & (sys_end > sys_start))
    born = born[np.argsort(sys_end[born], kind="mergesort")]
    closing, i = np.empty(ended.size + born.size, np.int32), 0
    for k in range(born.size):
        while i < ended.size and at[i] <= sys_end[born[k]]:
            closing[i + k] = ended[i]
            i += 1
        closing[i + k] = begin + born[k]
    for rest in range(i, ended.size):
        closing[rest + born.size] = ended[rest]
    return closing
