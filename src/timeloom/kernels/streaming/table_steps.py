"""The events of one side of a stream, matched by id, where nobody scans its open rows.

Then they need not lie side by side: a row is three numbers in a slot of a hash table with linear probing. What leaves
it is filled up from behind, so that no marks of gone rows stay. All else is as in `steps`.
"""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled, written_out
from timeloom.kernels.order import Ticks
from timeloom.kernels.streaming.arrival import ACCEPTED, LATE, UNNUMBERED
from timeloom.kernels.streaming.gapless import Cells
from timeloom.kernels.streaming.open_rows import home
from timeloom.kernels.streaming.steps import (
    BEGUN,
    COUNT,
    ENDED,
    EVENT,
    HANDLE,
    ID,
    MARK_NAME,
    MARK_POSITION,
    MARK_START,
    MARK_TIME,
    NEXT_HANDLE,
    REFUSED,
    START,
    Ids,
    first_stray,
    verdict_of,
)
from timeloom.model.ticks import MIN_TICK


@written_out
def slot_of(table: Cells, key: int) -> int:
    """The slot of the open row with this id, or the free one where it belongs; mostly it is the first one."""
    mask = table.shape[0] - 1
    slot: int = home(key, mask)
    first = np.uint64(slot)
    is_taken = (table[first, HANDLE] >= 0) & (table[first, ID] != key)
    slot = (slot + is_taken) & mask
    if is_taken:
        while table[slot, HANDLE] >= 0 and table[slot, ID] != key:
            slot = (slot + 1) & mask
    return slot


@compiled
def move_up(table: Cells, hole: int) -> None:
    """Fill a free slot with one behind it that was displaced, and so on, until no row is farther than a free slot."""
    mask = table.shape[0] - 1
    at = (hole + 1) & mask
    while table[at, HANDLE] >= 0:
        if ((at - home(table[at, ID], mask)) & mask) >= ((at - hole) & mask):
            for column in range(START + 1):
                table[hole, column] = table[at, column]
            hole = at
        at = (at + 1) & mask
    table[hole, HANDLE] = -1


@compiled
def match_on(
    ids: Ids,
    known: Ticks,
    starting: NDArray[np.bool_],
    numbers: Ids,
    order: Ids,
    by: int,
    stray_time: int,
    table: Cells,
    progress: Ids,
    begun: Cells,
    ended: Cells,
) -> None:
    """Take the next event, whatever becomes of it, and all that follow up to one that may have to be refused.

    As in `step_on`, starts and ends take the same way: a slot is written, which is free from then on or is not.
    Positions are unsigned where arrays are read: nobody has to ask then whether they count from the end.
    """
    count, handles, event, _, starts, ends, _ = progress
    mask, most, first = table.shape[0] - 1, table.shape[0] // 2, event
    while event < order.size:
        at = np.uint64(order[np.uint64(event)])
        key, time, number = ids[at], known[at], (numbers[at] if numbers.size else UNNUMBERED)
        slot = slot_of(table, key)
        here, after, has_started = np.uint64(slot), np.uint64((slot + 1) & mask), starting[at]
        has_ended, next_begun, next_ended = not has_started, np.uint64(starts), np.uint64(ends)
        is_odd = (has_started == (table[here, HANDLE] >= 0)) | (number == LATE) | (time == stray_time)
        if (is_odd | (count >= most)) and event > first:
            break
        ending, handle = -int(has_ended), (number if number >= 0 else handles)
        handles = max(handles, (handle + 1) & ~ending)
        if ended.shape[0]:
            ended[next_ended, MARK_TIME], ended[next_ended, MARK_NAME] = time, table[here, by]
            ended[next_ended, MARK_START], ended[next_ended, MARK_POSITION] = table[here, START], at
        table[here, ID], table[here, START] = key, time
        table[here, HANDLE] = handle
        if begun.shape[0]:
            begun[next_begun, MARK_TIME], begun[next_begun, MARK_NAME] = time, table[here, by]
            begun[next_begun, MARK_START], begun[next_begun, MARK_POSITION] = time, at
        table[here, HANDLE] = handle | ending
        if (table[after, HANDLE] | ~ending) >= 0:
            move_up(table, slot)
        count, event = count + 1 + 2 * ending, event + 1
        ends, starts = ends + has_ended, starts + has_started
    progress[COUNT], progress[NEXT_HANDLE], progress[EVENT] = count, handles, event
    progress[BEGUN], progress[ENDED] = starts, ends


@compiled
def match_ends(
    ids: Ids,
    known: Ticks,
    starting: NDArray[np.bool_],
    numbers: Ids,
    order: Ids,
    by: int,
    table: Cells,
    progress: Ids,
    begun: Cells,
    ended: Cells,
    refused: Cells,
) -> bool:
    """Match ends with open rows; tell whether all events are done, or else half of the slots are taken.

    What is written, and what becomes of events, is as in `take_steps`.
    """
    while progress[EVENT] < order.size:
        at, bad = order[progress[EVENT]], progress[REFUSED]
        time, number = known[at], (numbers[at] if numbers.size else UNNUMBERED)
        slot = slot_of(table, ids[at])
        strays, place = first_stray(refused, bad, known, time), (slot if table[slot, HANDLE] >= 0 else -1)
        verdict = verdict_of(starting[at], place, number, refused, strays, bad, ids, ids[at])
        if verdict != ACCEPTED:
            refused[bad, 0], refused[bad, 1] = at, verdict
            progress[REFUSED] += 1
            progress[EVENT] += 1
        elif starting[at] and progress[COUNT] >= table.shape[0] // 2:
            return False
        else:
            stray_time = MIN_TICK if strays == bad else time
            match_on(ids, known, starting, numbers, order, by, stray_time, table, progress, begun, ended)
    return True


@compiled
def fill_table(table: Cells, rows: Cells) -> None:
    """Enter rows, of which ids, handles and starts are known, into an empty table that has room."""
    for at in range(rows.shape[0]):
        slot = slot_of(table, rows[at, ID])
        table[slot] = rows[at, : START + 1]


def empty_table(room: int) -> Cells:
    """A table with room for this many open rows, a power of two."""
    return np.full((4 * room, START + 1), -1, np.int64)
