"""Count and aggregate the right rows of each left row, from arrays of ticks; no pair is written.

This is the numeric heart of ``count_join`` and ``top_k``, on a local table as in a Spark task.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.joins.problem import Problem, ranges
from timeloom.engines.resources.threads import chunks, in_parallel
from timeloom.engines.tables.keys import NO_KEY
from timeloom.kernels.counts.dominance import count_ranked, rows_to_sweep, sum_ranked, weights_of
from timeloom.kernels.counts.dominance_extremes import NONE, least_ranked
from timeloom.kernels.counts.dominance_ranks import Points, Ranks, Rectangles, end_slots, rank_rectangles
from timeloom.kernels.counts.endpoints import merge_endpoints
from timeloom.kernels.counts.ranks import by_region, count_intersecting
from timeloom.kernels.counts.sweeps import naive_count, simple_count, smart_count
from timeloom.kernels.order import Positions
from timeloom.model.box import FREE, Box, Range
from timeloom.model.ticks import MAX_TICK, MIN_TICK

Numbers = NDArray[np.int64]
Ticks = NDArray[np.int64]
CACHED = 1 << 18
"""The sorted endpoints of so many rows stay in a processor's caches."""


class Sums(Protocol):
    """Sums over the right rows of each left row, or over the rows of each step."""

    def sums(self, weights: Numbers) -> Numbers:
        """The sum of a weight; no sum of weights may overflow."""


class Totals(Sums, Protocol):
    """Counts, sums and minima over the right rows of each left row."""

    def counts(self) -> Numbers:
        """How many right rows each left row has."""

    def least(self, values: Numbers) -> Numbers:
        """The least value among the right rows of each left row, or NONE."""


class Counting:
    """The rectangles of all left rows, ranked over the right rows once, for each box of a relation.

    Rows are taken in the order of their starts where the right side is too large for the caches: then neighbours look
    at the same positions, and the sweeps need no sorting. They are shared out to threads in ranges.
    """

    def __init__(self, problem: Problem, boxes: tuple[Box, ...]) -> None:
        self.problem, self.boxes = problem, boxes
        self.rows = _prepared(problem)
        self.points = Points(problem.orders[(True, False)], problem.orders[(True, True)])
        self._parts = chunks(self.rows.size, problem.threads)
        tasks = [partial(self._rank, box, *part) for box in boxes for part in self._parts]
        self.ranked = in_parallel(tasks, problem.threads)

    def counts(self) -> Numbers:
        """How many right rows each left row has."""
        slots = self._slots
        return self._gathered([partial(count_ranked, self.points, slots, ranked) for ranked in self.ranked], np.add)

    def sums(self, weights: Numbers) -> Numbers:
        """The sum of a weight over the right rows of each left row; the weights must not overflow."""
        known = self.points, self._slots
        prepared = weights_of(self.points, weights)
        return self._gathered([partial(sum_ranked, *known, ranked, prepared) for ranked in self.ranked], np.add)

    def least(self, values: Numbers) -> Numbers:
        """The least value among the right rows of each left row, or NONE."""
        if not self.ranked:
            return np.full(self.rows.size, NONE, np.int64)
        slots = end_slots(self.points)
        tasks = [partial(least_ranked, self.points, slots, ranked, values) for ranked in self.ranked]
        return self._gathered(tasks, np.minimum)

    @cached_property
    def rows_to_sweep(self) -> int:
        """How many rows, summed over the boxes, are not counted by ranks alone."""
        tasks = [partial(rows_to_sweep, ranked, self.points.size) for ranked in self.ranked]
        return sum(in_parallel(tasks, self.problem.threads))

    @cached_property
    def _slots(self) -> Positions:
        return end_slots(self.points) if self.rows_to_sweep else np.zeros(0, np.int32)

    def _rank(self, box: Box, first: int, last: int) -> Ranks:
        return rank_rectangles(self.points, rectangles_of(self.problem, box, self.rows[first:last]))

    def _gathered(self, tasks: Sequence[Callable[[], Numbers]], combine: np.ufunc) -> Numbers:
        """Run the tasks, which go box by box, and combine the boxes of each row."""
        found = in_parallel(tasks, self.problem.threads)
        result = np.zeros(self.rows.size, np.int64)
        for number, (first, last) in enumerate(self._parts):
            boxes = found[number :: len(self._parts)]
            if boxes:
                result[self.rows[first:last]] = combine.reduce(boxes)
        return result


