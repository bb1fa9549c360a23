"""Averages that are rounded once: an exact sum divided by a count, digit by digit, and then rounded to a double."""

import math

import numpy as np

from timeloom.kernels.aggregates.exact import BIAS, MASK, WIDTH, Doubles, add_double, carry
from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks

HEAD_BITS = 61
"""About so many leading bits of a quotient are kept; the last one also stands for all that follows."""

EXACT = 1 << 53
"""Integers up to here are doubles, and their quotient is rounded once by the processor."""

LEAST_EXPONENT, LEAST_NORMAL = -1074, -1022
"""The smallest double is two to the first power; from the second on doubles have all their bits."""


WORD_SIZE, DIGIT_SIZE, SPLITTER = 2.0**60, 2.0**30, 2.0**27 + 1
SMALL_COUNT = 1 << 26
MORE, LESS = 1 + 2.0**-48, 1 - 2.0**-48
SAFE_UNITS = (-900, 800)
"""Far from the ends of the range of doubles, a power of two changes nothing but the exponent."""


@compiled
def nearest_quotient(magnitude: Ticks, count: int, exponent: int) -> float:
    """The double nearest to ``magnitude * 2**exponent / count``, ties to even; ``count`` is below 2**32."""
    at = magnitude.size - 1
    head, rest = 0, 0
    while at >= 0 and head == 0:
        rest = (rest << WIDTH) | magnitude[at]
        head, rest = rest // count, rest % count
        at -= 1
    if head == 0 and rest == 0:
        return 0.0
    bits = 0
    while bits < HEAD_BITS:
        # As many bits of the next digit as there is room for; beyond the last digit there are zeros. A head just below
        # a power of two may seem to have one bit more than it has.
        bits = math.frexp(float(head))[1]
        taken = min(WIDTH, HEAD_BITS - bits)
        if taken <= 0:
            break
        digit = magnitude[at] if at >= 0 else 0
        rest = (rest << taken) | (digit >> (WIDTH - taken))
        head, rest = (head << taken) | (rest // count), rest % count
        if taken < WIDTH:
            rest |= (digit & ((1 << (WIDTH - taken)) - 1)) != 0
            exponent += WIDTH - taken
            at -= 1
            break
        at -= 1
    for k in range(at + 1):
        rest |= magnitude[k]
    return rounded(head | (rest != 0), exponent + WIDTH * (at + 1))


@compiled
def rounded(head: int, exponent: int) -> float:
    """The double nearest to ``head * 2**exponent``; the last bit of a head of many bits stands for what follows."""
    fraction, binary = math.frexp(float(head))
    if binary + exponent > LEAST_NORMAL:
        return math.inf if binary + exponent > 1024 else math.ldexp(fraction, binary + exponent)
    # Below the normal range fewer bits remain, and they are rounded here, so that it happens once.
    dropped = LEAST_EXPONENT - exponent
    if dropped <= 0:
        return math.ldexp(float(head), exponent)
    if dropped > HEAD_BITS + 1:
        return 0.0
    kept, below = head >> dropped, head & ((1 << dropped) - 1)
    half = 1 << (dropped - 1)
    kept += below > half or (below == half and kept & 1 == 1)
    return math.ldexp(float(kept), LEAST_EXPONENT)


@compiled
def word_means(
    highs: Ticks,
    lows: Ticks,
    high: int,
    low: int,
    unit: int,
    counts: Ticks,
    begin: int,
    stop: int,
    means: Doubles,
) -> None:
    """Divide the sums ``highs * 2**60 + lows`` of the periods ``begin:stop``, in units of ``2**unit``, by their counts.

    ``high`` and ``low`` are what came before. A count of zero gives zero.
    """
    word = 2 * WIDTH
    digits, magnitude = np.zeros(6, np.int64), np.zeros(6, np.int64)
    for k in range(begin, stop):
        lower = low + lows[k]
        upper = high + highs[k] + (lower >> word)
        lower &= (1 << word) - 1
        if counts[k] == 0:
            means[k] = 0.0
            continue
        value, certain = quick_quotient(upper, lower, counts[k])
        if certain and SAFE_UNITS[0] < unit < SAFE_UNITS[1]:
            means[k] = math.ldexp(value, unit)
        else:
            digits[0], digits[1] = lower & MASK, lower >> WIDTH
            digits[2], digits[3] = upper & MASK, (upper >> WIDTH) & MASK
            digits[4] = upper >> word
            digits[5] = 0
            sign = -1.0 if carry(digits, magnitude) else 1.0
            means[k] = sign * nearest_quotient(magnitude, counts[k], unit)


@compiled
def quick_quotient(upper: int, lower: int, count: int) -> tuple[float, bool]:
    """The double nearest to ``(upper * 2**60 + lower) / count``, and whether that is certain; it nearly always is.

    The sum is taken as two doubles, divided, and mended by the remainder. It is certain unless it lies so close to the
    middle between two doubles that the last bit of the mending decides.
    """
    if count >= SMALL_COUNT or not -EXACT < upper < EXACT:
        return 0.0, False
    first, second, third = upper * WORD_SIZE, float(lower >> WIDTH) * DIGIT_SIZE, float(lower & MASK)
    below = second + third
    lost = third - (below - second)
    total = first + below
    rest = (first - (total - below)) + (below - (total - (total - below))) + lost
    quotient = total / count
    part = SPLITTER * quotient
    part -= part - quotient
    remainder = (total - part * count) - (quotient - part) * count
    mending = (remainder + rest) / count
    mended = quotient + mending
    return mended, quotient + mending * MORE == mended and quotient + mending * LESS == mended


def integer_means(lower: Ticks, upper: Ticks, counts: Ticks) -> Doubles:
    """Divide sums of 128 bits, in two's complement, by their counts; a count of zero gives zero."""
    means = np.empty(lower.size, np.float64)
    some_means(lower, upper, counts, 0, lower.size, means)
    return means


@compiled
def some_means(lower: Ticks, upper: Ticks, counts: Ticks, begin: int, stop: int, means: Doubles) -> None:
    """Write the means ``begin:stop``. Without upper halves the sums are those of 64 bits."""
    digits, magnitude, wide = np.zeros(5, np.int64), np.zeros(5, np.int64), upper.size > 0
    for k in range(begin, stop):
        means[k] = 0.0
        if counts[k] == 0:
            continue
        low = lower[k]
        high = upper[k] if wide else low >> 63
        if high == low >> 63 and -EXACT <= low <= EXACT:
            means[k] = low / counts[k]
            continue
        digits[0], digits[1] = low & MASK, (low >> WIDTH) & MASK
        digits[2] = ((low >> (2 * WIDTH)) & 15) | ((high & ((1 << 26) - 1)) << 4)
        digits[3] = (high >> 26) & MASK
        digits[4] = high >> 56
        sign = -1.0 if carry(digits, magnitude) else 1.0
        means[k] = sign * nearest_quotient(magnitude, counts[k], 0)


@compiled
def read_mean(digits: Ticks, special: Ticks, magnitude: Ticks, count: int, exponent: int) -> float:
    """Round a sum over a count to a double; infinities and not-a-number win as in IEEE addition."""
    if special[0] > 0 or (special[1] > 0 and special[2] > 0):
        return math.nan
    if special[1] > 0:
        return math.inf
    if special[2] > 0:
        return -math.inf
    if count == 0:
        return 0.0
    negative = carry(digits, magnitude)
    value = nearest_quotient(magnitude, count, exponent)
    return -value if negative else value


@compiled
def running_long_means(
    bits: Ticks,
    least: int,
    size: int,
    counts: Ticks,
    by_start: Positions,
    by_end: Positions,
    entered: Positions,
    left: Positions,
) -> Doubles:
    """Take back what leaves, add what enters, divide and round once per period; sums have counts of one."""
    means = np.empty(entered.size, np.float64)
    digits, magnitude, special = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(3, np.int64)
    s, e = 0, 0
    for k in range(entered.size):
        while e < left[k]:
            add_double(digits, special, bits[by_end[e]], least, -1)
            e += 1
        while s < entered[k]:
            add_double(digits, special, bits[by_start[s]], least, 1)
            s += 1
        means[k] = read_mean(digits, special, magnitude, counts[k], least - BIAS)
    return means
