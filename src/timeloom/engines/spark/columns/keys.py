"""Equality keys on Spark: in the type that both sides share, with one hash for equal keys, and which rows have none."""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.versions import from_arrow_type
from timeloom.engines.spark.columns.arrow_types import arrow_schema
from timeloom.engines.spark.columns.validity import JudgedFrame, cast_back
from timeloom.engines.tables.frames import require_columns
from timeloom.engines.tables.keys import shared_type, unequal
from timeloom.errors import InvalidInputError
from timeloom.model.naming import Keys

EXACT = 2**53
"""Whole numbers up to this are doubles, too."""


def aligned(left: JudgedFrame, right: JudgedFrame, keys: Keys) -> tuple[JudgedFrame, JudgedFrame]:
    """Both sides with their keys in common types; keys that cannot be equal are refused as by the local engine."""
    first, second = all_aligned((left, right), (keys.left, keys.right))
    return first, second


def all_aligned(sides: Sequence[JudgedFrame], keys: Sequence[tuple[str, ...]]) -> tuple[JudgedFrame, ...]:
    """Several tables with their keys, given pairwise, in types that all share."""
    for side, names in zip(sides, keys, strict=True):
        require_columns(side.schema.names, list(names), side.side)
    kinds = [_common(sides, names) for names in zip(*keys, strict=True)]
    return tuple(_cast(side, dict(zip(names, kinds, strict=True))) for side, names in zip(sides, keys, strict=True))


def as_given(frame: DataFrame, schema: T.StructType, side: JudgedFrame) -> DataFrame:
    """A result whose first columns are a side's, with the types that the user gave them; its schema is known."""
    given = {field.name: field for field in side.given}
    if all(given[field.name].dataType == field.dataType for field in schema if field.name in given):
        return frame
    names = [f"c{number}" for number in range(len(schema))]
    columns = [
        cast_back(F.col(name), given.get(field.name, field).dataType).alias(field.name, metadata=field.metadata or {})
        for name, field in zip(names, schema, strict=True)
    ]
    return frame.toDF(*names).select(*columns)


def key_hashes(left: JudgedFrame, right: JudgedFrame, keys: Keys) -> tuple[str, str]:
    """Hash the keys of both sides, in SQL, so that equal keys have equal hashes."""
    hashes = shared_hashes((left, right), (keys.left, keys.right))
    return hashes[0], hashes[1]


def shared_hashes(sides: Sequence[JudgedFrame], keys: Sequence[tuple[str, ...]]) -> list[str]:
    """Hash the keys of several tables of common types, in SQL, so that equal keys have equal hashes.

    Spark's hash knows one zero only. A row without a key meets nobody, so its hash may be any; that of its period
    spreads such rows.
    """
    hashes = []
    for side, names in zip(sides, keys, strict=True):
        spread = f"xxhash64({side.columns.raw_start}, {side.columns.raw_end})"
        key = f"xxhash64({', '.join(map(side.column, names))})"
        hashes.append(f"CASE WHEN {no_key(side, names)} THEN {spread} ELSE {key} END" if names else "0L")
    return hashes


def no_key(side: JudgedFrame, names: tuple[str, ...]) -> str:
    """Tell the rows that have a null in their key: they match nothing."""
    return "(" + " OR ".join(f"{side.column(name)} IS NULL" for name in names) + ")"


def _common(sides: Sequence[JudgedFrame], names: Sequence[str]) -> T.DataType:
    """The type that the key columns of several tables share."""
    known = sides[0].schema[names[0]]
    for side, name in zip(sides[1:], names[1:], strict=True):
        known = T.StructField(names[0], _common_of_two((sides[0].side, side.side), (known, side.schema[name])))
    return known.dataType


def _common_of_two(sides: tuple[str, str], fields: tuple[T.StructField, T.StructField]) -> T.DataType:
    names = fields[0].name, fields[1].name
    first, second = (
        arrow_schema(T.StructType([field]), side, comparing=True) for side, field in zip(sides, fields, strict=True)
    )
    common = shared_type(first, second, names)
    kinds = [field.dataType for field in fields]
    if kinds[0] == kinds[1]:
        return kinds[0]
    if pa.types.is_decimal256(common):
        raise unequal(names, (kinds[0].simpleString(), kinds[1].simpleString()))
    if pa.types.is_time(common):
        return max(kinds, key=T.DataType.simpleString)
    return from_arrow_type(common)


def _cast(side: JudgedFrame, kinds: dict[str, T.DataType]) -> JudgedFrame:
    """A side with some columns in other types."""
    kinds = {name: kind for name, kind in kinds.items() if side.schema[name].dataType != kind}
    if not kinds:
        return side
    for name in side.period.columns:
        if name in kinds:
            raise InvalidInputError(
                f"the key {name!r} of the {side.side} table belongs to its period, and the other side's key is of "
                f"another type; cast {name!r} to {kinds[name].simpleString()} first"
            )
    fields = [
        T.StructField(field.name, kinds.get(field.name, field.dataType), field.nullable, field.metadata)
        for field in side.schema
    ]
    columns = [
        _widened(side, field, kinds[field.name]) if field.name in kinds else F.col(side.column(field.name))
        for field in side.schema
    ]
    return replace(side, all_rows=side.all_rows.select(*columns), schema=T.StructType(fields))


def _widened(side: JudgedFrame, field: T.StructField, kind: T.DataType) -> Column:
    """A key in the common type; whole numbers that no double equals are refused, not rounded."""
    column = F.col(side.column(field.name))
    cast = column.cast(kind)
    if isinstance(field.dataType, T.LongType) and isinstance(kind, T.DoubleType):
        text = (
            f"the key {field.name!r} of the {side.side} table is bigint, and not all of its values fit into double, "
            "which both sides share; cast both sides to one type that holds them, such as decimal(38, 0) or text"
        )
        fits = column.isNull() | column.between(-EXACT, EXACT)
        cast = F.when(fits, cast).otherwise(F.raise_error(F.lit(text)).cast(kind))
    return cast.alias(side.column(field.name))
