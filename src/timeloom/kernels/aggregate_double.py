"""Temporal sums of doubles that never drift: exact, rounded once, dependent on the active rows alone.

If the exponents in a column lie close together, as they nearly always do, the exact sum fits into two 64-bit words:
``high * 2**60 + low`` units, the unit being the last place of the smallest value. Otherwise, and for infinities
and not-a-number, the long form of ``aggregate_exact`` is used. Both give the same answers.
"""

import math

import numpy as np

from timeloom.kernels.aggregate import Timeline
from timeloom.kernels.aggregate_exact import (
    BIAS,
    COUNT_BITS,
    FRACTION,
    WIDTH,
    Doubles,
    exponents,
    running_long_sums,
)
from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions

WORD = 60
LOW = (1 << WORD) - 1
SPREAD = 2 * WORD - FRACTION - COUNT_BITS
"""The largest difference of exponents for which no sum of 2**31 values outgrows two words."""


def double_sums(line: Timeline, values: Doubles) -> Doubles:
    """Sum doubles over the active rows. Rows without a value hold zero."""
    bits = values.view(np.int64)
    least, greatest, special = exponents(bits)
    sweep = (line.by_start, line.by_end, line.entered, line.left)
    if not special and greatest - least <= SPREAD:
        return running_double_sums(values, least - BIAS, *sweep)
    size = (greatest - least + FRACTION + 1 + COUNT_BITS) // WIDTH + 3
    return running_long_sums(bits, least, size, *sweep)


@compiled
def running_double_sums(
    values: Doubles, exponent: int, by_start: Positions, by_end: Positions, entered: Positions, left: Positions
) -> Doubles:
    """Take back what leaves, add what enters, round once per period; every value is a multiple of 2**exponent.

    A value is split at 60 units; the products are by powers of two and therefore exact. ``low`` keeps to 60 bits.
    """
    totals = np.empty(entered.size, np.float64)
    word, unit = math.ldexp(1.0, -exponent - WORD), math.ldexp(1.0, exponent)
    high, low, s, e = 0, 0, 0, 0
    for k in range(entered.size):
        while e < left[k]:
            scaled = values[by_end[e]] * word
            whole = int(scaled)
            low -= int((scaled - whole) * (LOW + 1.0))
            high += (low >> WORD) - whole
            low &= LOW
            e += 1
        while s < entered[k]:
            scaled = values[by_start[s]] * word
            whole = int(scaled)
            low += int((scaled - whole) * (LOW + 1.0))
            high += (low >> WORD) + whole
            low &= LOW
            s += 1
        totals[k] = nearest_double(high, low, unit)
    return totals


@compiled
def nearest_double(high: int, low: int, unit: float) -> float:
    """The double nearest to ``(high * 2**60 + low) * unit``, ties to even; ``unit`` is a power of two."""
    sign = 1.0
    if high < 0:
        sign, high, low = -1.0, -high - (low > 0), (LOW + 1 - low) & LOW
    if high == 0:
        return sign * float(low) * unit
    # Keep 56 to 60 leading bits, the last of which also stands for everything below it, and round those.
    dropped = 5
    while high >> dropped > 0:
        dropped += 5
    head = (high << (WORD - dropped)) | (low >> dropped) | (low & ((1 << dropped) - 1) != 0)
    return sign * float(head) * float(1 << dropped) * unit
