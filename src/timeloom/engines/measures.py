"""Temporal aggregates of Arrow columns: every measure of a timeline as an Arrow column.

The same for local tables and inside a Spark task. Nulls take no part, as in SQL, except in ``first``, ``last`` and
``collect``, which speak of rows; over no values every measure but the counts is null.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.engines.measure_values import decimals, double_values, integer_halves, masked, order_codes, unfit
from timeloom.errors import InvalidInputError
from timeloom.kernels import order
from timeloom.kernels.aggregate import Timeline, distinct, members, sums
from timeloom.kernels.aggregate_double import double_sums
from timeloom.kernels.aggregate_extreme import greatest
from timeloom.kernels.aggregate_variance import variances
from timeloom.kernels.aggregate_wide import wide_means, wide_sums
from timeloom.kernels.order import Ticks
from timeloom.model.measures import Measure

Item = TypeVar("Item", bound=np.generic)

MAX_LIST = 2**31 - 1
MEAN_PLACES = 4
"""The decimal places that an average of decimals has more than the decimals themselves."""


@dataclass(frozen=True)
class Sweep:
    """A timeline, the periods it was made from, and how many of these are rows.

    Periods beyond the ``rows`` first ones are fillers: they make time without active rows appear, and have no values.
    """

    line: Timeline
    starts: Ticks
    ends: Ticks
    rows: int

    @property
    def fillers(self) -> int:
        """How many periods are no rows."""
        return self.starts.size - self.rows

    def counts(self, valid: NDArray[np.bool_] | None = None) -> Ticks:
        """How many active rows each period has, or how many of them are valid."""
        if valid is None and not self.fillers:
            return self.line.active.astype(np.int64)
        valid = np.ones(self.rows, np.bool_) if valid is None else valid
        return sums(self.line, self.padded(valid.astype(np.int64)))

    def padded(self, values: NDArray[Item], filler: int = 0) -> NDArray[Item]:
        """Values for the fillers, too."""
        if not self.fillers:
            return values
        return np.concatenate([values, np.full(self.fillers, filler, values.dtype)])


def evaluate(sweep: Sweep, measure: Measure, column: pa.Array | None) -> pa.Array:
    """Compute a measure for each period of the timeline."""
    if column is None:
        return pa.array(sweep.counts())
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not isinstance(measure.function, str):
        return _called(sweep, measure, column)
    return _FUNCTIONS[measure.function](sweep, measure, column)


def _present(sweep: Sweep, column: pa.Array) -> Ticks:
    return sweep.counts(np.asarray(column.is_valid()) if column.null_count else None)


def _count(sweep: Sweep, measure: Measure, column: pa.Array) -> pa.Array:
    return pa.array(_present(sweep, column))


def _sum(sweep: Sweep, measure: Measure, column: pa.Array) -> pa.Array:
    kind, missing = column.type, _present(sweep, column) == 0
    if pa.types.is_floating(kind):
        return masked(double_sums(sweep.line, sweep.padded(double_values(column))), missing)
    lower, upper = _integer_sums(sweep, measure, column)
    if pa.types.is_decimal(kind):
        return decimals(lower, upper, pa.decimal128(38, kind.scale), missing, measure)
    over = np.flatnonzero(upper != lower >> 63)
    if over.size:
        raise InvalidInputError(
            f"aggregate {measure.name!r}: the sum of {measure.column!r} does not fit into an int64 in {over.size} "
            f"periods; cast {measure.column!r} to decimal128(38, 0) or to double first"
        )
    total = masked(lower, missing)
    return total.cast(kind) if pa.types.is_duration(kind) else total


def _avg(sweep: Sweep, measure: Measure, column: pa.Array) -> pa.Array:
    kind, present = column.type, _present(sweep, column)
    missing = present == 0
    if pa.types.is_floating(kind):
        return masked(double_sums(sweep.line, sweep.padded(double_values(column))) / np.maximum(present, 1), missing)
    lower, upper = _integer_sums(sweep, measure, column)
    if pa.types.is_decimal(kind):
        places = max(0, min(MEAN_PLACES, 38 - kind.precision))
        wide = pa.decimal128(min(38, kind.precision + places), kind.scale + places)
        return decimals(*wide_means(lower, upper, present, 10**places), wide, missing, measure)
    if pa.types.is_duration(kind):
        return masked(wide_means(lower, upper, present, 1)[0], missing).cast(kind)
    total = lower.astype(np.float64)
    if (upper != lower >> 63).any():
        total = upper.astype(np.float64) * 2.0**64 + lower.view(np.uint64).astype(np.float64)
    return masked(total / np.maximum(present, 1), missing)


def _integer_sums(sweep: Sweep, measure: Measure, column: pa.Array) -> tuple[Ticks, Ticks]:
    """Exact sums as the lower and the upper 64 bits."""
    low, high = integer_halves(column, measure)
    largest = max(abs(int(low.min(initial=0))), abs(int(low.max(initial=0))))
    if high is None and largest * low.size < 2**63:
        total = sums(sweep.line, sweep.padded(low))
        return total, total >> 63
    high = np.zeros_like(low) if high is None else high
    return wide_sums(sweep.line, sweep.padded(low), sweep.padded(high))


def _var(sweep: Sweep, measure: Measure, column: pa.Array) -> pa.Array:
    kind, present = column.type, _present(sweep, column)
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
        raise unfit(kind, measure)
    return masked(variances(sweep.line, sweep.padded(double_values(column)), present), present < 2)


def _stddev(sweep: Sweep, measure: Measure, column: pa.Array) -> pa.Array:
    return pc.sqrt(_var(sweep, measure, column))


def _extreme(sweep: Sweep, measure: Measure, column: pa.Array) -> pa.Array:
    codes = order_codes(column, measure)
    valid = np.asarray(column.is_valid()) if column.null_count else np.ones(sweep.rows, np.bool_)
    return _of_greatest(sweep, column, ~codes if measure.function == "min" else codes, valid)


def _edge(sweep: Sweep, measure: Measure, column: pa.Array) -> pa.Array:
    """The value of the active row that started first or last; rows with one start count in the table's order."""
    rank = np.empty(sweep.starts.size, np.int64)
    rank[order.sort(sweep.starts).ids] = np.arange(sweep.starts.size)
    rank = rank[: sweep.rows]
    return _of_greatest(sweep, column, ~rank if measure.function == "first" else rank, np.ones(sweep.rows, np.bool_))


