"""From which tick to which a row must be present."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.joins.problem import limits_of
from timeloom.engines.spark.slicing.join_parts import JoinPart
from timeloom.engines.tables.ticks import Ticks
from timeloom.kernels.slicing import tick_ranges as kernel
from timeloom.model.ticks import MAX_TICK, MIN_TICK

FEW = 10_000
"""Of so many rows, which a sample has at most, tick ranges are found without the compiler: it takes longer to load."""


class TickRange(Protocol):
    """Says of the rows of a source at which ticks they must be present."""

    def of(self, starts: Ticks, ends: Ticks) -> tuple[Ticks, Ticks]:
        """The first and the last tick of each row; where there is none, first > last."""


@dataclass(frozen=True)
class PartRange:
    """Where the rows of one side of a join must be present, for all parts of the relation."""

    side: str
    parts: tuple[JoinPart, ...]

    def of(self, starts: Ticks, ends: Ticks) -> tuple[Ticks, Ticks]:
        """The first and the last tick of each row."""
        return tick_range(self.side, self.parts, starts, ends)


@dataclass(frozen=True)
class PeriodRange:
    """Rows must be present as long as they last; ``with_end`` also where they end, if others may begin there."""

    with_end: bool = False

    def of(self, starts: Ticks, ends: Ticks) -> tuple[Ticks, Ticks]:
        """The first and the last tick of each row; rows without time have none."""
        return starts, ends if self.with_end else ends - (starts < ends)


@dataclass(frozen=True)
class StartRange:
    """Rows must be present where they start: what they change later is told to others apart."""

    def of(self, starts: Ticks, ends: Ticks) -> tuple[Ticks, Ticks]:
        """The start of each row as its first and its last tick; rows without time have none."""
        return starts, starts - (starts >= ends)


def tick_range(side: str, parts: Sequence[JoinPart], starts: Ticks, ends: Ticks) -> tuple[Ticks, Ticks]:
    """The first and the last tick that each row of this side must be present at; where there is none, first > last."""
    ways = np.array([_way(side, part) for part in parts], np.int64).reshape(len(parts), 5)
    if starts.size <= FEW:
        return ranges_of_few(starts, ends, ways)
    low, high = np.empty(starts.size, np.int64), np.empty(starts.size, np.int64)
    kernel.tick_ranges(starts, ends, ways, low, high)
    return low, high


def ranges_of_few(starts: Ticks, ends: Ticks, ways: NDArray[np.int64]) -> tuple[Ticks, Ticks]:
    """The same as the kernel does, in arrays."""
    low, high = np.full(starts.size, MAX_TICK), np.full(starts.size, MIN_TICK)
    for kind, *limits in ways.tolist():
        if kind == kernel.WITHIN:
            at_least = np.maximum(shifted(starts, limits[0]), shifted(ends, limits[2]))
            at_most = np.minimum(shifted(starts, limits[1]), shifted(ends, limits[3]))
        else:
            at_least = at_most = ends if kind == kernel.AT_END else starts
        some = at_least <= at_most
        low = np.where(some, np.minimum(low, at_least), low)
        high = np.where(some, np.maximum(high, at_most), high)
    return low, high


def shifted(ticks: Ticks, by: int) -> Ticks:
    """Add and saturate; a limit at an end of the axis is none."""
    if by in (MIN_TICK, MAX_TICK):
        return np.full(ticks.size, by)
    if by > 0:
        return np.where(ticks > MAX_TICK - by, MAX_TICK, np.minimum(ticks, MAX_TICK - by) + by)
    return np.where(ticks < MIN_TICK - by, MIN_TICK, np.maximum(ticks, MIN_TICK - by) + by)


def _way(side: str, part: JoinPart) -> tuple[int, ...]:
    if part.indexed_side == side:
        return (kernel.AT_END if part.driver.by_end else kernel.AT_START, 0, 0, 0, 0)
    return (kernel.WITHIN, *limits_of(part.driver.point))
