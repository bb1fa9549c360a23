"""Forward scans of so few rows that the compiler of kernels takes longer to load than all the rest.

A fresh worker on Spark finds the runs of a small join by NumPy. Where the compiler is there, kernels are faster.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.joins.drivers import Driver
from timeloom.engines.joins.forward_scan import Scan
from timeloom.engines.joins.problem import Limits, Problem, Side, Ticks, are_near, limits_of
from timeloom.kernels.order import NOTHING, Order
from timeloom.model.ticks import MAX_TICK, MIN_TICK

FEW = 1 << 15
"""So many rows of both sides together are few."""

Values = NDArray[Any]


def compiler_loaded() -> bool:
    """Whether kernels can be called at once."""
    return "numba" in sys.modules


def few_scans(problem: Problem, drivers: Sequence[Driver]) -> "list[FewScan] | None":
    """The scans of some drivers, all exact; None if sums of ticks and limits might leave the axis."""
    for driver in drivers:
        probe = problem.sides(driver.flip)[0]
        if not (driver.exact and probe.near and are_near(limits_of(driver.point))):
            return None
    return [_scan(problem, driver) for driver in drivers]


class FewScan(Scan):
    """A scan that calls no kernel."""

    def runs(self) -> tuple[NDArray[np.int32], Ticks]:
        """Where the run of each probe row begins, and how long it is."""
        low, high = _ranges(self.problem, limits_of(self.driver.point), self.probe)
        begins = np.searchsorted(self.axis.values, low, side="left")
        ends = np.searchsorted(self.axis.values, high, side="right")
        return begins.astype(np.int32), np.maximum(ends - begins, 0)

    def listed(self, left: Values, right: Values, most: int) -> Iterator[tuple[Values, Values]]:
        """The values of all pairs, about so many at a time, or as many as one probe row has."""
        probe, indexed = (right, left) if self.driver.flip else (left, right)
        begins, counts = self.runs()
        until, first = np.cumsum(counts), 0
        while first < counts.size:
            before = int(until[first] - counts[first])
            last = max(first + 1, int(np.searchsorted(until, before + most, side="right")))
            some = slice(first, last)
            at = stretches(begins[some].astype(np.int64), begins[some] + counts[some])
            found = np.repeat(probe[self.owners[some]], counts[some]), indexed[self.axis.ids[at]]
            if at.size:
                yield found[::-1] if self.driver.flip else found
            first = last


def stretches(lows: Ticks, highs: Ticks) -> Ticks:
    """The numbers from each low to its high, one stretch after the other."""
    lengths = highs - lows
    shifts: Ticks = np.repeat(lows - np.cumsum(lengths) + lengths, lengths)
    return np.arange(shifts.size) + shifts


def _scan(problem: Problem, driver: Driver) -> FewScan:
    probe, indexed = problem.sides(driver.flip)
    owners, axis = _sorted(problem.placed(probe, by_end=False)), _sorted(problem.placed(indexed, driver.by_end))
    return FewScan(problem, driver, probe.pick(owners.ids), owners.ids, axis)


def _sorted(column: Ticks) -> Order:
    """An order for NumPy alone: without the grid by which kernels look values up."""
    ids = np.argsort(column, kind="stable").astype(np.int32)
    return Order(column[ids], ids, np.zeros(0, np.int32), 0, 0, NOTHING)


def _ranges(problem: Problem, limits: Limits, probe: Side) -> tuple[Ticks, Ticks]:
    """The inclusive range of the indexed endpoint for each probe row, none of which lies near an end of the axis."""
    start_lo, start_hi, end_lo, end_hi = limits
    low, high = np.full(len(probe), MIN_TICK), np.full(len(probe), MAX_TICK)
    for points, lo, hi in ((probe.starts, start_lo, start_hi), (probe.ends, end_lo, end_hi)):
        if lo != MIN_TICK:
            low = np.maximum(low, points + lo)
        if hi != MAX_TICK:
            high = np.minimum(high, points + hi)
    if problem.fold is None or probe.keys is None:
        return low, high
    return problem.fold.ranges(low, high, probe.keys)