def _of_greatest(sweep: Sweep, column: pa.Array, codes: Ticks, valid: NDArray[np.bool_]) -> pa.Array:
    rows = greatest(sweep.line, sweep.ends, sweep.padded(codes), sweep.padded(valid))
    return pc.take(column, masked(rows, rows < 0))


def _count_distinct(sweep: Sweep, measure: Measure, column: pa.Array) -> pa.Array:
    if pa.types.is_nested(column.type):
        raise unfit(column.type, measure)
    encoded = pc.dictionary_encode(column)
    codes = np.asarray(pc.fill_null(encoded.indices, -1)).astype(np.int32)
    return pa.array(distinct(sweep.line, sweep.padded(codes, -1), len(encoded.dictionary)))


def _listed(sweep: Sweep, wanted: NDArray[np.bool_]) -> tuple[Ticks, NDArray[np.int32]]:
    """The active rows of each period that are wanted, and where each period's begin."""
    found = members(sweep.line)
    keep = sweep.padded(wanted)[found.rows]
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(keep)])
    return before[found.offsets], found.rows[keep]


def _collect(sweep: Sweep, measure: Measure, column: pa.Array) -> pa.Array:
    offsets, rows = _listed(sweep, np.ones(sweep.rows, np.bool_))
    if rows.size > MAX_LIST:
        raise InvalidInputError(
            f"aggregate {measure.name!r}: the lists would hold {rows.size:,} values, more than fit into one column; "
            "use a window (within=) or groups (by=) and collect them one at a time"
        )
    values = pc.take(column, pa.array(rows))
    lists = pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values)
    return pc.if_else(pa.array(offsets[1:] > offsets[:-1]), lists, pa.scalar(None, lists.type))


def _called(sweep: Sweep, measure: Measure, column: pa.Array) -> pa.Array:
    """Call the user's function with the values of each period that has any."""
    assert callable(measure.function)
    offsets, rows = _listed(sweep, np.asarray(column.is_valid()))
    values = column.to_numpy(zero_copy_only=False)[rows]
    results: list[object] = []
    for k in range(offsets.size - 1):
        if offsets[k] == offsets[k + 1]:
            results.append(None)
            continue
        try:
            result = measure.function(values[offsets[k] : offsets[k + 1]])
        except Exception as error:
            raise CallFailedError(k, measure, error) from error
        results.append(result.item() if isinstance(result, np.generic) else result)
    try:
        return pa.array(results)
    except pa.ArrowException as error:
        raise InvalidInputError(
            f"aggregate {measure.name!r}: the results of its function are not of one type ({error})"
        ) from error


class CallFailedError(Exception):
    """A user's function raised for a period, which is given by its number; the verb says when that was."""

    def __init__(self, period: int, measure: Measure, error: Exception) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.period = period
        self.measure = measure


_FUNCTIONS: dict[str, Callable[[Sweep, Measure, pa.Array], pa.Array]] = {
    "count": _count,
    "sum": _sum,
    "avg": _avg,
    "min": _extreme,
    "max": _extreme,
    "var": _var,
    "stddev": _stddev,
    "first": _edge,
    "last": _edge,
    "count_distinct": _count_distinct,
    "collect": _collect,
}
