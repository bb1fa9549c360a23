"""Weights for sums over rectangles: integers as they are, floats in fixed point.

A sum over a rectangle is a difference of larger sums. In floating point that would lose the small ones, and the result
would depend on the order of the rows. So floats are cut into two integers each, one for the high and one for the low
part, relative to the largest magnitude of the column; integer sums are exact, whatever their order.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

TOTAL_BITS = 62


class FixedPoint(NamedTuple):
    """Finite floats as ``high * 2**scale + low * 2**(scale - bits)``, rounded to that grid."""

    high: Integers
    low: Integers
    scale: int
    bits: int


def fits_int64(weights: Integers) -> bool:
    """Tell whether no sum of some of the weights can overflow."""
    high = int(np.abs(weights >> 32).sum())
    return (high + weights.size) << 32 < 2**63


def fixed_point(weights: Floats) -> FixedPoint:
    """Cut finite floats into two integers of equal width, such that no sum of either part overflows."""
    bits = TOTAL_BITS - max(weights.size, 1).bit_length()
    largest = float(np.abs(weights).max(initial=0.0))
    scale = int(np.frexp(largest)[1]) - bits
    scaled = np.ldexp(weights, -scale)
    high = np.rint(scaled)
    low = np.rint(np.ldexp(scaled - high, bits))
    return FixedPoint(high.astype(np.int64), low.astype(np.int64), scale, bits)


def to_floats(high: Integers, low: Integers, scale: int, bits: int) -> Floats:
    """Put sums of both parts together again."""
    carry = low >> bits
    rest = np.ldexp((low - (carry << bits)).astype(np.float64), -bits)
    with np.errstate(over="ignore"):
        return np.ldexp((high + carry).astype(np.float64) + rest, scale)
