"""What is planned in a stream: a binary heap of entries by time, and a list of the entries that are due."""

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.streaming.gapless import Cells
from timeloom.kernels.streaming.layout import DUE, HANDLE, HEAP, NOW, PLANNED, SIDE, TIME, WHAT
from timeloom.model.ticks import MAX_TICK


def empty_agenda(room: int) -> Cells:
    """Room for entries, in both parts."""
    return np.empty((2, room, 4), np.int64)


@compiled
def more_room(agenda: Cells) -> Cells:
    """The same entries with twice the room."""
    room = agenda.shape[1]
    larger = np.empty((2, 2 * room, 4), np.int64)
    larger[:, :room] = agenda
    return larger


@compiled
def write(agenda: Cells, part: int, at: int, time: int, what: int, side: int, handle: int) -> None:
    """Write an entry."""
    agenda[part, at, TIME] = time
    agenda[part, at, WHAT] = what
    agenda[part, at, SIDE] = side
    agenda[part, at, HANDLE] = handle


@compiled
def copy(agenda: Cells, part: int, to: int, source: int) -> None:
    """Write an entry of the heap to another position."""
    for column in range(4):
        agenda[part, to, column] = agenda[HEAP, source, column]


@compiled
def push(agenda: Cells, instant: int, what: int, side: int, handle: int, state: Cells) -> None:
    """Put an entry on the heap."""
    at = state[PLANNED]
    state[PLANNED] += 1
    while at > 0 and agenda[HEAP, (at - 1) // 2, TIME] > instant:
        copy(agenda, HEAP, at, (at - 1) // 2)
        at = (at - 1) // 2
    write(agenda, HEAP, at, instant, what, side, handle)


@compiled
def plan(instant: int, what: int, side: int, handle: int, time: int, agenda: Cells, state: Cells) -> int:
    """Answer what is asked for if it is due by this time, and else put it on the heap.

    What is due at the end of the axis is done only if that has come.
    """
    if time < instant < MAX_TICK:
        push(agenda, instant, what, side, handle, state)
    return what if instant <= time else 0


@compiled
def take_due(agenda: Cells, state: Cells) -> None:
    """Move the first entry of the heap to those that are due."""
    copy(agenda, NOW, state[DUE], 0)
    state[DUE] += 1
    state[PLANNED] -= 1
    last, at = state[PLANNED], 0
    time = agenda[HEAP, last, TIME]
    while 2 * at + 1 < last:
        child = 2 * at + 1
        if child + 1 < last and agenda[HEAP, child + 1, TIME] < agenda[HEAP, child, TIME]:
            child += 1
        if agenda[HEAP, child, TIME] >= time:
            break
        copy(agenda, HEAP, at, child)
        at = child
    copy(agenda, HEAP, at, last)
