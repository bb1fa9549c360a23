"""Variances over rectangles, from sums of limbs of values and of their squares: exact until they are rounded."""

import math

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.aggregates.exact import BIAS, FRACTION, HIDDEN, SPECIAL, WIDTH, add, carry, nearest
from timeloom.kernels.aggregates.variance import scaled_spread
from timeloom.kernels.counts.sums import Doubles, Integers, Limb, limbs_of
from timeloom.kernels.jit import compiled

HALF_MANTISSA = 27


def square_limbs(values: Doubles) -> list[Limb]:
    """Cut the squares of finite doubles into limbs; the square of a mantissa is taken in halves."""
    bits = values.view(np.int64)
    exponents = np.maximum((bits >> FRACTION) & SPECIAL, 1)
    mantissas = (bits & (HIDDEN - 1)) | np.where(bits >> FRACTION & SPECIAL, HIDDEN, 0)
    low, high = mantissas & ((1 << HALF_MANTISSA) - 1), mantissas >> HALF_MANTISSA
    terms = [(low * low, 0), (2 * low * high, HALF_MANTISSA), (high * high, 2 * HALF_MANTISSA)]
    return limbs_of([(term, 2 * exponents + shift) for term, shift in terms], 2 * BIAS)


def spreads(sums: list[tuple[int, Integers]], squares: list[tuple[int, Integers]], counts: Integers) -> Doubles:
    """The sample variances from sums by powers of two, of values and of squares; of fewer than two values, NaN."""
    powers = [*(at for at, _ in sums), *(at // 2 for at, _ in squares)]
    least, most = min(powers), max(powers)
    size = (most - least + 64) // WIDTH + 3
    shifts, square_shifts = (np.array([at for at, _ in part], np.int64) for part in (sums, squares))
    held, square_held = (np.stack([sum_ for _, sum_ in part]) for part in (sums, squares))
    return round_spreads(shifts - least, held, square_shifts - 2 * least, square_held, counts, size, 2 * least)


@compiled
def round_spreads(
    shifts: Integers,
    sums: NDArray[np.int64],
    square_shifts: Integers,
    squares: NDArray[np.int64],
    counts: Integers,
    size: int,
    exponent: int,
) -> Doubles:
    """Put the limbs of each row together; what they spread is rounded once, then divided."""
    result = np.empty(counts.size, np.float64)
    digits, magnitude = np.zeros(size, np.int64), np.zeros(size, np.int64)
    held, spread = np.zeros(2 * size, np.int64), np.zeros(2 * size, np.int64)
    for row in range(counts.size):
        n = counts[row]
        if n < 2:
            result[row] = math.nan
            continue
        digits[:], held[:] = 0, 0
        for limb in range(shifts.size):
            add(digits, sums[limb, row], shifts[limb], 1)
        for limb in range(square_shifts.size):
            add(held, squares[limb, row], square_shifts[limb], 1)
        carry(digits, magnitude)
        scaled_spread(held, magnitude, n, spread)
        result[row] = nearest(spread, exponent) / (float(n) * float(n - 1))
    return result
