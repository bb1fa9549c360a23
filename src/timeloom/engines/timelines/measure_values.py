"""Arrow columns as the numbers that aggregation kernels take, and back."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.engines.tables.arrays import filled, from_numpy, to_numpy
from timeloom.errors import InvalidInputError, UsageError
from timeloom.kernels.order import Ticks
from timeloom.model.aggregates import AGGREGATES, Takes
from timeloom.model.measures import Measure
from timeloom.model.ticks import MAX_TICK, MIN_TICK

_NUMERIC = (pa.types.is_floating, pa.types.is_integer, pa.types.is_decimal)
_TAKES: dict[Takes, tuple[Callable[[pa.DataType], bool], ...]] = {
    "any": (lambda kind: True,),
    "sortable": (lambda kind: True,),
    "summable": (*_NUMERIC, pa.types.is_boolean, pa.types.is_duration),
    "numeric": _NUMERIC,
    "boolean": (pa.types.is_boolean,),
}

TEN_38 = 10**38
MEAN_PLACES = 4
"""The decimal places that an average of decimals has more than the decimals themselves."""


def masked(values: NDArray[np.generic], missing: NDArray[np.bool_]) -> pa.Array:
    """A column with nulls where values are missing."""
    return from_numpy(values, mask=missing) if missing.any() else from_numpy(values)


def takes(kind: pa.DataType, measure: Measure) -> bool:
    """Whether a function is defined for a type; whether values sort, only sorting tells."""
    record = measure.aggregate
    return record is None or any(test(kind) for test in _TAKES[record.takes])


def unfit(kind: pa.DataType, measure: Measure) -> UsageError:
    """The error for a function that makes no sense for a type."""
    others = ", ".join(name for name, record in AGGREGATES.items() if record.takes in ("any", "sortable"))
    return UsageError(
        f"aggregate {measure.name!r}: there is no {measure.function} of {measure.column!r}, which is {kind}; "
        f"cast it, or use {others} or a callable"
    )


def double_values(column: pa.Array) -> NDArray[np.float64]:
    """Numbers as doubles, nulls as zero."""
    wide = column if pa.types.is_float64(column.type) else column.cast(pa.float64(), safe=False)
    return np.ascontiguousarray(to_numpy(filled(wide, 0)))


def integer_halves(column: pa.Array, measure: Measure) -> tuple[Ticks, Ticks | None]:
    """Whole numbers as ``low + 2**64 * high``, ``low`` being signed; nulls as zero. Without ``high`` it is zero."""
    kind = column.type
    if pa.types.is_decimal(kind):
        lower, upper = decimal_words(column, measure)
        high = upper + (lower < 0)
        return lower, high if high.any() else None
    if pa.types.is_uint64(kind):
        lower = to_numpy(filled(column, 0)).view(np.int64)
        return lower, (lower < 0).astype(np.int64) if (lower < 0).any() else None
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_duration(kind):
        return to_numpy(filled(column.cast(pa.int64()), 0)), None
    raise unfit(kind, measure)


def decimal_words(column: pa.Array, measure: Measure) -> tuple[Ticks, Ticks]:
    """The lower and the upper 64 bits of decimals, nulls as zero."""
    if not pa.types.is_decimal128(column.type):
        try:
            column = column.cast(pa.decimal128(38, column.type.scale))
        except pa.ArrowInvalid as error:
            raise InvalidInputError(
                f"aggregate {measure.name!r}: {measure.column!r} is {column.type} with values of more than 38 digits; "
                "cast it to double first"
            ) from error
    words = np.frombuffer(column.buffers()[1] or b"", np.int64)[2 * column.offset : 2 * (column.offset + len(column))]
    lower, upper = np.ascontiguousarray(words[::2]), np.ascontiguousarray(words[1::2])
    if column.null_count:
        null = to_numpy(column.is_null())
        lower[null] = upper[null] = 0
    return lower, upper


def mean_type(kind: pa.DataType) -> tuple[pa.DataType, int]:
    """The type of an average of decimals, and the factor by which its last place is finer."""
    places = max(0, min(MEAN_PLACES, 38 - kind.precision))
    return pa.decimal128(min(38, kind.precision + places), kind.scale + places), 10**places


def decimals(
    lower: Ticks,
    upper: Ticks,
    kind: pa.DataType,
    missing: NDArray[np.bool_],
    measure: Measure,
    where: str = "periods",
) -> pa.Array:
    """Decimals from their lower and upper 64 bits; more than 38 digits are an error."""
    limit_low, limit_high = TEN_38 % 2**64, TEN_38 >> 64
    unsigned = lower.view(np.uint64)
    above = (upper > limit_high) | ((upper == limit_high) & (unsigned >= np.uint64(limit_low)))
    floor_low, floor_high = -TEN_38 % 2**64, -TEN_38 >> 64
    below = (upper < floor_high) | ((upper == floor_high) & (unsigned <= np.uint64(floor_low)))
    over = np.flatnonzero(above | below)
    if over.size:
        raise InvalidInputError(
            f"aggregate {measure.name!r}: the {measure.function} of {measure.column!r} has more than 38 digits in "
            f"{over.size} {where}; cast {measure.column!r} to double first"
        )
    words = np.empty((lower.size, 2), np.int64)
    words[:, 0], words[:, 1] = lower, upper
    whole = pa.Array.from_buffers(kind, lower.size, [None, pa.py_buffer(words)])
    return pc.if_else(from_numpy(missing), pa.scalar(None, kind), whole) if missing.any() else whole


def order_codes(column: pa.Array, measure: Measure) -> Ticks:
    """Integers in the order of the values; codes of nulls mean nothing. Not-a-number is the greatest, as in SQL."""
    kind = column.type
    if pa.types.is_uint64(kind):
        return to_numpy(filled(column, 0)).view(np.int64) ^ np.int64(MIN_TICK)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return integer_halves(column, measure)[0]
    if pa.types.is_temporal(kind) and kind.bit_width in (32, 64):
        whole = column.view(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(pa.int64())
        return to_numpy(filled(whole, 0))
    if pa.types.is_floating(kind):
        values = double_values(column) + 0.0
        bits = values.view(np.int64)
        return np.where(np.isnan(values), MAX_TICK, np.where(bits < 0, bits ^ np.int64(MAX_TICK), bits))
    try:
        order = to_numpy(pc.sort_indices(column))
    except pa.ArrowException as error:
        raise unfit(kind, measure) from error
    codes = np.empty(len(column), np.int64)
    codes[order] = np.arange(len(column))
    return codes
