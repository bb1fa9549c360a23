"""When an answer is certain, by trying all futures.

A stream knows, at an instant t, all starts and ends up to t. A period that is still open may end at any later tick, or
never; any number of periods may still start. Rows that arrive whole are known with their ends: at their start, or only
at their end. Bounds are sums of an endpoint and of a constant. So if any future is in a relation, then one is whose
endpoints come a few ticks after the instant, or are no further than the largest constant from an end that is known, on
either side of it. These futures, and two far ones, stand for all. An end that is known to be never is such an end, too:
near to it are the last ticks of the axis.
"""

from collections.abc import Callable, Iterator, Sequence

Span = tuple[int, int]
Holds = Callable[[Span, Span], bool]
Arrivals = tuple[str, str]

FAR = (10**6, 2 * 10**6)
NEVER = 2**63 - 1
LARGEST = 6
"""No constant of a relation in tests is larger."""
LAST_TICKS = tuple(range(NEVER - LARGEST, NEVER))
"""The ticks that are as near to NEVER as the constants of relations in tests reach."""
APART: Arrivals = ("events", "events")


def known_from(period: Span, arrival: str) -> int:
    """The instant at which a row is heard of."""
    return period[1] if arrival == "end" else period[0]


def ends_after(period: Span, instant: int, ahead: int, arrival: str = "events") -> list[int]:
    """The ends that a period may have, as far as is known at an instant."""
    if period[1] <= instant or arrival != "events":
        return [period[1]]
    return [*range(instant + 1, instant + 1 + ahead), *FAR, *LAST_TICKS, NEVER]


def reach(instant: int, ahead: int, *periods: Span) -> int:
    """How far futures must go: a few ticks, and beyond each end that is known, which an open period may meet."""
    return max(ahead, *(end - instant + LARGEST for _, end in periods if end < FAR[0]), 0)


def pair_is_certain(holds: Holds, r: Span, s: Span, instant: int, ahead: int, arrivals: Arrivals = APART) -> bool:
    ahead = reach(instant, ahead, r, s)
    return all(
        holds((r[0], r_end), (s[0], s_end))
        for r_end in ends_after(r, instant, ahead, arrivals[0])
        for s_end in ends_after(s, instant, ahead, arrivals[1])
    )


def certain_from(
    holds: Holds, r: Span, s: Span, ahead: int = 8, arrivals: Arrivals = APART, latest: int = NEVER
) -> int:
    """The first instant at which a pair that is in the relation is so for every future; NEVER if only the end says."""
    instant = max(known_from(r, arrivals[0]), known_from(s, arrivals[1]))
    while instant <= latest and instant < NEVER:
        if pair_is_certain(holds, r, s, instant, ahead, arrivals):
            return instant
        instant += 1
    return NEVER


def future_periods(instant: int, near: int, ahead: int, arrival: str = "events") -> Iterator[Span]:
    """Periods that may still become known after an instant, with endpoints soon after it or near a given time."""
    around = range(near - LARGEST, near + LARGEST + 1)
    starts = {*range(instant + 1, instant + ahead), *around, FAR[1]}
    if arrival == "end":
        starts |= set(range(instant - 3 * ahead, instant + 1))
    for start in starts:
        ends = {*range(start + 1, start + ahead), *around, 3 * FAR[0], NEVER}
        if arrival == "end":
            ends |= set(range(instant + 1, instant + ahead))
        for end in ends:
            if NEVER >= end > start and known_from((start, end), arrival) > instant:
                yield start, end


def may_match(
    holds: Holds, r: Span, others: Sequence[Span], instant: int, ahead: int, arrivals: Arrivals = APART
) -> bool:
    """Whether in any future r has a partner among the others or among periods yet to become known."""
    far = reach(instant, ahead, r, *others)
    for r_end in ends_after(r, instant, far, arrivals[0]):
        period = (r[0], r_end)
        for s in others:
            if known_from(s, arrivals[1]) <= instant and any(
                holds(period, (s[0], end)) for end in ends_after(s, instant, far, arrivals[1])
            ):
                return True
        if any(holds(period, s) for s in future_periods(instant, r_end, ahead, arrivals[1])):
            return True
    return False


def alone_from(
    holds: Holds, r: Span, others: Sequence[Span], latest: int, ahead: int = 6, arrivals: Arrivals = APART
) -> int:
    """The first instant at which it is certain that r never has a partner; NEVER if that takes for ever."""
    for instant in range(known_from(r, arrivals[0]), latest + 1):
        if not may_match(holds, r, others, instant, ahead, arrivals):
            return instant
    return NEVER
