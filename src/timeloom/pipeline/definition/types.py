"""Column types in pipeline files, written as Spark writes them."""

import re
from typing import Any

from timeloom.errors import UsageError, did_you_mean

FAMILIES = {
    "boolean": "truth",
    "tinyint": "integer",
    "smallint": "integer",
    "int": "integer",
    "bigint": "integer",
    "float": "fraction",
    "double": "fraction",
    "string": "text",
    "binary": "bytes",
    "date": "date",
    "timestamp": "instant",
    "timestamp_ntz": "wall clock",
    "decimal": "decimal",
}
"""The simple types; those of one family convert into each other without a change of meaning."""

_ALIASES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint", "bool": "boolean"}
_NESTED = ("array<", "struct<", "map<")
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def parse_type(text: str, column: str) -> str:
    """Read a type, and return its one spelling.

    >>> parse_type("LONG", "n"), parse_type("decimal(10, 2)", "price")
    ('bigint', 'decimal(10,2)')
    """
    spelled = re.sub(r"\s", "", text.lower())
    spelled = _ALIASES.get(spelled, spelled)
    if spelled in FAMILIES or _DECIMAL.fullmatch(spelled) or spelled.startswith(_NESTED):
        return "decimal(10,0)" if spelled == "decimal" else spelled
    raise UsageError(f"column {column!r} has the unknown type {text!r}. {did_you_mean(spelled, FAMILIES)}")


def is_nested(kind: str) -> bool:
    """Tell arrays, structs and maps from simple types."""
    return kind.startswith(_NESTED)


def family(kind: str) -> str:
    """The family of a type; a nested type is its own."""
    return FAMILIES.get(kind.partition("(")[0], kind)


def to_arrow(kind: str) -> Any:
    """The Arrow type of a simple type."""
    import pyarrow as pa

    simple = {
        "boolean": pa.bool_(),
        "tinyint": pa.int8(),
        "smallint": pa.int16(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "string": pa.string(),
        "binary": pa.binary(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
    }
    decimal = _DECIMAL.fullmatch(kind)
    return pa.decimal128(int(decimal.group(1)), int(decimal.group(2))) if decimal else simple[kind]


def from_arrow(kind: Any) -> str:
    """The name of an Arrow type; types without a simple name keep Arrow's."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    if pa.types.is_date(kind):
        return "date"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_unsigned_integer(kind):
        return "bigint"
    if pa.types.is_dictionary(kind):
        return from_arrow(kind.value_type)
    names = {"bool": "boolean", "int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint"}
    names |= {"halffloat": "float", "large_string": "string", "string_view": "string", "large_binary": "binary"}
    return names.get(str(kind), str(kind))
