"""How verbs write result periods on Spark, and which fields they are."""

from collections.abc import Iterable

from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_type

from timeloom.engines.spark.columns.validity import JudgedFrame
from timeloom.engines.tables.period_writer import PeriodWriter


def period_writer(*sides: JudgedFrame, bounds: Iterable[int] = ()) -> PeriodWriter:
    """Write periods as the first side does."""
    return PeriodWriter.of([side.columns.kind for side in sides], sides[0].policy, bounds)


def period_type(writer: PeriodWriter) -> T.DataType:
    """The type of both columns of a result period."""
    return from_arrow_type(writer.type.arrow, prefer_timestamp_ntz=True)


def result_fields(frame: JudgedFrame, names: Iterable[str], writer: PeriodWriter) -> list[T.StructField]:
    """Fields of a table, its period columns as they are written: an open end may be null even if no input was."""
    period, kind = (frame.period.start, frame.period.end), period_type(writer)
    fields = [frame.given[name] for name in names]
    return [
        T.StructField(field.name, kind, metadata=field.metadata) if field.name in period else field for field in fields
    ]
