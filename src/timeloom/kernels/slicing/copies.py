"""Rows dealt out to the slices that they touch, a copy for each."""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Ticks

START_HERE, END_HERE, SOLE, FIRST = 1, 2, 4, 8
"""Bits of a copy: whether the start or the end of its row lies in this slice, whether there is no other copy, or this
is the first of several. A row with one copy has there whatever point of it is asked for."""

ONLY = START_HERE | END_HERE | SOLE

Slices = NDArray[np.int32]


@compiled
def number_slices(low: Ticks, high: Ticks, bounds: Ticks, firsts: Slices, lasts: Slices, sizes: Ticks) -> None:
    """The first and the last slice that each row touches, and how many copies each slice gets.

    Slice k begins at ``bounds[k - 1]``. Rows that need be present nowhere (low > high) go to the first slice.
    """
    for row in range(low.size):
        first = last = 0
        if low[row] <= high[row]:
            first = last = slice_of(bounds, low[row])
            if first < bounds.size and high[row] >= bounds[first]:
                last = slice_of(bounds, high[row])
        firsts[row], lasts[row] = first, last
        for number in range(first, last + 1):
            sizes[number] += 1


@compiled
def deal_copies(
    starts: Ticks,
    ends: Ticks,
    bounds: Ticks,
    firsts: Slices,
    lasts: Slices,
    offsets: Ticks,
    rows: NDArray[np.int32],
    bits: NDArray[np.int8],
) -> None:
    """Write the row and the bits of each copy, slice by slice; ``offsets`` says where each begins, and is moved on."""
    for row in range(firsts.size):
        first, last = firsts[row], lasts[row]
        start, end = first, first
        if first < last:
            start, end = slice_of(bounds, starts[row]), slice_of(bounds, ends[row])
        for number in range(first, last + 1):
            at = offsets[number]
            rows[at] = row
            bits[at] = ONLY
            if first < last:
                bits[at] = (number == start) * START_HERE | (number == end) * END_HERE | (number == first) * FIRST
            offsets[number] = at + 1


@compiled
def slice_of(bounds: Ticks, tick: int) -> int:
    """The slice in which a tick lies: how many of the bounds are not above it."""
    low, high = 0, bounds.size
    while low < high:
        middle = (low + high) >> 1
        if bounds[middle] <= tick:
            low = middle + 1
        else:
            high = middle
    return low
