"""Sets and bags of values over time: how often two tables have a value, and periods with as many copies as wanted."""

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks

UNION, INTERSECT, EXCEPT = range(3)


@compiled
def wanted(ours: int, theirs: int, mode: int, bag: bool) -> int:
    """How often a result has a value that the tables have so often."""
    if mode == UNION:
        return ours + theirs if bag else min(1, ours + theirs)
    if mode == INTERSECT:
        return min(ours, theirs) if bag else min(1, ours, theirs)
    return max(0, ours - theirs) if bag else int(ours > 0 and theirs == 0)


@compiled
def combine(times: Ticks, events: Positions, mode: int, bag: bool) -> tuple[Ticks, Ticks]:
    """Periods of a result from the ends of all rows in order of time, values folded into the axis.

    Event 0 begins a row of ours, 1 ends one, 2 and 3 are theirs. The n-th copy of a value lasts as long as there are at
    least n copies, so it is never cut without need. At the end of a value's stretch no row is active.
    """
    starts, ends = np.empty(times.size, np.int64), np.empty(times.size, np.int64)
    begun = np.empty(times.size, np.int64)
    ours, theirs, open_copies, size, at = 0, 0, 0, 0, 0
    while at < times.size:
        time = times[at]
        while at < times.size and times[at] == time:
            event = events[at]
            if event < 2:
                ours += 1 - 2 * event
            else:
                theirs += 5 - 2 * event
            at += 1
        copies = wanted(ours, theirs, mode, bag)
        while open_copies < copies:
            begun[open_copies] = time
            open_copies += 1
        while open_copies > copies:
            open_copies -= 1
            starts[size] = begun[open_copies]
            ends[size] = time
            size += 1
    return starts[:size].copy(), ends[:size].copy()
