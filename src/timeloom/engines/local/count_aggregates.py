"""Sums, averages, minima and maxima of a right column over the right rows of each left row."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.engines.counting import Totals
from timeloom.engines.key_types import plain_values
from timeloom.engines.local.gather import Source
from timeloom.errors import InvalidInputError, UsageError
from timeloom.kernels.counting_sums import fits_int64, halves, joined_halves, joined_limbs, limb_terms, limbs_of
from timeloom.kernels.dominance_extremes import NONE
from timeloom.model.measures import Measure

Numbers = NDArray[np.int64]
Doubles = NDArray[np.float64]


def aggregate(counting: Totals, counts: Numbers, right: pa.Table, wanted: Measure) -> pa.Array:
    """Aggregate a right column for each left row. Nulls do not take part; over no values the result is null."""
    if wanted.column is None:
        return pa.array(counts)
    array = plain_values(Source(right).column(wanted.column))
    if wanted.function in ("min", "max"):
        return _extreme(counting, array, wanted)
    present = counts
    if array.null_count:
        present = counting.sums(np.asarray(array.is_valid()).astype(np.int64))
    if wanted.function == "count":
        return pa.array(present)
    return _total(counting, present, array, wanted)


def _extreme(counting: Totals, array: pa.Array, wanted: Measure) -> pa.Array:
    """Find the least code, where codes are places in sorted order: any type that sorts will do. NaN is greatest."""
    try:
        order = np.asarray(pc.sort_indices(array, null_placement="at_end")).astype(np.int64)
    except pa.ArrowException as error:
        raise _unfit(array.type, wanted) from error
    codes = np.empty(len(array), np.int64)
    codes[order] = np.arange(len(array))
    last = len(array) - array.null_count - 1
    codes = np.where(codes > last, NONE, codes if wanted.function == "min" else last - codes)
    found = counting.least(codes)
    missing = found == NONE
    places = np.where(missing, 0, found if wanted.function == "min" else last - found)
    rows = np.zeros_like(places) if last < 0 else order[places]
    return pc.take(array, pa.array(rows, mask=missing))


def _total(counting: Totals, present: Numbers, array: pa.Array, wanted: Measure) -> pa.Array:
    kind, missing = array.type, present == 0
    if pa.types.is_floating(kind):
        total = _float_sums(counting, np.asarray(pc.fill_null(array.cast(pa.float64()), 0.0)))
        if wanted.function == "avg":
            total = total / np.maximum(present, 1)
        return pa.array(total, mask=missing)
    if not (pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal128(kind)):
        raise _unfit(kind, wanted)
    weights, scale = _integers(array, wanted)
    if wanted.function == "avg":
        upper, lower = (counting.sums(half) for half in halves(weights))
        total = np.ldexp(upper.astype(np.float64), 32) + lower.astype(np.float64)
        return pa.array(total / 10.0**scale / np.maximum(present, 1), mask=missing)
    sums = _integer_sums(counting, weights, wanted)
    if pa.types.is_decimal128(kind):
        return _decimals(sums, scale, missing)
    return pa.array(sums, mask=missing)


def _integer_sums(counting: Totals, weights: Numbers, wanted: Measure) -> Numbers:
    if fits_int64(weights):
        return counting.sums(weights)
    upper, lower = halves(weights)
    sums, overflow = joined_halves(counting.sums(upper), counting.sums(lower))
    rows = np.flatnonzero(overflow)
    if rows.size:
        raise InvalidInputError(
            f"aggregate {wanted.name!r}: the sum of {wanted.column!r} does not fit into an int64 for {rows.size} left "
            f"rows (the first is row {rows[0]}); cast {wanted.column!r} to double first"
        )
    return sums


def exact_terms(counting: Totals, array: pa.Array, wanted: Measure) -> list[Doubles]:
    """Doubles that add up to each left row's total without loss: what counts over parts of the right rows hand on.

    Decimals count in units of their last place. Where NaN or infinities take part, the first term tells the total.
    """
    if not pa.types.is_floating(array.type):
        upper, lower = (counting.sums(half) for half in halves(_integers(array, wanted)[0]))
        return [np.ldexp(upper.astype(np.float64), 32), lower.astype(np.float64)]
    weights = np.asarray(pc.fill_null(array.cast(pa.float64()), 0.0))
    cut = limbs_of(np.where(np.isfinite(weights), weights, 0.0))
    terms = limb_terms([counting.sums(limb) for limb in cut.limbs], cut.bits)
    scaled = [np.ldexp(term, cut.scale) for term in terms]
    return [_with_special(counting, weights, scaled[0]), *scaled[1:]]


def _float_sums(counting: Totals, weights: Doubles) -> Doubles:
    """Exact sums, rounded once."""
    cut = limbs_of(np.where(np.isfinite(weights), weights, 0.0))
    total = joined_limbs([counting.sums(limb) for limb in cut.limbs], cut.scale, cut.bits)
    return _with_special(counting, weights, total)


def _with_special(counting: Totals, weights: Doubles, total: Doubles) -> Doubles:
    """Put in NaN and infinities, which are counted by themselves, as they would spoil every other sum."""
    if np.isfinite(weights).all():
        return total
    infinite = [counting.sums((weights == value).astype(np.int64)) > 0 for value in (np.inf, -np.inf)]
    nan = (counting.sums(np.isnan(weights).astype(np.int64)) > 0) | (infinite[0] & infinite[1])
    return np.select([nan, infinite[0], infinite[1]], [np.nan, np.inf, -np.inf], total)


def _integers(array: pa.Array, wanted: Measure) -> tuple[Numbers, int]:
    """A column as int64 with the number of decimal places, nulls as 0."""
    if not pa.types.is_decimal128(array.type):
        try:
            return np.asarray(pc.fill_null(array.cast(pa.int64()), 0)), 0
        except pa.ArrowInvalid as error:
            raise InvalidInputError(
                f"aggregate {wanted.name!r}: {wanted.column!r} has values beyond int64; cast it to double first"
            ) from error
    words = np.frombuffer(array.buffers()[1], np.int64)[2 * array.offset : 2 * (array.offset + len(array))]
    valid = np.asarray(array.is_valid())
    lower, upper = np.where(valid, words[::2], 0), np.where(valid, words[1::2], 0)
    if ((lower >> 63) != upper).any():
        raise InvalidInputError(
            f"aggregate {wanted.name!r}: {wanted.column!r} has decimals of more than 18 digits; cast it to double first"
        )
    return lower, array.type.scale


def _decimals(sums: Numbers, scale: int, missing: NDArray[np.bool_]) -> pa.Array:
    words = np.empty((sums.size, 2), np.int64)
    words[:, 0], words[:, 1] = sums, sums >> 63
    whole = pa.Array.from_buffers(pa.decimal128(38, scale), sums.size, [None, pa.py_buffer(words)])
    return pc.if_else(pa.array(missing), pa.scalar(None, whole.type), whole)


def _unfit(kind: pa.DataType, wanted: Measure) -> UsageError:
    return UsageError(
        f"aggregate {wanted.name!r}: there is no {wanted.function} of {wanted.column!r}, which is {kind}; "
        "join the tables and group by the left row to aggregate it in your own way"
    )
