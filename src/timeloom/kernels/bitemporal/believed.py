"""Which versions were believed at a system time about an application time, read from columns that only grow.

A version's end counts for a reader if the reader knows the batch that wrote it: ``ended_by`` has the batch's number.
So ends are written in place, and states of before go on without them.
"""

import numpy as np

from timeloom.kernels.bitemporal.buckets import Rows
from timeloom.kernels.bitemporal.marked import STRETCH, with_room, write_marked
from timeloom.kernels.bitemporal.windows import Ticks
from timeloom.kernels.jit import compiled
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK

BLOCK = 64
"""So many versions, in order of application start, share the latest of their application ends."""


SLAB = 16384
"""So many versions, in order of arrival, are put into order of application start together: fewer would be many slabs to
look into, more would leave a long rest that is not in order yet."""


@compiled
def is_believed(row: int, at: int, number: int, sys_end: Ticks, ended_by: Ticks) -> bool:
    """Tell whether a version that had begun was believed at a system time, as far as batches up to a number say."""
    return bool(sys_end[row] > at or ended_by[row] > number)


@compiled
def believed_range(
    begin: int,
    end: int,
    at: int,
    number: int,
    low: int,
    high: int,
    sys_end: Ticks,
    ended_by: Ticks,
    app_start: Ticks,
    app_end: Ticks,
) -> Ticks:
    """Of the versions begin..end, all of which had begun, those believed then that start by ``high`` and end after
    ``low``.

    If every application time is meant, from the first tick to the last, its columns are not read.
    """
    everywhere = low == MIN_TICK and high == MAX_TICK
    found, size, marks = np.empty(STRETCH, np.int64), 0, np.empty(STRETCH, np.uint8)
    for first in range(begin, end, STRETCH):
        count = min(STRETCH, end - first)
        until, by = sys_end[first : first + count], ended_by[first : first + count]
        for i in range(count):
            marks[i] = (until[i] > at) | (by[i] > number)
        if not everywhere:
            begins, ends = app_start[first : first + count], app_end[first : first + count]
            for i in range(count):
                marks[i] &= (begins[i] <= high) & (ends[i] > low)
        found = with_room(found, size)
        size = write_marked(marks, count, first, found, size)
    return found[:size].copy()


@compiled
def believed_rows(
    rows: Rows,
    at: int,
    number: int,
    low: int,
    high: int,
    sys_end: Ticks,
    ended_by: Ticks,
    app_start: Ticks,
    app_end: Ticks,
) -> Ticks:
    """Of versions that had begun, those believed at a time that start by ``high`` and end after ``low``."""
    found, size, everywhere = np.empty(rows.size, np.int64), 0, low == MIN_TICK and high == MAX_TICK
    for i in range(rows.size):
        row = rows[i]
        if everywhere or (app_end[row] > low and app_start[row] <= high):
            found[size] = row
            size += is_believed(row, at, number, sys_end, ended_by)
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
    sys_end: Ticks,
    ended_by: Ticks,
    app_start: Ticks,
) -> Ticks:
    """Of the versions begin..end, all of them in slabs, those believed then; by slab, in order of application start.

    ``ends`` are the application ends in the order of the slabs, ``heads`` the first start of each block. All versions
    before ``end`` had begun. A row's own start is looked at in the last block only: in those before, all start before
    the next head.
    """
    found, size = np.empty(1024, np.int64), 0
    if begin >= end:
        return found[:0]
    blocks = SLAB // BLOCK
    for slab in range(begin // SLAB, (end + SLAB - 1) // SLAB):
        behind = (slab + 1) * blocks
        for block in range(slab * blocks, behind):
            if heads[block] > high:
                break
            if latest[block] <= low:
                continue
            if size + BLOCK > found.size:
                grown = np.empty(2 * found.size, np.int64)
                grown[:size] = found[:size]
                found = grown
            last = block + 1 == behind or heads[block + 1] > high
            for i in range(block * BLOCK, (block + 1) * BLOCK):
                row = order[i]
                if ends[i] <= low or row < begin or row >= end or (last and app_start[row] > high):
                    continue
                found[size] = row
                size += is_believed(row, at, number, sys_end, ended_by)
    return found[:size].copy()


@compiled
def known_ends(rows: Ticks, number: int, sys_end: Ticks, ended_by: Ticks) -> Ticks:
    """The system ends of versions that batches up to a number have written; the others are open."""
    ends = np.empty(rows.size, np.int64)
    for i in range(rows.size):
        end = sys_end[rows[i]]
        ends[i] = FOREVER if end != FOREVER and ended_by[rows[i]] > number else end
    return ends


@compiled
def reaching_rows(by_start: Rows, ends: Ticks, started: int, latest: Ticks, low: int) -> Rows:
    """Of the first ``started`` versions those that end after ``low``; their ends lie beside them."""
    blocks = (started + BLOCK - 1) // BLOCK
    found, size, marks = np.empty(STRETCH, np.int64), 0, np.empty(BLOCK, np.uint8)
    for block in range(blocks):
        if latest[block] <= low:
            continue
        first = block * BLOCK
        count = min(BLOCK, started - first)
        until = ends[first : first + count]
        for i in range(count):
            marks[i] = until[i] > low
        found = with_room(found, size)
        size = write_marked(marks, count, first, found, size)
    return by_start[found[:size]]


@compiled
def latest_ends(by_start: Rows, app_end: Ticks) -> Ticks:
    """The latest application end of each block of versions."""
    latest = np.full((by_start.size + BLOCK - 1) // BLOCK, np.iinfo(np.int64).min, np.int64)
    for i in range(by_start.size):
        latest[i // BLOCK] = max(latest[i // BLOCK], app_end[by_start[i]])
    return latest
