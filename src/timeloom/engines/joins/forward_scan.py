"""The forward scan: runs of the indexed side's sorted order, found and written block by block of probe rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from timeloom.engines.joins.drivers import Driver
from timeloom.engines.joins.pairs import Array, Page, Positions
from timeloom.engines.joins.problem import Problem, Side, Ticks, ranges
from timeloom.engines.resources.threads import gathered, look_up, shares
from timeloom.kernels.joins import runs
from timeloom.kernels.order import Order

BLOCK = 1 << 14
"""So many probe rows are treated at a time; what they need besides the sorted column stays in the cache."""


@dataclass(frozen=True)
class Scan:
    """The pairs of one driver.

    The probe rows come in the order of their starts, so that their runs lie close together; ``owners`` are their rows
    in the table. ``axis`` is the sorted endpoint of the indexed rows, with the other one beside it.
    """

    problem: Problem
    driver: Driver
    probe: Side
    owners: Positions
    axis: Order
    from_runs: ClassVar[bool] = True

    def parts(self, threads: int) -> list[tuple[int, int]]:
        """Ranges of the probe rows."""
        return shares(len(self.probe), threads)

    def arranged(self, left: Array, right: Array) -> tuple[Array, Array]:
        """The indexed side's values as they are sorted; those of the probe side stay as they are."""
        if self.driver.flip:
            return gathered(left, self.axis.ids, self.problem.threads), right
        return left, gathered(right, self.axis.ids, self.problem.threads)

    def pairs(self, arranged: tuple[Array, Array], first: int, last: int, most: int) -> Iterator[tuple[Array, Array]]:
        """Values of the pairs of the probe rows first..last, at most so many at a time."""
        probe, indexed = arranged[::-1] if self.driver.flip else arranged
        page = Page(probe.dtype, indexed.dtype, most)
        write = self._runs if self.driver.exact else self._filtered
        for begin in range(first, last, BLOCK):
            look_up()
            block = slice(begin, min(begin + BLOCK, last))
            for _ in write(self.probe.pick(block), probe[self.owners[block]], indexed, page):
                yield self._turned(page.take())
        if page.size:
            yield self._turned(page.take())

    def runs(self) -> tuple[Positions, Ticks]:
        """Where the run of each probe row begins, and how long it is; without a filter these are the pairs."""
        begins, bounds = self._measure(self.probe)
        return begins, np.diff(bounds)

    def _measure(self, side: Side) -> tuple[Positions, Ticks]:
        begins, bounds = np.empty(len(side), np.int32), np.empty(len(side) + 1, np.int64)
        runs.measure(*self._grid, *ranges(self.problem, self.driver.point, side), begins, bounds)
        return begins, bounds

    def _runs(self, side: Side, owners: Array, indexed: Array, page: Page) -> Iterator[None]:
        """Expand the runs of a block; stops whenever the page is full."""
        begins, bounds = self._measure(side)
        at, total = 0, int(bounds[-1])
        while at < total:
            stop = min(total, at + page.room)
            runs.expand(owners, begins, bounds, indexed, at, stop, *page.rest)
            page.size += stop - at
            at = stop
            if not page.room:
                yield

    def _filtered(self, side: Side, owners: Array, indexed: Array, page: Page) -> Iterator[None]:
        """Scan the runs of a block and keep what satisfies the other bounds; stops whenever the page is full."""
        point = ranges(self.problem, self.driver.point, side)
        rest = ranges(self.problem, self.driver.rest, side)
        row, at = 0, -1
        while row < len(side):
            row, at, found = runs.probe(
                *self._grid, self.axis.beside, indexed, owners, point, rest, row, at, *page.rest
            )
            page.size += found
            if not page.room:
                yield

    @property
    def _grid(self) -> tuple[Ticks, Positions, int, int]:
        return self.axis.values, self.axis.offsets, self.axis.base, self.axis.shift

    def _turned(self, pairs: tuple[Array, Array]) -> tuple[Array, Array]:
        return pairs[::-1] if self.driver.flip else pairs


def drive(problem: Problem, drivers: Sequence[Driver]) -> list[Scan]:
    """Prepare the scans of some drivers: all orders that they need are made at once."""
    axes = {(not driver.flip, driver.by_end) for driver in drivers}
    problem.sort(axes | {(driver.flip, False) for driver in drivers}, beside=True)
    return [_scan(problem, driver) for driver in drivers]


def _scan(problem: Problem, driver: Driver) -> Scan:
    axis, rows = problem.orders[(not driver.flip, driver.by_end)], problem.orders[(driver.flip, False)]
    if problem.fold is None:
        probe = Side(rows.values, rows.beside)
    else:
        probe = problem.sides(driver.flip)[0].pick(rows.ids)
    return Scan(problem, driver, probe, rows.ids, axis)
