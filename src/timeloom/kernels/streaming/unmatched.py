"""Rows without a partner, in a stream: found as soon as no row, known or yet to come, can match them.

A row is looked at once nothing new can match it. If a known row still may, it waits for that witness: the one that may
match it longest. It is looked at again when its witness can match no more. Rows of both sides may wait: a row that may
match a waiting one cannot be without a partner for certain, so neither leaves before the other one may.
"""

from timeloom.kernels.jit import compiled
from timeloom.kernels.rectangles import shifted
from timeloom.kernels.streaming import gapless
from timeloom.kernels.streaming.gapless import Cells, find, remove_element
from timeloom.kernels.streaming.layout import (
    ANTI,
    EVERY,
    FULL,
    LEFT,
    LEFT_SIDE,
    RIGHT,
    RIGHT_SIDE,
    ROW_INSTANT,
    ROW_NAME,
    ROW_SIDE,
    ROWS,
    UNTIL,
    WAITER,
    WAITERS,
    WAITING,
    WAITING_SIDE,
    WHOLE,
    WITNESS,
)
from timeloom.kernels.streaming.pairs import NEVER, possible_until
from timeloom.model.ticks import MAX_TICK


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
def check(
    side: int,
    element: int,
    time: int,
    maps: Cells,
    boxes: Cells,
    waiters: Cells,
    position: int,
    state: Cells,
    rows: Cells,
) -> bool:
    """Look for the row of the other side that may match this one longest; without one report this row.

    With one, this row waits at this position among the waiters; tell whether it does.
    """
    witness, until = -1, NEVER
    for at in range(maps[1 - side, gapless.COUNT, 0]):
        last = possible_pair(side, element, at, time, maps, boxes, state)
        if last > until:
            witness, until = maps[1 - side, gapless.KEY, at], last
    if until < time:
        write_row(side, maps[side, gapless.NAME, element], time, state, rows)
        remove_element(maps, side, element)
        return False
    maps[side, gapless.MARK, element] = WAITING
    waiters[WAITER, position] = maps[side, gapless.KEY, element]
    waiters[WITNESS, position] = witness
    waiters[UNTIL, position] = until
    waiters[WAITING_SIDE, position] = side
    return True


@compiled
def review(time: int, maps: Cells, boxes: Cells, waiters: Cells, state: Cells, rows: Cells) -> None:
    """Look again at every waiting row whose witness can match no more at this instant."""
    position = 0
    while position < state[WAITERS]:
        side = waiters[WAITING_SIDE, position]
        element = find(maps, side, waiters[WAITER, position])
        stays = element >= 0 and maps[side, gapless.MARK, element] == WAITING
        if stays:
            witness = find(maps, 1 - side, waiters[WITNESS, position])
            last = NEVER
            if witness >= 0:
                last = possible_pair(side, element, witness, time, maps, boxes, state)
            waiters[UNTIL, position] = last
            if last < time:
                stays = check(side, element, time, maps, boxes, waiters, position, state, rows)
        if stays:
            position += 1
        else:
            state[WAITERS] -= 1
            waiters[:, position] = waiters[:, state[WAITERS]]


@compiled
def next_review(waiters: Cells, count: int) -> int:
    """The first instant at which a witness gives up although nothing happens."""
    instant = MAX_TICK
    for position in range(count):
        instant = min(instant, shifted(waiters[UNTIL, position], 1))
    return instant
