"""Grids of time: every so many ticks, or calendar units in a zone."""

import re
from dataclasses import dataclass
from typing import Any, Literal

from timeloom.errors import UsageError, shown
from timeloom.model.ticks import Span, parse_span

CalendarUnit = Literal["day", "week", "month", "quarter", "year"]

_CALENDAR: dict[str, tuple[CalendarUnit, int]] = {
    "d": ("day", 1),
    "day": ("day", 1),
    "w": ("week", 1),
    "week": ("week", 1),
    "month": ("month", 1),
    "mo": ("month", 1),
    "quarter": ("month", 3),
    "q": ("month", 3),
    "year": ("month", 12),
    "y": ("month", 12),
}
_TERM = re.compile(r"\s*(\d+)?\s*([a-zA-Z]+)\s*")
_ISO = re.compile(r"\s*P(\d+)([DWMY])\s*")
_ISO_UNITS = {"D": "day", "W": "week", "M": "month", "Y": "year"}


@dataclass(frozen=True)
class Every:
    """The distance of a grid's lines: a span, or a number of calendar units. ``shown`` is what the user gave."""

    span: Span | None
    unit: CalendarUnit | None
    count: int
    shown: str

    @classmethod
    def of(cls, given: object) -> "Every":
        """Read ``5``, ``timedelta(hours=1)``, ``"15 minutes"``, ``"1 month"``, ``"week"``, or ``"P1M"``.

        >>> Every.of("P3M").unit, Every.of("P3M").count, Every.of("PT1H").span
        ('month', 3, datetime.timedelta(seconds=3600))
        """
        iso = _ISO.fullmatch(given) if isinstance(given, str) else None
        text = f"{iso[1]} {_ISO_UNITS[iso[2]]}" if iso else given
        term = _TERM.fullmatch(text) if isinstance(text, str) else None
        word = term[2].lower() if term else ""
        unit = _CALENDAR.get(word) or _CALENDAR.get(word.removesuffix("s"))
        if term is not None and unit is not None:
            count = int(term[1] or 1) * unit[1]
            if not 1 <= count <= 120_000:
                raise UsageError(f"every={shown(given)} is no distance of lines; give 1 or more, and no ages")
            return cls(None, unit[0], count, str(given))
        span = parse_span(given, "every")  # type: ignore[arg-type]
        if (span if isinstance(span, int) else span.total_seconds()) <= 0:
            raise UsageError(f"every={shown(given)} is no distance of lines; give more than zero")
        return cls(span, None, 1, str(given))


@dataclass(frozen=True)
class GridRequest:
    """A grid as users ask for it: lines at regular distances from an origin, in a zone, or at instants."""

    every: Every | None = None
    origin: Any = None
    zone: str | None = None
    at: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        if (self.every is None) == (self.at is None):
            raise UsageError("give either every= for a regular grid, or at= for instants")
        for option, value in (("origin", self.origin), ("zone", self.zone)):
            if value is not None and self.every is None:
                raise UsageError(f"{option}= is for a regular grid; at= needs none")
        if self.zone is not None and self.every is not None and self.every.unit is None:
            raise UsageError(
                f"zone= is for days, weeks, months, quarters and years, not for every={self.every.shown!r}"
            )
