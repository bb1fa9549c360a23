"""Lanes: the fewest in which no two periods of a group overlap, numbered from 0 in each group."""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks
from timeloom.kernels.sequenced.dip import assign


@compiled
def assign_groups(starts: Ticks, ends: Ticks, offsets: NDArray[np.int64]) -> Positions:
    """Lanes of rows that are in order of group and start; group g is the stretch ``offsets[g]:offsets[g + 1]``."""
    lanes = np.empty(starts.size, np.int32)
    for group in range(offsets.size - 1):
        first, last = offsets[group], offsets[group + 1]
        lanes[first:last] = assign(starts[first:last], ends[first:last])[0]
    return lanes
