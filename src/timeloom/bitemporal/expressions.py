"""Expressions over a sliding window: kept up to date by what enters and leaves, or computed over the valid rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.bitemporal.exact import ExactSum
from timeloom.bitemporal.payload import Payload
from timeloom.engines.tables.frames import require_columns
from timeloom.engines.tables.ticks import whole
from timeloom.engines.timelines.measure_task import Sweep
from timeloom.engines.timelines.measures import CallFailedError, evaluate
from timeloom.errors import InvalidInputError, UsageError
from timeloom.kernels.bitemporal.windows import Ticks
from timeloom.model.aggregates import COUNT, MEAN
from timeloom.model.measures import Measure


class Expression:
    """The running value of one measure."""

    def __init__(self, measure: Measure, payload: Payload) -> None:
        self.measure = measure
        record = measure.aggregate
        self.by_delta = record is not None and record.reversible
        self._combination = None if record is None else record.combination
        self.payload = payload
        self._count = 0
        column = measure.column
        self._sum = None if column is None else ExactSum(payload.schema.field(column).type, measure)

    def slide(self, entered: Ticks, left: Ticks) -> None:
        """Take notice of a delta."""
        for sign, rows in ((1, entered), (-1, left)):
            if self._sum is None:
                self._count += sign * rows.size
                continue
            values = self._values(rows).drop_null()
            self._count += sign * len(values)
            if self._combination != COUNT:
                self._sum.add(values, sign)

    def value(self, step: int, valid: Callable[[], Ticks]) -> Any:
        """The value over the rows that are valid now."""
        if self._combination == COUNT:
            return self._count
        if self.by_delta:
            assert self._sum is not None
            if not self._count:
                return None
            return self._sum.mean(self._count) if self._combination == MEAN else self._sum.value(self._count)
        try:
            return _over_rows(self.measure, self._values(valid()))
        except CallFailedError as error:
            raise InvalidInputError(
                f"select {self.measure.name!r}: its function raised {error} for step {step}"
            ) from error

    def _values(self, rows: Ticks) -> pa.Array:
        return self.payload.values(str(self.measure.column), rows)


def _over_rows(measure: Measure, values: pa.Array) -> Any:
    """A measure of some values, as a temporal aggregation over a single instant has it."""
    starts = np.zeros(len(values) + 1, np.int64)
    swept = Sweep.of(starts, starts + 1, len(values), 1, in_row_order=True)
    return evaluate(swept, [measure], values)[measure.name][0].as_py()


def expressions_of(measures: tuple[Measure, ...], payload: Payload) -> dict[str, Expression]:
    """Fresh expressions by name."""
    return {measure.name: Expression(measure, payload) for measure in measures}


def check_measures(measures: tuple[Measure, ...], schema: pa.Schema) -> None:
    """Refuse measures that an index cannot follow, and those that make no sense for the types of their columns."""
    wanted = [measure.column for measure in measures if measure.column is not None]
    require_columns(schema.names, wanted, "indexed")
    for measure in measures:
        if measure.aggregate is not None and measure.aggregate.order == "decisive":
            raise UsageError(
                f"select {measure.name!r}: {measure.function!r} depends on when rows entered, which an index does not "
                "keep; use tl.sliding_windows, or a callable over the valid rows"
            )
        if measure.column is not None:
            _over_rows(measure, whole(schema.empty_table()[measure.column]))
