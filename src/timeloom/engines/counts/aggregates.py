"""Aggregates of a right column over the right rows of each left row.

Names, types and rules are those of temporal aggregates: sums and averages are exact and rounded once, whatever the
magnitudes; infinities and not-a-number are counted apart, as they would spoil every other sum.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.engines.counts.counting import Counting, Sums, Totals
from timeloom.engines.counts.partners import of_partners
from timeloom.engines.tables.arrays import from_numpy, to_numpy
from timeloom.engines.tables.gather import Source
from timeloom.engines.tables.key_types import plain_values
from timeloom.engines.timelines.measure_values import decimals, double_values, integer_halves, masked, mean_type, takes
from timeloom.errors import InvalidInputError, UsageError
from timeloom.kernels.aggregates.means import integer_means
from timeloom.kernels.aggregates.wide import wide_means
from timeloom.kernels.counts.dominance_extremes import NONE
from timeloom.kernels.counts.spread import spreads, square_limbs
from timeloom.kernels.counts.sums import Limb, double_limbs, double_totals, fits_int64, integer_limbs, integer_totals
from timeloom.model.aggregates import COUNT, DEVIATION, GREATEST, LEAST, MEAN, VARIANCE
from timeloom.model.measures import Measure

Numbers = NDArray[np.int64]

NAN, PLUS, MINUS = 10_001, 10_002, 10_003
"""Stand in the place of a power of two for what no power counts: not-a-number and the infinities."""

SQUARED = 1_000_000
"""Added to the powers of two that squares hold."""


class LimbSums(NamedTuple):
    """What the right rows of each left row hold of a power of two."""

    position: int
    sums: Numbers


def aggregate(counting: Counting, counts: Numbers, right: pa.Table, wanted: Measure) -> pa.Array:
    """Aggregate a right column for each left row. Nulls do not take part; over no values the result is null."""
    if wanted.column is None:
        return from_numpy(counts)
    array = values_of(right, wanted.column)
    if not takes(array.type, wanted):
        raise _unfit(array.type, wanted)
    combination = wanted.aggregate and wanted.aggregate.combination
    if combination in (LEAST, GREATEST):
        return extreme(counting, array, wanted, least=combination == LEAST)
    if combination is None:
        return of_partners(counting, counts, array, wanted)
    present = present_values(counting, counts, array)
    if combination == COUNT:
        return from_numpy(present)
    if combination in (VARIANCE, DEVIATION):
        found = masked(_variances(counting, present, array), present < 2)
        return found if combination == VARIANCE else pc.sqrt(found)
    of_numbers = _of_doubles if pa.types.is_floating(array.type) else _of_integers
    return of_numbers(counting, present, array, wanted, mean=combination == MEAN)


def _variances(counting: Sums, present: Numbers, array: pa.Array) -> NDArray[np.float64]:
    parts = moment_sums(counting, array)
    special = np.zeros(present.size, np.bool_)
    for part in parts:
        special |= (NAN <= part.position < SQUARED // 2) & (part.sums > 0)
    sums = [(part.position, part.sums) for part in parts if part.position < NAN]
    squares = [(part.position - SQUARED, part.sums) for part in parts if part.position > SQUARED // 2]
    return np.where(special, np.nan, spreads(sums, squares, present))


def moment_sums(counting: Sums, array: pa.Array) -> list[LimbSums]:
    """Each left row's sum and sum of squares, as doubles, in parts that add up without loss."""
    values = double_values(array)
    squared = square_limbs(np.where(np.isfinite(values), values, 0.0))
    limbs = [*_double_limbs(array), *(Limb(limb.position + SQUARED, limb.weights) for limb in squared)]
    return [LimbSums(limb.position, counting.sums(limb.weights)) for limb in limbs]


def values_of(right: pa.Table, name: str) -> pa.Array:
    """A right column in one piece, as plain values."""
    return plain_values(Source(right).column(name))


def present_values(counting: Sums, counts: Numbers, array: pa.Array) -> Numbers:
    """How many values that are not null each left row has."""
    return counting.sums(to_numpy(array.is_valid()).astype(np.int64)) if array.null_count else counts


def limb_sums(counting: Sums, array: pa.Array, wanted: Measure) -> list[LimbSums]:
    """Each left row's total in parts that add up without loss, also to those of other right rows."""
    if pa.types.is_floating(array.type):
        limbs = _double_limbs(array)
    else:
        limbs = integer_limbs(*integer_halves(array, wanted))
    return [LimbSums(limb.position, counting.sums(limb.weights)) for limb in limbs]


