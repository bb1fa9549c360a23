"""Aggregates from the parts that several tasks report, as expressions."""

from collections.abc import Callable, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.versions import arrow_function, to_arrow_type
from timeloom.engines.spark.columns.measure_fields import measure_fields
from timeloom.engines.spark.counting.parts import Part, finish, finish_spread
from timeloom.model.aggregates import PartKind
from timeloom.model.measures import Measure
from timeloom.model.ticks import MAX_TICK, MIN_TICK

LISTED = (PartKind.TOTAL, PartKind.MOMENTS)
"""Parts that travel as lists of powers of two and what is held of them."""


def parts_of(measures: Sequence[Measure]) -> tuple[Part, ...]:
    """The parts of all aggregates of columns, each once."""
    found: dict[tuple[PartKind, str], Part] = {}
    for measure in measures:
        for kind in _kinds(measure):
            found.setdefault((kind, str(measure.column)), Part(f"part_{len(found)}", kind, measure))
    return tuple(found.values())


def part_field(part: Part, schema: T.StructType) -> T.StructField:
    """The type of a part."""
    if part.kind is PartKind.PRESENT:
        return T.StructField(part.name, T.LongType())
    if part.kind in LISTED:
        return T.StructField(part.name, T.ArrayType(T.LongType()))
    return T.StructField(part.name, schema[str(part.measure.column)].dataType)


_MERGED: dict[PartKind, Callable[[Column], Column]] = {
    PartKind.PRESENT: F.sum,
    PartKind.TOTAL: lambda column: F.flatten(F.collect_list(column)),
    PartKind.MOMENTS: lambda column: F.flatten(F.collect_list(column)),
    PartKind.LEAST: F.min,
    PartKind.GREATEST: F.max,
}


def total(part: Part) -> Column:
    """All tasks' parts together."""
    return _MERGED[part.kind](F.col(part.name)).alias(part.name)


def finished(
    measure: Measure, parts: Sequence[Part], schema: T.StructType, count: Column, whose: str = "a left row"
) -> Column:
    """An aggregate from all tasks' parts; these are null when no task had any."""
    if measure.column is None:
        return count
    named = {part.kind: F.col(part.name) for part in parts if part.measure.column == measure.column}
    known = {kind: named[kind] for kind in _kinds(measure)}
    if PartKind.MOMENTS in known:
        spread = arrow_function(finish_spread(measure), T.DoubleType())
        return spread(known[PartKind.MOMENTS], known[PartKind.PRESENT])
    if PartKind.TOTAL in known:
        (field,) = measure_fields(schema, [measure])
        whole = isinstance(field.dataType, T.LongType)
        wanted = T.DecimalType(38, 0) if whole else field.dataType
        given = to_arrow_type(schema[measure.column].dataType)
        add = finish(measure, given, to_arrow_type(wanted), whose)
        added = arrow_function(add, wanted)(known[PartKind.TOTAL], known[PartKind.PRESENT])
        return _int64(added, measure, whose) if whole else added
    (value,) = known.values()
    return F.coalesce(value, F.lit(0)) if PartKind.PRESENT in known else value


def _kinds(measure: Measure) -> tuple[PartKind, ...]:
    record = measure.aggregate
    if record is None or record.combination is None or measure.column is None:
        return ()
    return record.combination.parts


def _int64(value: Column, measure: Measure, whose: str) -> Column:
    text = (
        f"aggregate {measure.name!r}: the sum of {measure.column!r} does not fit into an int64 for {whose}; "
        f"cast {measure.column!r} to double first"
    )
    fits = value.isNull() | value.between(F.lit(MIN_TICK), F.lit(MAX_TICK))
    return F.when(fits, value.cast("bigint")).otherwise(F.raise_error(F.lit(text)).cast("bigint"))
