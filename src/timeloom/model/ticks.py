"""Ticks: the int64 axis on which all periods live, and the spans between two of its points."""

import re
from datetime import timedelta
from enum import Enum

from timeloom.errors import UsageError, shown

MIN_TICK = -(2**63)
MAX_TICK = 2**63 - 1
FOREVER = MAX_TICK
"""The end of an open-ended period."""

Span = int | timedelta
"""A distance on the axis: a number of ticks, or a duration whose ticks depend on the axis."""


class Axis(Enum):
    """What one tick is. Periods compare only on the same axis."""

    INTEGER = "integer"
    DATE = "date"
    TIMESTAMP = "timestamp without zone"
    ZONED = "timestamp with zone"

    @property
    def tick(self) -> timedelta | None:
        """The duration of one tick; integers have none."""
        if self is Axis.INTEGER:
            return None
        return timedelta(days=1) if self is Axis.DATE else timedelta(microseconds=1)


def saturate(ticks: int) -> int:
    """Clip to the int64 range: arithmetic on ticks never wraps."""
    return max(MIN_TICK, min(MAX_TICK, ticks))


def ticks_of(span: Span, axis: Axis) -> int:
    """Count the ticks in a span on this axis.

    >>> ticks_of(timedelta(hours=1), Axis.ZONED)
    3600000000
    >>> ticks_of(timedelta(weeks=1), Axis.DATE)
    7
    """
    if isinstance(span, int):
        return span
    if axis.tick is None:
        raise UsageError(
            f"the duration {span} was given for integer periods, whose ticks have no unit; "
            "give a plain integer, or use date or timestamp columns"
        )
    count, rest = divmod(span, axis.tick)
    if rest:
        raise UsageError(f"the duration {span} is no whole number of {axis.value} ticks ({axis.tick}); round it")
    return count


_UNITS = {
    "microseconds": ("us", "microsecond", "microseconds"),
    "milliseconds": ("ms", "millisecond", "milliseconds"),
    "seconds": ("s", "sec", "secs", "second", "seconds"),
    "minutes": ("m", "min", "mins", "minute", "minutes"),
    "hours": ("h", "hr", "hrs", "hour", "hours"),
    "days": ("d", "day", "days"),
    "weeks": ("w", "week", "weeks"),
}
_UNIT_OF = {word: unit for unit, words in _UNITS.items() for word in words}
_ISO = re.compile(
    r"([+-])?P(?=.)(?:(\d+(?:\.\d+)?)Y)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)W)?(?:(\d+(?:\.\d+)?)D)?"
    r"(?:T(?=.)(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?",
    re.I,
)
"""Durations of ISO 8601, such as PT5M or P1DT12H."""
_ISO_UNITS = ("weeks", "days", "hours", "minutes", "seconds")
_TERM = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*,?")


def parse_span(value: "Span | str", option: str) -> Span:
    """Read a span: an int, a timedelta, words such as ``"5 minutes"`` or ``"1 day 12 hours"``, or ISO 8601.

    >>> parse_span("PT5M", "delta")
    datetime.timedelta(seconds=300)
    >>> parse_span("1 day 12 hours", "delta")
    datetime.timedelta(days=1, seconds=43200)
    """
    if isinstance(value, bool) or not isinstance(value, int | timedelta | str):
        raise UsageError(
            f"{option}={shown(value)} is no span; give an int (ticks), a timedelta, or text such as '5 minutes'"
        )
    try:
        span = _parsed(value, option) if isinstance(value, str) else value
    except (OverflowError, ValueError) as error:
        raise UsageError(f"{option}={shown(value)} is longer than any span can be: {error}") from error
    ticks = span if isinstance(span, int) else span // timedelta(microseconds=1)
    if not MIN_TICK <= ticks <= MAX_TICK:
        raise UsageError(f"{option}={shown(value)} does not fit into int64 ticks; leave the option out for no limit")
    return span


def _parsed(value: str, option: str) -> Span:
    text, total, at = value.strip(), timedelta(0), 0
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    iso = _ISO.fullmatch(text)
    if iso is not None:
        return _iso(iso, value, option)
    while at < len(text):
        term = _TERM.match(text, at)
        unit = _UNIT_OF.get(term.group(2).lower()) if term else None
        if term is None or unit is None:
            raise UsageError(
                f"{option}={shown(value)} is no span; expected a number and a unit "
                f"({', '.join(_UNITS)}), such as '5 minutes' or '1 day 12 hours', or ISO 8601, such as 'PT5M'"
            )
        try:
            total += timedelta(**{unit: float(term.group(1)) if "." in term.group(1) else int(term.group(1))})
        except (OverflowError, ValueError) as error:
            raise UsageError(f"{option}={value!r} is longer than any span there is; give less") from error
        at = term.end()
    if not text:
        raise UsageError(f"{option} is an empty text; give a span such as '5 minutes'")
    return total


def _iso(found: "re.Match[str]", value: str, option: str) -> timedelta:
    """A duration of ISO 8601. Years and months have no length of their own."""
    sign, years, months, *parts = found.groups()
    if years or months:
        raise UsageError(f"{option}={shown(value)} has years or months, which differ in length; give weeks or days")
    numbers = {
        unit: float(part) if "." in part else int(part) for unit, part in zip(_ISO_UNITS, parts, strict=True) if part
    }
    total = timedelta(**numbers)
    return -total if sign == "-" else total
