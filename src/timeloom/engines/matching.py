"""Find the pairs of two lists of periods that are in a relation: arrays of ticks in, matches out.

This is the numeric heart of every join, on a local table as in a Spark task.
"""

from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.drivers import Driver, drivers
from timeloom.engines.folding import Fold
from timeloom.engines.keys import Keys
from timeloom.engines.matches import Filter, Runs
from timeloom.engines.threads import chunks, in_parallel
from timeloom.kernels import order, rectangles, runs
from timeloom.kernels.order import Order
from timeloom.kernels.sweep_join import Counters
from timeloom.model.box import Box, Range
from timeloom.model.ticks import MAX_TICK, MIN_TICK, Span

Ticks = NDArray[np.int64]

_NEAR = 2**61


class Side:
    """The periods of one table, with their sorted orders, each made once and only when needed."""

    def __init__(self, starts: Ticks, ends: Ticks, keys: Keys | None = None) -> None:
        self.starts = np.ascontiguousarray(starts, np.int64)
        self.ends = np.ascontiguousarray(ends, np.int64)
        self.keys = keys

    def __len__(self) -> int:
        return self.starts.size

    @cached_property
    def near(self) -> bool:
        """Tell whether all ticks are so far from the ends of the axis that shifting them by as much is safe."""
        return not len(self) or bool(self.starts.min() > -_NEAR and self.ends.max() < _NEAR)

    def points(self, by_end: bool) -> Ticks:
        """Starts or ends, in row order."""
        return self.ends if by_end else self.starts


@dataclass
class Problem:
    """Two sides, an optional fold of their keys into the axis, and the number of threads to use."""

    left: Side
    right: Side
    fold: Fold | None = None
    threads: int = 1
    counters: Counters | None = None
    orders: dict[tuple[bool, bool], Order] = field(default_factory=dict)

    @classmethod
    def of(cls, left: Side, right: Side, keys: int = 0, threads: int = 1) -> "Problem":
        """Pose the problem; with keys, ticks are folded."""
        fold = None
        if left.keys is not None and right.keys is not None:
            fold = Fold.over([left.starts, left.ends, right.starts, right.ends], keys)
        return cls(left, right, fold, threads)

    def sides(self, flip: bool) -> tuple[Side, Side]:
        """The driving and the driven side."""
        return (self.right, self.left) if flip else (self.left, self.right)

    def placed(self, side: Side, by_end: bool) -> Ticks:
        """Starts or ends of a side as places on the (folded) axis."""
        points = side.points(by_end)
        return points if self.fold is None or side.keys is None else self.fold.points(points, side.keys)

    def sort(self, wanted: set[tuple[bool, bool]]) -> None:
        """Make the sorted orders (is it the right side?, by end?) that do not exist yet, side by side."""
        missing = sorted(wanted - self.orders.keys())
        tasks = [
            partial(order.sort, self.placed(self.right if right else self.left, by_end)) for right, by_end in missing
        ]
        self.orders.update(zip(missing, in_parallel(tasks, self.threads), strict=True))


def cheapest(problem: Problem, box: Box) -> tuple[Driver, float]:
    """The driver with the fewest candidates, by a sample, and that number."""
    offered = drivers(box)
    return min(((driver, estimate(problem, driver)) for driver in offered), key=lambda found: found[1])


def estimate(problem: Problem, driver: Driver, rows: int = 2048, points: int = 32_768) -> float:
    """Estimate a driver's candidates from evenly spaced rows and points; exact for small tables."""
    driving, driven = problem.sides(driver.flip)
    if not len(driving) or not len(driven):
        return 0.0
    picked = np.linspace(0, len(driving) - 1, min(rows, len(driving))).astype(np.int64)
    low, high = ranges(problem, driver.point, driving, picked)
    sample = np.linspace(0, len(driven) - 1, min(points, len(driven))).astype(np.int64)
    axis = np.sort(problem.placed(driven, driver.by_end)[sample])
    found = np.searchsorted(axis, high, side="right") - np.searchsorted(axis, low, side="left")
    return float(np.maximum(found, 0).sum()) * (len(driving) / picked.size) * (len(driven) / sample.size)


def drive(problem: Problem, driver: Driver) -> Runs:
    """Find the runs of a driver. Rows drive in the order of their starts, so that the runs lie close together."""
    driving, driven = problem.sides(driver.flip)
    problem.sort({(not driver.flip, driver.by_end), (driver.flip, False)})
    axis, owners = problem.orders[(not driver.flip, driver.by_end)], problem.orders[(driver.flip, False)].ids
    low, high = ranges(problem, driver.point, driving, owners)
    begins, lengths = np.empty(owners.size, np.int32), np.empty(owners.size, np.int64)
    grid = axis.values, axis.offsets, axis.base, axis.shift
    tasks = [
        partial(runs.measure, *grid, low, high, *part, begins, lengths) for part in chunks(owners.size, problem.threads)
    ]
    in_parallel(tasks, problem.threads)
    bounds = np.zeros(owners.size + 1, np.int64)
    np.cumsum(lengths, out=bounds[1:])
    if driver.exact:
        return Runs(driver.flip, owners, begins, bounds, axis.ids)
    test = Filter(problem.placed(driven, not driver.by_end)[axis.ids], *ranges(problem, driver.rest, driving, owners))
    return Runs(driver.flip, owners, begins, bounds, axis.ids, test)


def ranges(
    problem: Problem, bounds: tuple[Range, Range], driving: Side, rows: NDArray[np.integer]
) -> tuple[Ticks, Ticks]:
    """The inclusive range of one endpoint of the driven side, for some rows of the driving side."""
    (start_lo, start_hi), (end_lo, end_hi) = bounds
    limits = _low(start_lo), _high(start_hi), _low(end_lo), _high(end_hi)
    near = driving.near and all(abs(limit) < _NEAR or limit in (MIN_TICK, MAX_TICK) for limit in limits)
    low, high = np.empty(rows.size, np.int64), np.empty(rows.size, np.int64)
    find = partial(rectangles.picked_ranges, driving.starts, driving.ends, rows, limits, near)
    parts = chunks(rows.size, problem.threads)
    in_parallel([partial(find, *part, low, high) for part in parts], problem.threads)
    if problem.fold is None or driving.keys is None:
        return low, high
    return problem.fold.ranges(low, high, driving.keys[rows])


def _low(bound: Span | None) -> int:
    return MIN_TICK if bound is None else int(bound)  # type: ignore[arg-type]


def _high(bound: Span | None) -> int:
    return MAX_TICK if bound is None else int(bound)  # type: ignore[arg-type]
