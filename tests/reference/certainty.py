"""When an answer is certain, by trying all futures.

A stream knows, at an instant t, all starts and ends up to t. A period that is still open may end at any later tick; any
number of periods may still start. Nothing matters beyond the largest constant of a relation, so futures a few
ticks ahead, and two far ones, stand for all.
"""

from collections.abc import Callable, Iterator, Sequence

Span = tuple[int, int]
Holds = Callable[[Span, Span], bool]

FAR = (10**6, 2 * 10**6)
NEVER = 2**63 - 1


def ends_after(period: Span, instant: int, ahead: int) -> list[int]:
    """The ends that a period may have, as far as is known at an instant."""
    if period[1] <= instant:
        return [period[1]]
    return [*range(instant + 1, instant + 1 + ahead), *FAR]


def pair_is_certain(holds: Holds, r: Span, s: Span, instant: int, ahead: int) -> bool:
    return all(
        holds((r[0], r_end), (s[0], s_end))
        for r_end in ends_after(r, instant, ahead)
        for s_end in ends_after(s, instant, ahead)
    )


def certain_from(holds: Holds, r: Span, s: Span, ahead: int = 8) -> int:
    """The first instant at which a pair that is in the relation is so for every future."""
    instant = max(r[0], s[0])
    while not pair_is_certain(holds, r, s, instant, ahead):
        instant += 1
    return instant


def future_periods(instant: int, near: int, ahead: int) -> Iterator[Span]:
    """Periods that may still start after an instant; among them such that touch what ends near a given time."""
    starts = {*range(instant + 1, instant + ahead), *range(near - 1, near + ahead), FAR[1]}
    for start in starts:
        if start > instant:
            for end in {*range(start + 1, start + ahead), near - 1, near, near + 1, near + 2, 3 * FAR[0]}:
                if end > start:
                    yield start, end


def may_match(holds: Holds, r: Span, others: Sequence[Span], instant: int, ahead: int) -> bool:
    """Whether in any future r has a partner among the others or among periods yet to start."""
    for r_end in ends_after(r, instant, ahead):
        period = (r[0], r_end)
        for s in others:
            if s[0] <= instant and any(holds(period, (s[0], end)) for end in ends_after(s, instant, ahead)):
                return True
        if any(holds(period, s) for s in future_periods(instant, r_end, ahead)):
            return True
    return False


def alone_from(holds: Holds, r: Span, others: Sequence[Span], latest: int, ahead: int = 6) -> int:
    """The first instant at which it is certain that r never has a partner; NEVER if that takes for ever."""
    for instant in range(r[0], latest + 1):
        if not may_match(holds, r, others, instant, ahead):
            return instant
    return NEVER
