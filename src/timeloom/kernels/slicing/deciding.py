"""Which of many rows decide where time is cut: a few, by what they say, whoever looks."""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Ticks


@compiled
def deciding_rows(ticks: tuple[Ticks, Ticks, Ticks, Ticks], keys: Ticks, parts: int, rows: NDArray[np.int32]) -> int:
    """Write about one row of so many, a power of two, that must be present somewhere; how many they are.

    The ticks are starts, ends, and from which to which a row must be present. There are keys for all rows, or none. A
    row is taken if its bits, those of its ends and its key shifted against each other and folded, are none.
    """
    starts, ends, low, high = ticks
    size = 0
    for row in range(starts.size):
        told = (ends[row] << 21) ^ starts[row]
        if keys.size:
            told ^= keys[row] << 42
        told ^= told >> 32
        told ^= (told >> 7) ^ (told >> 13) ^ (told >> 22)
        if told & (parts - 1) == 0 and low[row] <= high[row]:
            rows[size] = row
            size += 1
    return size
