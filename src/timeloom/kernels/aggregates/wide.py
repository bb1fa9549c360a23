"""Exact sums and means of 128-bit integers: integers whose sum may overflow, and scaled decimals."""

import numpy as np

from timeloom.kernels.aggregates.exact import MASK, WIDTH, add, carry
from timeloom.kernels.aggregates.timeline import Timeline
from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks

DIGITS = 6
"""Enough for 128 bits, the sign, and 2**31 rows."""


def wide_sums(line: Timeline, low: Ticks, high: Ticks) -> tuple[Ticks, Ticks]:
    """Sum ``low + 2**64 * high`` over the active rows, where ``low`` is signed.

    The first result holds the lower 64 bits of each sum, the second the upper ones, in two's complement. Sums of more
    than 128 bits saturate.
    """
    return running_wide_sums(low, high, line.by_start, line.by_end, line.entered, line.left)


@compiled
def running_wide_sums(
    low: Ticks, high: Ticks, by_start: Positions, by_end: Positions, entered: Positions, left: Positions
) -> tuple[Ticks, Ticks]:
    """Take back what leaves, add what enters, and write out both halves of each sum."""
    lower, upper = np.empty(entered.size, np.int64), np.empty(entered.size, np.int64)
    digits = np.zeros(DIGITS, np.int64)
    s, e = 0, 0
    for k in range(entered.size):
        while e < left[k]:
            add(digits, low[by_end[e]], 0, -1)
            add(digits, high[by_end[e]], 64, -1)
            e += 1
        while s < entered[k]:
            add(digits, low[by_start[s]], 0, 1)
            add(digits, high[by_start[s]], 64, 1)
            s += 1
        lower[k], upper[k] = halves(digits)
    return lower, upper


@compiled
def halves(digits: Ticks) -> tuple[int, int]:
    """The lower and the upper 64 bits of a sum in two's complement; sums of more than 128 bits saturate."""
    over, lower, upper, rest = 0, 0, 0, 0
    for k in range(DIGITS):
        over += digits[k]
        digit = over & MASK
        over >>= WIDTH
        if k < 2:
            lower |= digit << (k * WIDTH)
        elif k == 2:
            lower |= (digit & 15) << 60
            upper |= digit >> 4
        elif k == 3:
            upper |= digit << 26
        elif k == 4:
            upper |= (digit & 255) << 56
            rest = digit >> 7
        else:
            rest |= digit << 23
    rest |= over << 53
    if rest == 0 or rest == -1:
        return lower, upper
    return (-1, 0x7FFFFFFFFFFFFFFF) if over >= 0 else (0, -0x7FFFFFFFFFFFFFFF - 1)


@compiled
def wide_means(lower: Ticks, upper: Ticks, counts: Ticks, factor: int) -> tuple[Ticks, Ticks]:
    """Divide ``factor`` times each 128-bit sum by its count, halves away from zero; a count of zero gives zero.

    ``factor`` and the counts are below 2**31; quotients of more than 128 bits saturate.
    """
    low, high = np.zeros(lower.size, np.int64), np.zeros(lower.size, np.int64)
    digits, magnitude = np.zeros(DIGITS, np.int64), np.zeros(DIGITS, np.int64)
    for k in range(lower.size):
        if counts[k] == 0:
            continue
        digits[:] = 0
        add(digits, lower[k], 0, 1)
        add(digits, upper[k] + (lower[k] < 0), 64, 1)
        sign = -1 if carry(digits, magnitude) else 1
        over = 0
        for at in range(DIGITS):
            over += factor * magnitude[at]
            digits[at] = over & MASK
            over >>= WIDTH
        rest = 0
        for at in range(DIGITS - 1, -1, -1):
            rest = (rest << WIDTH) | digits[at]
            digits[at] = sign * (rest // counts[k])
            rest %= counts[k]
        digits[0] += sign * (2 * rest >= counts[k])
        low[k], high[k] = halves(digits)
    return low, high