def rectangles_of(problem: Problem, box: Box, rows: NDArray[np.integer]) -> Rectangles:
    """The bounds that a box puts on the right rows' starts and ends, for some left rows.

    On a folded axis every bound stays within the key's stretch. Rows of other keys lie below or above it with both of
    their endpoints, so one lower and one upper bound keep them out, and sides that the box leaves open stay open.
    """
    on_start, on_end = needed(box)
    left = problem.left.pick(rows)
    low_start, high_start = ranges(problem, on_start, left)
    low_end, high_end = ranges(problem, on_end, left)
    if problem.fold is not None:
        by_start, by_end = _sides(on_start), _sides(on_end)
        prefer_start = any(by_start) or not any(by_end)
        keep_low_start = by_start[0] or (not by_end[0] and prefer_start)
        keep_high_start = by_start[1] or (not by_end[1] and prefer_start)
        low_start, high_start = _opened(low_start, high_start, keep_low_start, keep_high_start)
        low_end, high_end = _opened(
            low_end, high_end, by_end[0] or not keep_low_start, by_end[1] or not keep_high_start
        )
    return Rectangles(low_start, high_start, low_end, high_end)


def needed(box: Box) -> tuple[tuple[Range, Range], tuple[Range, Range]]:
    """The bounds on starts and on ends, without those of one axis if the other implies them."""
    tight = box.tight() or box
    starts, ends = (tight.start_start, tight.start_end), (tight.end_start, tight.end_end)
    free = (FREE, FREE)
    if Box(*starts, *free).implies(box):
        return starts, free
    if Box(*free, *ends).implies(box):
        return free, ends
    return (box.start_start, box.start_end), (box.end_start, box.end_end)


def exists(problem: Problem, boxes: tuple[Box, ...]) -> NDArray[np.bool_]:
    """Which left rows have any right row: what semi and anti joins need, at a cost that no number of pairs changes."""
    return Counting(problem, boxes).counts() > 0


def counts_by(algorithm: str, problem: Problem, counting: Callable[[], Totals]) -> Numbers:
    """Count by one of the algorithms; ``counting`` makes the rectangles, which only dominance counting needs."""
    if algorithm == "dominance":
        return counting().counts()
    return rank_counts(problem) if algorithm == "ranks" else sweep_counts(problem, algorithm)


def rank_counts(problem: Problem) -> Numbers:
    """Count the right rows that intersect each left row by two ranks."""
    problem.sort({(True, False), (True, True)})
    by_start, by_end = problem.orders[(True, False)], problem.orders[(True, True)]
    starts, ends = problem.placed(problem.left, False), problem.placed(problem.left, True)
    counts = np.zeros(starts.size, np.int64)

    def count(first: int, last: int) -> None:
        if len(problem.right) <= CACHED:
            counts[first:last] = count_intersecting(by_start, by_end, starts[first:last], ends[first:last])
        else:
            moved = by_region(by_start, starts[first:last], ends[first:last])
            counts[first:last][moved.rows] = count_intersecting(by_start, by_end, moved.starts, moved.ends)

    parts = chunks(starts.size, problem.threads)
    in_parallel([partial(count, *part) for part in parts], problem.threads)
    return counts if problem.left.keys is None else np.where(problem.left.keys == NO_KEY, 0, counts)


def _prepared(problem: Problem) -> Positions:
    """Sort what counting needs, and say in which order to take the left rows."""
    large = len(problem.right) > CACHED
    problem.sort({(True, False), (True, True)} | ({(False, False)} if large else set()))
    left = problem.orders.get((False, False))
    return np.arange(len(problem.left), dtype=np.int32) if left is None else left.ids


def sweep_counts(problem: Problem, algorithm: str) -> Numbers:
    """Count the right rows that intersect each left row by one of the sweeps of the count semi-join paper."""
    left, right = problem.left, problem.right
    counts = np.zeros(len(left), np.int64)
    rows = np.arange(len(left)) if left.keys is None else np.flatnonzero(left.keys != NO_KEY)
    sides = [problem.placed(side, by_end) for side in (left, right) for by_end in (False, True)]
    endpoints = merge_endpoints(sides[0][rows], sides[1][rows], sides[2], sides[3])
    if algorithm == "naive":
        counts[rows] = naive_count(endpoints, rows.size, len(right))
    elif algorithm == "simple":
        counts[rows], _ = simple_count(endpoints, rows.size)
    else:
        counts[rows] = smart_count(endpoints, rows.size)
    return counts


def _sides(bounds: tuple[Range, Range]) -> tuple[bool, bool]:
    """Whether there is any lower and any upper bound."""
    lows, highs = zip(*bounds, strict=True)
    return any(lo is not None for lo in lows), any(hi is not None for hi in highs)


def _opened(low: Ticks, high: Ticks, keep_low: bool, keep_high: bool) -> tuple[Ticks, Ticks]:
    """Open the sides that are not kept, except in rows that are empty."""
    empty = low > high
    opened_low = low if keep_low else np.where(empty, low, MIN_TICK)
    opened_high = high if keep_high else np.where(empty, high, MAX_TICK)
    return opened_low, opened_high
