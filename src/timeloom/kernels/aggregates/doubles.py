"""Temporal sums of doubles that never drift: exact, rounded once, dependent on the active rows alone.

If the exponents in a column lie close together, as they nearly always do, the exact sum fits into two 64-bit words:
``high * 2**60 + low`` units, the unit being the last position of the smallest value. Otherwise, and for infinities
and not-a-number, the long form of ``aggregate_exact`` is used. Both give the same answers.
"""

import math

import numpy as np

from timeloom.kernels.aggregates.exact import BIAS, COUNT_BITS, FRACTION, WIDTH, Doubles, exponents
from timeloom.kernels.aggregates.means import running_long_means
from timeloom.kernels.aggregates.timeline import Timeline
from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks

WORD = 60
LOW = (1 << WORD) - 1
SPREAD = 2 * WORD - FRACTION - COUNT_BITS
"""The largest difference of exponents for which no sum of 2**31 values outgrows two words."""


def fits_words(values: Doubles) -> tuple[bool, int, int]:
    """Whether sums fit into two words, and the exponents of the unit and of the greatest value."""
    least, greatest, special = exponents(values.view(np.int64))
    return not special and greatest - least <= SPREAD, least - BIAS, greatest - BIAS


def double_sums(line: Timeline, values: Doubles) -> Doubles:
    """Sum doubles over the active rows. Rows without a value hold zero."""
    fits, unit, _ = fits_words(values)
    if not fits:
        return long_sums(line, values)
    size = line.starts.size
    high, low, totals = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.float64)
    running_words(values, unit, line.by_start, line.by_end, line.entered, line.left, 0, size, high, low)
    round_words(high, low, 0, 0, unit, 0, size, totals)
    return totals


def long_sums(line: Timeline, values: Doubles, counts: Ticks | None = None) -> Doubles:
    """Sum doubles of any size over the active rows, or average them if counts are given."""
    _, unit, greatest = fits_words(values)
    size = (greatest - unit + FRACTION + 1 + COUNT_BITS) // WIDTH + 3
    bits = values.view(np.int64)
    divisors = np.ones(line.starts.size, np.int64) if counts is None else counts
    return running_long_means(bits, unit + BIAS, size, divisors, line.by_start, line.by_end, line.entered, line.left)


@compiled
def running_words(
    values: Doubles,
    unit: int,
    by_start: Positions,
    by_end: Positions,
    entered: Positions,
    left: Positions,
    begin: int,
    stop: int,
    highs: Ticks,
    lows: Ticks,
) -> tuple[int, int]:
    """Take back what leaves and add what enters, in the periods ``begin:stop``, beginning with zero; the last sum.

    Every value is a multiple of ``2**unit``. It is split at 60 units; the products are by powers of two and therefore
    exact. The low word keeps to its 60 bits.
    """
    word = math.ldexp(1.0, -unit - WORD)
    high, low, s, e = 0, 0, 0, 0
    if begin > 0:
        s, e = entered[begin - 1], left[begin - 1]
    for k in range(begin, stop):
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
        highs[k], lows[k] = high, low
    return high, low


@compiled
def round_words(
    highs: Ticks, lows: Ticks, high: int, low: int, unit: int, begin: int, stop: int, totals: Doubles
) -> None:
    """Round the sums of the periods ``begin:stop`` to doubles, after adding what came before them."""
    scale = math.ldexp(1.0, unit)
    for k in range(begin, stop):
        lower = low + lows[k]
        totals[k] = nearest_double(high + highs[k] + (lower >> WORD), lower & LOW, scale)


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
