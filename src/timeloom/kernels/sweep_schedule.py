"""When rows of a stream are ready, when they can match no more, and when nothing new can match them.

All functions take one side's rows (an open end is the largest tick) and, per decision, the bounds of its box
as seen from that side. They answer one instant per row.
"""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels import gapless
from timeloom.kernels.gapless import Cells, append, find, remove_element
from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Ticks
from timeloom.kernels.rectangles import shifted
from timeloom.kernels.sweep_pairs import NEVER, ready, window
from timeloom.model.ticks import MAX_TICK, MIN_TICK

ACCEPTED, ALREADY_OPEN, NEVER_STARTED, EMPTY, REVERSED, LATE, UNREADABLE, NO_EVENT = range(8)
"""What becomes of an event."""


@compiled
def admit(
    ids: NDArray[np.int64],
    times: Ticks,
    starting: NDArray[np.bool_],
    opened: Cells,
    side: int,
    next_handle: int,
    handles: NDArray[np.int64],
    starts: Ticks,
    verdicts: NDArray[np.int8],
) -> int:
    """Match ends with the open rows of this side; events come by time, at equal times ends first.

    For each accepted event the handle and the start of its row are written. An end and a start of one row at
    one instant make an empty period, unless that row was open before. Answers the next free handle.
    """
    strays = tick = 0
    for at in range(ids.size):
        if times[at] != times[tick]:
            tick, strays = at, 0
        element = find(opened, side, ids[at])
        if not starting[at]:
            if element < 0:
                verdicts[at] = NEVER_STARTED
                strays += 1
                continue
            handles[at] = opened[side, gapless.NAME, element]
            starts[at] = opened[side, gapless.START, element]
            remove_element(opened, side, element)
            continue
        if element >= 0:
            verdicts[at] = ALREADY_OPEN
            continue
        if strays:
            for before in range(tick, at):
                if ids[before] == ids[at] and verdicts[before] == NEVER_STARTED:
                    verdicts[before] = verdicts[at] = EMPTY
        if verdicts[at] == ACCEPTED:
            handles[at], starts[at] = next_handle, times[at]
            append(opened, side, ids[at], times[at], MAX_TICK, next_handle)
            next_handle += 1
    return next_handle


@compiled
def ready_instants(starts: Ticks, ends: Ticks, after_start: int, after_end: int) -> Ticks:
    """When each row is ready; the end of the axis for rows whose end is awaited."""
    instants = np.empty(starts.size, np.int64)
    for row in range(starts.size):
        instants[row] = ready(starts[row], ends[row], after_start, after_end)
    return instants


@compiled
def furthest(start: int, end: int, bounds: Cells, box: int, low: int, high: int) -> int:
    """The last point that the bounds allow; while the end is open only those on the start count."""
    if end == MAX_TICK:
        return shifted(start, bounds[box, low + 1])
    least, most = window(start, end, bounds, box, low, high)
    return most if least <= most else MIN_TICK


@compiled
def last_instants(
    starts: Ticks,
    ends: Ticks,
    bounds: NDArray[np.int64],
    own: NDArray[np.int64],
    other: NDArray[np.int64],
    own_decides: NDArray[np.bool_],
    other_decides: NDArray[np.bool_],
) -> Ticks:
    """The last instant at which a pair of each row can become certain."""
    instants = np.full(starts.size, MIN_TICK, np.int64)
    for row in range(starts.size):
        start, end = starts[row], ends[row]
        for number in range(bounds.shape[0]):
            by_start = furthest(start, end, bounds, number, 0, 2)
            by_end = furthest(start, end, bounds, number, 4, 6)
            if by_start == MIN_TICK or by_end == MIN_TICK:
                continue
            if own_decides[number]:
                instants[row] = max(instants[row], ready(start, end, own[number, 0], own[number, 1]))
            if other_decides[number]:
                last = by_start if other[number, 0] == NEVER else shifted(by_start, other[number, 0])
                if other[number, 1] != NEVER:
                    last = max(last, shifted(by_end, other[number, 1]))
                instants[row] = max(instants[row], last)
    return instants


@compiled
def closing_instants(
    starts: Ticks, ends: Ticks, bounds: NDArray[np.int64], open_limits: Ticks, known_at_end: bool
) -> Ticks:
    """The instant after which no partner that is still unknown can match a row.

    Partners become known at their start, or at their end. ``open_limits`` holds per decision how long after
    the start of a row that is still open a new partner may come.
    """
    instants = np.full(starts.size, MIN_TICK, np.int64)
    for row in range(starts.size):
        start, end = starts[row], ends[row]
        for number in range(bounds.shape[0]):
            if end == MAX_TICK:
                last = shifted(start, open_limits[number])
            else:
                by_start = furthest(start, end, bounds, number, 0, 2)
                last = furthest(start, end, bounds, number, 4, 6)
                if by_start == MIN_TICK or last == MIN_TICK:
                    continue
                if not known_at_end:
                    last = by_start if last == MAX_TICK else min(by_start, last - 1)
            instants[row] = max(instants[row], last)
    return instants
