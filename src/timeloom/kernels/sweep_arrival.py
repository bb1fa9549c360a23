"""How events enter a stream: by time, ends matched with open rows by id, and a verdict for what cannot be."""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.gapless import Cells
from timeloom.kernels.jit import compiled
from timeloom.kernels.open_rows import HANDLE, START, enter, slot_of, take_out
from timeloom.kernels.order import Ticks
from timeloom.kernels.sweep_layout import EVENT_SIDE, FROM, HANDLES, ID, KNOWN, STARTING, TO, VERDICT

Columns = tuple[NDArray[np.int64], Ticks, Ticks, Ticks, NDArray[np.bool_]]
"""The events of one side: ids, when they are known, starts, ends, and which of them start a row."""

ACCEPTED, ALREADY_OPEN, NEVER_STARTED, EMPTY, REVERSED, TOO_LATE, UNREADABLE, NO_EVENT, NO_KEY = range(9)
"""What becomes of an event."""


@compiled
def in_order(known: Ticks, starting: NDArray[np.bool_]) -> bool:
    """Tell whether events come by time, at equal times ends first."""
    for at in range(1, known.size):
        if known[at] < known[at - 1] or (known[at] == known[at - 1] and starting[at] < starting[at - 1]):
            return False
    return True


@compiled
def merged(left: Columns, right: Columns, whole: tuple[bool, bool], clock: int) -> Cells:
    """Lay out the events of both sides, each of which is in order, as one; what is wrong by itself has a verdict."""
    lefts, rights = left[0].size, right[0].size
    events = np.empty((lefts + rights, 7), np.int64)
    i = j = 0
    for at in range(lefts + rights):
        first = i < lefts
        if first and j < rights:
            first = left[1][i] < right[1][j] or (left[1][i] == right[1][j] and left[4][i] <= right[4][j])
        if first:
            events[at, EVENT_SIDE], events[at, ID], events[at, KNOWN] = 0, left[0][i], left[1][i]
            events[at, FROM], events[at, TO], events[at, STARTING] = left[2][i], left[3][i], left[4][i]
            i += 1
        else:
            events[at, EVENT_SIDE], events[at, ID], events[at, KNOWN] = 1, right[0][j], right[1][j]
            events[at, FROM], events[at, TO], events[at, STARTING] = right[2][j], right[3][j], right[4][j]
            j += 1
        events[at, VERDICT] = ACCEPTED
        if whole[0 if first else 1] and events[at, TO] <= events[at, FROM]:
            events[at, VERDICT] = EMPTY if events[at, TO] == events[at, FROM] else REVERSED
        if events[at, KNOWN] <= clock:
            events[at, VERDICT] = TOO_LATE
    return events


@compiled
def is_empty(events: Cells, at: int, first: int) -> bool:
    """Tell whether a start has a stray end among the events of its instant: both get their verdict then."""
    for before in range(first, at):
        same = events[before, ID] == events[at, ID] and events[before, EVENT_SIDE] == events[at, EVENT_SIDE]
        if same and events[before, VERDICT] == NEVER_STARTED:
            events[before, VERDICT] = events[at, VERDICT] = EMPTY
    return bool(events[at, VERDICT] == EMPTY)


@compiled
def begin(events: Cells, at: int, first: int, strays: bool, opened: Cells, state: Cells) -> int:
    """Open a row, unless it is open; answers its handle, or -1.

    An end and a start of one row at one instant make an empty period, unless that row was open before. Events of
    this instant stand from ``first`` on; ``strays`` says whether any of them is an end without a row.
    """
    side, key = events[at, EVENT_SIDE], events[at, ID]
    if events[at, VERDICT] != ACCEPTED:
        return -1
    slot = slot_of(opened, side, key)
    if opened[side, slot, HANDLE] >= 0:
        events[at, VERDICT] = ALREADY_OPEN
        return -1
    if strays and is_empty(events, at, first):
        return -1
    handle: int = state[HANDLES + side]
    state[HANDLES + side] += 1
    enter(opened, side, slot, key, handle, events[at, FROM])
    return handle


@compiled
def finish(events: Cells, at: int, opened: Cells) -> int:
    """The slot of the open row that an end belongs to, or -1."""
    if events[at, VERDICT] != ACCEPTED:
        return -1
    slot = slot_of(opened, events[at, EVENT_SIDE], events[at, ID])
    if opened[events[at, EVENT_SIDE], slot, HANDLE] < 0:
        events[at, VERDICT] = NEVER_STARTED
        return -1
    return slot


@compiled
def admit(events: Cells, opened: Cells, state: Cells, handles: NDArray[np.int64], starts: Ticks) -> None:
    """Match all ends of a batch with open rows; for each accepted event write the handle and the start of its row."""
    strays, first = False, 0
    for at in range(events.shape[0]):
        if events[at, KNOWN] != events[first, KNOWN]:
            first, strays = at, False
        if events[at, STARTING]:
            handles[at], starts[at] = begin(events, at, first, strays, opened, state), events[at, FROM]
            continue
        slot, side = finish(events, at, opened), events[at, EVENT_SIDE]
        if slot < 0:
            strays = True
            continue
        handles[at], starts[at] = opened[side, slot, HANDLE], opened[side, slot, START]
        take_out(opened, side, slot)
