"""Periods that stand in one column: pandas' intervals, and the range texts of PostgreSQL."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.errors import InvalidInputError
from timeloom.model.period import Period

Flags = NDArray[np.bool_]

RANGES = {
    "int4range": (pa.int32(), r"[+-]?\d{1,10}"),
    "int8range": (pa.int64(), r"[+-]?\d{1,19}"),
    "daterange": (pa.date32(), r"\d{4}-\d\d-\d\d"),
    "tsrange": (pa.timestamp("us"), r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,6})?"),
    "tstzrange": (
        pa.timestamp("us", "UTC"),
        r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:[+-]\d\d(?::?\d\d)?|Z)",
    ),
}
"""The range types of PostgreSQL: the type of their bounds, and how one is written."""

_SHAPE = (
    r'^\s*(?P<from>[\[(])\s*"?(?P<low>{bound}|-infinity|)"?\s*,\s*"?(?P<high>{bound}|infinity|)"?\s*(?P<to>[\])])\s*$'
)
_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)


class Ranges(NamedTuple):
    """Range texts taken apart: null lows are unknown; ``after`` and ``through`` tell brackets that shift a bound."""

    low: pa.Array
    high: pa.Array
    after: Flags
    through: Flags
    endless: Flags
    empty: Flags


class ZonedIntervals(pa.ExtensionType):  # type: ignore[misc]
    """Intervals between instants with a zone, which the type that pandas has for Arrow cannot hold."""

    def __init__(self, bound: pa.DataType, closed: str) -> None:
        self.closed = closed
        super().__init__(pa.struct({"left": bound, "right": bound}), "timeloom.interval")

    def __arrow_ext_serialize__(self) -> bytes:
        """What a file needs to know beside the storage."""
        return self.closed.encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> "ZonedIntervals":
        """The type that a file tells of."""
        return cls(storage_type.field("left").type, serialized.decode())


def is_interval(kind: pa.DataType) -> bool:
    """Tell a column of pandas' intervals."""
    names = ("pandas.interval", "timeloom.interval")
    return isinstance(kind, pa.BaseExtensionType) and kind.extension_name in names


def interval_parts(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """The left and the right ends of intervals; null where there is no interval."""
    storage = pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
    return pc.struct_field(storage, "left"), pc.struct_field(storage, "right")


def intervals(starts: pa.Array, ends: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column of intervals from its ends."""
    fields = [kind.storage_type.field(name) for name in ("left", "right")]
    parts = [part.cast(field.type) for part, field in zip((starts, ends), fields, strict=True)]
    return pa.ExtensionArray.from_storage(kind, pa.StructArray.from_arrays(parts, fields=fields))


def read_ranges(column: pa.ChunkedArray, period: Period, side: str) -> Ranges:
    """Take range texts of the declared type apart; what is no such text has no bounds."""
    if not any(is_text(column.type) for is_text in _TEXTS):
        raise InvalidInputError(
            f"column {period.start!r} of the {side} table is {column.type}; form={period.form!r} is for texts such as "
            "'[1,5)'"
        )
    kind, bound = RANGES[period.form]
    texts = column.cast(pa.string()).combine_chunks()
    texts = texts if isinstance(texts, pa.Array) else pa.concat_arrays(texts.chunks)
    found = pc.extract_regex(texts, _SHAPE.format(bound=bound))
    low, high = (_bounds(pc.struct_field(found, name), kind) for name in ("low", "high"))
    parsed = np.asarray(pc.is_valid(found))
    endless = parsed & np.asarray(pc.is_null(high))
    return Ranges(low, high, _is(found, "from", "("), _is(found, "to", "]"), endless, _empty(texts))


def _bounds(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Bounds in their type; a missing or infinite one is null."""
    known = pc.match_substring_regex(texts, r"\d")
    return pc.if_else(pc.fill_null(known, False), texts, pa.scalar(None, pa.string())).cast(kind)


def _is(found: pa.Array, part: str, bracket: str) -> Flags:
    return np.asarray(pc.fill_null(pc.equal(pc.struct_field(found, part), bracket), False))


def _empty(texts: pa.Array) -> Flags:
    return np.asarray(pc.fill_null(pc.match_substring_regex(texts, r"^\s*empty\s*$"), False))


def ranges(starts: pa.Array, ends: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column of range texts, half-open; an end that is null is open."""
    quote = '"' if pa.types.is_timestamp(starts.type) else ""
    low = pc.binary_join_element_wise("[" + quote, starts.cast(pa.string()), quote + ",", "")
    high = pc.binary_join_element_wise(quote, ends.cast(pa.string()), quote, "")
    text = pc.binary_join_element_wise(low, pc.fill_null(high, ""), ")", "")
    return text.cast(kind)
