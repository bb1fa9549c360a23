"""The rows of a stream that have started and not ended, by id: a hash table with linear probing, a plane per side.

Nothing ever scans it, so it needs no gapless order, and a row is three numbers side by side. A row that leaves is
filled up from behind, so that no marks of gone rows stay.
"""

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.streaming.gapless import Cells

ID, HANDLE, START = range(3)
"""The columns of a slot; a free one has a handle of -1. The last slot of a side holds the number of rows."""

SPREAD = 40503
"""An odd number, so that all slots are used."""


def empty_rows(room: int) -> Cells:
    """Tables for two sides with room for this many rows each, a power of two."""
    rows = np.full((2, 2 * room + 1, 3), -1, np.int64)
    rows[:, -1, 0] = 0
    return rows


@compiled
def home(key: int, mask: int) -> int:
    """The slot at which the search for an id begins: far apart for ids one after the other, so that no runs form."""
    return (((key ^ (key >> 15) ^ (key >> 32)) & mask) * SPREAD) & mask


@compiled
def slot_of(rows: Cells, side: int, key: int) -> int:
    """The slot with this id, or the free one where it belongs."""
    mask = rows.shape[1] - 2
    slot = home(key, mask)
    while rows[side, slot, HANDLE] >= 0 and rows[side, slot, ID] != key:
        slot = (slot + 1) & mask
    return slot


@compiled
def enter(rows: Cells, side: int, slot: int, key: int, handle: int, start: int) -> None:
    """Write a row into a free slot that `slot_of` has found."""
    rows[side, slot, ID] = key
    rows[side, slot, HANDLE] = handle
    rows[side, slot, START] = start
    rows[side, rows.shape[1] - 1, 0] += 1


@compiled
def take_out(rows: Cells, side: int, slot: int) -> None:
    """Free a slot; rows behind it that were displaced move up."""
    mask, hole = rows.shape[1] - 2, slot
    at = (slot + 1) & mask
    while rows[side, at, HANDLE] >= 0:
        if ((at - home(rows[side, at, ID], mask)) & mask) >= ((at - hole) & mask):
            for column in range(3):
                rows[side, hole, column] = rows[side, at, column]
            hole = at
        at = (at + 1) & mask
    rows[side, hole, HANDLE] = -1
    rows[side, rows.shape[1] - 1, 0] -= 1


@compiled
def lacks_room(rows: Cells, more: int) -> bool:
    """Tell whether a side has no room for this many more rows; half of the slots stay free."""
    last = rows.shape[1] - 1
    return bool(max(rows[0, last, 0], rows[1, last, 0]) + more > last // 2)


@compiled
def doubled(rows: Cells) -> Cells:
    """The same rows with twice the room."""
    larger = np.full((2, 2 * rows.shape[1] - 1, 3), -1, np.int64)
    for side in range(2):
        larger[side, larger.shape[1] - 1, 0] = 0
        for slot in range(rows.shape[1] - 1):
            if rows[side, slot, HANDLE] >= 0:
                position = slot_of(larger, side, rows[side, slot, ID])
                enter(larger, side, position, rows[side, slot, ID], rows[side, slot, HANDLE], rows[side, slot, START])
    return larger


def with_space(rows: Cells, more: int) -> Cells:
    """The same table, or a larger copy if it has no room for this many more rows."""
    while lacks_room(rows, more):
        rows = doubled(rows)
    return rows


def rows_in(rows: Cells, side: int) -> Cells:
    """The rows of one side."""
    found: Cells = rows[side, :-1][rows[side, :-1, HANDLE] >= 0]
    return found


def refilled(left: Cells, right: Cells) -> Cells:
    """Tables with these rows."""
    rows = with_space(empty_rows(32), max(len(left), len(right)))
    for side, some in enumerate((left, right)):
        for key, handle, start in some.tolist():
            enter(rows, side, slot_of(rows, side, key), key, handle, start)
    return rows
