"""Temporal aggregates of Arrow columns: every measure of a timeline as an Arrow column.

The same for local tables and inside a Spark task. Nulls take no part, as in SQL, except in ``first``, ``last`` and
``collect``, which speak of rows; over no values every measure but the counts is null.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.engines.resources.memory import require_room
from timeloom.engines.resources.threads import chunks, in_parallel
from timeloom.engines.tables.arrays import from_numpy
from timeloom.engines.tables.key_types import comparable, plain_values
from timeloom.engines.tables.keys import NO_KEY, numbered
from timeloom.engines.tables.taking import taken
from timeloom.engines.timelines.measure_task import Sweep, Task
from timeloom.engines.timelines.measure_values import (
    decimals,
    double_values,
    masked,
    mean_type,
    order_codes,
    takes,
    unfit,
)
from timeloom.errors import InvalidInputError
from timeloom.kernels.aggregates.extremes import greatest
from timeloom.kernels.aggregates.means import some_means
from timeloom.kernels.aggregates.timeline import distinct, members
from timeloom.kernels.aggregates.variance import variances
from timeloom.kernels.aggregates.wide import wide_means
from timeloom.kernels.order import Ticks
from timeloom.model.aggregates import COUNT, DEVIATION, GREATEST, LEAST, MEAN, TOTAL, VARIANCE, Combination
from timeloom.model.measures import Measure

MAX_LIST = 2**31 - 1
LISTED_BYTES = 24
"""What an entry of a list takes while lists are made: its row, whether it is wanted, and its value."""


def evaluate(sweep: Sweep, measures: Sequence[Measure], column: pa.Array | None) -> dict[str, pa.Array]:
    """Compute measures of one column for each period of the timeline; what they share is computed once."""
    if column is None:
        return {measure.name: from_numpy(sweep.counts()) for measure in measures}
    task = Task(sweep, plain_values(column))
    return {measure.name: _measured(task, measure) for measure in measures}


def _measured(task: Task, measure: Measure) -> pa.Array:
    record = measure.aggregate
    if record is None:
        return _called(task, measure)
    if not takes(task.kind, measure):
        raise unfit(task.kind, measure)
    kernel = _KERNELS[record.name] if record.combination is None else _COMBINED[record.combination]
    return kernel(task, measure)


def _sum(task: Task, measure: Measure) -> pa.Array:
    if pa.types.is_floating(task.kind):
        return masked(task.double_sums.totals(), task.present == 0)
    return summed_up(task, measure)


class WholeTotals(Protocol):
    """What counts, sums and averages of a column of whole numbers need to know of each period."""

    @property
    def kind(self) -> pa.DataType:
        """The type of the column."""

    @property
    def threads(self) -> int:
        """How many threads may compute."""

    @property
    def present(self) -> Ticks:
        """How many values each period has."""

    def integer_totals(self, measure: Measure) -> tuple[Ticks, Ticks | None]:
        """The exact sums, as the lower and the upper 64 bits, or as int64 if all fit."""


def summed_up(totals: WholeTotals, measure: Measure) -> pa.Array:
    """A count, a sum or an average of whole numbers."""
    combination = measure.aggregate and measure.aggregate.combination
    if combination == COUNT:
        return from_numpy(totals.present)
    found = totals.integer_totals(measure)
    if combination == TOTAL:
        return integer_sum(totals.kind, *found, totals.present == 0, measure)
    return integer_mean(totals.kind, *found, totals.present, measure, totals.threads)


def integer_sum(
    kind: pa.DataType, lower: Ticks, upper: Ticks | None, missing: NDArray[np.bool_], measure: Measure
) -> pa.Array:
    """Sums of whole numbers, given by their lower and upper 64 bits, as a column; what does not fit is an error."""
    if pa.types.is_decimal(kind):
        return decimals(lower, _upper(lower, upper), pa.decimal128(38, kind.scale), missing, measure)
    over = np.empty(0) if upper is None else np.flatnonzero(upper != lower >> 63)
    if over.size:
        raise InvalidInputError(
            f"aggregate {measure.name!r}: the sum of {measure.column!r} does not fit into an int64 in {over.size} "
            f"periods; cast {measure.column!r} to decimal128(38, 0) or to double first"
        )
    total = masked(lower, missing)
    return total.cast(kind) if pa.types.is_duration(kind) else total


def _avg(task: Task, measure: Measure) -> pa.Array:
    if pa.types.is_floating(task.kind):
        return masked(task.double_sums.means(task.present), task.present == 0)
    return summed_up(task, measure)


def integer_mean(
    kind: pa.DataType, lower: Ticks, upper: Ticks | None, present: Ticks, measure: Measure, threads: int = 1
) -> pa.Array:
    """Averages of whole numbers from their sums, given by their lower and upper 64 bits, and their counts."""
    missing = present == 0
    if pa.types.is_decimal(kind):
        wide, factor = mean_type(kind)
        found = wide_means(lower, _upper(lower, upper), present, factor)
        return decimals(*found, wide, missing, measure)
    if pa.types.is_duration(kind):
        return masked(wide_means(lower, _upper(lower, upper), present, 1)[0], missing).cast(kind)
    means = np.empty(lower.size, np.float64)
    write = partial(some_means, lower, lower[:0] if upper is None else upper, present)
    in_parallel([partial(write, *part, means) for part in chunks(lower.size, threads)], threads)
    return masked(means, missing)


def _upper(lower: Ticks, upper: Ticks | None) -> Ticks:
    return lower >> 63 if upper is None else upper


def _var(task: Task, measure: Measure) -> pa.Array:
    values = task.sweep.arranged(double_values(task.column))
    return masked(variances(task.sweep.line, values, task.present), task.present < 2)


def _stddev(task: Task, measure: Measure) -> pa.Array:
    return pc.sqrt(_var(task, measure))


def extreme(task: Task, measure: Measure, *, least: bool) -> pa.Array:
    """The least or greatest value of each period; not-a-number is the greatest."""
    codes = order_codes(task.column, measure)
    codes = task.sweep.arranged(~codes if least else codes)
    return _taken(task, measure, codes, task.sweep.arranged(task.valid))


def _edge(task: Task, measure: Measure, *, first: bool) -> pa.Array:
    """The value of the active row that started first or last; rows with one start count in the table's order."""
    positions = np.arange(task.sweep.order.size)
    rows = task.sweep.order < task.sweep.rows
    return _taken(task, measure, ~positions if first else positions, rows)


