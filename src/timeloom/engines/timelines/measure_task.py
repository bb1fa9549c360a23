"""A column over a timeline: what temporal aggregates of it have in common, computed once."""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.resources.threads import gathered
from timeloom.engines.timelines.measure_values import double_values, integer_halves
from timeloom.engines.timelines.running_sums import DoubleSums, integer_sums
from timeloom.errors import InvalidInputError
from timeloom.kernels import order
from timeloom.kernels.aggregates.dip import dip_timeline
from timeloom.kernels.aggregates.timeline import Timeline, timeline_of
from timeloom.kernels.aggregates.wide import wide_sums
from timeloom.kernels.order import Positions, Ticks
from timeloom.model.measures import Measure
from timeloom.model.ticks import MAX_TICK, MIN_TICK

Item = TypeVar("Item", bound=np.generic)


@dataclass(frozen=True)
class Sweep:
    """A timeline over periods in the order of their starts, so that what enters and leaves lies close together.

    Position k of that order holds period ``order[k]``. Periods from ``rows`` on are fillers: they make time without
    active rows appear, and have no values. ``ends`` and all values for kernels are by position.
    """

    line: Timeline
    order: Positions
    ends: Ticks
    rows: int
    threads: int = 1
    in_row_order: bool = False

    @classmethod
    def of(
        cls, starts: Ticks, ends: Ticks, rows: int, threads: int, *, dip: bool = False, in_row_order: bool = False
    ) -> "Sweep":
        """Sort the periods and find those of constant lineage.

        The values of a period are listed by start, or ``in_row_order``.
        """
        by_start = order.sort(starts, threads, ends)
        ends = by_start.beside
        if dip:
            return cls(dip_timeline(by_start.values, ends), by_start.ids, ends, rows, threads, in_row_order)
        positions = np.arange(starts.size, dtype=np.int32)
        line = timeline_of(by_start._replace(ids=positions), order.sort(ends, threads))
        return cls(line, by_start.ids, ends, rows, threads, in_row_order)

    @property
    def fillers(self) -> int:
        """How many periods are no rows."""
        return self.order.size - self.rows

    def counts(self, valid: NDArray[np.bool_] | None = None) -> Ticks:
        """How many active rows each period has, or how many of them are valid."""
        if valid is None and not self.fillers:
            return self.line.active.astype(np.int64)
        valid = np.ones(self.rows, np.bool_) if valid is None else valid
        return integer_sums(self.line, self.arranged(valid).astype(np.int64), self.threads)

    def arranged(self, values: NDArray[Item], filler: int = 0) -> NDArray[Item]:
        """Values of the rows by position, with something for the fillers."""
        if self.fillers:
            values = np.concatenate([values, np.full(self.fillers, filler, values.dtype)])
        return gathered(values, self.order, self.threads)


class Task:
    """One column over a timeline, with the parts that several measures share."""

    def __init__(self, sweep: Sweep, column: pa.Array) -> None:
        self.sweep, self.column, self.kind = sweep, column, column.type
        self._totals: tuple[Ticks, Ticks | None] | None = None

    @property
    def threads(self) -> int:
        """How many threads may compute."""
        return self.sweep.threads

    @cached_property
    def valid(self) -> NDArray[np.bool_]:
        """Which rows have a value."""
        return np.asarray(self.column.is_valid()) if self.column.null_count else np.ones(self.sweep.rows, np.bool_)

    @cached_property
    def present(self) -> Ticks:
        """How many values each period has."""
        return self.sweep.counts(self.valid if self.column.null_count else None)

    @cached_property
    def double_sums(self) -> DoubleSums:
        """The exact sums of a column of floating-point numbers."""
        return DoubleSums(self.sweep.line, self.sweep.arranged(double_values(self.column)), self.sweep.threads)

    def integer_totals(self, measure: Measure) -> tuple[Ticks, Ticks | None]:
        """The exact sums of a column of whole numbers, as the lower and the upper 64 bits, or as int64 if all fit."""
        if self._totals is None:
            self._totals = self._sum_integers(measure)
        return self._totals

    def _sum_integers(self, measure: Measure) -> tuple[Ticks, Ticks | None]:
        low, high = integer_halves(self.column, measure)
        largest = max(abs(int(low.min(initial=0))), abs(int(low.max(initial=0))))
        if high is None and largest * low.size < 2**63:
            return integer_sums(self.sweep.line, self.sweep.arranged(low), self.sweep.threads), None
        high = np.zeros_like(low) if high is None else high
        found = wide_sums(self.sweep.line, self.sweep.arranged(low), self.sweep.arranged(high))
        return within_digits(*found, measure)


def within_digits(lower: Ticks, upper: Ticks, measure: Measure) -> tuple[Ticks, Ticks]:
    """Sums given by their lower and upper 64 bits; those that saturate are refused."""
    if (((upper == MAX_TICK) & (lower == -1)) | ((upper == MIN_TICK) & (lower == 0))).any():
        raise InvalidInputError(
            f"aggregate {measure.name!r}: the sum of {measure.column!r} has more than 38 digits, which leaves no "
            f"{measure.function}; cast {measure.column!r} to double first"
        )
    return lower, upper
