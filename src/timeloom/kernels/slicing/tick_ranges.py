"""From which tick to which rows must be present, for rows that are sent to other tasks."""

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
def tick_ranges(starts: Ticks, ends: Ticks, ways: NDArray[np.int64], low: Ticks, high: Ticks) -> None:
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
