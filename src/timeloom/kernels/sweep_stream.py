"""The streaming sweep: an agenda of what happens at which instant, run against the live rows of both sides.

Live rows lie in a gapless map per side. At each instant ends come first, then starts, then rows *fire* that
are ready now: they scan the other side's live rows for partners that are ready, too. Rows that can match no
more leave last.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels import gapless
from timeloom.kernels.gapless import Cells, append, find, remove_element
from timeloom.kernels.jit import compiled
from timeloom.kernels.rectangles import shifted
from timeloom.kernels.sweep_pairs import NEVER, holds, possible_until, ready, window
from timeloom.model.ticks import MAX_TICK

LEFT_SIDE, RIGHT_SIDE = 0, 1

TIME, WHAT, SIDE, FIRES, HANDLE, FROM, TO, NAME = range(8)
"""The columns of an agenda. ``FIRES`` has a bit for each decision for which the row is ready now."""

END, START, FIRE, CHECK, EXPIRE = 1, 2, 4, 8, 16
"""What an entry asks for, as bits, in the order in which it is done at one instant."""

INNER, LEFT, SEMI, ANTI = range(4)
UNMATCHED, MATCHED, WAITING = range(3)
"""Marks of left rows."""

PAIRS, ROWS, ENTRY, FIRING, WAITERS = range(5)
"""Where a run stands: what is written; the first entry of its instant; the next entry of it that may fire, or -1
while the instant has not begun; the number of waiting rows."""

WAITER, WITNESS, UNTIL = range(3)
"""Unmatched left rows that nothing new can match: each waits for a witness, which may match up to an instant."""


class Rules(NamedTuple):
    """The decisions of a relation.

    ``bounds[side, k]`` are those of box k as seen from that side. ``ready[k]`` holds the constants of
    readiness: after start and after end of the left side, then of the right. ``both[k]`` tells whether either
    side may decide.
    """

    bounds: NDArray[np.int64]
    ready: NDArray[np.int64]
    both: NDArray[np.bool_]
    how: int


@compiled
def run(
    agenda: Cells,
    until: int,
    cells: Cells,
    heads: Cells,
    tails: Cells,
    rules: Rules,
    waiters: Cells,
    state: Cells,
    pairs: Cells,
    rows: Cells,
) -> bool:
    """Work off the agenda from where the state says; tell whether it is done, or else the output has no room.

    ``pairs`` takes names of both rows and the instant; ``rows`` the names of single left rows and the
    instant.
    """
    bounds, constants, both, how = rules
    waits = how == LEFT or how == ANTI
    entries = agenda.shape[0]
    while True:
        first = state[ENTRY]
        time = agenda[first, TIME] if first < entries else until
        if state[FIRING] < 0:
            if rows.shape[1] - state[ROWS] <= tails[LEFT_SIDE]:
                return False
            due = next_review(waiters, state[WAITERS])
            if due < time or (first == entries and due == time < MAX_TICK):
                review(due, cells, heads, tails, bounds[LEFT_SIDE], waiters, state, rows)
                continue
            if first == entries:
                return True
        last = first + 1
        while last < entries and agenda[last, TIME] == time:
            last += 1
        if state[FIRING] < 0:
            move(agenda, first, last, cells, heads, tails)
            state[FIRING] = first
        while state[FIRING] < last:
            at = state[FIRING]
            if agenda[at, FIRES]:
                wanted = constants.shape[0] * max(tails[LEFT_SIDE], tails[RIGHT_SIDE])
                if pairs.shape[1] - state[PAIRS] <= wanted or rows.shape[1] - state[ROWS] <= tails[LEFT_SIDE]:
                    return False
                fire(agenda, at, cells, heads, tails, bounds, constants, both, how, state, pairs, rows)
            state[FIRING] += 1
        if rows.shape[1] - state[ROWS] <= tails[LEFT_SIDE]:
            return False
        leave(agenda, first, last, cells, heads, tails, bounds[LEFT_SIDE], how, waiters, state, rows)
        if waits and time < MAX_TICK:
            review(time, cells, heads, tails, bounds[LEFT_SIDE], waiters, state, rows)
        state[ENTRY], state[FIRING] = last, -1


@compiled
def move(agenda: Cells, first: int, last: int, cells: Cells, heads: Cells, tails: Cells) -> None:
    """Let the rows of one instant end, then start."""
    for at in range(first, last):
        if agenda[at, WHAT] & END:
            side = agenda[at, SIDE]
            element = find(cells, heads, side, agenda[at, HANDLE])
            if element >= 0:
                cells[side, gapless.END, element] = agenda[at, TO]
    for at in range(first, last):
        if agenda[at, WHAT] & START:
            append(
                cells,
                heads,
                tails,
                agenda[at, SIDE],
                agenda[at, HANDLE],
                agenda[at, FROM],
                agenda[at, TO],
                agenda[at, NAME],
            )


@compiled
def fire(
    agenda: Cells,
    at: int,
    cells: Cells,
    heads: Cells,
    tails: Cells,
    bounds: Cells,
    constants: Cells,
    both: NDArray[np.bool_],
    how: int,
    state: Cells,
    pairs: Cells,
    rows: Cells,
) -> None:
    """Find the partners of a row that is ready now, for each of the decisions for which it is."""
    side, fires, time = agenda[at, SIDE], agenda[at, FIRES], agenda[at, TIME]
    for decision in range(constants.shape[0]):
        if not (fires >> decision) & 1:
            continue
        element = find(cells, heads, side, agenda[at, HANDLE])
        if element < 0:
            return
        only = constants.shape[0] == 1
        latest = time - 1 if side == RIGHT_SIDE and both[decision] else time
        start_low, start_high, end_low, end_high = partners(
            cells, side, element, latest, bounds[side, decision], constants[decision]
        )
        if how == INNER and only:
            state[PAIRS] = scan(
                cells, tails, side, element, time, start_low, start_high, end_low, end_high, state[PAIRS], pairs
            )
            continue
        scan_with_care(
            cells,
            heads,
            tails,
            side,
            element,
            time,
            (start_low, start_high, end_low, end_high),
            decision,
            bounds[LEFT_SIDE],
            constants,
            how,
            state,
            pairs,
            rows,
        )


@compiled
def partners(
    cells: Cells, side: int, element: int, latest: int, bounds: Cells, constants: Cells
) -> tuple[int, int, int, int]:
    """The ranges of start and of end of the rows that match this one and are ready by ``latest``."""
    start, end = cells[side, gapless.START, element], cells[side, gapless.END, element]
    start_low, start_high = window(start, end, bounds, 0, 2)
    end_low, end_high = window(start, end, bounds, 4, 6)
    after_start, after_end = constants[2 - 2 * side], constants[3 - 2 * side]
    if after_start != NEVER and latest < MAX_TICK:
        start_high = min(start_high, shifted(latest, -after_start))
    if after_end != NEVER and latest < MAX_TICK:
        end_high = min(end_high, shifted(latest, -after_end))
    return start_low, start_high, end_low, end_high


@compiled
def scan(
    cells: Cells,
    tails: Cells,
    side: int,
    element: int,
    time: int,
    start_low: int,
    start_high: int,
    end_low: int,
    end_high: int,
    written: int,
    pairs: Cells,
) -> int:
    """Write the pairs of one row with all live partners in these ranges; each is written before it is judged."""
    other, name = 1 - side, cells[side, gapless.NAME, element]
    for at in range(tails[other]):
        pairs[side, written] = name
        pairs[other, written] = cells[other, gapless.NAME, at]
        pairs[2, written] = time
        start, end = cells[other, gapless.START, at], cells[other, gapless.END, at]
        written += (start >= start_low) & (start <= start_high) & (end >= end_low) & (end <= end_high)
    return written


@compiled
def scan_with_care(
    cells: Cells,
    heads: Cells,
    tails: Cells,
    side: int,
    element: int,
    time: int,
    ranges: tuple[int, int, int, int],
    decision: int,
    boxes: Cells,
    constants: Cells,
    how: int,
    state: Cells,
    pairs: Cells,
    rows: Cells,
) -> None:
    """The same where another decision may have found a pair, or where left rows are marked or leave."""
    other, at = 1 - side, 0
    start_low, start_high, end_low, end_high = ranges
    own_start, own_end = cells[side, gapless.START, element], cells[side, gapless.END, element]
    while at < tails[other]:
        start, end = cells[other, gapless.START, at], cells[other, gapless.END, at]
        found = start_low <= start <= start_high and end_low <= end <= end_high
        if found:
            if side == LEFT_SIDE:
                found = not decided_before(own_start, own_end, start, end, time, decision, boxes, constants)
            else:
                found = not decided_before(start, end, own_start, own_end, time, decision, boxes, constants)
        if found and how <= LEFT:
            pairs[side, state[PAIRS]] = cells[side, gapless.NAME, element]
            pairs[other, state[PAIRS]] = cells[other, gapless.NAME, at]
            pairs[2, state[PAIRS]] = time
            state[PAIRS] += 1
        if found and how != INNER:
            left = settle(cells, heads, tails, element if side == LEFT_SIDE else at, time, how, state, rows)
            if left and side == LEFT_SIDE:
                return
            at -= left
        at += 1


@compiled
def decided_before(
    r_start: int, r_end: int, s_start: int, s_end: int, time: int, decision: int, boxes: Cells, constants: Cells
) -> bool:
    """Tell whether another decision of the union has found this pair already."""
    for other in range(constants.shape[0]):
        if other == decision:
            continue
        left = ready(r_start, r_end, constants[other, 0], constants[other, 1])
        right = ready(s_start, s_end, constants[other, 2], constants[other, 3])
        instant = max(left, right)
        earlier = instant < time or (instant == time and other < decision)
        if earlier and holds(r_start, r_end, s_start, s_end, boxes[other]):
            return True
    return False


@compiled
def settle(
    cells: Cells, heads: Cells, tails: Cells, element: int, time: int, how: int, state: Cells, rows: Cells
) -> bool:
    """Note that a left row has a partner. For semi and anti it leaves; tell whether it did."""
    if how == LEFT:
        cells[LEFT_SIDE, gapless.MARK, element] = MATCHED
        return False
    if how == SEMI:
        write_row(cells[LEFT_SIDE, gapless.NAME, element], time, state, rows)
    remove_element(cells, heads, tails, LEFT_SIDE, element)
    return True


@compiled
def write_row(name: int, time: int, state: Cells, rows: Cells) -> None:
    """Report a single left row."""
    rows[0, state[ROWS]] = name
    rows[1, state[ROWS]] = time
    state[ROWS] += 1


@compiled
def leave(
    agenda: Cells,
    first: int,
    last: int,
    cells: Cells,
    heads: Cells,
    tails: Cells,
    boxes: Cells,
    how: int,
    waiters: Cells,
    state: Cells,
    rows: Cells,
) -> None:
    """Look at the left rows that nothing new can match; then let go of all rows that can match no more."""
    waits = how == LEFT or how == ANTI
    for at in range(first, last):
        if waits and agenda[at, WHAT] & CHECK:
            element = find(cells, heads, LEFT_SIDE, agenda[at, HANDLE])
            if element >= 0 and cells[LEFT_SIDE, gapless.MARK, element] == UNMATCHED:
                time, place = agenda[at, TIME], state[WAITERS]
                state[WAITERS] += check(element, time, cells, heads, tails, boxes, waiters, place, state, rows)
    for at in range(first, last):
        if agenda[at, WHAT] & EXPIRE:
            side = agenda[at, SIDE]
            element = find(cells, heads, side, agenda[at, HANDLE])
            if element < 0:
                continue
            if waits and side == LEFT_SIDE and cells[side, gapless.MARK, element] != MATCHED:
                write_row(cells[side, gapless.NAME, element], agenda[at, TIME], state, rows)
            remove_element(cells, heads, tails, side, element)


@compiled
def check(
    element: int,
    time: int,
    cells: Cells,
    heads: Cells,
    tails: Cells,
    boxes: Cells,
    waiters: Cells,
    place: int,
    state: Cells,
    rows: Cells,
) -> bool:
    """Look for the right row that may match this left row longest; without one report the left row.

    With one, the left row waits at this place among the waiters; tell whether it does.
    """
    start, end = cells[LEFT_SIDE, gapless.START, element], cells[LEFT_SIDE, gapless.END, element]
    witness, until = -1, NEVER
    for at in range(tails[RIGHT_SIDE]):
        other_start, other_end = cells[RIGHT_SIDE, gapless.START, at], cells[RIGHT_SIDE, gapless.END, at]
        last = possible_until(start, end, other_start, other_end, time, boxes)
        if last > until:
            witness, until = cells[RIGHT_SIDE, gapless.KEY, at], last
    if until < time:
        write_row(cells[LEFT_SIDE, gapless.NAME, element], time, state, rows)
        remove_element(cells, heads, tails, LEFT_SIDE, element)
        return False
    cells[LEFT_SIDE, gapless.MARK, element] = WAITING
    waiters[WAITER, place] = cells[LEFT_SIDE, gapless.KEY, element]
    waiters[WITNESS, place] = witness
    waiters[UNTIL, place] = until
    return True


@compiled
def review(
    time: int, cells: Cells, heads: Cells, tails: Cells, boxes: Cells, waiters: Cells, state: Cells, rows: Cells
) -> None:
    """Look again at every waiting row whose witness can match no more at this instant."""
    place = 0
    while place < state[WAITERS]:
        element = find(cells, heads, LEFT_SIDE, waiters[WAITER, place])
        stays = element >= 0 and cells[LEFT_SIDE, gapless.MARK, element] == WAITING
        if stays:
            witness = find(cells, heads, RIGHT_SIDE, waiters[WITNESS, place])
            last = NEVER
            if witness >= 0:
                last = possible_until(
                    cells[LEFT_SIDE, gapless.START, element],
                    cells[LEFT_SIDE, gapless.END, element],
                    cells[RIGHT_SIDE, gapless.START, witness],
                    cells[RIGHT_SIDE, gapless.END, witness],
                    time,
                    boxes,
                )
            waiters[UNTIL, place] = last
            if last < time:
                stays = check(element, time, cells, heads, tails, boxes, waiters, place, state, rows)
        if stays:
            place += 1
        else:
            state[WAITERS] -= 1
            waiters[:, place] = waiters[:, state[WAITERS]]


@compiled
def next_review(waiters: Cells, count: int) -> int:
    """The first instant at which a witness gives up although nothing happens."""
    instant = MAX_TICK
    for place in range(count):
        instant = min(instant, shifted(waiters[UNTIL, place], 1))
    return instant
