"""How many candidates a driver has and how many of them are results, judged by evenly spaced rows."""

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.joins.drivers import Driver, drivers
from timeloom.engines.joins.problem import Problem, Ticks, ranges
from timeloom.model.box import Box

ROWS = 512
POINTS = 8192


def cheapest(problem: Problem, box: Box) -> tuple[Driver, float]:
    """The driver with the fewest candidates, and that number. One that looks for a single value needs no rival."""
    offered = drivers(box)
    pinned = [driver for driver in offered if driver.pinned]
    return min(((driver, estimate(problem, driver)) for driver in pinned[:1] or offered), key=lambda found: found[1])


def estimate(problem: Problem, driver: Driver) -> float:
    """Estimate a driver's candidates; exact for small tables."""
    probe, indexed = problem.sides(driver.flip)
    if not len(probe) or not len(indexed):
        return 0.0
    some, points = _spaced(len(probe), ROWS), _spaced(len(indexed), POINTS)
    low, high = ranges(problem, driver.point, probe.pick(some))
    axis = np.sort(problem.placed(indexed, driver.by_end)[points])
    _, lengths = _runs(axis, low, high)
    return float(lengths.sum()) * (len(probe) / some.size) * (len(indexed) / points.size)


def kept(problem: Problem, driver: Driver) -> float:
    """Estimate the share of a driver's candidates that are results."""
    probe, indexed = problem.sides(driver.flip)
    if not len(probe) or not len(indexed):
        return 1.0
    side, points = probe.pick(_spaced(len(probe), ROWS)), _spaced(len(indexed), POINTS)
    axis, other = problem.placed(indexed, driver.by_end)[points], problem.placed(indexed, not driver.by_end)[points]
    by_point = np.argsort(axis, kind="stable")
    begins, lengths = _runs(axis[by_point], *ranges(problem, driver.point, side))
    least, most = ranges(problem, driver.rest, side)
    results = 0
    for begin, length, low, high in zip(begins, lengths, least, most, strict=True):
        judged = other[by_point[begin : begin + length]]
        results += int(np.count_nonzero((judged >= low) & (judged <= high)))
    return results / max(1, int(lengths.sum()))


def sampled(problem: Problem) -> Problem:
    """The same problem with evenly spaced rows of either side; all of them for small tables."""
    left, right = (side.pick(_spaced(len(side), POINTS)) for side in (problem.left, problem.right))
    return Problem(left, right, problem.fold)


def _spaced(total: int, wanted: int) -> NDArray[np.int64]:
    return np.linspace(0, total - 1, min(wanted, total)).astype(np.int64)


def _runs(axis: Ticks, low: Ticks, high: Ticks) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    begins = np.searchsorted(axis, low, side="left")
    return begins, np.maximum(np.searchsorted(axis, high, side="right") - begins, 0)
