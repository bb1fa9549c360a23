"""What differs between the versions of Spark that are supported, in one place: everything else is the same for all.

Versions are told apart by what they have, not by their numbers, so that a patched one is taken for what it is.
"""

from collections.abc import Callable
from functools import cache
from inspect import signature
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas import types as arrow_types

SEED = 42
"""With what Spark begins the hash of a row."""

_MASK = 0xFFFFFFFF
_ZONED: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(arrow_types.to_arrow_schema).parameters else {}


def to_arrow_schema(schema: T.StructType, zone: str | None = "UTC") -> pa.Schema:
    """A schema as tasks see it: instants in UTC, or in another zone. Older versions know UTC alone."""
    found = arrow_types.to_arrow_schema(schema, **_ZONED)
    if zone is None or zone == "UTC":
        return found
    zoned = [pa.types.is_timestamp(field.type) and field.type.tz is not None for field in found]
    kind = pa.timestamp("us", zone)
    return pa.schema([field.with_type(kind) if has else field for field, has in zip(found, zoned, strict=True)])


def to_arrow_type(kind: T.DataType) -> pa.DataType:
    """A type as tasks see it: instants in UTC."""
    return arrow_types.to_arrow_type(kind, **_ZONED)


def from_arrow_schema(schema: pa.Schema) -> T.StructType:
    """The schema of what tasks write; instants without a zone stay so."""
    return arrow_types.from_arrow_schema(schema, prefer_timestamp_ntz=True)


def from_arrow_type(kind: pa.DataType) -> T.DataType:
    """The type of what tasks write; instants without a zone stay so."""
    return arrow_types.from_arrow_type(kind, prefer_timestamp_ntz=True)


def sent_by_number(frame: DataFrame, partitions: int, number: str) -> DataFrame:
    """Rows in the partitions whose numbers a column of integers has.

    Versions before 4.1 send rows by hashes only. They get a column of integers whose hashes are these numbers.
    """
    if hasattr(frame, "repartitionById"):
        return frame.repartitionById(partitions, F.col(number))
    sent = F.element_at(F.array(*(F.lit(value) for value in hashed_to(partitions))), F.col(number) + 1)
    return frame.repartition(partitions, sent.cast("int"))


@cache
def hashed_to(partitions: int) -> tuple[int, ...]:
    """For each partition an integer that Spark's hash sends there."""
    found: dict[int, int] = {}
    value = 0
    while len(found) < partitions:
        found.setdefault(murmur3(value) % partitions, value)
        value += 1
    return tuple(found[number] for number in range(partitions))


def murmur3(value: int) -> int:
    """The hash of an integer of four bytes, as Spark's ``hash`` gives it."""
    mixed = value * 0xCC9E2D51 & _MASK
    mixed = _rotated(mixed, 15) * 0x1B873593 & _MASK
    state = _rotated(SEED ^ mixed, 13) * 5 + 0xE6546B64 & _MASK
    state ^= 4
    state = (state ^ state >> 16) * 0x85EBCA6B & _MASK
    state = (state ^ state >> 13) * 0xC2B2AE35 & _MASK
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> 32 - by) & _MASK


def arrow_function(function: "Callable[..., pa.Array]", kind: T.DataType) -> "Callable[..., Column]":
    """A function of Arrow arrays as one of columns. Versions before 4.1 hand columns over as those of pandas."""
    from pyspark.sql.pandas import functions

    if hasattr(functions, "arrow_udf"):
        return functions.arrow_udf(function, kind)  # type: ignore[call-overload, no-any-return]
    import pandas as pd

    def on_series(first: pd.Series, second: pd.Series) -> pd.Series:
        found = function(*(pa.array(column, from_pandas=True) for column in (first, second)))
        return found.to_pandas()

    return functions.pandas_udf(on_series, kind)  # type: ignore[call-overload, no-any-return]
