"""How events enter a stream: by time, ends matched with open rows by id, and a verdict for what cannot be."""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Ticks
from timeloom.kernels.streaming.gapless import Cells
from timeloom.kernels.streaming.layout import (
    EVENT_HANDLE,
    EVENT_SIDE,
    EVENT_SIZE,
    FROM,
    HANDLES,
    ID,
    KNOWN,
    STARTING,
    TO,
    VERDICT,
    WHOLE,
)
from timeloom.kernels.streaming.open_rows import HANDLE as OPEN_HANDLE
from timeloom.kernels.streaming.open_rows import ID as OPEN_ID
from timeloom.kernels.streaming.open_rows import START as OPEN_START
from timeloom.kernels.streaming.open_rows import doubled, enter, lacks_room, rows_in, slot_of, take_out
from timeloom.model.ticks import MAX_TICK, MIN_TICK

Columns = tuple[NDArray[np.int64], Ticks, Ticks, Ticks, NDArray[np.bool_], NDArray[np.int64]]
"""The events of one side: ids, when they are known, starts, ends, which of them start a row, and their numbers."""

UNNUMBERED, LATE = -1, -2
"""The number of an event that has none, and of one whose instant was complete when it came."""

ACCEPTED, ALREADY_OPEN, NEVER_STARTED, EMPTY, REVERSED, TOO_LATE, UNREADABLE, NO_EVENT, NO_KEY, OFF_AXIS = range(10)
"""What becomes of an event."""


@compiled
def merged(left: Columns, right: Columns, whole: tuple[bool, bool]) -> Cells:
    """Lay out the events of both sides, each of which comes by time, as one: at equal times ends first.

    What is wrong by itself has a verdict. Separate endpoints end when they say so, or never as far as is known.
    """
    lefts, rights = left[0].size, right[0].size
    events = np.empty((lefts + rights, EVENT_SIZE), np.int64)
    i = j = first_start = 0
    for at in range(lefts + rights):
        if j == rights or (i < lefts and left[1][i] <= right[1][j]):
            side, key, known, start, end, starting = 0, left[0][i], left[1][i], left[2][i], left[3][i], left[4][i]
            number = left[5][i]
            i += 1
        else:
            side, key, known, start, end, starting = 1, right[0][j], right[1][j], right[2][j], right[3][j], right[4][j]
            number = right[5][j]
            j += 1
        if at > 0 and known != events[at - 1, KNOWN]:
            first_start = at
        position = at
        if not starting:
            position = first_start
            first_start += 1
            if position < at:
                for column in range(EVENT_SIZE):
                    events[at, column] = events[position, column]
        verdict = ACCEPTED
        if not whole[side]:
            end = MAX_TICK if starting else known
        elif end <= start:
            verdict = EMPTY if end == start else REVERSED
        events[position, KNOWN] = known
        events[position, STARTING] = starting
        events[position, EVENT_SIDE] = side
        events[position, ID] = key
        events[position, FROM] = start
        events[position, TO] = end
        if start == MAX_TICK or min(start, known) == MIN_TICK:
            verdict = OFF_AXIS
        elif number == LATE:
            verdict = TOO_LATE
        events[position, VERDICT] = verdict
        events[position, EVENT_HANDLE] = number
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
def admit(events: Cells, first: int, opened: Cells, state: Cells) -> int:
    """Match ends with open rows, from this event on; answer where there is no room for another open row, or the end.

    Each accepted event gets the handle of its row, and an end its start; a refused one has the handle -1. The handle of
    a row is the number of its start, if it has one, or else the next one. An end and a start of one row at one instant
    make an empty period, unless that row was open before.
    """
    instant, strays = first, False
    while 0 < instant < events.shape[0] and events[instant - 1, KNOWN] == events[first, KNOWN]:
        instant -= 1
        strays |= events[instant, VERDICT] == NEVER_STARTED
    for at in range(first, events.shape[0]):
        if events[at, KNOWN] != events[instant, KNOWN]:
            instant, strays = at, False
        side, key, handle, number = events[at, EVENT_SIDE], events[at, ID], -1, events[at, EVENT_HANDLE]
        if events[at, VERDICT] == ACCEPTED:
            is_whole, starts, slot = state[WHOLE + side] != 0, events[at, STARTING] != 0, 0
            if not is_whole:
                slot = slot_of(opened, side, key)
                handle = opened[side, slot, OPEN_HANDLE]
            if starts and handle >= 0:
                events[at, VERDICT], handle = ALREADY_OPEN, -1
            elif starts and not (strays and is_empty(events, at, instant)):
                if lacks_room(opened, 1):
                    return at
                handle = number if number >= 0 else state[HANDLES + side]
                state[HANDLES + side] = max(state[HANDLES + side], handle + 1)
                if not is_whole:
                    enter(opened, side, slot, key, handle, events[at, FROM])
            elif not starts and handle < 0:
                events[at, VERDICT], strays = NEVER_STARTED, True
            elif not starts:
                events[at, FROM] = opened[side, slot, OPEN_START]
                take_out(opened, side, slot)
        events[at, EVENT_HANDLE] = handle
    return int(events.shape[0])


def admitted(events: Cells, opened: Cells, state: Cells) -> Cells:
    """Match all ends of a batch with open rows; answers the table of open rows, which may have grown."""
    at = admit(events, 0, opened, state)
    while at < len(events):
        opened = doubled(opened)
        at = admit(events, at, opened, state)
    return opened


def endings(opened: Cells) -> Cells:
    """The events by which all open rows end, at the end of the axis."""
    sides = [rows_in(opened, side) for side in (0, 1)]
    rows = np.concatenate(sides)
    events = np.zeros((len(rows), EVENT_SIZE), np.int64)
    events[:, EVENT_SIDE] = np.repeat([0, 1], [len(side) for side in sides])
    events[:, [ID, EVENT_HANDLE, FROM]] = rows[:, [OPEN_ID, OPEN_HANDLE, OPEN_START]]
    events[:, KNOWN] = events[:, TO] = MAX_TICK
    events[:, VERDICT] = ACCEPTED
    return events
