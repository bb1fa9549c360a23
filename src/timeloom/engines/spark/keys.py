"""Equality keys on Spark: one hash for equal keys of both sides, and which rows have no key."""

from functools import reduce
from operator import or_

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema, to_arrow_type

from timeloom.engines.frames import require_columns
from timeloom.engines.keys import shared_keys
from timeloom.engines.spark.admission import Admitted
from timeloom.model.naming import Keys


def check_keys(left: Admitted, right: Admitted, keys: Keys) -> None:
    """Refuse keys that are missing or cannot be equal, in the words of the local engine."""
    tables = []
    for side, names in ((left, keys.left), (right, keys.right)):
        require_columns(side.schema.names, list(names), side.side)
        tables.append(to_arrow_schema(T.StructType([side.schema[name] for name in names]), timezone="UTC").empty_table())
    shared_keys(tables[0], tables[1], list(keys.left), list(keys.right))


def key_hashes(left: Admitted, right: Admitted, keys: Keys) -> tuple[Column, Column]:
    """Hash the keys of both sides so that equal keys have equal hashes.

    A row without a key meets nobody, so its hash may be any; that of its period spreads such rows.
    """
    columns: tuple[list[Column], list[Column]] = ([], [])
    for pair in zip(keys.left, keys.right, strict=True):
        kinds = [side.schema[name].dataType for side, name in zip((left, right), pair, strict=True)]
        for found, side, name in zip(columns, (left, right), pair, strict=True):
            found.extend(_hashed(side.column(name), kinds))
    hashes = []
    for side, names, found in zip((left, right), (keys.left, keys.right), columns, strict=True):
        spread = F.xxhash64(side.columns.raw_start, side.columns.raw_end)
        hashes.append(F.when(no_key(side, names), spread).otherwise(F.xxhash64(*found) if found else F.lit(0)))
    return hashes[0], hashes[1]


def no_key(side: Admitted, names: tuple[str, ...]) -> Column:
    """Tell the rows that have a null in their key: they match nothing."""
    return reduce(or_, [side.column(name).isNull() for name in names], F.lit(False))


def _hashed(column: Column, kinds: list[T.DataType]) -> list[Column]:
    """What to hash of a key column: the value in the type that both sides share.

    Values of different time types are left out, as a cast between them depends on the session's zone.
    """
    if kinds[0] == kinds[1]:
        return [column]
    if any(isinstance(kind, T.DateType | T.TimestampType | T.TimestampNTZType) for kind in kinds):
        return []
    schemas = [pa.schema([("key", to_arrow_type(kind))]) for kind in kinds]
    common = pa.unify_schemas(schemas, promote_options="permissive").types[0]
    return [column.cast(from_arrow_type(common))]
