"""Rows without a partner, in a stream: found as soon as no row, known or yet to come, can match them.

A row is looked at once nothing new can match it. If a known row still may, it waits for that witness: the one that may
match it longest. It is looked at again when its witness can match no more. Rows of both sides may wait: a row that may
match a waiting one cannot be without a partner for certain, so neither leaves before the other one may.
"""

from timeloom.kernels.jit import compiled
from timeloom.kernels.rectangles import shifted
from timeloom.kernels.streaming import gapless
from timeloom.kernels.streaming.agenda import more_room, push
from timeloom.kernels.streaming.gapless import Cells, bucket_of, find
from timeloom.kernels.streaming.layout import (
    ANTI,
    CANDIDATES,
    CHECK,
    EVERY,
    FULL,
    GETNEXT,
    LEFT,
    LEFT_SIDE,
    PLANNED,
    RIGHT,
    RIGHT_SIDE,
    ROW_INSTANT,
    ROW_NAME,
    ROW_SIDE,
    ROWS,
    SCANS,
    TIGHT,
    TO_REVIEW,
    WAITER,
    WAITING_SIDE,
    WHOLE,
    WITNESS,
)
from timeloom.kernels.streaming.pairs import NEVER, possible_until
from timeloom.kernels.streaming.waiting import drop, wait_for
from timeloom.model.ticks import MAX_TICK

SPREAD = 40503
"""A number by which handles one after the other begin their search far apart."""


@compiled
def kept_sides(how: int) -> tuple[bool, bool]:
    """The sides whose rows without partner are asked for."""
    both = how == FULL or how == EVERY
    return both or how == LEFT or how == ANTI, both or how == RIGHT


@compiled
def write_row(side: int, name: int, time: int, state: Cells, rows: Cells) -> None:
    """Report a single row."""
    rows[ROW_NAME, state[ROWS]] = name
    rows[ROW_INSTANT, state[ROWS]] = time
    rows[ROW_SIDE, state[ROWS]] = side
    state[ROWS] += 1


@compiled
def possible_pair(side: int, element: int, other: int, time: int, maps: Cells, boxes: Cells, state: Cells) -> int:
    """The last tick at which a row of this side and one of the other may still match, or NEVER."""
    left, right = (element, other) if side == LEFT_SIDE else (other, element)
    start, end = maps[LEFT_SIDE, gapless.START, left], maps[LEFT_SIDE, gapless.END, left]
    other_start, other_end = maps[RIGHT_SIDE, gapless.START, right], maps[RIGHT_SIDE, gapless.END, right]
    is_open = end == MAX_TICK and not state[WHOLE]
    other_is_open = other_end == MAX_TICK and not state[WHOLE + RIGHT_SIDE]
    return possible_until(start, end, is_open, other_start, other_end, other_is_open, time, boxes)


@compiled
def find_witness(side: int, element: int, time: int, maps: Cells, rules: Cells, state: Cells) -> tuple[int, int]:
    """A row of the other side that may still match this one, or -1, and up to when it may.

    Where partners start together, or have ended together, only those are looked at. Where they must end together and
    have not, any row will do that may: the search begins anywhere, so that not all rows wait for the same one. Else it
    is the one that may match longest.
    """
    other, by, start, end = (
        1 - side,
        maps[side, gapless.COUNT, gapless.BY],
        maps[side, gapless.START, element],
        maps[side, gapless.END, element],
    )
    count, witness, until, seen = maps[other, gapless.COUNT, 0], -1, NEVER, 0
    chained = by == gapless.START or (by == gapless.END and end < MAX_TICK and (end <= time or state[WHOLE + other]))
    if chained:
        value = end if by == gapless.END else shifted(start, rules[0, TIGHT + 8 * side])
        at = maps[other, gapless.FIRST_ALIKE, bucket_of(value, maps.shape[2] - 1)]
        while at >= 0:
            if maps[other, by, at] == value:
                seen += 1
                last = possible_pair(side, element, at, time, maps, rules, state)
                if last > until:
                    witness, until = at, last
            at = maps[other, gapless.NEXT_ALIKE, at]
    else:
        begin = (maps[side, gapless.KEY, element] * SPREAD) % count if by and count else 0
        for step in range(count):
            at = begin + step if begin + step < count else begin + step - count
            seen += 1
            last = possible_pair(side, element, at, time, maps, rules, state)
            if last > until:
                witness, until = at, last
            if by and until >= time:
                break
    state[SCANS] += 1
    state[GETNEXT] += seen
    state[CANDIDATES] += seen
    return (witness, until) if until >= time else (-1, NEVER)


@compiled
def review(time: int, maps: Cells, rules: Cells, agenda: Cells, waiters: Cells, state: Cells, rows: Cells) -> Cells:
    """Look at the rows that are queued: report those that nothing can match, and let others wait; answers the agenda.

    A row is looked at again when its witness gives up although nothing happens, so that is planned.
    """
    while state[TO_REVIEW] >= 0:
        entry = state[TO_REVIEW]
        side = waiters[WAITING_SIDE, entry]
        element, witness, until = find(maps, side, waiters[WAITER, entry]), -1, NEVER
        if waiters[WITNESS, entry] >= 0:
            witness = find(maps, 1 - side, waiters[WITNESS, entry])
            if witness >= 0:
                until = possible_pair(side, element, witness, time, maps, rules, state)
        if until < time:
            witness, until = find_witness(side, element, time, maps, rules, state)
        if until < time:
            write_row(side, maps[side, gapless.NAME, element], time, state, rows)
            drop(side, element, maps, waiters, state)
            continue
        wait_for(entry, witness, until, maps, waiters, state)
        if until < MAX_TICK - 1:
            if state[PLANNED] == agenda.shape[1]:
                agenda = more_room(agenda)
            push(agenda, until + 1, CHECK, side, maps[side, gapless.KEY, element], state)
    return agenda
