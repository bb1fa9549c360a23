"""When a row of a stream looks for partners, when it can match no more, and when nothing new can match it."""

from timeloom.kernels.jit import compiled
from timeloom.kernels.rectangles import shifted
from timeloom.kernels.streaming.agenda import plan, write
from timeloom.kernels.streaming.gapless import Cells
from timeloom.kernels.streaming.layout import (
    CHECK,
    DECIDES,
    DUE,
    EXPIRE,
    FIRE,
    LATE,
    LEFT_READY,
    LOOKS,
    NOW,
    OPEN_LIMIT,
    TIGHT,
    WHOLE,
)
from timeloom.kernels.streaming.pairs import NEVER, later, range_of, ready
from timeloom.model.ticks import MAX_TICK, MIN_TICK


@compiled
def schedule(
    side: int,
    handle: int,
    start: int,
    end: int,
    time: int,
    has_ended: bool,
    waits: tuple[bool, bool],
    rules: Cells,
    union: Cells,
    agenda: Cells,
    state: Cells,
) -> None:
    """Say what is to be done with a row that is known, or has ended, at this time: now, or at a later instant."""
    what = 0
    is_open = end == MAX_TICK and not state[WHOLE + side]
    if union.shape[0] == 0:
        if rules[0, DECIDES + side]:
            after_start, after_end = rules[0, LEFT_READY + 2 * side], rules[0, LEFT_READY + 2 * side + 1]
            if state[WHOLE + side] or has_ended == (after_end != NEVER):
                what = plan(ready(start, end, after_start, after_end), FIRE, side, handle, time, agenda, state)
    else:
        what = FIRE
        for at in range(union.shape[0]):
            after_start, after_end = union[at, LOOKS + 2 * side], union[at, LOOKS + 2 * side + 1]
            if not has_ended and after_start != NEVER:
                what |= plan(shifted(start, after_start), FIRE, side, handle, time, agenda, state)
            if end < MAX_TICK and after_end != NEVER:
                what |= plan(shifted(end, after_end), FIRE, side, handle, time, agenda, state)
    what |= plan(last_instant(side, start, end, is_open, rules), EXPIRE, side, handle, time, agenda, state)
    if waits[side]:
        closing = closing_instant(side, start, end, is_open, state[LATE + 1 - side] != 0, rules)
        what |= plan(closing, CHECK, side, handle, time, agenda, state)
    if what:
        write(agenda, NOW, state[DUE], time, what, side, handle)
        state[DUE] += 1


@compiled
def furthest_of(start: int, end: int, is_open: bool, least_a: int, most_a: int, least_b: int, most_b: int) -> int:
    """The last point that bounds from the start (a) and the end (b) allow; an open or endless end gives none."""
    if is_open:
        last = shifted(start, most_a)
    else:
        least, last = range_of(start, end, least_a, most_a, least_b, most_b)
        if least > last:
            last = MIN_TICK
        elif end == MAX_TICK and most_a == MAX_TICK:
            last = MAX_TICK
    return last


@compiled
def furthest(start: int, end: int, is_open: bool, rules: Cells, number: int, low: int, high: int) -> int:
    """The same, from columns of the rules."""
    return furthest_of(
        start, end, is_open, rules[number, low], rules[number, low + 1], rules[number, high], rules[number, high + 1]
    )


@compiled
def last_instant(side: int, start: int, end: int, is_open: bool, rules: Cells) -> int:
    """The last instant at which a pair of this row can become certain."""
    instant, bounds = MIN_TICK, TIGHT + 8 * side
    own, other = LEFT_READY + 2 * side, LEFT_READY + 2 * (1 - side)
    for number in range(rules.shape[0]):
        by_start = furthest(start, end, is_open, rules, number, bounds, bounds + 2)
        by_end = furthest(start, end, is_open, rules, number, bounds + 4, bounds + 6)
        if by_start == MIN_TICK or by_end == MIN_TICK:
            continue
        if rules[number, DECIDES + side]:
            instant = max(instant, ready(start, end, rules[number, own], rules[number, own + 1]))
        if rules[number, DECIDES + 1 - side]:
            after_start, after_end = rules[number, other], rules[number, other + 1]
            last = by_start if after_start == NEVER else later(by_start, after_start)
            if after_end != NEVER:
                last = max(last, later(by_end, after_end))
            instant = max(instant, last)
    return instant


@compiled
def closing_instant(side: int, start: int, end: int, is_open: bool, known_at_end: bool, rules: Cells) -> int:
    """The instant after which no row of the other side that is still unknown can match this one.

    Rows of the other side are known at their end, or at their start.
    """
    instant, bounds = MIN_TICK, TIGHT + 8 * side
    for number in range(rules.shape[0]):
        if is_open:
            last = shifted(start, rules[number, OPEN_LIMIT + side])
        else:
            by_start = furthest(start, end, is_open, rules, number, bounds, bounds + 2)
            last = furthest(start, end, is_open, rules, number, bounds + 4, bounds + 6)
            if by_start == MIN_TICK or last == MIN_TICK:
                continue
            if not known_at_end:
                last = by_start if last == MAX_TICK else min(by_start, last - 1)
        instant = max(instant, last)
    return instant
