"""Buckets of application time, each a timeline of rows in order of system time, and the deltas read from them.

A bucket holds the rows that have an endpoint in its range of application time, in the order in which they arrived,
which is the order of system time. Buckets share one pool of blocks; a block is filled to the end before its bucket gets
another one, and points back to the block before it. So an append writes one number, and a reader walks a bucket from
the newest row back to any earlier one. A row's periods stay in the columns; the bucket holds its number only.
"""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.bitemporal.marked import STRETCH, with_room, write_marked
from timeloom.kernels.bitemporal.windows import APP_LOWER, APP_UPPER, SYS_LOWER, SYS_UPPER, Ticks
from timeloom.kernels.jit import compiled

Rows = NDArray[np.int32]

BLOCK = 64
NO_BLOCK = -1
NEVER = 2**63 - 1


@compiled
def bucket(instant: int, base: int, width: int, buckets: int) -> int:
    """The bucket of an instant; instants beyond the grid belong to its edge buckets.

    The whole grid, ``width * buckets`` from ``base`` on, lies within the ticks, so nothing wraps.
    """
    if instant <= base:
        return 0
    if instant >= base + width * buckets:
        return buckets - 1
    return (instant - base) // width


@compiled
def file_rows(
    instants: Ticks,
    begin: int,
    end: int,
    base: int,
    width: int,
    newest: Rows,
    filled: Rows,
    earlier: Rows,
    pool: Rows,
    blocks: int,
) -> int:
    """Append the rows begin..end to the buckets of their instants; returns the number of blocks then in use."""
    for row in range(begin, end):
        if instants[row] == NEVER:
            continue
        number = bucket(instants[row], base, width, newest.size)
        position = filled[number] % BLOCK
        if position == 0:
            earlier[blocks] = newest[number]
            newest[number] = blocks
            blocks += 1
        pool[newest[number] * BLOCK + position] = row
        filled[number] += 1
    return blocks


@compiled
def wanted(
    row: int, level: int, reach: Ticks, sys_start: Ticks, sys_key: Ticks, app_start: Ticks, app_key: Ticks
) -> bool:
    """Tell whether a row, found by crossing one of the four bounds, may enter or leave, and is not found earlier.

    ``reach`` has the least and the greatest value of each bound over the steps in question. A row that crosses several
    bounds is found by the first of them only (``level`` is the one that found it).
    """
    start, key = sys_start[row], sys_key[row]
    if start > reach[SYS_UPPER, 1] or key <= reach[SYS_LOWER, 0]:
        return False
    begins, ends = app_start[row], app_key[row]
    if begins > reach[APP_UPPER, 1] or ends <= reach[APP_LOWER, 0]:
        return False
    if level == SYS_UPPER:
        return bool(start > reach[SYS_UPPER, 0])
    if start > reach[SYS_UPPER, 0]:
        return False
    if level == SYS_LOWER:
        return bool(key <= reach[SYS_LOWER, 1])
    if key <= reach[SYS_LOWER, 1]:
        return False
    if level == APP_UPPER:
        return bool(begins > reach[APP_UPPER, 0])
    return bool(begins <= reach[APP_UPPER, 0] and ends <= reach[APP_LOWER, 1])


@compiled
def crossing_range(
    begin: int,
    end: int,
    level: int,
    reach: Ticks,
    sys_start: Ticks,
    sys_key: Ticks,
    app_start: Ticks,
    app_key: Ticks,
) -> Ticks:
    """Of the rows begin..end, those that may change: a horizontal delta over rows as they arrived."""
    found, size = np.empty(max(0, end - begin), np.int64), 0
    for row in range(begin, end):
        if wanted(row, level, reach, sys_start, sys_key, app_start, app_key):
            found[size] = row
            size += 1
    return found[:size]


@compiled
def crossing_rows(
    rows: Rows,
    level: int,
    reach: Ticks,
    sys_start: Ticks,
    sys_key: Ticks,
    app_start: Ticks,
    app_key: Ticks,
) -> Ticks:
    """Of the given rows, those that may change: a horizontal delta over ended rows, or a stretch of a checkpoint."""
    found, size = np.empty(rows.size, np.int64), 0
    for i in range(rows.size):
        if wanted(rows[i], level, reach, sys_start, sys_key, app_start, app_key):
            found[size] = rows[i]
            size += 1
    return found[:size]


@compiled
def crossing_buckets(
    first: int,
    last: int,
    oldest_row: int,
    newest_row: int,
    newest: Rows,
    filled: Rows,
    earlier: Rows,
    pool: Rows,
    level: int,
    reach: Ticks,
    sys_start: Ticks,
    sys_key: Ticks,
    app_start: Ticks,
    app_key: Ticks,
) -> Ticks:
    """Of the rows oldest_row..newest_row in the buckets first..last, those that may change: a vertical delta."""
    room = 0
    for number in range(first, last + 1):
        room += filled[number]
    found, size = np.empty(room, np.int64), 0
    for number in range(first, last + 1):
        block, held = newest[number], (filled[number] - 1) % BLOCK + 1
        while block != NO_BLOCK:
            at = block * BLOCK
            if pool[at] < newest_row:
                for entry in range(at, at + held):
                    row = pool[entry]
                    if oldest_row <= row < newest_row and wanted(
                        row, level, reach, sys_start, sys_key, app_start, app_key
                    ):
                        found[size] = row
                        size += 1
            if pool[at] < oldest_row:
                break
            block, held = earlier[block], BLOCK
    return found[:size].copy()


@compiled
def inside_range(begin: int, end: int, corner: Ticks, sys_key: Ticks, app_start: Ticks, app_key: Ticks) -> Ticks:
    """Of the rows begin..end, all of which begin by the window's last system time, those inside the window."""
    sys_lower, app_upper, app_lower = corner[SYS_LOWER], corner[APP_UPPER], corner[APP_LOWER]
    found, size, marks = np.empty(STRETCH, np.int64), 0, np.empty(STRETCH, np.uint8)
    for first in range(begin, end, STRETCH):
        count = min(STRETCH, end - first)
        keys, begins = sys_key[first : first + count], app_start[first : first + count]
        ends = app_key[first : first + count]
        for i in range(count):
            marks[i] = (keys[i] > sys_lower) & (begins[i] <= app_upper) & (ends[i] > app_lower)
        found = with_room(found, size)
        size = write_marked(marks, count, first, found, size)
    return found[:size].copy()


@compiled
def inside_rows(rows: Rows, corner: Ticks, sys_key: Ticks, app_start: Ticks, app_key: Ticks) -> Ticks:
    """Of rows that begin by the window's last system time, those inside the window."""
    found, size = np.empty(rows.size, np.int64), 0
    for i in range(rows.size):
        row = rows[i]
        if app_key[row] > corner[APP_LOWER] and app_start[row] <= corner[APP_UPPER]:
            found[size] = row
            size += sys_key[row] > corner[SYS_LOWER]
    return found[:size].copy()


@compiled
def rank(rows: Rows, instants: Ticks, instant: int) -> int:
    """Of rows sorted by their instants, count those at or before this one."""
    low, high = 0, rows.size
    while low < high:
        middle = (low + high) >> 1
        if instants[rows[middle]] <= instant:
            low = middle + 1
        else:
            high = middle
    return low