def extreme(counting: Totals, array: pa.Array, wanted: Measure, *, least: bool) -> pa.Array:
    """Find the least or greatest value for each left row: of any type that sorts. NaN is the greatest.

    What is looked for is the least code, where codes are positions in sorted order.
    """
    try:
        order = to_numpy(pc.sort_indices(array)).astype(np.int64)
    except pa.ArrowException as error:
        raise _unfit(array.type, wanted) from error
    codes = np.empty(len(array), np.int64)
    codes[order] = np.arange(len(array))
    last = len(array) - array.null_count - 1
    codes = np.where(codes > last, NONE, codes if least else last - codes)
    found = counting.least(codes)
    missing = found == NONE
    positions = np.where(missing, 0, found if least else last - found)
    rows = np.zeros_like(positions) if last < 0 else order[positions]
    return pc.take(array, from_numpy(rows, mask=missing))


def _of_doubles(counting: Totals, present: Numbers, array: pa.Array, wanted: Measure, *, mean: bool) -> pa.Array:
    sums = limb_sums(counting, array, wanted)
    special = {part.position: part.sums > 0 for part in sums if part.position >= NAN}
    finite = [part for part in sums if part.position < NAN]
    counts = present if mean else None
    total = double_totals([part.position for part in finite], [part.sums for part in finite], counts)
    if special:
        plus, minus = special[PLUS], special[MINUS]
        total = np.select([special[NAN] | (plus & minus), plus, minus], [np.nan, np.inf, -np.inf], total)
    return masked(total, present == 0)


def _double_limbs(array: pa.Array) -> list[Limb]:
    values = double_values(array)
    finite = np.isfinite(values)
    if finite.all():
        return double_limbs(values)
    marked = [(NAN, np.isnan(values)), (PLUS, values == np.inf), (MINUS, values == -np.inf)]
    return [*double_limbs(np.where(finite, values, 0.0)), *(Limb(at, some.astype(np.int64)) for at, some in marked)]


def _of_integers(counting: Totals, present: Numbers, array: pa.Array, wanted: Measure, *, mean: bool) -> pa.Array:
    kind, missing = array.type, present == 0
    lower, upper = _integer_totals(counting, array, wanted)
    if not mean:
        if pa.types.is_decimal(kind):
            return decimals(lower, upper, pa.decimal128(38, kind.scale), missing, wanted, "left rows")
        _refuse_overflow(lower, upper, wanted)
        total = masked(lower, missing)
        return total.cast(kind) if pa.types.is_duration(kind) else total
    if pa.types.is_decimal(kind):
        wide, factor = mean_type(kind)
        return decimals(*wide_means(lower, upper, present, factor), wide, missing, wanted, "left rows")
    if pa.types.is_duration(kind):
        return masked(wide_means(lower, upper, present, 1)[0], missing).cast(kind)
    return masked(integer_means(lower, upper, present), missing)


def _integer_totals(counting: Totals, array: pa.Array, wanted: Measure) -> tuple[Numbers, Numbers]:
    """The exact sums of whole numbers, as the lower and the upper 64 bits."""
    low, high = integer_halves(array, wanted)
    if high is None and fits_int64(low):
        total = counting.sums(low)
        return total, total >> 63
    sums = [LimbSums(limb.position, counting.sums(limb.weights)) for limb in integer_limbs(low, high)]
    return integer_totals([part.position for part in sums], [part.sums for part in sums])


def _refuse_overflow(lower: Numbers, upper: Numbers, wanted: Measure) -> None:
    rows = np.flatnonzero(upper != lower >> 63)
    if rows.size:
        raise InvalidInputError(
            f"aggregate {wanted.name!r}: the sum of {wanted.column!r} does not fit into an int64 for {rows.size} left "
            f"rows (the first is row {rows[0]}); cast {wanted.column!r} to decimal128(38, 0) or to double first"
        )


def _unfit(kind: pa.DataType, wanted: Measure) -> UsageError:
    return UsageError(
        f"aggregate {wanted.name!r}: there is no {wanted.function} of {wanted.column!r}, which is {kind}; "
        "join the tables and group by the left row to aggregate it in your own way"
    )
