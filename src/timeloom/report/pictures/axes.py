"""Axes of pictures: places in hundredths of their width or height, so that a page may have any width."""

import math
from dataclasses import dataclass

from timeloom.report.pictures.calendar import ticks


@dataclass(frozen=True)
class Mark:
    """A label at a place; ``side`` keeps labels near an edge within the picture."""

    at: float
    label: str
    side: str = ""
    wide: bool = False


@dataclass(frozen=True)
class Across:
    """A time axis from left to right; the quotient of whole numbers is exact at any size."""

    low: int
    high: int
    is_time: bool

    def of(self, at: int) -> float:
        """Where an instant lies."""
        return 100 * (at - self.low) / max(1, self.high - self.low)

    def marks(self) -> list[Mark]:
        """Labels at round places; every other one is for wide pages only."""
        found = ticks(self.low, self.high, is_time=self.is_time)
        return [
            Mark(round(self.of(tick.at), 3), tick.label, side(self.of(tick.at)), number % 2 == 1)
            for number, tick in enumerate(found)
        ]


_LEAST = 1e-290
"""Below it numbers have too few digits left for a fifth of them to be one."""


@dataclass(frozen=True)
class Upward:
    """A number axis from bottom to top."""

    low: float
    high: float
    step: float

    @classmethod
    def over(cls, least: float, greatest: float, *, whole: bool = False) -> "Upward":
        """An axis that has room for these, begins at zero if it can, and has a little air above."""
        low, high = min(0.0, least), max(0.0, greatest)
        spread = high - low
        step = _step(spread if spread > _LEAST else 1.0, whole=whole)
        top = max(math.ceil(high * 1.04 / step), 1 if low == 0 else 0)
        return cls(math.floor(low / step) * step, top * step, step)

    def of(self, value: float) -> float:
        """How far up a value lies."""
        return 100 * (value - self.low) / (self.high - self.low)

    def marks(self) -> list[Mark]:
        """Labels at round numbers."""
        count = round((self.high - self.low) / self.step)
        values = [self.low + number * self.step for number in range(count + 1)]
        return [Mark(round(self.of(value), 3), number(value)) for value in values]


def side(at: float) -> str:
    """At which side of its place a label must stand."""
    return "first" if at < 6 else "last" if at > 94 else ""


def number(value: float) -> str:
    """A number without digits that say nothing.

    >>> number(1234.0), number(0.25), number(1.5e12)
    ('1,234', '0.25', '1.5e+12')
    """
    if value == int(value) and abs(value) < 1e12:
        return f"{int(value):,}"
    return f"{value:,.4g}" if abs(value) < 1e5 or abs(value) >= 1e12 else f"{value:,.0f}"


def _step(spread: float, *, whole: bool) -> float:
    """The distance of about five labels; between whole numbers there is nothing to label."""
    rough = max(spread / 5, 1.0) if whole else spread / 5
    size = 10.0 ** math.floor(math.log10(rough))
    factors = (1, 2, 5, 10) if whole else (1, 2, 2.5, 5, 10)
    return next(factor * size for factor in factors if factor * size >= rough * 0.999)
