"""Schemas as texts, read here: Spark's own reader asks the server, which is forbidden in some places."""

import re
from functools import cache

from pyspark.sql import types as T

from timeloom.errors import UsageError

_COLUMN = re.compile(
    r"\s*(?:`((?:[^`]|``)+)`|(\w+))\s*[:\s]\s*(array\s*<\s*\w+\s*>|\w+\s*(?:\(\s*\d+\s*(?:,\s*-?\d+\s*)?\))?)"
    r"\s*(NOT\s+NULL)?\s*",
    re.I,
)
_PLAIN: dict[str, T.DataType] = {
    "string": T.StringType(),
    "binary": T.BinaryType(),
    "boolean": T.BooleanType(),
    "tinyint": T.ByteType(),
    "byte": T.ByteType(),
    "smallint": T.ShortType(),
    "short": T.ShortType(),
    "int": T.IntegerType(),
    "integer": T.IntegerType(),
    "bigint": T.LongType(),
    "long": T.LongType(),
    "float": T.FloatType(),
    "real": T.FloatType(),
    "double": T.DoubleType(),
    "date": T.DateType(),
    "timestamp": T.TimestampType(),
    "timestamp_ltz": T.TimestampType(),
    "timestamp_ntz": T.TimestampNTZType(),
    "decimal": T.DecimalType(10, 0),
    "numeric": T.DecimalType(10, 0),
}


@cache
def schema_of(text: str) -> T.StructType:
    """Read names and types, such as ``who string, start timestamp``.

    >>> schema_of("who string NOT NULL, `a b` decimal(10, 2), parts array<bigint>").simpleString()
    'struct<who:string,a b:decimal(10,2),parts:array<bigint>>'
    """
    fields: list[T.StructField] = []
    at = 0
    while at < len(text) or not fields:
        found = _COLUMN.match(text, at)
        if found is None or (found.end() < len(text) and text[found.end()] != ","):
            raise UsageError(
                f"schema={text!r} cannot be read at {text[at:].strip()[:30]!r}; expected names and plain types, such "
                "as 'who string, start timestamp'; for nested types give a StructType"
            )
        quoted, plain, kind, required = found.groups()
        name = quoted.replace("``", "`") if quoted else plain
        fields.append(T.StructField(name, _type(re.sub(r"\s", "", kind.lower())), not required))
        at = found.end() + 1
    return T.StructType(fields)


def _type(text: str) -> T.DataType:
    inner = re.fullmatch(r"array<(\w+)>", text)
    if inner:
        return T.ArrayType(_type(inner[1]))
    sized = re.fullmatch(r"(?:decimal|numeric)\((\d+)(?:,(-?\d+))?\)", text)
    if sized:
        return T.DecimalType(int(sized[1]), int(sized[2] or 0))
    if text not in _PLAIN:
        raise UsageError(f"{text!r} is no plain type; expected one of: {', '.join(_PLAIN)}")
    return _PLAIN[text]
