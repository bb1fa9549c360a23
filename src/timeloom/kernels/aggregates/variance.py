"""Temporal variance from exact sums of values and of squares, so that no cancellation can spoil it."""

import math

import numpy as np

from timeloom.kernels.aggregates.exact import (
    BIAS,
    COUNT_BITS,
    FRACTION,
    MASK,
    SPECIAL,
    WIDTH,
    Doubles,
    add,
    carry,
    decode,
    exponents,
    nearest,
    tally,
)
from timeloom.kernels.aggregates.timeline import Timeline
from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks


def variances(line: Timeline, values: Doubles, counts: Ticks) -> Doubles:
    """The sample variance of the active values, of which each period has ``counts``; below two it is not a number.

    Rows without a value hold zero and are not counted.
    """
    bits = values.view(np.int64)
    least, greatest, _ = exponents(bits)
    size = (greatest - least + FRACTION + 1 + COUNT_BITS) // WIDTH + 3
    return running_variances(bits, least, size, counts, line.by_start, line.by_end, line.entered, line.left)


@compiled
def running_variances(
    bits: Ticks,
    least: int,
    size: int,
    counts: Ticks,
    by_start: Positions,
    by_end: Positions,
    entered: Positions,
    left: Positions,
) -> Doubles:
    """Keep the sum and the sum of squares exactly; read the variance once per period."""
    result = np.empty(entered.size, np.float64)
    digits, squares, special = np.zeros(size, np.int64), np.zeros(2 * size, np.int64), np.zeros(3, np.int64)
    magnitude, spread = np.zeros(size, np.int64), np.zeros(2 * size, np.int64)
    s, e = 0, 0
    for k in range(entered.size):
        while e < left[k]:
            add_moments(digits, squares, special, bits[by_end[e]], least, -1)
            e += 1
        while s < entered[k]:
            add_moments(digits, squares, special, bits[by_start[s]], least, 1)
            s += 1
        n = counts[k]
        if n < 2 or special[0] + special[1] + special[2] > 0:
            result[k] = math.nan
            continue
        carry(digits, magnitude)
        scaled_spread(squares, magnitude, n, spread)
        result[k] = nearest(spread, 2 * (least - BIAS)) / (float(n) * float(n - 1))
    return result


@compiled
def add_moments(digits: Ticks, squares: Ticks, special: Ticks, bits: int, least: int, sign: int) -> None:
    """Add or take back a double and its square; the square of the mantissa is taken in halves of at most 30 bits."""
    if bits << 1 == 0:
        return
    if (bits >> FRACTION) & SPECIAL == SPECIAL:
        tally(special, bits, sign)
        return
    mantissa, exponent = decode(bits)
    position = exponent - least
    add(digits, mantissa, position, sign)
    mantissa = abs(mantissa)
    low, high = mantissa & MASK, mantissa >> WIDTH
    add(squares, low * low, 2 * position, sign)
    add(squares, 2 * low * high, 2 * position + WIDTH, sign)
    add(squares, high * high, 2 * position + 2 * WIDTH, sign)


@compiled
def scaled_spread(squares: Ticks, magnitude: Ticks, n: int, spread: Ticks) -> None:
    """Write ``n * (sum of squares) - (sum)**2``, which is never negative, in digits within range."""
    over = 0
    for k in range(squares.size):
        over += squares[k]
        spread[k] = over & MASK
        over >>= WIDTH
    over = 0
    for k in range(spread.size):
        over += n * spread[k]
        spread[k] = over & MASK
        over >>= WIDTH
    for k in range(magnitude.size):
        if magnitude[k] == 0:
            continue
        over = 0
        for j in range(magnitude.size):
            over += spread[k + j] - magnitude[k] * magnitude[j]
            spread[k + j] = over & MASK
            over >>= WIDTH
        j = k + magnitude.size
        while over != 0 and j < spread.size:
            over += spread[j]
            spread[j] = over & MASK
            over >>= WIDTH
            j += 1
