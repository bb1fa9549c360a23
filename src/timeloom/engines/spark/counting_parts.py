"""Aggregates of right columns from parts: what several tasks know of one left row, put together without loss."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.counting import Numbers, Totals
from timeloom.engines.local.count_aggregates import aggregate, exact_terms
from timeloom.engines.local.gather import Source
from timeloom.model.measures import Measure
from timeloom.model.ticks import MAX_TICK, MIN_TICK

PRESENT, WHOLE, TERMS, EXTREME = range(4)
"""What a part holds: how many values, a sum of whole numbers, doubles that add up to the sum, or an extreme."""


@dataclass(frozen=True)
class Part:
    """One column of what tasks report."""

    name: str
    role: int
    measure: Measure
    kind: T.DataType

    @property
    def field(self) -> T.StructField:
        """The column's type."""
        kinds = {PRESENT: T.LongType(), WHOLE: result_type(self.measure, self.kind), EXTREME: self.kind}
        return T.StructField(self.name, kinds.get(self.role, T.ArrayType(T.DoubleType())))

    @property
    def total(self) -> Column:
        """All tasks' parts together."""
        column = F.col(self.name)
        if self.role == TERMS:
            return F.flatten(F.collect_list(column)).alias(self.name)
        if self.role == EXTREME:
            return (F.min if self.measure.function == "min" else F.max)(column).alias(self.name)
        if self.role == WHOLE and not isinstance(self.kind, T.DecimalType):
            column = column.cast(T.DecimalType(38, 0))
        return F.sum(column).alias(self.name)


def result_type(measure: Measure, kind: T.DataType) -> T.DataType:
    """The type of an aggregate of a column; without a column it is a count."""
    if measure.function in ("min", "max"):
        return kind
    if measure.function == "sum" and isinstance(kind, T.DecimalType):
        return T.DecimalType(38, kind.scale)
    if measure.function == "avg" or (measure.function == "sum" and isinstance(kind, T.FractionalType)):
        return T.DoubleType()
    return T.LongType()


def parts_of(measures: Sequence[Measure], schema: T.StructType) -> tuple[Part, ...]:
    """The parts of all aggregates of columns."""
    found = []
    for number, measure in enumerate(measures):
        if measure.column:
            kind = schema[measure.column].dataType
            found += [Part(f"part_{number}_{role}", role, measure, kind) for role in _roles(measure, kind)]
    return tuple(found)


def part_values(part: Part, counting: Totals, counts: Numbers, right: pa.Table) -> pa.Array:
    """A task's part for each of its left rows."""
    present = aggregate(counting, counts, right, replace(part.measure, function="count"))
    if part.role == PRESENT:
        return present
    if part.role != TERMS:
        return aggregate(counting, counts, right, part.measure)
    terms = np.stack(exact_terms(counting, Source(right).column(str(part.measure.column)), part.measure), axis=1)
    terms = terms[np.asarray(present) > 0]
    lengths = np.where(np.asarray(present) > 0, terms.shape[1], 0)
    offsets = np.concatenate([np.zeros(1, np.int32), np.cumsum(lengths, dtype=np.int32)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(terms.ravel()))


def finished(measure: Measure, parts: Sequence[Part], count: Column) -> Column:
    """An aggregate from the parts of all tasks; they are null when no task had any."""
    if measure.column is None:
        return count
    mine = {part.role: part for part in parts if part.measure == measure}
    columns = {role: F.col(part.name) for role, part in mine.items()}
    if TERMS in mine:
        total = exact_sum(columns[TERMS])
        if measure.function == "sum":
            return total
        kind = mine[TERMS].kind
        scale = kind.scale if isinstance(kind, T.DecimalType) else 0
        return total / F.lit(10.0**scale) / columns[PRESENT]
    if PRESENT in mine:
        return F.coalesce(columns[PRESENT], F.lit(0))
    if WHOLE in mine and not isinstance(mine[WHOLE].kind, T.DecimalType):
        return _int64(columns[WHOLE], measure)
    return next(iter(columns.values()))


def _roles(measure: Measure, kind: T.DataType) -> tuple[int, ...]:
    if measure.function == "count":
        return (PRESENT,)
    if measure.function == "avg":
        return (TERMS, PRESENT)
    if measure.function == "sum":
        return (TERMS,) if isinstance(kind, T.FloatType | T.DoubleType) else (WHOLE,)
    return (EXTREME,)


def exact_sum(terms: Column) -> Column:
    """The sum of an array of doubles, rounded once; null for no terms."""

    def add(lists: pa.Array) -> pa.Array:
        return pa.array([_added(values) for values in lists.to_pylist()], pa.float64())

    add.__annotations__ = {"lists": pa.Array, "return": pa.Array}
    return F.arrow_udf(add, T.DoubleType())(terms)


def _added(values: "list[float] | None") -> float | None:
    if not values:
        return None
    return math.fsum(values) if all(map(math.isfinite, values)) else sum(values)


def _int64(total: Column, measure: Measure) -> Column:
    text = (
        f"aggregate {measure.name!r}: the sum of {measure.column!r} does not fit into an int64 for a left row; "
        f"cast {measure.column!r} to double first"
    )
    fits = total.isNull() | total.between(F.lit(MIN_TICK), F.lit(MAX_TICK))
    return F.when(fits, total.cast("bigint")).otherwise(F.raise_error(F.lit(text)).cast("bigint"))
