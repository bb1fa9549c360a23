"""The parts that a long time is cut into: as many as a picture has room for, each a natural stretch of the calendar."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timeloom.model.ticks import MIN_TICK, Axis
from timeloom.report.pictures.calendar import CLOCK, DAY, MONDAY, round_step

MOST_CELLS = 400
_DAYS = (1, 2, 7, 14, 28, 91, 364)
_NAMES = {1: "day", 7: "week"}


@dataclass(frozen=True)
class Cells:
    """Equal parts of time, in ticks of their axis: ``count`` of ``width`` from ``origin``."""

    origin: int
    width: int
    count: int
    axis: Axis

    @classmethod
    def over(cls, first: int, last: int, axis: Axis) -> "Cells":
        """The parts between two ticks: days over a year, hours over a week.

        >>> Cells.over(0, 365, Axis.DATE)
        Cells(origin=0, width=1, count=365, axis=<Axis.DATE: 'date'>)
        """
        widths = _widths(axis) or (round_step(last - first, MOST_CELLS),)
        width = next((width for width in widths if (last - first) // width < MOST_CELLS), None)
        while width is None or (last - first) // width >= MOST_CELLS:
            width = (width or widths[-1]) * 2
        day = day_ticks(axis)
        shift = MONDAY // DAY * day if day and width % (7 * day) == 0 else 0
        origin = max((first - shift) // width * width + shift, MIN_TICK)
        return cls(origin, width, (last - 1 - origin) // width + 1, axis)

    @property
    def name(self) -> str:
        """What one part is called."""
        day = day_ticks(self.axis)
        if not day:
            return f"stretch of {self.width:,}" if self.width > 1 else "tick"
        if self.width % day == 0:
            days = self.width // day
            return _NAMES.get(days, f"{days} days")
        seconds = self.width / 1e6
        if seconds >= 3600:
            return "hour" if seconds == 3600 else f"{seconds / 3600:g} hours"
        return f"{seconds / 60:g} min" if seconds >= 60 else f"{seconds:g} s"

    def of(self, ticks: "NDArray[np.int64]") -> "NDArray[np.int64]":
        """The part in which each tick lies; differences are unsigned, so that none is too large."""
        origin = np.array([self.origin], np.int64).view(np.uint64)
        return ((ticks.view(np.uint64) - origin) // np.uint64(self.width)).astype(np.int64)

    def bounds(self, cells: "NDArray[Any]") -> tuple[list[int], list[int]]:
        """The first tick of each of these parts, and the tick after its last."""
        starts = [self.origin + self.width * int(cell) for cell in cells.tolist()]
        return starts, [start + self.width for start in starts]


def day_ticks(axis: Axis) -> int:
    """The ticks of a day; zero for integers, which know none."""
    return {Axis.INTEGER: 0, Axis.DATE: 1}.get(axis, DAY)


def _widths(axis: Axis) -> tuple[int, ...]:
    day = day_ticks(axis)
    days = tuple(number * day for number in _DAYS)
    if not day:
        return ()
    return days if axis is Axis.DATE else (*CLOCK, *days)
