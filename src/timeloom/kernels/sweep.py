"""JoinByS and LazyJoinByS over a gapless hash map, compiled as one loop.

An interval-timestamp join (sweeping paper, sections 5.3 and 7.2): each interval is active from the last of
its starts to the first of its ends, both included, and each point joins with the intervals that are active
when it is met. The starts and the ends of the intervals come from at most two sorted columns each, shifted on
the fly. That is the paper's pipeline of filtering, shifting and merging iterators, with second-start and
first-end on top: between two points the order of the intervals' endpoints cannot be observed, so each column
is advanced by itself, and one state per interval tells how many starts are still missing.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.gapless import GaplessMap, insert, remove
from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks
from timeloom.kernels.rectangles import MAX, MIN, shifted

BUFFER = 32
"""Points that the lazy join collects before it scans the active set once for all of them."""

ENDED = np.int8(-1)
POINT, START_A, START_B, END_A, END_B = range(5)
SCANS, GETNEXT, CANDIDATES, PAIRS = range(4)


class Column(NamedTuple):
    """A sorted column of endpoints, all moved by one distance; ``ids`` are rows."""

    times: Ticks
    ids: Positions
    distance: int


class Streams(NamedTuple):
    """What a sweep reads: points, and the columns at which intervals start and end; unused ones are empty."""

    points: Column
    starts_a: Column
    starts_b: Column
    ends_a: Column
    ends_b: Column


class Selection(NamedTuple):
    """The other endpoint of each point (in the points' order), and each interval's inclusive window of it.

    All three are empty when nothing is selected.
    """

    other: Ticks
    low: Ticks
    high: Ticks


@compiled
def end_intervals(
    column: Column, cursor: int, time: int, missing: NDArray[np.int8], active: GaplessMap
) -> int:
    """Retire all intervals whose end lies before this time; answer the column's new cursor."""
    distance = column.distance
    if distance >= 0 and time <= MIN + distance:
        return cursor
    limit = time - 1 - distance if distance >= 0 else shifted(time, -distance - 1)
    while cursor < column.times.size and column.times[cursor] <= limit:
        row = column.ids[cursor]
        if missing[row] == 0:
            remove(active, row)
        missing[row] = ENDED
        cursor += 1
    return cursor


@compiled
def start_intervals(
    column: Column,
    cursor: int,
    time: int,
    missing: NDArray[np.int8],
    active: GaplessMap,
    selection: Selection,
) -> tuple[int, GaplessMap]:
    """Activate all intervals whose last start has come by this time; answer the new cursor and the map."""
    distance = column.distance
    if distance > 0 and time < MIN + distance:
        return cursor, active
    limit = shifted(time, -distance)
    while cursor < column.times.size and column.times[cursor] <= limit:
        row = column.ids[cursor]
        cursor += 1
        if missing[row] > 0:
            missing[row] -= 1
            if missing[row] == 0:
                low, high = 0, 0
                if selection.low.size:
                    low, high = selection.low[row], selection.high[row]
                if low <= high:
                    active = insert(active, row, low, high)
    return cursor, active


@compiled
def quiet_until(streams: Streams, cursors: NDArray[np.int64]) -> int:
    """The last time before which no further interval starts or ends."""
    quiet = int(MAX)
    for column, at in ((streams.starts_a, cursors[START_A]), (streams.starts_b, cursors[START_B])):
        if at < column.times.size:
            quiet = min(quiet, shifted(column.times[at], column.distance - 1))
    for column, at in ((streams.ends_a, cursors[END_A]), (streams.ends_b, cursors[END_B])):
        if at < column.times.size:
            quiet = min(quiet, shifted(column.times[at], column.distance))
    return quiet


@compiled
def emit(
    active: GaplessMap,
    points: Positions,
    other: Ticks,
    written: int,
    out_intervals: Positions,
    out_points: Positions,
) -> int:
    """Write the pairs of all active intervals with these points; answer how much is written now.

    With a selection each candidate is written before it is judged, so there must be room for all candidates.
    """
    for element in range(active.tail[0]):
        row = active.keys[element]
        if other.size == 0:
            for at in range(points.size):
                out_intervals[written] = row
                out_points[written] = points[at]
                written += 1
            continue
        low, high = active.low[element], active.high[element]
        for at in range(points.size):
            out_intervals[written] = row
            out_points[written] = points[at]
            written += (other[at] >= low) & (other[at] <= high)
    return written


@compiled
def join_by_s(
    streams: Streams,
    selection: Selection,
    missing: NDArray[np.int8],
    active: GaplessMap,
    cursors: NDArray[np.int64],
    buffer: int,
    out_intervals: Positions,
    out_points: Positions,
    counters: NDArray[np.int64],
) -> tuple[int, GaplessMap]:
    """Sweep on from the cursors until all points are met or the output is full; answer how much was written.

    ``missing[i]`` counts the starts that interval i still waits for. With a buffer of 1 this is JoinByS; a
    larger one makes it lazy: consecutive points that see the same active set share one scan of it.
    """
    points, written = streams.points, 0
    at = cursors[POINT]
    while at < points.times.size:
        time = points.times[at]
        cursors[END_A] = end_intervals(streams.ends_a, cursors[END_A], time, missing, active)
        cursors[END_B] = end_intervals(streams.ends_b, cursors[END_B], time, missing, active)
        cursors[START_A], active = start_intervals(
            streams.starts_a, cursors[START_A], time, missing, active, selection
        )
        cursors[START_B], active = start_intervals(
            streams.starts_b, cursors[START_B], time, missing, active, selection
        )
        stop = at + 1
        if buffer > 1:
            quiet = quiet_until(streams, cursors)
            while stop < points.times.size and stop - at < buffer and points.times[stop] <= quiet:
                stop += 1
        scanned = active.tail[0]
        if scanned:
            stop = min(stop, at + (out_points.size - written) // scanned)
            if stop == at:
                break
            written = emit(
                active, points.ids[at:stop], selection.other[at:stop], written, out_intervals, out_points
            )
            counters[SCANS] += 1
            counters[GETNEXT] += scanned
            counters[CANDIDATES] += scanned * (stop - at)
        at = stop
    cursors[POINT] = at
    counters[PAIRS] += written
    return written, active
