"""The events of one side of a stream, matched by id, and what they do to the list of its open rows.

Open rows lie in a hash table with linear probing, which has no marks of gone rows: what leaves is filled up from
behind. Where the other side scans them they stand in a list, too: a row is appended when it starts, and the last one
takes the place of one that ends. Which row stands where follows from the events of its own side alone. So each side is
matched by itself, from its own columns, and writes down what each event does to its list: a step. Whoever sweeps takes
the steps again, in the order of time, and needs to look for no row.
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

ID, HANDLE, START, PLACE = range(4)
"""The columns of a slot; a free one has a handle of -1. The last one is the place in the list, if there is one."""

STEP_TIME, STEP_PLACE, STEP_NAME, STEP_START, LENGTH = range(5)
STEP_SIZE = 5
"""The columns of a step: when it counts, the place of the list that it writes to, the name and the start that stand
there from then on, and how long the list is."""

MARK_TIME, MARK_NAME, MARK_START, MARK_NUMBER = range(4)
MARK_SIZE = 4
"""The columns of rows that have started or ended: when, their names and starts, and the numbers of their events."""

COUNT, NEXT_HANDLE, EVENT, BEGUN, ENDED, REFUSED = range(6)
PROGRESS_SIZE = 6
"""Where a side stands: the open rows, the next handle, and of the events at hand the next one and what is written."""

SLOTS_PER_ROW = 4
"""Slots for each row that there is room for: most searches end where they begin."""


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
def ends_first(known: Ticks, starting: NDArray[np.uint8], order: Ids) -> None:
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
def slot_of(table: Cells, key: int) -> int:
    """The slot of the open row with this id, or the free one where it belongs.

    Whether the first slot is free is as hard to guess as what comes next in a stream, so that is not asked; mostly it
    is free or has that id.
    """
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
def move_up(table: Cells, owners: Ids, hole: int) -> None:
    """Fill a free slot with one behind it that was displaced, and so on, until no row is farther than a free slot."""
    mask = table.shape[0] - 1
    at = (hole + 1) & mask
    while table[at, HANDLE] >= 0:
        if ((at - home(table[at, ID], mask)) & mask) >= ((at - hole) & mask):
            for column in range(PLACE + 1):
                table[hole, column] = table[at, column]
            if owners.size:
                owners[table[at, PLACE]] = hole
            hole = at
        at = (at + 1) & mask
    table[hole, HANDLE] = -1


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
def either(this: int, other: int, mask: int | np.int64) -> int:
    """This number where the mask is 0, the other one where it is -1: a choice without a branch."""
    return int(this ^ ((this ^ other) & mask))


@compiled
def verdict_of(
    has_started: bool, is_open: bool, number: int, refused: Cells, strays: int, bad: int, ids: Ids, key: int
) -> int:
    """What becomes of an event, where strays are the refused ones of its instant."""
    if number == LATE:
        return TOO_LATE
    if not has_started:
        return ACCEPTED if is_open else NEVER_STARTED
    if is_open:
        return ALREADY_OPEN
    return EMPTY if has_stray(refused, strays, bad, ids, key) else ACCEPTED


@written_out
def mark(marks: Cells, at: int, time: int, name: int, start: int, number: int) -> None:
    """Note a row that has started or ended; numbers are noted where there is a column for them."""
    here = np.uint64(at)
    marks[here, MARK_TIME], marks[here, MARK_NAME], marks[here, MARK_START] = time, name, start
    if marks.shape[1] > MARK_NUMBER:
        marks[here, MARK_NUMBER] = number


@compiled
def match_on(
    ids: Ids,
    known: Ticks,
    starting: NDArray[np.uint8],
    numbers: Ids,
    order: Ids,
    by: int,
    delay: int,
    stray_time: int,
    table: Cells,
    owners: Ids,
    progress: Ids,
    steps: Cells,
    begun: Cells,
    ended: Cells,
) -> None:
    """Take the next event, whatever becomes of it, and all that follow up to one that may have to be refused.

    Starts and ends come as they like, and a processor that guesses which one is next is wrong half of the time. So both
    take the same way: a slot is written, which is free from then on or is not, and a place of the list, where the new
    row stands then or the last one. What is a start is a number here: of a truth the compiler makes branches again.
    Positions are unsigned where arrays are read: nobody has to ask then whether they count from the end.
    """
    count, handles, event, starts, ends, _ = progress
    mask, most, first = table.shape[0] - 1, table.shape[0] // 2, event
    while event < order.size:
        at = np.uint64(order[np.uint64(event)])
        key, time, number = ids[at], known[at], (numbers[at] if numbers.size else UNNUMBERED)
        slot = slot_of(table, key)
        here, after, ending = np.uint64(slot), np.uint64((slot + 1) & mask), np.int64(starting[at]) - 1
        is_odd = (ending != ~(table[here, HANDLE] >> 63)) | (number == LATE) | (time == stray_time)
        if (is_odd | (count >= most)) and event > first:
            break
        handle = number if number >= 0 else handles
        handles = max(handles, (handle + 1) & ~ending)
        name = key if by == ID else either(handle, table[here, HANDLE], ending)
        start = either(time, table[here, START], ending)
        if ended.shape[0]:
            mark(ended, ends, time, name, start, number)
        if begun.shape[0]:
            mark(begun, starts, time, name, time, number)
        table[here, ID], table[here, START] = key, time
        if owners.size:
            place = either(count, table[here, PLACE], ending)
            owner = np.uint64(either(slot, owners[np.uint64(either(place, count - 1, ending))], ending))
            owners[np.uint64(place)] = owner
            table[owner, PLACE] = place
            step = np.uint64(starts + ends)
            steps[step, STEP_TIME], steps[step, STEP_PLACE] = time + (delay & ~ending), place
            steps[step, STEP_NAME] = either(name, table[owner, by], ending)
            steps[step, STEP_START], steps[step, LENGTH] = table[owner, START], count + 1 + 2 * ending
        table[here, HANDLE] = handle | ending
        if (table[after, HANDLE] | ~ending) >= 0:
            move_up(table, owners, slot)
        count, event = count + 1 + 2 * ending, event + 1
        ends, starts = ends - ending, starts + 1 + ending
    progress[:REFUSED] = count, handles, event, starts, ends


@compiled
def match_events(
    ids: Ids,
    known: Ticks,
    starting: NDArray[np.uint8],
    numbers: Ids,
    order: Ids,
    by: int,
    delay: int,
    table: Cells,
    owners: Ids,
    progress: Ids,
    steps: Cells,
    begun: Cells,
    ended: Cells,
    refused: Cells,
) -> bool:
    """Match ends with open rows; tell whether all events are done, or else half of the slots are taken.

    Starts and ends are written where there is room for them at all, for one more than there are events, and steps where
    there is a list of ``owners``: the slot of the row at each place. Names are ids or handles, as ``by`` says. Starts
    count so many ticks later in steps. The handle of a row is the number of its start, if it has one, or else the next
    one. An end and a start of one row at one instant make an empty period, unless that row was open before.
    """
    while progress[EVENT] < order.size:
        at, bad = order[progress[EVENT]], progress[REFUSED]
        time, number = known[at], (numbers[at] if numbers.size else UNNUMBERED)
        is_open = table[slot_of(table, ids[at]), HANDLE] >= 0
        strays = first_stray(refused, bad, known, time)
        verdict = verdict_of(starting[at], is_open, number, refused, strays, bad, ids, ids[at])
        if verdict != ACCEPTED:
            refused[bad, 0], refused[bad, 1] = at, verdict
            progress[REFUSED] += 1
            progress[EVENT] += 1
        elif starting[at] and progress[COUNT] >= table.shape[0] // 2:
            return False
        else:
            stray_time = MIN_TICK if strays == bad else time
            events = ids, known, starting, numbers, order
            match_on(*events, by, delay, stray_time, table, owners, progress, steps, begun, ended)
    return True


@compiled
def fill(table: Cells, owners: Ids, rows: Cells) -> None:
    """Enter rows, of which ids, handles and starts are known, into an empty table that has room, in order of places."""
    for at in range(rows.shape[0]):
        slot = slot_of(table, rows[at, ID])
        table[slot, :PLACE], table[slot, PLACE] = rows[at, :PLACE], at
        if owners.size:
            owners[at] = slot


def empty_table(room: int, *, listed: bool) -> tuple[Cells, Ids]:
    """A table with room for this many open rows, a power of two; and for their list, if there is one."""
    slots = SLOTS_PER_ROW * room
    return np.full((slots, PLACE + 1), -1, np.int64), np.empty(slots // 2 if listed else 0, np.int64)
