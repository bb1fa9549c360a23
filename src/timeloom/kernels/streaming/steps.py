"""The events of one side of a stream, matched by id, as steps of the list of its open rows.

Open rows lie side by side in a list: a row is appended when it starts, and the last one takes the place of one that
ends. Which row stands where follows from the events of its own side alone. So each side is matched by itself, from its
own columns, and writes down what each event does to its list: a step. Whoever sweeps takes the steps again, in the
order of time, and needs to look for no row. Ids are found by a hash table with linear probing, which has places in the
list; what leaves it is filled up from behind, so that no marks of gone rows stay.
"""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled, written_out
from timeloom.kernels.order import Ticks
from timeloom.kernels.streaming.arrival import ACCEPTED, ALREADY_OPEN, EMPTY, LATE, NEVER_STARTED, TOO_LATE, UNNUMBERED
from timeloom.kernels.streaming.gapless import Cells
from timeloom.kernels.streaming.open_rows import home
from timeloom.model.ticks import MAX_TICK, MIN_TICK

Ids = NDArray[np.int64]

ID, HANDLE, START, SLOT = range(4)
"""The columns of the list of open rows."""

STEP_TIME, PLACE, STEP_NAME, STEP_START, LENGTH = range(5)
STEP_SIZE = 5
"""The columns of a step: when it counts, the place of the list that it writes to, the name and the start that stand
there from then on, and how long the list is."""

MARK_TIME, MARK_NAME, MARK_START, MARK_POSITION = range(4)
MARK_SIZE = 4
"""The columns of rows that have started or ended: when, their names and starts, and the positions of their events."""

COUNT, NEXT_HANDLE, EVENT, STEPS, BEGUN, ENDED, REFUSED = range(7)
PROGRESS_SIZE = 7
"""Where a side stands: the open rows, the next handle, and of the events at hand the next one and what is written."""

SLOTS_PER_ROW = 4
"""Slots for each place of the list: most searches end where they begin."""


@compiled
def extent(known: Ticks) -> tuple[int, int, bool]:
    """The first and the last of some instants, and whether they come in order."""
    least, most, falls = MAX_TICK, MIN_TICK, 0
    for at in range(known.size):
        least, most = min(least, known[at]), max(most, known[at])
    for at in range(1, known.size):
        falls += known[at] < known[at - 1]
    return least, most, falls == 0


@compiled
def ends_first(known: Ticks, starting: NDArray[np.bool_], order: Ids) -> None:
    """Write the positions of events that come by time, at each instant those of ends first."""
    before, first_start = MIN_TICK, 0
    for at in range(known.size):
        first_start = at if known[at] != before else first_start
        before = known[at]
        position = at if starting[at] else first_start
        order[at] = order[position]
        order[position] = at
        first_start += not starting[at]


@written_out
def place_of(rows: Cells, slots: Ids, key: int) -> tuple[int, int]:
    """The place of the open row with this id, or -1; and its slot, or the free one where it belongs.

    Whether the first slot is free is as hard to guess as what comes next in a stream, so that is not asked; mostly it
    is free or has that id.
    """
    mask = slots.size - 1
    slot = home(key, mask)
    place = slots[np.uint64(slot)]
    is_taken = (place >= 0) & (rows[np.uint64(max(place, 0)), ID] != key)
    slot = (slot + is_taken) & mask
    if is_taken:
        while slots[slot] >= 0 and rows[slots[slot], ID] != key:
            slot = (slot + 1) & mask
    return slots[slot], slot


@compiled
def move_up(rows: Cells, slots: Ids, hole: int) -> None:
    """Fill a free slot with one behind it that was displaced, and so on, until no row is farther than a free slot."""
    mask = slots.size - 1
    at = (hole + 1) & mask
    while slots[at] >= 0:
        if ((at - home(rows[slots[at], ID], mask)) & mask) >= ((at - hole) & mask):
            slots[hole] = slots[at]
            rows[slots[at], SLOT] = hole
            hole = at
        at = (at + 1) & mask
    slots[hole] = -1


@compiled
def has_stray(refused: Cells, first: int, last: int, ids: Ids, key: int) -> bool:
    """Tell whether a start has a stray end at its instant; all of them get the verdict that makes."""
    found = False
    for at in range(first, last):
        if refused[at, 1] == NEVER_STARTED and ids[refused[at, 0]] == key:
            refused[at, 1], found = EMPTY, True
    return found


@compiled
def first_stray(refused: Cells, bad: int, known: Ticks, time: int) -> int:
    """Where the refused events of this instant begin, of those that were refused last."""
    first = bad
    while first > 0 and known[refused[first - 1, 0]] == time:
        first -= 1
    return first


@compiled
def either(this: int, other: int, mask: int) -> int:
    """This number where the mask is 0, the other one where it is -1: a choice without a branch."""
    return this ^ ((this ^ other) & mask)


@compiled
def verdict_of(
    has_started: bool, place: int, number: int, refused: Cells, strays: int, bad: int, ids: Ids, key: int
) -> int:
    """What becomes of an event, where strays are the refused ones of its instant."""
    if number == LATE:
        return TOO_LATE
    if not has_started:
        return NEVER_STARTED if place < 0 else ACCEPTED
    if place >= 0:
        return ALREADY_OPEN
    return EMPTY if has_stray(refused, strays, bad, ids, key) else ACCEPTED


