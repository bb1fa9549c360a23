"""Where rows must be present, and the cells of time that they touch, for rows that are sent to other tasks."""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Ticks
from timeloom.kernels.rectangles import shifted
from timeloom.model.ticks import MAX_TICK as MAX
from timeloom.model.ticks import MIN_TICK as MIN

AT_START, AT_END, WITHIN = range(3)
"""A row must be present at its start, at its end, or within limits of both."""


@compiled
def reach(starts: Ticks, ends: Ticks, ways: NDArray[np.int64], low: Ticks, high: Ticks) -> None:
    """The first and the last tick that each row must be present at; where there is none, first > last.

    Each way is one of the above, and four limits: lo and hi relative to the start, then to the end.
    """
    for row in range(starts.size):
        first, last = MAX, MIN
        for way in range(ways.shape[0]):
            if ways[way, 0] == WITHIN:
                at_least = max(shifted(starts[row], ways[way, 1]), shifted(ends[row], ways[way, 3]))
                at_most = min(shifted(starts[row], ways[way, 2]), shifted(ends[row], ways[way, 4]))
            else:
                at_least = at_most = ends[row] if ways[way, 0] == AT_END else starts[row]
            if at_least <= at_most:
                first, last = min(first, at_least), max(last, at_most)
        low[row], high[row] = first, last


@compiled
def number_cells(
    low: Ticks,
    high: Ticks,
    present: NDArray[np.bool_],
    homes: NDArray[np.int64],
    least: NDArray[np.int64],
    bounds: Ticks,
    numbers: NDArray[np.signedinteger],
) -> None:
    """Number each row by its home, and by a cell of time that is longer than the row; rows not present come last.

    ``bounds`` are one less than a power of two. Pairs of neighbouring cells make up larger ones, and so on; all cells,
    the smallest first, are numbered from 0. ``least`` says how often cells double at least in each home.
    """
    cells = bounds.size + 1
    for row in range(low.size):
        at = 2 * cells - 1
        if present[row]:
            first = last = cell_of(bounds, low[row])
            if first < bounds.size and high[row] >= bounds[first]:
                last = cell_of(bounds, high[row])
            level = least[homes[row]]
            while (last - first) >> level:
                level += 1
            at = 2 * cells - (2 * cells >> level) + (first >> level)
        numbers[row] = homes[row] * (2 * cells) + at


@compiled
def cell_of(bounds: Ticks, tick: int) -> int:
    """How many of the bounds are not above a tick; there are one less than a power of two."""
    at, step = 0, (bounds.size + 1) >> 1
    while step:
        at += step * (bounds[at + step - 1] <= tick)
        step >>= 1
    return at
