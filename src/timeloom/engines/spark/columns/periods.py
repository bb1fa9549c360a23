"""How verbs write result periods on Spark, and which fields they are."""

from collections.abc import Iterable

from pyspark.sql import types as T

from timeloom.engines.spark.cluster.versions import from_arrow_type
from timeloom.engines.spark.columns.validity import JudgedFrame
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.model.ticks import Axis


def period_writer(*sides: JudgedFrame, bounds: Iterable[int] = (), wide: bool = True) -> PeriodWriter:
    """Write periods as the first side does; those that may last get two columns even if it has instants."""
    return PeriodWriter.of([side.columns.kind for side in sides], sides[0].policy, bounds, wide=wide)


def period_type(writer: PeriodWriter) -> T.DataType:
    """The type of both columns of a result period."""
    return from_arrow_type(writer.type.arrow)


def span_type(axis: Axis) -> T.DataType:
    """The type of lengths and distances: numbers for integers and dates, durations for timestamps."""
    return T.LongType() if axis in (Axis.INTEGER, Axis.DATE) else T.DayTimeIntervalType()


def result_fields(frame: JudgedFrame, names: Iterable[str], writer: PeriodWriter) -> list[T.StructField]:
    """Fields of a table, its period columns as they are written: an open end may be null even if no input was."""
    kind, given = period_type(writer), {field.name: field for field in frame.given}
    found = []
    for name in names:
        if name in writer.period.columns:
            metadata = given[name].metadata if name in frame.period.columns else None
            found.append(T.StructField(name, kind, metadata=metadata))
        else:
            found.append(given[name])
    return found
