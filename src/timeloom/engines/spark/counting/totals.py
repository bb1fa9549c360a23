"""Aggregates of right columns from the parts that several tasks report, as expressions."""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_type

from timeloom.engines.spark.counting.parts import EXTREME, PRESENT, TOTAL, Part, finish
from timeloom.engines.timelines.measure_values import mean_type
from timeloom.model.measures import Measure
from timeloom.model.ticks import MAX_TICK, MIN_TICK


def result_type(measure: Measure, schema: T.StructType) -> T.DataType:
    """The type of an aggregate of a right column; without a column it is a count."""
    kind = schema[measure.column].dataType if measure.column is not None else T.LongType()
    if measure.function in ("min", "max"):
        return kind
    if measure.function == "count":
        return T.LongType()
    if isinstance(kind, T.DecimalType):
        return T.DecimalType(38, kind.scale) if measure.function == "sum" else _mean_type(kind)
    if isinstance(kind, T.DayTimeIntervalType):
        return kind
    if measure.function == "avg" or isinstance(kind, T.FractionalType):
        return T.DoubleType()
    return T.LongType()


def _mean_type(kind: T.DecimalType) -> T.DecimalType:
    wide, _ = mean_type(pa.decimal128(kind.precision, kind.scale))
    return T.DecimalType(wide.precision, wide.scale)


def parts_of(measures: Sequence[Measure]) -> tuple[Part, ...]:
    """The parts of all aggregates of columns."""
    found = []
    for number, measure in enumerate(measures):
        if measure.column is not None:
            found += [Part(f"part_{number}_{role}", role, measure) for role in _roles(measure)]
    return tuple(found)


def part_field(part: Part, schema: T.StructType) -> T.StructField:
    """The type of a part."""
    if part.role == PRESENT:
        return T.StructField(part.name, T.LongType())
    if part.role == TOTAL:
        return T.StructField(part.name, T.ArrayType(T.LongType()))
    return T.StructField(part.name, result_type(part.measure, schema))


def total(part: Part) -> Column:
    """All tasks' parts together."""
    column = F.col(part.name)
    if part.role == TOTAL:
        return F.flatten(F.collect_list(column)).alias(part.name)
    if part.role == EXTREME:
        return (F.min if part.measure.function == "min" else F.max)(column).alias(part.name)
    return F.sum(column).alias(part.name)


def finished(measure: Measure, parts: Sequence[Part], schema: T.StructType, count: Column) -> Column:
    """An aggregate from all tasks' parts; these are null when no task had any."""
    if measure.column is None:
        return count
    kind = schema[measure.column].dataType
    known = {part.role: F.col(part.name) for part in parts if part.measure == measure}
    if TOTAL in known:
        result = result_type(measure, schema)
        whole = isinstance(result, T.LongType)
        wanted = T.DecimalType(38, 0) if whole else result
        add = finish(measure, to_arrow_type(kind, timezone="UTC"), to_arrow_type(wanted, timezone="UTC"))
        added: Column = arrow_udf(add, wanted)(known[TOTAL], known[PRESENT])  # type: ignore[call-overload]
        return _int64(added, measure) if whole else added
    if PRESENT in known:
        return F.coalesce(known[PRESENT], F.lit(0))
    return next(iter(known.values()))


def _roles(measure: Measure) -> tuple[int, ...]:
    if measure.function == "count":
        return (PRESENT,)
    return (TOTAL, PRESENT) if measure.function in ("sum", "avg") else (EXTREME,)


def _int64(value: Column, measure: Measure) -> Column:
    text = (
        f"aggregate {measure.name!r}: the sum of {measure.column!r} does not fit into an int64 for a left row; "
        f"cast {measure.column!r} to double first"
    )
    fits = value.isNull() | value.between(F.lit(MIN_TICK), F.lit(MAX_TICK))
    return F.when(fits, value.cast("bigint")).otherwise(F.raise_error(F.lit(text)).cast("bigint"))