def _taken(task: Task, measure: Measure, codes: Ticks, valid: NDArray[np.bool_]) -> pa.Array:
    """The value, in each period, of the valid row with the greatest code, both given by position."""
    positions = greatest(task.sweep.line, task.sweep.ends, codes, valid)
    rows = task.sweep.order[positions] if task.sweep.order.size else positions
    return taken(task.column, masked(rows, positions < 0), str(measure.column))


def _count_distinct(task: Task, measure: Measure) -> pa.Array:
    try:
        codes, count = numbered(comparable(pa.chunked_array([task.column]), str(measure.column)))
    except InvalidInputError as error:
        raise unfit(task.kind, measure) from error
    return from_numpy(distinct(task.sweep.line, task.sweep.arranged(codes.astype(np.int32), NO_KEY), count))


def _listed(sweep: Sweep, wanted: NDArray[np.bool_]) -> tuple[Ticks, NDArray[np.int32]]:
    """The active rows of each period that are wanted, and where each period's begin."""
    listed = int(sweep.line.active.sum(dtype=np.int64))
    require_room(listed, LISTED_BYTES, "use a window (within=) or groups (by=) and make the lists one at a time")
    found = members(sweep.line)
    keep = sweep.arranged(wanted)[found.rows]
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(keep)])
    offsets, rows = before[found.offsets], sweep.order[found.rows[keep]]
    if sweep.in_row_order:
        rows = rows[np.lexsort((rows, np.repeat(np.arange(offsets.size - 1), np.diff(offsets))))]
    return offsets, rows


def _collect(task: Task, measure: Measure) -> pa.Array:
    offsets, rows = _listed(task.sweep, np.ones(task.sweep.rows, np.bool_))
    if rows.size > MAX_LIST:
        raise InvalidInputError(
            f"aggregate {measure.name!r}: the lists would hold {rows.size:,} values, more than fit into one column; "
            "use a window (within=) or groups (by=) and collect them one at a time"
        )
    values = taken(task.column, from_numpy(rows), str(measure.column))
    empty = from_numpy(offsets[1:] == offsets[:-1])
    return pa.ListArray.from_arrays(from_numpy(offsets.astype(np.int32)), values, mask=empty)


def _called(task: Task, measure: Measure) -> pa.Array:
    """Call the user's function with the values of each period that has any."""
    assert callable(measure.function)
    offsets, rows = _listed(task.sweep, task.valid)
    try:
        values = pc.take(task.column, from_numpy(rows)).to_numpy(zero_copy_only=False)
    except pa.ArrowException as error:
        raise unfit(task.kind, measure) from error
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
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"aggregate {measure.name!r}: the results of its function are not of one type that a column can have "
            f"({error}); return plain numbers or texts"
        ) from error


class CallFailedError(Exception):
    """A user's function raised for a period, which is given by its number; the verb says when that was."""

    def __init__(self, period: int, measure: Measure, error: Exception) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.period = period
        self.measure = measure


Kernel = Callable[[Task, Measure], pa.Array]

_COMBINED: dict[Combination, Kernel] = {
    COUNT: summed_up,
    TOTAL: _sum,
    MEAN: _avg,
    LEAST: partial(extreme, least=True),
    GREATEST: partial(extreme, least=False),
    VARIANCE: _var,
    DEVIATION: _stddev,
}

_KERNELS: dict[str, Kernel] = {
    "first": partial(_edge, first=True),
    "last": partial(_edge, first=False),
    "count_distinct": _count_distinct,
    "collect": _collect,
}
"""The kernels of aggregates that have no combination."""
