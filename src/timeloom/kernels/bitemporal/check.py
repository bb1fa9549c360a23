"""Whether buckets that come from a file can be read and grown: no row outside the columns, no chain without an end."""

import numpy as np

from timeloom.kernels.bitemporal.buckets import BLOCK, NEVER, NO_BLOCK, Rows, bucket
from timeloom.kernels.bitemporal.windows import Ticks
from timeloom.kernels.jit import compiled


@compiled
def are_sound(
    instants: Ticks,
    base: int,
    width: int,
    newest: Rows,
    filled: Rows,
    earlier: Rows,
    pool: Rows,
    blocks: int,
) -> bool:
    """Tell whether each bucket is a chain of blocks of its own, full but for the newest, and whether together they
    hold every row that has an instant, once and in the bucket of that instant.

    Rows that were filed and lost their instant later stay where they are. The sizes must have been checked.
    """
    used, held = np.zeros(blocks, np.bool_), np.zeros(instants.size, np.bool_)
    for number in range(newest.size):
        block, left = newest[number], filled[number]
        if left < 0:
            return False
        while left > 0:
            if block < 0 or block >= blocks or used[block]:
                return False
            used[block] = True
            count = (left - 1) % BLOCK + 1
            for entry in range(block * BLOCK, block * BLOCK + count):
                row = pool[entry]
                if row < 0 or row >= instants.size or held[row]:
                    return False
                if instants[row] != NEVER and bucket(instants[row], base, width, newest.size) != number:
                    return False
                held[row] = True
            left -= count
            block = earlier[block]
        if block != NO_BLOCK:
            return False
    for row in range(instants.size):
        if not held[row] and instants[row] != NEVER:
            return False
    return bool(used.all())
