"""Columns of every type that can be a key, with values that occur in other types, too."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

NAN = float("nan")

NUMBERS: dict[str, pa.Array] = {
    **{
        str(kind): pa.array([1, 2, None, 0, 7], kind)
        for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
    },
    "float16": pa.array([1.0, 0.5, -0.0, None, NAN], pa.float32()).cast(pa.float16()),
    "float32": pa.array([1.0, 0.5, -0.0, None, NAN, 0.1], pa.float32()),
    "float64": pa.array([1.0, 0.5, 0.0, None, NAN, 0.1, 7.0], pa.float64()),
    "decimal128(5, 1)": pa.array([Decimal("1.0"), Decimal("0.5"), None, Decimal("0.1")], pa.decimal128(5, 1)),
    "decimal128(12, 4)": pa.array([Decimal("1"), Decimal("0.5"), Decimal("0.1000"), Decimal(0)], pa.decimal128(12, 4)),
    "decimal256": pa.array([Decimal("1"), Decimal("0.5"), Decimal("0.1000"), Decimal(0)], pa.decimal256(40, 4)),
}
DAY, NOON = dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 12)
TIMES: dict[str, pa.Array] = {
    **{f"timestamp {unit}": pa.array([DAY, None, NOON], pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")},
    "zoned s": pa.array([DAY, None, NOON], pa.timestamp("s", "UTC")),
    "zoned us": pa.array([DAY, None, NOON], pa.timestamp("us", "Europe/Paris")),
    "date32": pa.array([DAY, None, NOON], pa.timestamp("s")).cast(pa.date32(), safe=False),
    "date64": pa.array([DAY, None, NOON], pa.timestamp("s")).cast(pa.date32(), safe=False).cast(pa.date64()),
    **{f"duration {unit}": pa.array([1, None, 0], pa.int64()).cast(pa.duration(unit)) for unit in ("s", "us")},
    "time32": pa.array([dt.time(1), None, dt.time(2)], pa.time32("s")),
    "time64": pa.array([dt.time(1), None, dt.time(3)], pa.time64("us")),
    "interval": pa.array([(1, 2, 3), None, (1, 2, 4)], pa.month_day_nano_interval()),
}
TEXTS: dict[str, pa.Array] = {
    **{str(kind): pa.array(["a", None, "b"], kind) for kind in (pa.string(), pa.large_string(), pa.string_view())},
    "dictionary": pa.array(["a", None, "c"]).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string())),
    "large dictionary": pa.array(["b", None, "c"]).dictionary_encode(),
    "runs": pc.run_end_encode(pa.array(["a", "a", None])),
    **{str(kind): pa.array([b"a", None, b"b"], kind) for kind in (pa.binary(), pa.large_binary(), pa.binary_view())},
    "fixed 1": pa.array([b"a", None, b"c"], pa.binary(1)),
    "fixed 2": pa.array([b"aa", None, b"cc"], pa.binary(2)),
    "uuid": pa.array([b"0123456789abcdef", None], pa.uuid()),
    "bool": pa.array([True, None, False]),
    "bool8": pa.array([1, None, 0], pa.int8()).cast(pa.bool8()),
    "null": pa.nulls(2),
}
KEYS = NUMBERS | TIMES | TEXTS

FAMILIES = [
    set(NUMBERS),
    {name for name in TIMES if name.startswith("timestamp")},
    {name for name in TIMES if name.startswith("zoned")},
    {name for name in TIMES if name.startswith("date")},
    {name for name in TIMES if name.startswith("duration")},
    {"time32", "time64"},
    {"string", "large_string", "string_view", "dictionary", "large dictionary", "runs"},
    {"binary", "large_binary", "binary_view", "fixed 1", "fixed 2"},
]
"""Types whose values may be equal to those of others."""


def may_be_equal(one: str, other: str) -> bool:
    """Tell whether values of two types can be compared at all."""
    if one == other or "null" in (one, other):
        return True
    floats, wide = {"float16", "float32", "float64"}, {"decimal256"}
    if {one, other} & floats and {one, other} & wide:
        return False
    return any({one, other} <= family for family in FAMILIES)


def value(scalar: Any) -> Any:
    """A value as Python compares it: exact numbers, instants without their zones, one not-a-number."""
    found = scalar.as_py()
    if isinstance(found, float) and found != found:
        return "not a number"
    if isinstance(found, dt.datetime):
        return found.astimezone(dt.UTC).replace(tzinfo=None) if found.tzinfo else found.replace(microsecond=0)
    return found


def equal(one: Any, other: Any) -> bool:
    """Tell whether two keys are equal. A decimal of few digits equals the double that is nearest to it."""
    if one is None or other is None:
        return False
    if {type(one), type(other)} == {Decimal, float}:
        return float(one) == float(other)
    return bool(one == other)
