"""What can be said of a row of a stream as soon as it starts or ends, far from the ends of the axis.

There the sum of a tick and of a bound stays on the axis, so that only unbounded sides and open ends need care.
"""

from timeloom.kernels.jit import compiled
from timeloom.kernels.streaming.gapless import Cells
from timeloom.kernels.streaming.layout import DECIDES, EVENT_SIDE, FIRES, FROM, KNOWN, LEAVES, LEFT_READY, TIGHT, TO
from timeloom.kernels.streaming.pairs import NEVER
from timeloom.model.ticks import MAX_TICK, MIN_TICK

NEAR_TICK, NEAR_BOUND = 1 << 62, 1 << 60
"""Ticks and bounds up to these are far from the ends of the axis, also with two bounds added to a tick."""


@compiled
def above(tick: int, by: int) -> int:
    """A tick moved by an upper bound; the end of the axis if it is open, or the bound missing."""
    return MAX_TICK if by >= MAX_TICK - max(tick, 0) else tick + by


@compiled
def below(tick: int, by: int) -> int:
    """A tick moved by a lower bound; the beginning of the axis if that is missing."""
    return MIN_TICK if by == MIN_TICK else tick + by


@compiled
def foresee(events: Cells, rules: Cells, foreseen: Cells) -> None:
    """For each event write when its row looks for partners because of it, or NEVER, and when it can match no more."""
    for at in range(events.shape[0]):
        side, time, start, end = events[at, EVENT_SIDE], events[at, KNOWN], events[at, FROM], events[at, TO]
        own, other, first = LEFT_READY + 2 * side, LEFT_READY + 2 * (1 - side), TIGHT + 8 * side
        after_start, after_end, decides = rules[0, own], rules[0, own + 1], rules[0, DECIDES + side] != 0
        is_ready = start if after_start == NEVER else start + after_start
        if after_end != NEVER:
            is_ready = MAX_TICK if end == MAX_TICK else max(is_ready, end + after_end)
        is_deciding = decides and (end < MAX_TICK) == (after_end != NEVER)
        foreseen[at, FIRES] = max(time, is_ready) if is_deciding else NEVER
        by_start = last_point(
            start, end, rules[0, first], rules[0, first + 1], rules[0, first + 2], rules[0, first + 3]
        )
        first += 4
        by_end = last_point(start, end, rules[0, first], rules[0, first + 1], rules[0, first + 2], rules[0, first + 3])
        leaves = MIN_TICK
        if by_start > MIN_TICK and by_end > MIN_TICK:
            leaves = is_ready if decides else MIN_TICK
            if rules[0, DECIDES + 1 - side]:
                leaves = max(leaves, by_start if rules[0, other] == NEVER else above(by_start, rules[0, other]))
                if rules[0, other + 1] != NEVER:
                    leaves = max(leaves, above(by_end, rules[0, other + 1]))
        foreseen[at, LEAVES] = max(time, leaves)


@compiled
def last_point(start: int, end: int, least_a: int, most_a: int, least_b: int, most_b: int) -> int:
    """The last point that bounds from the start (a) and the end (b) allow, if any; an open end gives none."""
    last = above(start, most_a)
    if end < MAX_TICK:
        last = min(last, above(end, most_b))
        if last < max(below(start, least_a), below(end, least_b)):
            last = MIN_TICK
    return last
