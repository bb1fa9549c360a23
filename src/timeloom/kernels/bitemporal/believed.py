"""Which versions were believed at a system time about an application time, read from columns that only grow.

A version's end counts for a reader if the reader knows the batch that wrote it: ``ended_by`` has the batch's number.
So ends are written in place, and states of before go on without them.
"""

import numpy as np

from timeloom.kernels.bitemporal.buckets import Rows
from timeloom.kernels.bitemporal.windows import Ticks
from timeloom.kernels.jit import compiled

BLOCK = 64
"""So many versions, in order of application start, share the latest of their application ends."""


@compiled
def is_believed(row: int, at: int, number: int, sys_start: Ticks, sys_end: Ticks, ended_by: Ticks) -> bool:
    """Tell whether a version was believed at a system time, as far as batches up to a number say."""
    return bool(sys_start[row] <= at and (sys_end[row] > at or ended_by[row] > number))


@compiled
def believed_range(
    begin: int,
    end: int,
    at: int,
    number: int,
    low: int,
    high: int,
    sys_start: Ticks,
    sys_end: Ticks,
    ended_by: Ticks,
    app_start: Ticks,
    app_end: Ticks,
) -> Ticks:
    """Of the versions begin..end, those believed then that start by ``high`` and end after ``low``."""
    found, size = np.empty(1024, np.int64), 0
    for row in range(begin, end):
        if is_believed(row, at, number, sys_start, sys_end, ended_by) and app_start[row] <= high and app_end[row] > low:
            if size == found.size:
                grown = np.empty(2 * size, np.int64)
                grown[:size] = found
                found = grown
            found[size] = row
            size += 1
    return found[:size].copy()


@compiled
def believed_rows(
    rows: Rows,
    at: int,
    number: int,
    low: int,
    high: int,
    sys_start: Ticks,
    sys_end: Ticks,
    ended_by: Ticks,
    app_start: Ticks,
    app_end: Ticks,
) -> Ticks:
    """Of the given versions, those believed then that start by ``high`` and end after ``low``."""
    found, size = np.empty(rows.size, np.int64), 0
    for i in range(rows.size):
        row = rows[i]
        if app_end[row] > low and app_start[row] <= high and is_believed(row, at, number, sys_start, sys_end, ended_by):
            found[size] = row
            size += 1
    return found[:size]


@compiled
def latest_ends(by_start: Rows, app_end: Ticks) -> Ticks:
    """The latest application end of each block of versions."""
    latest = np.full((by_start.size + BLOCK - 1) // BLOCK, np.iinfo(np.int64).min, np.int64)
    for i in range(by_start.size):
        latest[i // BLOCK] = max(latest[i // BLOCK], app_end[by_start[i]])
    return latest


@compiled
def reaching(by_start: Rows, started: int, latest: Ticks, low: int) -> Rows:
    """Of the first ``started`` versions, those in blocks that have an end after ``low``."""
    blocks = (started + BLOCK - 1) // BLOCK
    count = 0
    for block in range(blocks):
        if latest[block] > low:
            count += min(started, (block + 1) * BLOCK) - block * BLOCK
    found, size = np.empty(count, np.int32), 0
    for block in range(blocks):
        if latest[block] > low:
            for i in range(block * BLOCK, min(started, (block + 1) * BLOCK)):
                found[size] = by_start[i]
                size += 1
    return found
