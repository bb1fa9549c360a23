"""When a row of a stream is looked at, when it can match no more, and when nothing new can match it."""

from timeloom.kernels.gapless import Cells
from timeloom.kernels.jit import compiled
from timeloom.kernels.rectangles import shifted
from timeloom.kernels.sweep_agenda import note, plan
from timeloom.kernels.sweep_layout import (
    CHECK,
    DECIDES,
    EXPIRE,
    FIRE,
    LEFT_READY,
    LEFT_SIDE,
    RIGHT_READY,
    RIGHT_SIDE,
    Rules,
)
from timeloom.kernels.sweep_pairs import NEVER, ready, window
from timeloom.model.ticks import MAX_TICK, MIN_TICK


@compiled
def schedule(
    side: int,
    handle: int,
    start: int,
    end: int,
    time: int,
    has_ended: bool,
    rules: Rules,
    waits: bool,
    today: Cells,
    plans: Cells,
    state: Cells,
) -> None:
    """Say what is to be done with a row that is known, or has ended, at this time: now, or at a later instant.

    What is due at the end of the axis is done only if that has come.
    """
    what = 0
    if rules.decisions.shape[0] == 1:
        if rules.decisions[0, DECIDES + side]:
            after = LEFT_READY if side == LEFT_SIDE else RIGHT_READY
            after_start, after_end = rules.decisions[0, after], rules.decisions[0, after + 1]
            if rules.whole[side] or has_ended == (after_end != NEVER):
                what |= when(ready(start, end, after_start, after_end), FIRE, side, handle, time, plans, state)
    else:
        what |= FIRE
        for at in range(rules.looks.shape[2]):
            if not has_ended and rules.looks[side, 0, at] != NEVER:
                what |= when(shifted(start, rules.looks[side, 0, at]), FIRE, side, handle, time, plans, state)
            if end < MAX_TICK and rules.looks[side, 1, at] != NEVER:
                what |= when(shifted(end, rules.looks[side, 1, at]), FIRE, side, handle, time, plans, state)
    what |= when(last_instant(side, start, end, rules), EXPIRE, side, handle, time, plans, state)
    if waits and side == LEFT_SIDE:
        what |= when(closing_instant(start, end, rules), CHECK, side, handle, time, plans, state)
    if what:
        note(today, time, what, side, handle, state)


@compiled
def when(instant: int, what: int, side: int, handle: int, time: int, plans: Cells, state: Cells) -> int:
    """Answer what is asked for if it is due, and else plan it."""
    if instant <= time:
        return what
    if instant < MAX_TICK:
        plan(plans, instant, what, side, handle, state)
    return 0


@compiled
def most_plans(rules: Rules) -> int:
    """How many entries one event may plan."""
    return 2 * rules.looks.shape[2] + 3


@compiled
def furthest(start: int, end: int, bounds: Cells, box: int, low: int, high: int) -> int:
    """The last point that the bounds allow; while the end is open only those on the start count."""
    if end == MAX_TICK:
        return shifted(start, bounds[box, low + 1])
    least, most = window(start, end, bounds, box, low, high)
    return most if least <= most else MIN_TICK


@compiled
def last_instant(side: int, start: int, end: int, rules: Rules) -> int:
    """The last instant at which a pair of this row can become certain."""
    instant, bounds = MIN_TICK, rules.tight[side]
    own, other = (LEFT_READY, RIGHT_READY) if side == LEFT_SIDE else (RIGHT_READY, LEFT_READY)
    for number in range(rules.decisions.shape[0]):
        by_start = furthest(start, end, bounds, number, 0, 2)
        by_end = furthest(start, end, bounds, number, 4, 6)
        if by_start == MIN_TICK or by_end == MIN_TICK:
            continue
        if rules.decisions[number, DECIDES + side]:
            own_ready = ready(start, end, rules.decisions[number, own], rules.decisions[number, own + 1])
            instant = max(instant, own_ready)
        if rules.decisions[number, DECIDES + 1 - side]:
            after_start, after_end = rules.decisions[number, other], rules.decisions[number, other + 1]
            last = by_start if after_start == NEVER else shifted(by_start, after_start)
            if after_end != NEVER:
                last = max(last, shifted(by_end, after_end))
            instant = max(instant, last)
    return instant


@compiled
def closing_instant(start: int, end: int, rules: Rules) -> int:
    """The instant after which no right row that is still unknown can match a left row."""
    instant, bounds = MIN_TICK, rules.tight[LEFT_SIDE]
    for number in range(bounds.shape[0]):
        if end == MAX_TICK:
            last = shifted(start, rules.open_limits[number])
        else:
            by_start = furthest(start, end, bounds, number, 0, 2)
            last = furthest(start, end, bounds, number, 4, 6)
            if by_start == MIN_TICK or last == MIN_TICK:
                continue
            if not rules.late[RIGHT_SIDE]:
                last = by_start if last == MAX_TICK else min(by_start, last - 1)
        instant = max(instant, last)
    return instant
