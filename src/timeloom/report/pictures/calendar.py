"""Ticks of a time axis on the borders of the calendar, or on round numbers."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

SECOND = 1_000_000
DAY = 86_400 * SECOND
"""Times are whole microseconds since 1970, so that no picture depends on how fractions are rounded."""

MOST_TICKS = 8
MONDAY = -3 * DAY
"""A Monday: 1970 began on a Thursday."""

_EPOCH = datetime(1970, 1, 1)
_FIRST, _LAST = ((datetime(year, 1, 1) - _EPOCH) // timedelta(microseconds=1) for year in (1, 9999))
_CLOCK = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
_PARTS = tuple(factor * int(10**power) for power in range(6) for factor in (1, 2, 5))
CLOCK: tuple[int, ...] = (*_PARTS, *(step * SECOND for step in _CLOCK))
"""Distances below a day."""

_DAYS = (1, 2, 7, 14)
_MONTHS = (1, 2, 3, 6)


@dataclass(frozen=True)
class Tick:
    """A place on the axis and what is written there."""

    at: int
    label: str


def ticks(low: int, high: int, *, is_time: bool) -> list[Tick]:
    """The ticks between two instants: at most eight, on round numbers or on borders of the calendar.

    >>> [tick.label for tick in ticks(3, 17, is_time=False)]
    ['4', '6', '8', '10', '12', '14', '16']
    >>> year = datetime(2013, 1, 1), datetime(2014, 1, 1)
    >>> [tick.label for tick in ticks(*(ticks_of(at) for at in year), is_time=True)]
    ['Jan 2013', 'Mar', 'May', 'Jul', 'Sep', 'Nov', 'Jan 2014']
    """
    if not is_time or low < _FIRST or high > _LAST:
        return [Tick(at, f"{at:,}") for at in _round_numbers(low, high)]
    for step in CLOCK:
        if (high - low) // step < MOST_TICKS:
            return _clock(low, high, step)
    for days in _DAYS:
        if (high - low) // (days * DAY) < MOST_TICKS:
            return _days(low, high, days)
    return _months(low, high)


def ticks_of(moment: datetime) -> int:
    """A moment as microseconds since 1970."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def moment(at: int) -> datetime | None:
    """The moment of a tick; None beyond the years that Python has."""
    return _EPOCH + timedelta(microseconds=at) if _FIRST <= at <= _LAST else None


def written(at: int, *, is_time: bool, is_day: bool = False) -> str:
    """An instant as a reader likes it: no zeros that say nothing.

    >>> written(1_372_696_920_000_000, is_time=True)
    '1 Jul 2013, 16:42'
    """
    found = moment(at) if is_time else None
    if found is None:
        return f"{at:,}"
    day = f"{found.day} {found:%b %Y}"
    if is_day or (not found.hour and not found.minute and not found.second and not found.microsecond):
        return day
    clock = f"{found:%H:%M}" if not found.second and not found.microsecond else f"{found:%H:%M:%S}"
    return f"{day}, {clock}" + (f".{found.microsecond:06d}".rstrip("0") if found.microsecond else "")


def _round_numbers(low: int, high: int) -> range:
    step = round_step(high - low, MOST_TICKS - 1)
    return range(-(-low // step) * step, high + 1, step)


def round_step(spread: int, parts: int) -> int:
    """The least of 1, 2, 5, 10, 20, … of which a spread has no more than so many parts.

    >>> round_step(1, 7), round_step(100, 6), round_step(2**64, 6)
    (1, 20, 5000000000000000000)
    """
    wanted = max(1, -(-spread // parts))
    size = int(10 ** (len(str(wanted)) - 1))
    return next(factor * size for factor in (1, 2, 5, 10) if factor * size >= wanted)


def _clock(low: int, high: int, step: int) -> list[Tick]:
    found = []
    for number, at in enumerate(range(-(-low // step) * step, high + 1, step)):
        when = _EPOCH + timedelta(microseconds=at)
        clock = f"{when:%H:%M}" if step >= 60 * SECOND else f"{when:%H:%M:%S}"
        if step < SECOND:
            clock += f".{when.microsecond:06d}".rstrip("0") if when.microsecond else ""
        day = f"{when.day} {when:%b}"
        found.append(Tick(at, day if at % DAY == 0 else f"{day}, {clock}" if not number else clock))
    return found


def _days(low: int, high: int, days: int) -> list[Tick]:
    """Whole days; weeks begin on Mondays."""
    step, shift = days * DAY, MONDAY if days >= 7 else 0
    found = []
    for number, at in enumerate(range(-(-(low - shift) // step) * step + shift, high + 1, step)):
        when = _EPOCH + timedelta(microseconds=at)
        new_year = not number or (when - timedelta(days=days)).year != when.year
        found.append(Tick(at, f"{when.day} {when:%b}" + (f" {when.year}" if new_year else "")))
    return found


def _months(low: int, high: int) -> list[Tick]:
    """First days of months or of years."""
    begin, end = (_EPOCH + timedelta(microseconds=at) for at in (low, high))
    months = 12 * (end.year - begin.year) + end.month - begin.month + 1
    years = 12 * round_step(-(-months // 12), MOST_TICKS - 1)
    step = next((step for step in (*_MONTHS, 12) if months // step < MOST_TICKS), years)
    return list(_firsts(begin.year * 12 + begin.month - 1, low, high, step))


def _firsts(month: int, low: int, high: int, step: int) -> Iterator[Tick]:
    first = True
    for number in range(-(-month // step) * step, 12 * 9999, step):
        year, within = divmod(number, 12)
        when = datetime(max(year, 1), within + 1, 1)
        at = ticks_of(when)
        if at > high:
            return
        if at >= low:
            label = f"{year}" if step % 12 == 0 else f"{when:%b} {year}" if first or not within else f"{when:%b}"
            first = False
            yield Tick(at, label)
