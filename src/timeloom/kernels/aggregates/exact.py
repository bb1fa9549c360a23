"""Sums without rounding: long integers in digits of 30 bits, to which values are added and from which they leave.

A sum of doubles is kept as an integer multiple of the smallest unit in the column, so a value that leaves takes back
exactly what it brought, and the answer depends on the active rows alone. It is rounded once, when it is read.
"""

import math

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Ticks

Doubles = NDArray[np.float64]

WIDTH = 30
MASK = (1 << WIDTH) - 1
FRACTION = 52
HIDDEN = 1 << FRACTION
SPECIAL = 0x7FF
BIAS = 1075
COUNT_BITS = 32
LEAST_EXPONENT = -1074


@compiled
def add(digits: Ticks, mantissa: int, position: int, sign: int) -> None:
    """Add ``sign * mantissa * 2**position``. Digits may leave their range; 2**28 additions cannot overflow them."""
    slot, offset = position // WIDTH, position % WIDTH
    low = (mantissa & MASK) << offset
    high = (mantissa >> WIDTH) << offset
    digits[slot] += sign * (low & MASK)
    digits[slot + 1] += sign * ((low >> WIDTH) + (high & MASK))
    digits[slot + 2] += sign * (high >> WIDTH)


@compiled
def carry(digits: Ticks, magnitude: Ticks) -> bool:
    """Bring the digits of the absolute value into range; true if the sum is negative."""
    over = 0
    for k in range(digits.size):
        over += digits[k]
        magnitude[k] = over & MASK
        over >>= WIDTH
    if over >= 0:
        return False
    over = 1
    for k in range(digits.size):
        over += MASK - magnitude[k]
        magnitude[k] = over & MASK
        over >>= WIDTH
    return True


@compiled
def nearest(magnitude: Ticks, exponent: int) -> float:
    """The double nearest to ``magnitude * 2**exponent``, ties to even; magnitudes beyond all doubles are infinite."""
    top = magnitude.size - 1
    while top > 0 and magnitude[top] == 0:
        top -= 1
    if top < 2:
        head = magnitude[0] if top == 0 else (magnitude[1] << WIDTH) | magnitude[0]
    else:
        # 61 bits from the top; the last one also stands for everything below it.
        bits = math.frexp(float(magnitude[top]))[1]
        third = magnitude[top - 2]
        head = (((magnitude[top] << WIDTH) | magnitude[top - 1]) << (31 - bits)) | (third >> (bits - 1))
        rest = third & ((1 << (bits - 1)) - 1)
        for k in range(top - 2):
            rest |= magnitude[k]
        head |= rest != 0
        exponent += WIDTH * (top - 1) - (31 - bits)
    below = LEAST_EXPONENT - exponent
    if below > 0 and math.frexp(float(head))[1] + exponent <= LEAST_EXPONENT + FRACTION + 1:
        # Fewer bits are left than doubles have: round here, as rounding twice would be wrong.
        if below > 62:
            return 0.0
        rest, half = head & ((1 << below) - 1), 1 << (below - 1)
        head >>= below
        head += rest > half or (rest == half and head & 1 == 1)
        exponent = LEAST_EXPONENT
    fraction, binary = math.frexp(float(head))
    return math.inf if binary + exponent > 1024 else math.ldexp(fraction, binary + exponent)


@compiled
def exponents(bits: Ticks) -> tuple[int, int, bool]:
    """The least and the greatest biased exponent of the finite, non-zero values, and whether any is not finite.

    Without such values both exponents are 1, which is that of zero.
    """
    least, greatest, special = SPECIAL, 0, False
    for k in range(bits.size):
        exponent = (bits[k] >> FRACTION) & SPECIAL
        if exponent == SPECIAL:
            special = True
        elif bits[k] << 1 != 0:
            exponent = max(exponent, 1)
            least, greatest = min(least, exponent), max(greatest, exponent)
    return int(min(least, max(greatest, 1))), int(max(greatest, 1)), special


@compiled
def decode(bits: int) -> tuple[int, int]:
    """The integer mantissa and the biased exponent of a finite double."""
    exponent = (bits >> FRACTION) & SPECIAL
    mantissa = bits & (HIDDEN - 1)
    if exponent > 0:
        mantissa |= HIDDEN
    else:
        exponent = 1
    return (-mantissa if bits < 0 else mantissa), exponent


@compiled
def tally(special: Ticks, bits: int, sign: int) -> None:
    """Count a value that is no finite number: not-a-number, plus infinity, minus infinity."""
    kind = 0 if bits & (HIDDEN - 1) else (2 if bits < 0 else 1)
    special[kind] += sign


@compiled
def add_double(digits: Ticks, special: Ticks, bits: int, least: int, sign: int) -> None:
    """Add (``sign=1``) or take back (``sign=-1``) a double, given as its bits."""
    if bits << 1 == 0:
        return
    if (bits >> FRACTION) & SPECIAL == SPECIAL:
        tally(special, bits, sign)
        return
    mantissa, exponent = decode(bits)
    add(digits, mantissa, exponent - least, sign)
