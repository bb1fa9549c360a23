"""Columns of DataFrames as tasks see them: which types can be sent to Python, and which can be compared."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.versions import to_arrow_schema
from timeloom.engines.spark.cluster.workers import Task, mapped
from timeloom.errors import InvalidInputError

BINARY_ORDER = "UTF8_BINARY"
"""The collation in which texts are equal if their bytes are."""


_SHORT = (T.NumericType, T.DateType, T.TimestampType, T.TimestampNTZType, T.BooleanType, T.DayTimeIntervalType)


def may_be_long(kind: T.DataType) -> bool:
    """Whether values of a type may take many bytes."""
    return not isinstance(kind, _SHORT)


def arrow_schema(schema: T.StructType, side: str, *, comparing: bool = False) -> pa.Schema:
    """The Arrow schema of columns that go to tasks; types that cannot, or cannot be compared, are refused by name."""
    for field in schema:
        kind = field.dataType
        try:
            to_arrow_schema(T.StructType([T.StructField("column", kind)]))
        except PySparkException as error:
            raise InvalidInputError(
                f"column {field.name!r} of the {side} table is {kind.simpleString()}, which Spark cannot send to "
                "Python; cast it, to string for example, or leave it out"
            ) from error
        if comparing and isinstance(kind, T.StringType) and kind.collation != BINARY_ORDER:
            raise InvalidInputError(
                f"column {field.name!r} of the {side} table is {kind.simpleString()}, and keys are compared byte by "
                f"byte; give it the collation {BINARY_ORDER} with collate(...), after lower(...) if case must not count"
            )
    return to_arrow_schema(schema)


@dataclass(frozen=True)
class Named:
    """A task that sees columns under the user's names. Outside they are named by position, so any name is safe."""

    task: Task
    names: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the task on one partition."""
        for batch in self.task(batch.rename_columns(list(self.names)) for batch in batches):
            yield batch.rename_columns(numbered(batch.num_columns))


def numbered(columns: int) -> list[str]:
    """Names by position."""
    return [f"c{number}" for number in range(columns)]


def mapped_by_position(frame: DataFrame, names: list[str], task: Task, schema: T.StructType) -> DataFrame:
    """What a task makes of a DataFrame whose columns, and those of the result, are named by position."""
    named = zip(numbered(len(schema)), schema, strict=True)
    fields = [T.StructField(name, field.dataType, field.nullable, field.metadata) for name, field in named]
    return mapped(frame, Named(task, tuple(names)), T.StructType(fields))
