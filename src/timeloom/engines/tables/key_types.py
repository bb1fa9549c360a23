"""What makes two keys equal: the type that both sides share, and one form for equal values.

Values are equal whatever they are written in: 1 and 1.0, 0.0 and -0.0, a decimal of another scale, an instant in
another unit or zone. Not-a-number equals itself. A common type holds every value of both sides; where values of one
type may not fit (whole numbers beyond 2**53 beside doubles, unsigned ones beyond int64 beside signed ones), those are
refused when they are met, never changed.
"""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from timeloom.engines.tables.ticks import whole
from timeloom.errors import InvalidInputError

EXACT_DIGITS = 15
"""Decimals of so many digits stay apart as doubles."""

_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}
"""How many digits a whole number of so many bits has at most; unsigned ones of 64 bits have one more."""

_UNITS = ("s", "ms", "us", "ns")
_FLOATS = {16: pa.float16(), 32: pa.float32(), 64: pa.float64()}

Rule = Callable[[pa.DataType, pa.DataType], pa.DataType | None]


def common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The type of a key whose sides have these types; None if their values cannot be equal."""
    if left == right:
        return left
    if pa.types.is_null(left) or pa.types.is_null(right):
        other = right if pa.types.is_null(left) else left
        return plain_type(other) if pa.types.is_run_end_encoded(other) else other
    first, second = plain_type(left), plain_type(right)
    if first == second:
        return first
    for belongs, rule in _FAMILIES:
        if belongs(first) and belongs(second):
            return rule(first, second)
    return None


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values, however they are encoded."""
    while pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    return kind


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values of a column that is encoded, one by one."""
    while plain_type(column.type) != column.type:
        if pa.types.is_run_end_encoded(column.type):
            chunks = [pc.run_end_decode(chunk) for chunk in column.chunks]
            column = pa.chunked_array(chunks, column.type.value_type)
        else:
            column = _decoded(column)
    return column


def plain_values(column: pa.Array) -> pa.Array:
    """The values of a column to compute with: neither encoded nor views."""
    kind = plain_type(column.type)
    if kind != column.type:
        column = whole(plain(pa.chunked_array([column])))
    return column.cast(_solid_text(kind)) if is_view(kind) else column


def is_view(kind: pa.DataType) -> bool:
    """Tell text and bytes that most of Arrow's functions do not take."""
    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def _solid_text(kind: pa.DataType) -> pa.DataType:
    return pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary()


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Dictionaries of views cannot be looked up, those of other texts can."""
    kind = column.type.value_type
    if not is_view(kind):
        return column.cast(kind)
    chunks = [chunk.dictionary.cast(_solid_text(kind)).take(chunk.indices).cast(kind) for chunk in column.chunks]
    return pa.chunked_array(chunks, kind)


def as_key(column: pa.ChunkedArray, kind: pa.DataType, name: str) -> pa.ChunkedArray:
    """A key column in the common type; values that it cannot hold are an error."""
    if column.type == kind:
        return column
    try:
        if pa.types.is_dictionary(column.type) and pa.types.is_dictionary(kind):
            return column.cast(kind)
        return plain(column).cast(kind)
    except pa.ArrowInvalid as error:
        raise InvalidInputError(
            f"the key {name!r} is {column.type}, and not all of its values fit into {kind}, which both sides share: "
            f"{error}; cast both sides to one type that holds them, such as decimal128(38, 0) or text"
        ) from error


def comparable(column: pa.ChunkedArray, name: str, *, grouping: bool = False) -> pa.ChunkedArray:
    """A column in which equal values are equal in every bit; types without such a form are refused by name."""
    column = plain(column)
    kind = column.type
    if isinstance(kind, pa.UuidType):
        return column.cast(kind.storage_type)
    if isinstance(kind, pa.Bool8Type):
        return column.cast(pa.bool_())
    if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType):
        use, choice = ("for grouping", "choose the columns with by=") if grouping else ("for equality", "leave it out")
        raise InvalidInputError(
            f"column {name!r} is {kind}, whose values cannot be compared {use}; {choice}, or turn it into numbers, "
            "times, text or bytes first"
        )
    if pa.types.is_floating(kind):
        return _one_zero(column if kind.bit_width == 64 else column.cast(pa.float64()))
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        return column.cast(pa.decimal128(kind.precision, kind.scale))
    return column.cast(_solid_text(kind)) if is_view(kind) else column


def _one_zero(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Doubles with one zero and one not-a-number, of the many that there are."""
    return pc.if_else(pc.is_nan(column), pa.scalar(float("nan")), pc.add(column, 0.0))


def _number(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    if pa.types.is_integer(left) and pa.types.is_integer(right):
        return _integer(left, right)
    if pa.types.is_decimal(left) and pa.types.is_decimal(right):
        return _decimal(left, right)
    if pa.types.is_floating(left) and pa.types.is_floating(right):
        return _FLOATS[max(left.bit_width, right.bit_width)]
    kinds = (left, right)
    decimal = next((kind for kind in kinds if pa.types.is_decimal(kind)), None)
    floating = next((kind for kind in kinds if pa.types.is_floating(kind)), None)
    if decimal is not None and floating is not None:
        return pa.float64() if decimal.precision <= EXACT_DIGITS else None
    whole = next(kind for kind in kinds if pa.types.is_integer(kind))
    if floating is not None:
        return _FLOATS[max(2 * whole.bit_width, floating.bit_width)] if whole.bit_width < 64 else pa.float64()
    return _decimal(decimal, _as_decimal(whole))


def _integer(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Signed beside unsigned needs twice the bits; there are none beyond 64, so there values may not fit."""
    signs = [pa.types.is_signed_integer(kind) for kind in (left, right)]
    if signs[0] == signs[1]:
        return left if left.bit_width >= right.bit_width else right
    signed, unsigned = (left, right) if signs[0] else (right, left)
    bits = min(64, max(signed.bit_width, 2 * unsigned.bit_width))
    return {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[bits]


def _as_decimal(whole: pa.DataType) -> pa.DataType:
    return pa.decimal128(_DIGITS[whole.bit_width] + pa.types.is_uint64(whole), 0)


def _decimal(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """As many digits before and behind the point as either has."""
    scale = max(left.scale, right.scale)
    precision = max(left.precision - left.scale, right.precision - right.scale) + scale
    if precision > 76:
        return None
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)


def _finer(left: pa.DataType, right: pa.DataType) -> str:
    return str(max(left.unit, right.unit, key=_UNITS.index))


def _timestamp(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """Instants with a zone are equal whatever their zones, and are written in the left one's."""
    return pa.timestamp(_finer(left, right), left.tz) if bool(left.tz) == bool(right.tz) else None


def _time(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    unit = _finer(left, right)
    return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_text(kind: pa.DataType) -> bool:
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def _is_bytes(kind: pa.DataType) -> bool:
    tests = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary)
    return any(test(kind) for test in tests)


def _bytes(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    small = all(pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind) for kind in (left, right))
    return pa.binary() if small else pa.large_binary()


_FAMILIES: tuple[tuple[Callable[[pa.DataType], bool], Rule], ...] = (
    (_is_number, _number),
    (_is_text, lambda left, right: pa.large_string()),
    (_is_bytes, _bytes),
    (pa.types.is_date, lambda left, right: pa.date64()),
    (pa.types.is_timestamp, _timestamp),
    (pa.types.is_time, _time),
    (pa.types.is_duration, lambda left, right: pa.duration(_finer(left, right))),
)
"""Types whose values may be equal to those of another type of the same family, and how they meet."""
