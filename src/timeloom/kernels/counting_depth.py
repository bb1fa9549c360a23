"""Depth over time: how many periods are active, between each endpoint and the next."""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Ticks, sort


def depth_profile(starts: Ticks, ends: Ticks) -> tuple[Ticks, Ticks, NDArray[np.int64]]:
    """Cut time at every endpoint; the stretches where any period is active, and how many are."""
    return profile(sort(starts).values, sort(ends).values)


@compiled
def profile(starts: Ticks, ends: Ticks) -> tuple[Ticks, Ticks, NDArray[np.int64]]:
    """Walk sorted starts and sorted ends together.

    Every period that starts at or before a tick and has not ended is active there, so the depth is a difference of two
    cursors.
    """
    stretch_starts = np.empty(2 * starts.size, np.int64)
    stretch_ends = np.empty(2 * starts.size, np.int64)
    depths = np.empty(2 * starts.size, np.int64)
    begun, over, stretches = 0, 0, 0
    while over < ends.size:
        tick = ends[over]
        if begun < starts.size:
            tick = min(tick, starts[begun])
        if begun > over:
            stretch_ends[stretches] = tick
            stretches += 1
        while begun < starts.size and starts[begun] == tick:
            begun += 1
        while over < ends.size and ends[over] == tick:
            over += 1
        if begun > over:
            stretch_starts[stretches] = tick
            depths[stretches] = begun - over
    return stretch_starts[:stretches], stretch_ends[:stretches], depths[:stretches]
