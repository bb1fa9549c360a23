"""Aggregates of right columns from the parts that several tasks report, as expressions."""

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.functions import arrow_udf

from timeloom.engines.spark.counting_parts import EXTREME, PRESENT, TERMS, WHOLE, Part, add_terms
from timeloom.model.measures import Measure
from timeloom.model.ticks import MAX_TICK, MIN_TICK


def result_type(measure: Measure, schema: T.StructType) -> T.DataType:
    """The type of an aggregate of a right column; without a column it is a count."""
    kind = schema[measure.column].dataType if measure.column else T.LongType()
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
            roles = _roles(measure, schema[measure.column].dataType)
            found += [Part(f"part_{number}_{role}", role, measure) for role in roles]
    return tuple(found)


def part_field(part: Part, schema: T.StructType) -> T.StructField:
    """The type of a part."""
    if part.role == PRESENT:
        return T.StructField(part.name, T.LongType())
    if part.role == TERMS:
        return T.StructField(part.name, T.ArrayType(T.DoubleType()))
    return T.StructField(part.name, result_type(part.measure, schema))


def total(part: Part, schema: T.StructType) -> Column:
    """All tasks' parts together."""
    column = F.col(part.name)
    if part.role == TERMS:
        return F.flatten(F.collect_list(column)).alias(part.name)
    if part.role == EXTREME:
        return (F.min if part.measure.function == "min" else F.max)(column).alias(part.name)
    if part.role == WHOLE and not isinstance(schema[str(part.measure.column)].dataType, T.DecimalType):
        column = column.cast(T.DecimalType(38, 0))
    return F.sum(column).alias(part.name)


def finished(measure: Measure, parts: Sequence[Part], schema: T.StructType, count: Column) -> Column:
    """An aggregate from all tasks' parts; these are null when no task had any."""
    if measure.column is None:
        return count
    kind = schema[measure.column].dataType
    known = {part.role: F.col(part.name) for part in parts if part.measure == measure}
    if TERMS in known:
        added: Column = arrow_udf(add_terms, T.DoubleType())(known[TERMS])  # type: ignore[call-overload]
        scale = kind.scale if isinstance(kind, T.DecimalType) else 0
        return added if measure.function == "sum" else added / F.lit(10.0**scale) / known[PRESENT]
    if PRESENT in known:
        return F.coalesce(known[PRESENT], F.lit(0))
    if WHOLE in known and not isinstance(kind, T.DecimalType):
        return _int64(known[WHOLE], measure)
    return next(iter(known.values()))


def _roles(measure: Measure, kind: T.DataType) -> tuple[int, ...]:
    if measure.function == "count":
        return (PRESENT,)
    if measure.function == "avg":
        return (TERMS, PRESENT)
    if measure.function == "sum":
        return (TERMS,) if isinstance(kind, T.FloatType | T.DoubleType) else (WHOLE,)
    return (EXTREME,)


def _int64(value: Column, measure: Measure) -> Column:
    text = (
        f"aggregate {measure.name!r}: the sum of {measure.column!r} does not fit into an int64 for a left row; "
        f"cast {measure.column!r} to double first"
    )
    fits = value.isNull() | value.between(F.lit(MIN_TICK), F.lit(MAX_TICK))
    return F.when(fits, value.cast("bigint")).otherwise(F.raise_error(F.lit(text)).cast("bigint"))
