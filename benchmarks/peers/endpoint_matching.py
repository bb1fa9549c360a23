"""The least that any stream of endpoints must do with its events: take them by time, and find the start of each end."""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Ticks
from timeloom.kernels.streaming.gapless import Cells
from timeloom.kernels.streaming.open_rows import HANDLE, START, enter, slot_of, take_out

Ids = NDArray[np.int64]
Flags = NDArray[np.bool_]


@compiled
def match_ends(
    left_ids: Ids,
    left_times: Ticks,
    left_starting: Flags,
    right_ids: Ids,
    right_times: Ticks,
    right_starting: Flags,
    opened: Cells,
) -> int:
    """Take the events of both sides by time; answers how long the rows that end have lasted, all together.

    There must be room for all rows that are open at once.
    """
    i = j = lasted = 0
    while i < left_ids.size or j < right_ids.size:
        if j == right_ids.size or (i < left_ids.size and left_times[i] <= right_times[j]):
            side, key, time, starting = 0, left_ids[i], left_times[i], left_starting[i]
            i += 1
        else:
            side, key, time, starting = 1, right_ids[j], right_times[j], right_starting[j]
            j += 1
        slot = slot_of(opened, side, key)
        if starting:
            enter(opened, side, slot, key, 0, time)
        elif opened[side, slot, HANDLE] >= 0:
            lasted += time - opened[side, slot, START]
            take_out(opened, side, slot)
    return lasted
