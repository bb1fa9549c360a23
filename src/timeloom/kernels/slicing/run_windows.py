"""Runs of a sorted column cut at windows of equal size, and put into batches of about as many pairs each."""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled

Numbers = NDArray[np.int64]


@compiled
def count_parts(begins: Numbers, counts: Numbers, window: int, sizes: Numbers) -> None:
    """Count the parts that lie in each window of ``2**window`` rows, when runs are cut where windows meet."""
    for row in range(begins.size):
        if counts[row]:
            for at in range(begins[row] >> window, ((begins[row] + counts[row] - 1) >> window) + 1):
                sizes[at] += 1


@compiled
def place_parts(
    begins: Numbers, counts: Numbers, window: int, free: Numbers, rows: Numbers, firsts: Numbers, lengths: Numbers
) -> None:
    """Write the parts, those of a window together: whose run it is, where it begins, and how long it is.

    ``free`` says where the parts of each window go.
    """
    for row in range(begins.size):
        at, last = begins[row], begins[row] + counts[row]
        while at < last:
            stop = min(last, ((at >> window) + 1) << window)
            position = free[at >> window]
            free[at >> window] += 1
            rows[position], firsts[position], lengths[position] = row, at, stop - at
            at = stop


@compiled
def mark_batches(
    firsts: Numbers, lengths: Numbers, window: int, most: int, edges: Numbers, lows: Numbers, highs: Numbers
) -> int:
    """Put the parts of each window into batches, which are full when they have ``most`` pairs; return their number.

    ``edges`` are the numbers of their first parts, ``lows`` and ``highs`` where they lie in the sorted column.
    """
    batch, pairs = -1, 0
    for part in range(firsts.size):
        low, high = firsts[part], firsts[part] + lengths[part]
        if part == 0 or pairs >= most or low >> window != firsts[part - 1] >> window:
            batch, pairs = batch + 1, 0
            edges[batch], lows[batch], highs[batch] = part, low, high
        lows[batch], highs[batch] = min(lows[batch], low), max(highs[batch], high)
        pairs += lengths[part]
    return batch + 1
