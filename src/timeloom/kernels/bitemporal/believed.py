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


SLAB = 4096
"""So many versions, in order of arrival, are put into order of application start together: they fit into a cache."""


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
def believed_slabs(
    begin: int,
    end: int,
    order: Rows,
    ends: Ticks,
    heads: Ticks,
    latest: Ticks,
    at: int,
    number: int,
    low: int,
    high: int,
    sys_start: Ticks,
    sys_end: Ticks,
    ended_by: Ticks,
    app_start: Ticks,
) -> Ticks:
    """Of the versions begin..end, all of them in slabs, those believed then; by slab, in order of application start.

    ``ends`` are the application ends in the order of the slabs, ``heads`` the first start of each block.
    """
    found, size = np.empty(1024, np.int64), 0
    if begin >= end:
        return found[:0]
    blocks = SLAB // BLOCK
    for slab in range(begin // SLAB, (end + SLAB - 1) // SLAB):
        for block in range(slab * blocks, (slab + 1) * blocks):
            if heads[block] > high:
                break
            if latest[block] <= low:
                continue
            if size + BLOCK > found.size:
                grown = np.empty(2 * found.size, np.int64)
                grown[:size] = found[:size]
                found = grown
            for i in range(block * BLOCK, (block + 1) * BLOCK):
                if ends[i] <= low:
                    continue
                row = order[i]
                if (
                    begin <= row < end
                    and app_start[row] <= high
                    and is_believed(row, at, number, sys_start, sys_end, ended_by)
                ):
                    found[size] = row
                    size += 1
    return found[:size].copy()


@compiled
def still_believed(rows: Rows, at: int, number: int, sys_end: Ticks, ended_by: Ticks) -> Ticks:
    """Of versions that had begun, those that were still believed at a system time."""
    found, size = np.empty(rows.size, np.int64), 0
    for i in range(rows.size):
        row = rows[i]
        found[size] = row
        size += sys_end[row] > at or ended_by[row] > number
    return found[:size].copy()


@compiled
def reaching_rows(by_start: Rows, ends: Ticks, started: int, latest: Ticks, low: int) -> Rows:
    """Of the first ``started`` versions those that end after ``low``; their ends lie beside them."""
    blocks = (started + BLOCK - 1) // BLOCK
    found, size = np.empty(1024, np.int32), 0
    for block in range(blocks):
        if latest[block] <= low:
            continue
        if size + BLOCK > found.size:
            grown = np.empty(2 * found.size, np.int32)
            grown[:size] = found[:size]
            found = grown
        for i in range(block * BLOCK, min(started, (block + 1) * BLOCK)):
            found[size] = by_start[i]
            size += ends[i] > low
    return found[:size].copy()


@compiled
def latest_ends(by_start: Rows, app_end: Ticks) -> Ticks:
    """The latest application end of each block of versions."""
    latest = np.full((by_start.size + BLOCK - 1) // BLOCK, np.iinfo(np.int64).min, np.int64)
    for i in range(by_start.size):
        latest[i // BLOCK] = max(latest[i // BLOCK], app_end[by_start[i]])
    return latest
