"""Equality keys on Spark: one hash for equal keys of both sides, and which rows have no key."""

import pyarrow as pa
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
        fields = T.StructType([side.schema[name] for name in names])
        tables.append(to_arrow_schema(fields, timezone="UTC").empty_table())
    shared_keys(tables[0], tables[1], list(keys.left), list(keys.right))


def key_hashes(left: Admitted, right: Admitted, keys: Keys) -> tuple[str, str]:
    """Hash the keys of both sides, in SQL, so that equal keys have equal hashes.

    A row without a key meets nobody, so its hash may be any; that of its period spreads such rows.
    """
    columns: tuple[list[str], list[str]] = ([], [])
    for pair in zip(keys.left, keys.right, strict=True):
        kinds = [side.schema[name].dataType for side, name in zip((left, right), pair, strict=True)]
        for found, side, name in zip(columns, (left, right), pair, strict=True):
            found.extend(_hashed(side.column(name), kinds))
    hashes = []
    for side, names, found in zip((left, right), (keys.left, keys.right), columns, strict=True):
        spread = f"xxhash64({side.columns.raw_start}, {side.columns.raw_end})"
        key = f"xxhash64({', '.join(found)})" if found else "0L"
        hashes.append(f"CASE WHEN {no_key(side, names)} THEN {spread} ELSE {key} END")
    return hashes[0], hashes[1]


def no_key(side: Admitted, names: tuple[str, ...]) -> str:
    """Tell the rows that have a null in their key: they match nothing."""
    return "(" + " OR ".join(f"{side.column(name)} IS NULL" for name in names) + ")"


def _hashed(column: str, kinds: list[T.DataType]) -> list[str]:
    """What to hash of a key column: the value in the type that both sides share.

    Values of different time types are left out, as a cast between them depends on the session's zone.
    """
    if kinds[0] == kinds[1]:
        return [column]
    if any(isinstance(kind, T.DateType | T.TimestampType | T.TimestampNTZType) for kind in kinds):
        return []
    schemas = [pa.schema([("key", to_arrow_type(kind))]) for kind in kinds]
    common = pa.unify_schemas(schemas, promote_options="permissive").types[0]
    return [f"CAST({column} AS {from_arrow_type(common).simpleString()})"]
