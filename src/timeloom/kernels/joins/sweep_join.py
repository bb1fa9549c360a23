"""The sweeping join of two tables of periods: plans, sorts each endpoint column once, sweeps, collects."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.joins.sweep import BUFFER, ENDED, POINT, TAIL, Active, Column, Selection, Streams, join_by_s
from timeloom.kernels.joins.sweep_plan import Bounds, Rewrite, rewrites
from timeloom.kernels.order import NOTHING, Order, Positions, Ticks, sealed, sort
from timeloom.kernels.rectangles import point_ranges
from timeloom.model.box import Box
from timeloom.model.ticks import MAX_TICK, MIN_TICK

Pairs = tuple[Positions, Positions]

CHUNK = 1 << 20
"""Pairs that one call of the kernel writes, unless more are active at once."""

FIRST_ELEMENTS = 1024
"""Room for active rows at first; it doubles when they fill it."""

NO_COLUMN = Column(NOTHING, np.empty(0, np.int32), 0)
NO_SELECTION = Selection(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass
class Counters:
    """What a sweep did. Lazy joining divides the calls of getnext by the reduction factor."""

    scans: int = 0
    getnext: int = 0
    candidates: int = 0
    comparisons: int = 0
    pairs: int = 0

    @property
    def reduction(self) -> float:
        """How many calls of getnext plain joining needs for each one made."""
        return self.candidates / self.getnext if self.getnext else 1.0

    def add(self, counted: NDArray[np.int64], selected_sides: int) -> None:
        """Add what a kernel counted; each candidate of a selection costs one comparison per bounded side."""
        scans, getnext, candidates, pairs = (int(count) for count in counted)
        self.scans += scans
        self.getnext += getnext
        self.candidates += candidates
        self.comparisons += candidates * selected_sides
        self.pairs += pairs


@dataclass
class PeriodTable:
    """Non-empty half-open periods of one side, and the sorted columns that sweeps have asked for so far."""

    starts: Ticks
    ends: Ticks
    _sorted: dict[bool, Order] = field(default_factory=dict)

    def sorted(self, *, by_end: bool) -> Order:
        """The ends or the starts in order."""
        if by_end not in self._sorted:
            self._sorted[by_end] = sort(self.ends if by_end else self.starts)
        return self._sorted[by_end]


def sweep_join(
    left: PeriodTable, right: PeriodTable, box: Box, *, lazy: bool = True, counters: Counters | None = None
) -> Pairs:
    """Find the positions (left, right) of all pairs in a box given in ticks."""
    return _together(list(sweep_batches(left, right, box, lazy=lazy, counters=counters)))


def sweep_batches(
    left: PeriodTable,
    right: PeriodTable,
    box: Box,
    *,
    lazy: bool = True,
    chunk: int = CHUNK,
    counters: Counters | None = None,
) -> Iterator[Pairs]:
    """The same pairs in batches of about ``chunk``; at most ``chunk`` unless more rows are active at once."""
    for rewrite in rewrites(box):
        intervals, points = (left, right) if rewrite.left_intervals else (right, left)
        streams, selection = _streams(intervals, points, rewrite)
        waits = sum(distance is not None for distance in rewrite.starts) or 1
        sides = sum(bound is not None for bounds in rewrite.selection for bound in bounds)
        for interval_rows, point_rows in _sweep(
            streams, selection, waits, intervals.starts.size, lazy, chunk, sides, counters or Counters()
        ):
            yield (interval_rows, point_rows) if rewrite.left_intervals else (point_rows, interval_rows)


def sweep_pages(
    points: Ticks,
    low: Ticks,
    high: Ticks,
    other: Ticks | None = None,
    other_low: Ticks | None = None,
    other_high: Ticks | None = None,
    *,
    lazy: bool = True,
    chunk: int = CHUNK,
    counters: Counters | None = None,
) -> Iterator[Pairs]:
    """Join intervals, active on ``[low, high]`` (inclusive), with points; answer positions (interval, point).

    Where ``other`` is given, interval i keeps point j only if ``other_low[i] <= other[j] <= other_high[i]``. Batches
    are as those of `sweep_batches`.
    """
    fired, started, ended = sort(points), sort(low), sort(high)
    streams = Streams(
        Column(fired.values, fired.ids, 0),
        Column(started.values, started.ids, 0),
        NO_COLUMN,
        Column(ended.values, ended.ids, 0),
        NO_COLUMN,
    )
    selection, sides = NO_SELECTION, 0
    if other is not None and other_low is not None and other_high is not None:
        selection, sides = Selection(other[fired.ids], other_low, other_high), 2
    yield from _sweep(streams, selection, 1, low.size, lazy, chunk, sides, counters or Counters())


def _streams(intervals: PeriodTable, points: PeriodTable, rewrite: Rewrite) -> tuple[Streams, Selection]:
    fired = points.sorted(by_end=rewrite.end_points)
    starts_a, starts_b = _columns(intervals, rewrite.starts)
    ends_a, ends_b = _columns(intervals, rewrite.ends)
    if rewrite.starts == (None, None):
        rows = intervals.starts.size
        starts_a = Column(sealed(np.full(rows, MIN_TICK, np.int64)), np.arange(rows, dtype=np.int32), 0)
    streams = Streams(Column(fired.values, fired.ids, 0), starts_a, starts_b, ends_a, ends_b)
    (start_low, start_high), (end_low, end_high) = rewrite.selection
    if (start_low, start_high, end_low, end_high) == (None, None, None, None):
        return streams, NO_SELECTION
    limits = (
        MIN_TICK if start_low is None else start_low,
        MAX_TICK if start_high is None else start_high,
        MIN_TICK if end_low is None else end_low,
        MAX_TICK if end_high is None else end_high,
    )
    low, high = np.empty_like(intervals.starts), np.empty_like(intervals.starts)
    point_ranges(intervals.starts, intervals.ends, limits, False, low, high)
    other = points.starts if rewrite.end_points else points.ends
    return streams, Selection(other[fired.ids], low, high)


def _columns(table: PeriodTable, distances: Bounds) -> tuple[Column, Column]:
    from_start, from_end = distances
    columns = []
    for distance, by_end in ((from_start, False), (from_end, True)):
        if distance is None:
            columns.append(NO_COLUMN)
        else:
            order = table.sorted(by_end=by_end)
            columns.append(Column(order.values, order.ids, distance))
    return columns[0], columns[1]


def _sweep(
    streams: Streams,
    selection: Selection,
    waits: int,
    rows: int,
    lazy: bool,
    chunk: int,
    sides: int,
    counters: Counters,
) -> Iterator[Pairs]:
    cursors = np.zeros(6, np.int64)
    active = Active(np.full(rows, ENDED - waits, np.int32), *_elements(FIRST_ELEMENTS))
    while cursors[POINT] < streams.points.times.size:
        if cursors[TAIL] == active.rows.size:
            active = _grown(active)
        room = max(chunk, int(cursors[TAIL]))
        out_intervals, out_points = np.empty(room, np.int32), np.empty(room, np.int32)
        counted = np.zeros(4, np.int64)
        buffer = BUFFER if lazy else 1
        written = join_by_s(streams, selection, active, cursors, buffer, out_intervals, out_points, counted)
        counters.add(counted, sides)
        if written:
            yield out_intervals[:written], out_points[:written]


def _elements(size: int) -> tuple[Positions, Ticks, Ticks]:
    return np.empty(size, np.int32), np.empty(size, np.int64), np.empty(size, np.int64)


def _grown(active: Active) -> Active:
    size = active.rows.size
    larger = Active(active.states, *_elements(2 * size))
    larger.rows[:size], larger.low[:size], larger.high[:size] = active.rows, active.low, active.high
    return larger


def _together(batches: list[Pairs]) -> Pairs:
    if len(batches) == 1:
        return batches[0]
    if not batches:
        return np.empty(0, np.int32), np.empty(0, np.int32)
    return np.concatenate([pair[0] for pair in batches]), np.concatenate([pair[1] for pair in batches])
