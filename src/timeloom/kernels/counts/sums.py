"""Weights for sums over rectangles, cut into integers whose sums cannot overflow.

A sum over a rectangle is a difference of larger sums. In floating point that would lose the small ones, and the result
would depend on the order of the rows. So every value is cut into a few integers, its limbs, each of which counts a
power of two; sums of limbs are exact, whatever their order, and are put together and rounded once. Only the powers that
occur have limbs, so a column of near magnitudes has two or three, and one of all magnitudes has many.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.aggregates.exact import BIAS, FRACTION, HIDDEN, SPECIAL, WIDTH, add, carry
from timeloom.kernels.aggregates.means import nearest_quotient
from timeloom.kernels.aggregates.wide import DIGITS, halves
from timeloom.kernels.jit import compiled

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]

SAFE_BITS = 62
HALF = 32
LOWER = (1 << HALF) - 1


class Limb(NamedTuple):
    """What values hold of ``2**position``."""

    position: int
    weights: Integers


def fits_int64(weights: Integers) -> bool:
    """Tell whether no sum of some of the weights can overflow."""
    return (int(np.abs(weights >> HALF).sum()) + weights.size) << HALF < 2**63


def integer_limbs(low: Integers, high: Integers | None) -> list[Limb]:
    """Cut integers ``low + 2**64 * high`` into halves of words; sums of up to 2**31 of these cannot overflow."""
    words = [(0, low)] if high is None else [(0, low), (2 * HALF, high)]
    limbs = [
        limb
        for at, word in words
        for limb in (Limb(at, word & LOWER), Limb(at + HALF, word >> HALF))
        if limb.weights.any()
    ]
    return limbs or [Limb(0, low)]


def double_limbs(values: Doubles) -> list[Limb]:
    """Cut finite doubles into integers of as many bits as the number of values allows."""
    bits = values.view(np.int64)
    exponents = np.maximum((bits >> FRACTION) & SPECIAL, 1)
    mantissas = (bits & (HIDDEN - 1)) | np.where(bits >> FRACTION & SPECIAL, HIDDEN, 0)
    return limbs_of([(mantissas, exponents)], BIAS, np.where(bits < 0, -1, 1))


def limbs_of(terms: Sequence[tuple[Integers, Integers]], bias: int, signs: Integers | None = None) -> list[Limb]:
    """Cut terms, each ``mantissa * 2**(exponent - bias)`` of a value, into the limbs of the values.

    Mantissas are not negative and below 2**55; there are three terms of a value at the most.
    """
    size = max(terms[0][0].size, 1)
    width, wanted = SAFE_BITS - len(terms).bit_length() - size.bit_length() + 1, dict[int, Integers]()
    for mantissas, exponents in terms:
        slots, offsets = np.divmod(exponents, width)
        rest = mantissas >> (width - offsets)
        parts = [(mantissas & ((1 << (width - offsets)) - 1)) << offsets, rest & ((1 << width) - 1), rest >> width]
        for number, part in enumerate(parts):
            for slot in np.flatnonzero(np.bincount(slots[part != 0])).tolist():
                here = np.where(slots == slot, part if signs is None else part * signs, 0)
                wanted[slot + number] = wanted[slot + number] + here if slot + number in wanted else here
    limbs = [Limb(slot * width - bias, wanted[slot]) for slot in sorted(wanted)]
    return limbs or [Limb(0, np.zeros(terms[0][0].size, np.int64))]


def double_totals(positions: list[int], sums: list[Integers], counts: Integers | None = None) -> Doubles:
    """Put sums of limbs together and round them to doubles; with counts, round the means."""
    least = min(positions)
    size = (max(positions) - least + 64) // WIDTH + 3
    shifts = np.array(positions, np.int64) - least
    counts = np.ones(sums[0].size, np.int64) if counts is None else counts
    return round_totals(shifts, np.stack(sums), counts, size, least)


def integer_totals(positions: list[int], sums: list[Integers]) -> tuple[Integers, Integers]:
    """Put sums of integer limbs together: the lower and the upper 64 bits; more than 128 bits saturate."""
    return wide_totals(np.array(positions, np.int64), np.stack(sums))


@compiled
def round_totals(shifts: Integers, sums: NDArray[np.int64], counts: Integers, size: int, exponent: int) -> Doubles:
    """The doubles nearest to the totals divided by the counts; a count of 0 gives 0."""
    totals = np.zeros(counts.size, np.float64)
    digits, magnitude = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for row in range(counts.size):
        if counts[row] == 0:
            continue
        digits[:] = 0
        for limb in range(shifts.size):
            add(digits, sums[limb, row], shifts[limb], 1)
        negative = carry(digits, magnitude)
        value = nearest_quotient(magnitude, counts[row], exponent)
        totals[row] = -value if negative else value
    return totals


@compiled
def wide_totals(positions: Integers, sums: NDArray[np.int64]) -> tuple[Integers, Integers]:
    """Add the limbs of each row and write out both words."""
    rows = sums.shape[1]
    lower, upper = np.empty(rows, np.int64), np.empty(rows, np.int64)
    digits = np.zeros(DIGITS, np.int64)
    for row in range(rows):
        digits[:] = 0
        for limb in range(positions.size):
            add(digits, sums[limb, row], positions[limb], 1)
        lower[row], upper[row] = halves(digits)
    return lower, upper
