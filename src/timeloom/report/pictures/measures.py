"""What pictures need to know of a result, whole: few numbers, whichever engine counts them."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.tables.ticks import Ticks, read_period
from timeloom.engines.tables.verdicts import VALID, judge
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import FOREVER, Axis
from timeloom.plots.reduction import bin_edges
from timeloom.report.pictures.cells import Cells, day_ticks

FEW = 400
"""So many steps are drawn one by one."""

AS_POINTS = Policy("drop", "point")
"""Empty periods are drawn as instants; rows without a usable period are counted, and told."""


@dataclass(frozen=True)
class Extent:
    """The time that a result covers: from the first start to the last end, and how many rows have no period."""

    rows: int
    without: int
    first: int
    last: int
    axis: Axis

    @classmethod
    def of(cls, rows: int, without: int, first: int, last: int, open_ends: int, axis: Axis) -> "Extent":
        """Open ends are drawn a little beyond all other instants."""
        beyond = max(1, (last - first) // 20) if open_ends else 0
        return cls(rows, without, first, min(last + beyond, FOREVER), axis)


@dataclass(frozen=True)
class Bands:
    """A value over time: its least, greatest and mean in stretches of time, and where it is greatest of all."""

    starts: list[int]
    ends: list[int]
    least: list[float]
    greatest: list[float]
    mean: list[float] | None
    top: tuple[float, int, int]
    per: str


class Measures(Protocol):
    """A result that can be measured."""

    def extent(self, period: Period) -> Extent | None:
        """The time that it covers; None if no row has a period."""

    def bands(self, period: Period, value: str, extent: Extent) -> Bands | None:
        """A value over time; None if there is none."""

    def touching(self, period: Period, cells: Cells) -> list[int]:
        """How many rows touch each part of the time."""

    def begins(self, period: Period, extent: Extent) -> dict[int, int]:
        """How many rows begin on each day; days are counted from 1970."""

    def bins(self, value: str) -> tuple[list[int], list[float]]:
        """How many rows have a value in each of some ranges, and the borders of these."""


class LocalMeasures:
    """An Arrow table."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def _ticks(self, period: Period) -> tuple[Ticks, Ticks, NDArray[np.bool_], Axis]:
        found = read_period(self.table, period, "result")
        ends, verdict = judge(found, AS_POINTS)
        return found.starts, ends, verdict == VALID, found.type.axis

    def extent(self, period: Period) -> Extent | None:
        """The time that it covers."""
        starts, ends, fit, axis = self._ticks(period)
        if not fit.any():
            return None
        starts, ends = starts[fit], ends[fit]
        is_open = ends == FOREVER
        last = int(np.where(is_open, starts + 1, ends).max())
        return Extent.of(
            starts.size, fit.size - starts.size, int(starts.min()), last, int(np.count_nonzero(is_open)), axis
        )

    def bands(self, period: Period, value: str, extent: Extent) -> Bands | None:
        """A value over time: step by step if there are few, else in parts."""
        starts, ends, fit, axis = self._ticks(period)
        values = np.asarray(self.table[value].cast(pa.float64(), safe=False).combine_chunks(), np.float64)
        fit &= np.isfinite(values)
        if not fit.any():
            return None
        order = np.argsort(starts[fit], kind="stable")
        starts, values = starts[fit][order], values[fit][order]
        ends = np.minimum(ends[fit][order], np.int64(extent.last))
        at = int(np.argmax(values))
        top = float(values[at]), int(starts[at]), int(ends[at])
        if starts.size <= FEW and bool((starts[1:] >= ends[:-1]).all()):
            shown = values.tolist()
            return Bands(starts.tolist(), ends.tolist(), shown, shown, None, top, "")
        return _in_parts(starts, ends, values, Cells.over(extent.first, extent.last, axis), top)

    def touching(self, period: Period, cells: Cells) -> list[int]:
        """How many rows touch each part."""
        starts, ends, fit, _ = self._ticks(period)
        last = cells.origin + cells.width * cells.count
        first, end = cells.of(starts[fit]), cells.of(np.minimum(ends[fit], min(last, FOREVER)) - 1)
        change = np.bincount(first, minlength=cells.count + 1) - np.bincount(end + 1, minlength=cells.count + 1)
        return [int(count) for count in np.cumsum(change)[:-1].tolist()]

    def begins(self, period: Period, extent: Extent) -> dict[int, int]:
        """How many rows begin on each day."""
        starts, _, fit, axis = self._ticks(period)
        days, counts = np.unique(starts[fit] // day_ticks(axis), return_counts=True)
        return {int(day): int(count) for day, count in zip(days.tolist(), counts.tolist(), strict=True)}

    def bins(self, value: str) -> tuple[list[int], list[float]]:
        """How many rows have a value in each range."""
        column = self.table[value]
        values = np.asarray(column.cast(pa.float64(), safe=False).combine_chunks(), np.float64)
        values = values[np.isfinite(values)]
        if not values.size:
            return [], []
        bounds = bin_edges(values.min(), values.max(), whole=pa.types.is_integer(column.type))
        return np.histogram(values, bounds)[0].tolist(), bounds.tolist()


def _in_parts(starts: Ticks, ends: Ticks, values: NDArray[np.float64], cells: Cells, top: Any) -> Bands:
    """The extremes and the mean of what is in each part; a mean is weighted by time."""
    first, last = cells.of(starts), cells.of(ends - 1)
    least, greatest = np.full(cells.count, np.inf), np.full(cells.count, -np.inf)
    total, weight = np.zeros(cells.count), np.zeros(cells.count)
    reach = last - first
    for step in range(int(reach.max()) + 1):
        rows = np.flatnonzero(reach >= step)
        cell = first[rows] + step
        low = cells.origin + cells.width * cell.astype(np.float64)
        time = np.minimum(ends[rows], low + cells.width) - np.maximum(starts[rows], low)
        np.minimum.at(least, cell, values[rows])
        np.maximum.at(greatest, cell, values[rows])
        np.add.at(total, cell, values[rows] * time)
        np.add.at(weight, cell, time)
    kept = np.flatnonzero(np.isfinite(least))
    least, greatest, total, weight = least[kept], greatest[kept], total[kept], weight[kept]
    mean = np.divide(total, weight, out=(least + greatest) / 2, where=weight > 0)
    begin, end = cells.bounds(kept)
    return Bands(begin, end, least.tolist(), greatest.tolist(), mean.tolist(), top, cells.name)
