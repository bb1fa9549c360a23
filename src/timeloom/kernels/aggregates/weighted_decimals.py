"""Means of decimals weighted by time: exact sums of 128-bit integers times weights, divided and rounded once."""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.aggregates.exact import MASK, WIDTH, add, carry
from timeloom.kernels.aggregates.wide import DIGITS, halves
from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks

VALUE_DIGITS, WEIGHT_DIGITS = 5, 3
"""Enough for the magnitude of 128 bits, and for a weight."""

SUM_DIGITS = 8
"""Enough for 128 bits times the total weight, and for the finer places of a mean."""

MOST_WEIGHT, MOST_VALUES = 2**62, 2**28
"""Above these a rest would not fit into 64 bits, or a digit before it is carried."""


@compiled
def add_product(digits: Ticks, magnitude: Ticks, weight: int, sign: int) -> None:
    """Add ``sign * magnitude * weight``."""
    for at in range(VALUE_DIGITS):
        for place in range(WEIGHT_DIGITS):
            product = magnitude[at] * ((weight >> (WIDTH * place)) & MASK)
            digits[at + place] += sign * (product & MASK)
            digits[at + place + 1] += sign * (product >> WIDTH)


@compiled
def divide(digits: Ticks, magnitude: Ticks, factor: int, divisor: int) -> None:
    """Turn a sum into ``factor`` times it, divided, halves away from zero; ``magnitude`` is room to work in."""
    sign = -1 if carry(digits, magnitude) else 1
    over = 0
    for at in range(SUM_DIGITS):
        over += factor * magnitude[at]
        magnitude[at] = over & MASK
        over >>= WIDTH
    rest = 0
    for at in range(SUM_DIGITS - 1, -1, -1):
        quotient = 0
        for bit in range(WIDTH - 1, -1, -1):
            rest = 2 * rest + ((magnitude[at] >> bit) & 1)
            fits = rest >= divisor
            rest -= divisor if fits else 0
            quotient = 2 * quotient + fits
        digits[at] = sign * quotient
    digits[0] += sign * (rest >= divisor - rest)


@compiled
def weighted_decimals(
    lower: Ticks,
    upper: Ticks,
    rows: Positions,
    weights: Ticks,
    known: NDArray[np.bool_],
    offsets: Ticks,
    factor: int,
    means: Ticks,
    totals: Ticks,
    begin: int,
    stop: int,
) -> NDArray[np.bool_]:
    """Write the means of the stretches ``begin:stop`` of rows: both halves, as ``factor`` times the values' unit.

    Totals are 0 where no value is known. Answers of which stretches the weights are not too large to be added.
    """
    digits, room = np.zeros(SUM_DIGITS, np.int64), np.zeros(SUM_DIGITS, np.int64)
    value, magnitude = np.zeros(DIGITS, np.int64), np.zeros(DIGITS, np.int64)
    certain = np.ones(stop - begin, np.bool_)
    for number in range(begin, stop):
        digits[:] = 0
        total, values = 0, 0
        for at in range(offsets[number], offsets[number + 1]):
            if not known[at]:
                continue
            if weights[at] >= MOST_WEIGHT - total or values == MOST_VALUES:
                certain[number - begin] = False
                break
            row = rows[at]
            value[:] = 0
            add(value, lower[row], 0, 1)
            add(value, upper[row] + (lower[row] < 0), 64, 1)
            sign = -1 if carry(value, magnitude) else 1
            add_product(digits, magnitude, weights[at], sign)
            total += weights[at]
            values += 1
        totals[number] = total
        means[number, 0] = means[number, 1] = 0
        if total > 0 and certain[number - begin]:
            divide(digits, room, factor, total)
            means[number, 0], means[number, 1] = halves(digits)
    return certain
