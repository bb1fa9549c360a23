"""Means weighted by time that are rounded once: quickly where that can be shown to be so, which is nearly always.

Products of a value and its weight, and their sum, are kept as two doubles each, which loses far less than a double can
show; how much at the most is known. Only if the quotient lies so close to the middle between two doubles that this
decides, or values are so large or small that the bound does not hold, the mean is left to whoever counts in integers.
"""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.aggregates.exact import Doubles
from timeloom.kernels.aggregates.means import EXACT, SPLITTER
from timeloom.kernels.jit import compiled, written_out
from timeloom.kernels.order import Ticks

LEAST, MOST = 2.0**-400, 2.0**400
"""Between these no product and no rest leaves the normal range of doubles."""

LOST, SLACK = 2.0**-104, 2.0**-50
"""More than what one step loses of the sum of all sizes, and what the last division loses."""


@written_out
def rest_of_product(product: float, value: float, weight: float) -> float:
    """What a product of two doubles lacks of the true one, exactly (Dekker)."""
    part = SPLITTER * value
    value_high = part - (part - value)
    value_low = value - value_high
    part = SPLITTER * weight
    weight_high = part - (part - weight)
    weight_low = weight - weight_high
    return value_low * weight_low - (
        ((product - value_high * weight_high) - value_low * weight_high) - value_high * weight_low
    )


@compiled
def weighted_means(
    values: Doubles,
    weights: Ticks,
    known: NDArray[np.bool_],
    offsets: Ticks,
    means: Doubles,
    totals: Ticks,
    begin: int,
    stop: int,
) -> NDArray[np.bool_]:
    """Write the means of the stretches ``begin:stop`` of values; their totals are 0 where no value is known.

    Answers of which means it is certain that they are those of the integers, rounded once.
    """
    certain = np.ones(stop - begin, np.bool_)
    for number in range(begin, stop):
        high, low, sizes, total, steps, sure = 0.0, 0.0, 0.0, 0, 2.0, True
        for at in range(offsets[number], offsets[number + 1]):
            if not known[at]:
                continue
            value, weight = values[at], float(weights[at])
            sure = weights[at] < EXACT and total < EXACT and (value == 0.0 or LEAST < abs(value) < MOST)
            total += weights[at] if sure else 1
            if not sure:
                break
            product = value * weight
            lacking = rest_of_product(product, value, weight)
            higher = high + product
            added = higher - high
            low += ((high - (higher - added)) + (product - added)) + lacking
            high = higher
            sizes += abs(product)
            steps += 1.0
        means[number], totals[number] = 0.0, total
        certain[number - begin] = sure
        if not sure or sizes == 0.0:
            continue
        divisor = float(total)
        quotient = high / divisor
        product = quotient * divisor
        remainder = (high - product) - rest_of_product(product, quotient, divisor)
        mending = (remainder + low) / divisor
        slack = steps * steps * LOST * sizes / divisor + SLACK * abs(mending)
        means[number] = quotient + mending
        sure = total < EXACT and abs(quotient) > LEAST
        certain[number - begin] = sure and quotient + (mending - slack) == quotient + (mending + slack)
    return certain
