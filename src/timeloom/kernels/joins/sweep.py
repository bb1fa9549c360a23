"""JoinByS and LazyJoinByS, compiled as one loop.

An interval-timestamp join (sweeping paper, sections 5.3 and 7.2): each interval is active from the last of
its starts to the first of its ends, both included, and each point joins with the intervals that are active
when it is met. The starts and the ends of the intervals come from at most two sorted columns each, shifted on
the fly. That is the paper's pipeline of filtering, shifting and merging iterators, with second-start and
first-end on top: between two points the order of the intervals' endpoints cannot be observed, so each column
is advanced by itself, and one number per interval tells how many starts are still missing.

The active set is a gapless hash map (see `gapless`). As the keys are row positions, each row has a bucket of
its own, no chains are needed, and the same number serves as the row's state.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks
from timeloom.kernels.rectangles import shifted
from timeloom.model.ticks import MAX_TICK, MIN_TICK

BUFFER = 32
"""Points that the lazy join collects before it scans the active set once for all of them."""

ENDED = -1
"""State of a row that has ended; below it, rows that wait for -1 - state starts; from 0 on, active elements."""

POINT, START_A, START_B, END_A, END_B, TAIL = range(6)
"""Where a sweep stands: the cursors of its columns, and the number of active elements."""

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


class Active(NamedTuple):
    """The state of each row, and the active elements side by side: their rows and their windows."""

    states: Positions
    rows: Positions
    low: Ticks
    high: Ticks


@compiled
def end_intervals(column: Column, cursor: int, time: int, active: Active, tail: int) -> tuple[int, int]:
    """Retire all intervals whose end lies before this time; answer the new cursor and tail."""
    times, ids, distance = column
    states, rows, low, high = active
    if distance >= 0 and time <= MIN_TICK + distance:
        return cursor, tail
    limit = time - 1 - distance if distance >= 0 else shifted(time, -distance - 1)
    while cursor < times.size and times[cursor] <= limit:
        row = ids[cursor]
        element = states[row]
        states[row] = ENDED
        if element >= 0:
            tail -= 1
            moved = rows[tail]
            if moved != row:
                rows[element] = moved
                low[element] = low[tail]
                high[element] = high[tail]
                states[moved] = element
        cursor += 1
    return cursor, tail


@compiled
def start_intervals(
    column: Column, cursor: int, time: int, active: Active, selection: Selection, tail: int
) -> tuple[int, int]:
    """Activate all intervals whose last start has come by this time, as long as there is room."""
    times, ids, distance = column
    states, rows, low, high = active
    if distance > 0 and time < MIN_TICK + distance:
        return cursor, tail
    limit = shifted(time, -distance)
    while cursor < times.size and times[cursor] <= limit and tail < rows.size:
        row = ids[cursor]
        cursor += 1
        if states[row] < ENDED - 1:
            states[row] += 1
        elif states[row] == ENDED - 1:
            if selection.low.size:
                low[tail] = selection.low[row]
                high[tail] = selection.high[row]
            states[row] = tail
            rows[tail] = row
            tail += 1
    return cursor, tail


@compiled
def quiet_until(column: Column, cursor: int, offset: int) -> int:
    """The time of the column's next endpoint, moved by an offset; the end of the axis if there is none."""
    if cursor == column.times.size:
        return MAX_TICK
    return shifted(column.times[cursor], column.distance + offset)


@compiled
def emit(
    active: Active,
    tail: int,
    points: Positions,
    other: Ticks,
    first: int,
    last: int,
    written: int,
    out_intervals: Positions,
    out_points: Positions,
) -> int:
    """Write the pairs of all active intervals with points first..last; answer how much is written now.

    With a selection each candidate is written before it is judged, so there must be room for all candidates.
    """
    _, rows, lows, highs = active
    for element in range(tail):
        row = rows[element]
        if other.size == 0:
            for at in range(first, last):
                out_intervals[written] = row
                out_points[written] = points[at]
                written += 1
        else:
            low, high = lows[element], highs[element]
            for at in range(first, last):
                out_intervals[written] = row
                out_points[written] = points[at]
                written += (other[at] >= low) & (other[at] <= high)
    return written


@compiled
def join_by_s(
    streams: Streams,
    selection: Selection,
    active: Active,
    cursors: NDArray[np.int64],
    buffer: int,
    out_intervals: Positions,
    out_points: Positions,
    counters: NDArray[np.int64],
) -> int:
    """Sweep on from the cursors until all points are met or there is no room; answer how much was written.

    With a buffer of 1 this is JoinByS; a larger one makes it lazy: consecutive points that see the same
    active set share one scan of it. The caller must make room, in the output or among the active elements,
    and call again.
    """
    points, starts_a, starts_b, ends_a, ends_b = streams
    at, tail, written = cursors[POINT], cursors[TAIL], 0
    start_a, start_b, end_a, end_b = cursors[START_A], cursors[START_B], cursors[END_A], cursors[END_B]
    scans = getnext = seen = 0
    while at < points.times.size:
        time = points.times[at]
        end_a, tail = end_intervals(ends_a, end_a, time, active, tail)
        end_b, tail = end_intervals(ends_b, end_b, time, active, tail)
        start_a, tail = start_intervals(starts_a, start_a, time, active, selection, tail)
        start_b, tail = start_intervals(starts_b, start_b, time, active, selection, tail)
        if tail == active.rows.size:
            break
        stop = at + 1
        if buffer > 1:
            quiet = min(quiet_until(starts_a, start_a, -1), quiet_until(starts_b, start_b, -1))
            quiet = min(quiet, quiet_until(ends_a, end_a, 0), quiet_until(ends_b, end_b, 0))
            while stop < points.times.size and stop - at < buffer and points.times[stop] <= quiet:
                stop += 1
        if tail:
            stop = min(stop, at + (out_points.size - written) // tail)
            if stop == at:
                break
            written = emit(active, tail, points.ids, selection.other, at, stop, written, out_intervals, out_points)
            scans += 1
            getnext += tail
            seen += tail * (stop - at)
        at = stop
    cursors[:] = at, start_a, start_b, end_a, end_b, tail
    counters[SCANS] += scans
    counters[GETNEXT] += getnext
    counters[CANDIDATES] += seen
    counters[PAIRS] += written
    return written
