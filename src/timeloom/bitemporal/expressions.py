"""Expressions over a sliding window: kept up to date by what enters and leaves, or computed over the valid rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeloom.bitemporal.exact import ExactSum
from timeloom.engines.frames import require_columns
from timeloom.errors import UsageError
from timeloom.kernels.bisw import Ticks
from timeloom.model.measures import Measure

Column = Callable[[str, Ticks], pa.Array]
"""Reads the values of a column in some rows."""

BY_DELTA = ("count", "sum", "avg")

_OVER_ROWS: dict[str, Callable[[pa.Array], Any]] = {
    "min": lambda values: pc.min(values).as_py(),
    "max": lambda values: pc.max(values).as_py(),
    "var": lambda values: pc.variance(values, ddof=1).as_py(),
    "stddev": lambda values: pc.stddev(values, ddof=1).as_py(),
    "count_distinct": lambda values: pc.count_distinct(values).as_py(),
    "collect": lambda values: values.to_pylist() or None,
}


class Expression:
    """The running value of one measure."""

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        self.by_delta = measure.function in BY_DELTA
        self._count = 0
        self._sum = ExactSum()

    def slide(self, entered: Ticks, left: Ticks, column: Column) -> None:
        """Take notice of a delta."""
        for sign, rows in ((1, entered), (-1, left)):
            if self.measure.column is None:
                self._count += sign * rows.size
                continue
            values = column(self.measure.column, rows).drop_null()
            self._count += sign * len(values)
            if self.measure.function != "count":
                self._sum.add(values, sign)

    def value(self, valid: Callable[[], Ticks], column: Column) -> Any:
        """The value over the rows that are valid now."""
        function, name = self.measure.function, self.measure.column
        if function == "count":
            return self._count
        if self.by_delta:
            if not self._count:
                return None
            return self._sum.value() if function == "sum" else self._sum.mean(self._count)
        assert name is not None
        values = column(name, valid())
        if isinstance(function, str):
            return _OVER_ROWS[function](values)
        present = np.asarray(values.drop_null())
        return function(present) if present.size else None


def expressions_of(measures: tuple[Measure, ...]) -> dict[str, Expression]:
    """Fresh expressions by name."""
    return {measure.name: Expression(measure) for measure in measures}


def check_measures(measures: tuple[Measure, ...], columns: list[str]) -> None:
    """Refuse measures that an index cannot follow."""
    require_columns(columns, [measure.column for measure in measures if measure.column], "indexed")
    for measure in measures:
        function = measure.function
        if isinstance(function, str) and function not in (*BY_DELTA, *_OVER_ROWS):
            raise UsageError(
                f"select {measure.name!r}: {function!r} depends on when rows entered, which an index does not keep; "
                "use tl.sliding_windows, or a callable over the valid rows"
            )
