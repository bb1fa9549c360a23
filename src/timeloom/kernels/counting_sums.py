"""Weights for sums over rectangles, cut into integers whose sums cannot overflow.

A sum over a rectangle is a difference of larger sums. In floating point that would lose the small ones, and the result
would depend on the order of the rows. So doubles are cut into a few integers each, relative to the largest magnitude of
the column, and large integers into an upper and a lower half; sums of these are exact, whatever their order.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]

SAFE_BITS = 62
MOST_LIMBS = 4
HALF = 32
LOWER = (1 << HALF) - 1


class Limbs(NamedTuple):
    """Finite doubles as ``sum(limb[i] * 2**(scale - i * bits))``, rounded to that grid after four limbs."""

    limbs: list[Integers]
    scale: int
    bits: int


def fits_int64(weights: Integers) -> bool:
    """Tell whether no sum of some of the weights can overflow."""
    return (int(np.abs(weights >> HALF).sum()) + weights.size) << HALF < 2**63


def halves(weights: Integers) -> tuple[Integers, Integers]:
    """Cut integers into upper and lower halves; sums of up to 2**31 of either cannot overflow."""
    return weights >> HALF, weights & LOWER


def joined_halves(upper: Integers, lower: Integers) -> tuple[Integers, NDArray[np.bool_]]:
    """Put sums of halves together, and mark those that do not fit into an int64; these are meaningless."""
    whole = upper + (lower >> HALF)
    overflow = (whole < -(2 ** (HALF - 1))) | (whole >= 2 ** (HALF - 1))
    return (np.where(overflow, 0, whole) << HALF) + (lower & LOWER), overflow


def limbs_of(weights: Doubles) -> Limbs:
    """Cut finite doubles into integers, as many as are needed to keep every bit, but at most four."""
    bits = SAFE_BITS - max(weights.size, 1).bit_length()
    scale = int(np.frexp(np.abs(weights).max(initial=0.0))[1]) - bits
    rest = np.ldexp(weights, -scale)
    limbs: list[Integers] = []
    while len(limbs) < MOST_LIMBS and (not limbs or rest.any()):
        whole = np.rint(rest)
        limbs.append(whole.astype(np.int64))
        rest = np.ldexp(rest - whole, bits)
    return Limbs(limbs, scale, bits)


def joined_limbs(sums: list[Integers], scale: int, bits: int) -> Doubles:
    """Put sums of limbs together: carry from the lowest limb upwards, then add with compensation and round."""
    terms = limb_terms(sums, bits)
    result, error = terms[0], np.zeros_like(terms[0])
    for term in terms[1:]:
        added = result + term
        back = added - result
        error += (result - (added - back)) + (term - back)
        result = added
    with np.errstate(over="ignore"):
        return np.ldexp(result + error, scale)


def limb_terms(sums: list[Integers], bits: int) -> list[Doubles]:
    """Sums of limbs as doubles that, added up and multiplied by ``2**scale``, are the total; the largest come first."""
    carried: list[Integers] = []
    carry = np.zeros_like(sums[0])
    for limb in reversed(sums[1:]):
        total = limb + carry
        carry = (total + (1 << (bits - 1))) >> bits
        carried.append(total - (carry << bits))
    top = sums[0] + carry
    terms = [((top >> HALF) << HALF).astype(np.float64), (top & LOWER).astype(np.float64)]
    terms += [np.ldexp(limb.astype(np.float64), -bits * (at + 1)) for at, limb in enumerate(reversed(carried))]
    return terms
