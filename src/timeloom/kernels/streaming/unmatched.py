"""Left rows without a partner, in a stream: found as soon as no row, known or yet to come, can match them.

A row is looked at once nothing new can match it. If a known row still may, it waits for that witness: the one that may
match it longest. It is looked at again when its witness can match no more.
"""

from timeloom.kernels.jit import compiled
from timeloom.kernels.rectangles import shifted
from timeloom.kernels.streaming import gapless
from timeloom.kernels.streaming.gapless import Cells, find, remove_element
from timeloom.kernels.streaming.layout import (
    LEFT_SIDE,
    RIGHT_SIDE,
    ROWS,
    UNTIL,
    WAITER,
    WAITERS,
    WAITING,
    WHOLE,
    WITNESS,
)
from timeloom.kernels.streaming.pairs import NEVER, possible_until
from timeloom.model.ticks import MAX_TICK


@compiled
def write_row(name: int, time: int, state: Cells, rows: Cells) -> None:
    """Report a single left row."""
    rows[0, state[ROWS]] = name
    rows[1, state[ROWS]] = time
    state[ROWS] += 1


@compiled
def check(
    element: int,
    time: int,
    maps: Cells,
    boxes: Cells,
    waiters: Cells,
    place: int,
    state: Cells,
    rows: Cells,
) -> bool:
    """Look for the right row that may match this left row longest; without one report the left row.

    With one, the left row waits at this place among the waiters; tell whether it does.
    """
    start, end = maps[LEFT_SIDE, gapless.START, element], maps[LEFT_SIDE, gapless.END, element]
    witness, until, is_open = -1, NEVER, end == MAX_TICK and not state[WHOLE]
    for at in range(maps[RIGHT_SIDE, gapless.COUNT, 0]):
        other_start, other_end = maps[RIGHT_SIDE, gapless.START, at], maps[RIGHT_SIDE, gapless.END, at]
        other_is_open = other_end == MAX_TICK and not state[WHOLE + RIGHT_SIDE]
        last = possible_until(start, end, is_open, other_start, other_end, other_is_open, time, boxes)
        if last > until:
            witness, until = maps[RIGHT_SIDE, gapless.KEY, at], last
    if until < time:
        write_row(maps[LEFT_SIDE, gapless.NAME, element], time, state, rows)
        remove_element(maps, LEFT_SIDE, element)
        return False
    maps[LEFT_SIDE, gapless.MARK, element] = WAITING
    waiters[WAITER, place] = maps[LEFT_SIDE, gapless.KEY, element]
    waiters[WITNESS, place] = witness
    waiters[UNTIL, place] = until
    return True


@compiled
def review(time: int, maps: Cells, boxes: Cells, waiters: Cells, state: Cells, rows: Cells) -> None:
    """Look again at every waiting row whose witness can match no more at this instant."""
    place = 0
    while place < state[WAITERS]:
        element = find(maps, LEFT_SIDE, waiters[WAITER, place])
        stays = element >= 0 and maps[LEFT_SIDE, gapless.MARK, element] == WAITING
        if stays:
            witness = find(maps, RIGHT_SIDE, waiters[WITNESS, place])
            last = NEVER
            if witness >= 0:
                end, other_end = maps[LEFT_SIDE, gapless.END, element], maps[RIGHT_SIDE, gapless.END, witness]
                last = possible_until(
                    maps[LEFT_SIDE, gapless.START, element],
                    end,
                    end == MAX_TICK and not state[WHOLE],
                    maps[RIGHT_SIDE, gapless.START, witness],
                    other_end,
                    other_end == MAX_TICK and not state[WHOLE + RIGHT_SIDE],
                    time,
                    boxes,
                )
            waiters[UNTIL, place] = last
            if last < time:
                stays = check(element, time, maps, boxes, waiters, place, state, rows)
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