@compiled
def step_on(
    ids: Ids,
    known: Ticks,
    starting: NDArray[np.bool_],
    numbers: Ids,
    order: Ids,
    by: int,
    delay: int,
    stray_time: int,
    rows: Cells,
    slots: Ids,
    progress: Ids,
    steps: Cells,
    begun: Cells,
    ended: Cells,
) -> None:
    """Take the next event, whatever becomes of it, and all that follow up to one that may have to be refused.

    Starts and ends come as they like, and a processor that guesses which one is next is wrong half of the time. So both
    take the same way: a row of the list is written, which is the new one or the last one, and so is its slot. Positions
    are unsigned where arrays are read: nobody has to ask then whether they count from the end.
    """
    count, handles, event, step, starts, ends, _ = progress
    room, mask, first = rows.shape[0] - 1, slots.size - 1, event
    while event < order.size:
        at = np.uint64(order[np.uint64(event)])
        key, time, number = ids[at], known[at], (numbers[at] if numbers.size else UNNUMBERED)
        place, slot = place_of(rows, slots, key)
        has_started, has_ended = starting[at], not starting[at]
        is_odd = (has_started == (place >= 0)) | (number == LATE) | (time == stray_time) | (count > room)
        if is_odd and event > first:
            break
        ending, handle = -int(has_ended), (number if number >= 0 else handles)
        written, last = either(count, place, ending), np.uint64(min(count - has_ended, room))
        here, own, free = np.uint64(written), np.uint64(slot), np.uint64((slot + 1) & mask)
        next_begun, next_ended, next_step = np.uint64(starts), np.uint64(ends), np.uint64(event - first + step)
        handles = max(handles, (handle + 1) & ~ending)
        if ended.shape[0]:
            ended[next_ended, MARK_TIME], ended[next_ended, MARK_NAME] = time, rows[here, by]
            ended[next_ended, MARK_START], ended[next_ended, MARK_POSITION] = rows[here, START], at
        start, moved = either(time, rows[last, START], ending), either(slot, rows[last, SLOT], ending)
        rows[here, ID], rows[here, HANDLE] = (
            either(key, rows[last, ID], ending),
            either(handle, rows[last, HANDLE], ending),
        )
        rows[here, START], rows[here, SLOT] = start, moved
        slots[np.uint64(moved)] = written
        slots[own] = written | ending
        if (slots[free] | ~ending) >= 0:
            move_up(rows, slots, slot)
        count += 1 + 2 * ending
        if begun.shape[0]:
            begun[next_begun, MARK_TIME], begun[next_begun, MARK_NAME] = time, rows[here, by]
            begun[next_begun, MARK_START], begun[next_begun, MARK_POSITION] = time, at
        ends, starts, event = ends + has_ended, starts + has_started, event + 1
        steps[next_step, STEP_TIME], steps[next_step, PLACE] = time + delay * has_started, written
        steps[next_step, STEP_NAME], steps[next_step, STEP_START] = rows[here, by], start
        steps[next_step, LENGTH] = count
    step += event - first
    progress[:REFUSED] = count, handles, event, step, starts, ends


@compiled
def take_steps(
    ids: Ids,
    known: Ticks,
    starting: NDArray[np.bool_],
    numbers: Ids,
    order: Ids,
    by: int,
    delay: int,
    rows: Cells,
    slots: Ids,
    progress: Ids,
    steps: Cells,
    begun: Cells,
    ended: Cells,
    refused: Cells,
) -> bool:
    """Match ends with open rows; tell whether all events are done, or else there is no room for another open row.

    Starts and ends are written where there is room for them at all, and steps always, with names that are ids or
    handles, as ``by`` says; that room is for one more than there are events. Starts count so many ticks later in steps.
    The handle of a row is the number of its start, if it has one, or else the next one. An end and a start of one row
    at one instant make an empty period, unless that row was open before.
    """
    while progress[EVENT] < order.size:
        at, bad = order[progress[EVENT]], progress[REFUSED]
        time, number = known[at], (numbers[at] if numbers.size else UNNUMBERED)
        place, _ = place_of(rows, slots, ids[at])
        strays = first_stray(refused, bad, known, time)
        verdict = verdict_of(starting[at], place, number, refused, strays, bad, ids, ids[at])
        if verdict != ACCEPTED:
            refused[bad, 0], refused[bad, 1] = at, verdict
            progress[REFUSED] += 1
            progress[EVENT] += 1
        elif starting[at] and progress[COUNT] == rows.shape[0]:
            return False
        else:
            stray_time = MIN_TICK if strays == bad else time
            step_on(
                ids, known, starting, numbers, order, by, delay, stray_time, rows, slots, progress, steps, begun, ended
            )
    return True


@compiled
def fill(rows: Cells, slots: Ids, some: Cells) -> None:
    """Fill an empty list that has room with rows of which the first three columns are known."""
    for at in range(some.shape[0]):
        slot = place_of(rows, slots, some[at, ID])[1]
        rows[at, : START + 1], rows[at, SLOT], slots[slot] = some[at, : START + 1], slot, at


def empty_list(room: int) -> tuple[Cells, Ids]:
    """A list with room for this many open rows, a power of two, and its slots."""
    return np.empty((room, 4), np.int64), np.full(SLOTS_PER_ROW * room, -1, np.int64)
