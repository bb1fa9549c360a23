"""Parts of aggregates: what one of several tasks knows of a left row, or of a step, and how parts become a result.

All of them can be put together without loss: a sum travels as the powers of two that it holds.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context
from decimal import Decimal as Number
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeloom.engines.counts.aggregates import (
    NAN,
    PLUS,
    SQUARED,
    extreme,
    limb_sums,
    moment_sums,
    present_values,
    values_of,
)
from timeloom.engines.counts.counting import Numbers, Sums, Totals
from timeloom.engines.tables.arrays import from_numpy
from timeloom.errors import InvalidInputError
from timeloom.model.aggregates import DEVIATION, MEAN, PartKind
from timeloom.model.measures import Measure

EXTREMES = (PartKind.LEAST, PartKind.GREATEST)
DIGITS = 38
WIDE = Context(prec=120)
Finish = Callable[[pa.Array, pa.Array], pa.Array]


@dataclass(frozen=True)
class Part:
    """One column of what tasks report: of a column, for a measure of it and others that need the same."""

    name: str
    kind: PartKind
    measure: Measure


def part_values(part: Part, counting: Totals, counts: Numbers, right: pa.Table) -> pa.Array:
    """A task's part for each of its left rows."""
    array = values_of(right, str(part.measure.column))
    if part.kind in EXTREMES:
        return extreme(counting, array, part.measure, least=part.kind is PartKind.LEAST)
    return added_values(part, counting, counts, array)


def added_values(part: Part, counting: Sums, counts: Numbers, array: pa.Array) -> pa.Array:
    """The parts that add up: numbers of values, and sums as powers of two and how often each has them."""
    present = present_values(counting, counts, array)
    if part.kind is PartKind.PRESENT:
        return from_numpy(present)
    some = present > 0
    moments = part.kind is PartKind.MOMENTS
    sums = moment_sums(counting, array) if moments else limb_sums(counting, array, part.measure)
    pairs = [column for limb in sums for column in (np.full(some.size, limb.position, np.int64), limb.sums)]
    held = np.stack(pairs, axis=1)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(some * held.shape[1])])
    return pa.ListArray.from_arrays(from_numpy(offsets.astype(np.int32)), from_numpy(held[some].ravel()))


def finish(measure: Measure, given: pa.DataType, result: pa.DataType, whose: str = "a left row") -> Finish:
    """How to make sums or averages from all tasks' powers of two and the numbers of values; null for no values."""
    mean = measure.aggregate is not None and measure.aggregate.combination == MEAN

    def finished(lists: pa.Array, counts: pa.Array) -> pa.Array:
        totals = [
            _read(held, count if mean else 1, given, result) if held and count else None
            for held, count in zip(lists.to_pylist(), counts.to_pylist(), strict=True)
        ]
        try:
            return (
                pa.array(totals, pa.int64()).cast(result) if pa.types.is_duration(result) else pa.array(totals, result)
            )
        except (pa.ArrowException, OverflowError) as error:
            raise InvalidInputError(
                f"aggregate {measure.name!r}: the {measure.function} of {measure.column!r} has more than {DIGITS} "
                f"digits for {whose}; cast {measure.column!r} to double first"
            ) from error

    return finished


def finish_spread(measure: Measure) -> Finish:
    """How to make variances from all tasks' moments and the numbers of values; null for fewer than two values."""
    deviation = measure.aggregate is not None and measure.aggregate.combination == DEVIATION

    def finished(lists: pa.Array, counts: pa.Array) -> pa.Array:
        found = [
            _spread(held, count) if held and count and count > 1 else None
            for held, count in zip(lists.to_pylist(), counts.to_pylist(), strict=True)
        ]
        variances = pa.array(found, pa.float64())
        return pc.sqrt(variances) if deviation else variances

    return finished


def _spread(held: "list[int]", count: int) -> float:
    """A sample variance: what the values spread is rounded once, then divided."""
    pairs = list(zip(held[::2], held[1::2], strict=True))
    if any(number for at, number in pairs if NAN <= at < SQUARED // 2):
        return math.nan
    total = sum((Fraction(number) * Fraction(2) ** at for at, number in pairs if at < NAN), Fraction(0))
    squares = [(at - SQUARED, number) for at, number in pairs if at > SQUARED // 2]
    squared = sum((Fraction(number) * Fraction(2) ** at for at, number in squares), Fraction(0))
    return _nearest(count * squared - total * total) / (float(count) * float(count - 1))


def _read(held: "list[int]", count: int, given: pa.DataType, result: pa.DataType) -> "float | int | Number":
    """One total, divided by a count and rounded once."""
    pairs = list(zip(held[::2], held[1::2], strict=True))
    special = {at for at, number in pairs if at >= NAN and number}
    if special:
        return math.nan if len(special) > 1 or NAN in special else math.inf if PLUS in special else -math.inf
    total = sum((Fraction(number) * Fraction(2) ** at for at, number in pairs if at < NAN), Fraction(0))
    if pa.types.is_floating(result):
        return _nearest(total / count)
    if pa.types.is_duration(result):
        return _whole(total / count)
    scale = given.scale if pa.types.is_decimal(given) else 0
    return Number(_whole(total / count * 10 ** (result.scale - scale))).scaleb(-result.scale, WIDE)


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _whole(value: Fraction) -> int:
    """The nearest integer, halves away from zero."""
    whole = int(abs(value) + Fraction(1, 2))
    return whole if value >= 0 else -whole
