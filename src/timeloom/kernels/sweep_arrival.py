"""How events enter a stream: by time, ends matched with open rows by id, and a verdict for what cannot be."""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels import gapless
from timeloom.kernels.gapless import Cells, append, find, remove_element
from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Ticks
from timeloom.kernels.sweep_layout import EVENT_SIDE, FROM, HANDLES, ID, KNOWN, OPENED, STARTING, TO, VERDICT
from timeloom.model.ticks import MAX_TICK

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
def lay_out(
    ids: NDArray[np.int64],
    known: Ticks,
    starts: Ticks,
    ends: Ticks,
    starting: NDArray[np.bool_],
    side: int,
    whole: bool,
    clock: int,
    events: Cells,
    first: int,
) -> None:
    """Write one side's events in order, with a verdict on those that are wrong by themselves."""
    for at in range(ids.size):
        verdict = ACCEPTED
        if whole and ends[at] <= starts[at]:
            verdict = EMPTY if ends[at] == starts[at] else REVERSED
        if known[at] <= clock:
            verdict = TOO_LATE
        events[first + at, KNOWN] = known[at]
        events[first + at, STARTING] = starting[at]
        events[first + at, EVENT_SIDE] = side
        events[first + at, ID] = ids[at]
        events[first + at, FROM] = starts[at]
        events[first + at, TO] = ends[at]
        events[first + at, VERDICT] = verdict


@compiled
def merge(events: Cells, lefts: int) -> Cells:
    """Merge the events of both sides, of which each is in order; those of the left side come first."""
    merged = np.empty_like(events)
    i, j = 0, lefts
    for at in range(events.shape[0]):
        take_left = j == events.shape[0]
        if i < lefts and j < events.shape[0]:
            earlier = events[i, KNOWN] < events[j, KNOWN]
            take_left = earlier or (events[i, KNOWN] == events[j, KNOWN] and events[i, STARTING] <= events[j, STARTING])
        source = i if take_left else j
        for column in range(events.shape[1]):
            merged[at, column] = events[source, column]
        i, j = (i + 1, j) if take_left else (i, j + 1)
    return merged


@compiled
def finish(events: Cells, at: int, maps: Cells) -> int:
    """The open row, as an element, that an end belongs to, or -1."""
    if events[at, VERDICT] != ACCEPTED:
        return -1
    element = find(maps, OPENED + events[at, EVENT_SIDE], events[at, ID])
    if element < 0:
        events[at, VERDICT] = NEVER_STARTED
    return element


@compiled
def is_empty(events: Cells, at: int, first: int) -> bool:
    """Tell whether a start has a stray end among the events of its instant: both get their verdict then."""
    for before in range(first, at):
        same = events[before, ID] == events[at, ID] and events[before, EVENT_SIDE] == events[at, EVENT_SIDE]
        if same and events[before, VERDICT] == NEVER_STARTED:
            events[before, VERDICT] = events[at, VERDICT] = EMPTY
    return bool(events[at, VERDICT] == EMPTY)


@compiled
def begin(events: Cells, at: int, first: int, strays: bool, maps: Cells, state: Cells) -> int:
    """Open a row, unless it is open; answers its handle, or -1.

    An end and a start of one row at one instant make an empty period, unless that row was open before. Events of
    this instant stand from ``first`` on; ``strays`` says whether any of them is an end without a row.
    """
    side, key = events[at, EVENT_SIDE], events[at, ID]
    if events[at, VERDICT] != ACCEPTED:
        return -1
    if find(maps, OPENED + side, key) >= 0:
        events[at, VERDICT] = ALREADY_OPEN
        return -1
    if strays and is_empty(events, at, first):
        return -1
    handle: int = state[HANDLES + side]
    state[HANDLES + side] += 1
    append(maps, OPENED + side, key, events[at, FROM], MAX_TICK, handle)
    return handle


@compiled
def admit(events: Cells, maps: Cells, state: Cells, handles: NDArray[np.int64], starts: Ticks) -> None:
    """Match all ends of a batch with open rows; for each accepted event write the handle and the start of its row."""
    strays, first = False, 0
    for at in range(events.shape[0]):
        if events[at, KNOWN] != events[first, KNOWN]:
            first, strays = at, False
        if events[at, STARTING]:
            handles[at], starts[at] = begin(events, at, first, strays, maps, state), events[at, FROM]
            continue
        element = finish(events, at, maps)
        if element < 0:
            strays = True
            continue
        side = OPENED + events[at, EVENT_SIDE]
        handles[at], starts[at] = maps[side, gapless.NAME, element], maps[side, gapless.START, element]
        remove_element(maps, side, element)
