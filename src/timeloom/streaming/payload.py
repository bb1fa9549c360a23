"""Columns of any type on their way through a stateful query: as text, exact, in SQL and in tasks.

Texts are what a state holds and what a query passes on, so that no conversion of pandas can change a value.
"""

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from timeloom.engines.spark.columns.ticks import column_ticks
from timeloom.errors import InvalidInputError
from timeloom.model.ticks import Axis
from timeloom.streaming.encoding import decoded

NESTED = (T.ArrayType, T.MapType, T.StructType)

EXACT = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "ignoreNullFields": "false",
}
"""Nested values as JSON: microseconds, and fields that are null."""

_TIMES = ((T.TimestampType, Axis.ZONED), (T.TimestampNTZType, Axis.TIMESTAMP))
_ARROW: dict[type[T.DataType], pa.DataType] = {
    T.BooleanType: pa.bool_(),
    T.ByteType: pa.int8(),
    T.ShortType: pa.int16(),
    T.IntegerType: pa.int32(),
    T.LongType: pa.int64(),
    T.FloatType: pa.float32(),
    T.DoubleType: pa.float64(),
    T.StringType: pa.string(),
}


def as_text(column: str, kind: T.DataType, what: str) -> Column:
    """A column of a stream as text."""
    if isinstance(kind, T.StringType):
        return F.expr(column)
    if isinstance(kind, T.BooleanType | T.NumericType):
        return F.expr(f"CAST({column} AS STRING)")
    if isinstance(kind, T.BinaryType):
        return F.expr(f"hex({column})")
    if isinstance(kind, T.DateType):
        return F.expr(f"CAST(unix_date({column}) AS STRING)")
    for time, axis in _TIMES:
        if isinstance(kind, time):
            return F.expr(f"CAST({column_ticks(column, axis)} AS STRING)")
    if isinstance(kind, NESTED):
        json = F.to_json(F.expr(f"struct({column} AS v)"), EXACT)
        return F.when(F.expr(f"{column} IS NOT NULL"), json)
    raise InvalidInputError(
        f"{what} is {kind.simpleString()}, which a stream does not carry; cast it, or leave it out by columns="
    )


def from_text(text: str, kind: T.DataType) -> Column:
    """The values of a text in the type that they had."""
    if isinstance(kind, T.StringType):
        return F.expr(f"CAST({text} AS {kind.simpleString()})")
    if isinstance(kind, NESTED):
        return F.from_json(F.expr(text), T.StructType([T.StructField("v", kind)]), EXACT)["v"]
    return F.expr(decoded(text, kind))


def check_tested(kind: T.DataType, what: str) -> None:
    """Refuse types that no condition can be about."""
    if isinstance(kind, NESTED):
        raise InvalidInputError(
            f"where= reads {what}, which is {kind.simpleString()}; expected a column of single values"
        )


def typed(text: pa.ChunkedArray, kind: T.DataType) -> pa.ChunkedArray:
    """The same in a task: Arrow values of a text."""
    if isinstance(kind, T.StringType):
        return text
    if isinstance(kind, T.DecimalType):
        return text.cast(pa.decimal128(kind.precision, kind.scale))
    if isinstance(kind, T.BinaryType):
        return pa.chunked_array([pa.array([None if one is None else bytes.fromhex(one) for one in text.to_pylist()])])
    if isinstance(kind, T.DateType):
        return text.cast(pa.int32()).cast(pa.date32())
    for time, axis in _TIMES:
        if isinstance(kind, time):
            return text.cast(pa.int64()).cast(pa.timestamp("us", "UTC" if axis is Axis.ZONED else None))
    return text.cast(_ARROW[type(kind)])
