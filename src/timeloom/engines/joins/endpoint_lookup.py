"""The join on an endpoint that the relation fixes: looked up in a hash table, without sorting either side."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np

from timeloom.engines.joins.drivers import Driver
from timeloom.engines.joins.pairs import Array, Page
from timeloom.engines.joins.problem import Limits, Problem, are_near, limits_of
from timeloom.engines.resources.threads import shares
from timeloom.kernels.joins.equal_endpoints import Buckets, distribute, look_up


class Pin(NamedTuple):
    """The indexed endpoint is the probe row's end (or start) plus a distance."""

    by_end: bool
    distance: int


@dataclass(frozen=True)
class Equality:
    """The pairs of a driver whose runs hold a single value."""

    driver: Driver
    pin: Pin
    probe: Buckets
    indexed: Buckets
    point: Limits
    rest: Limits
    from_runs: ClassVar[bool] = True

    def parts(self, threads: int) -> list[tuple[int, int]]:
        """Ranges of buckets with about as many rows each."""
        inner = [last for _, last in shares(self.probe.rows.ids.size, threads)][:-1]
        edges = [0, *np.searchsorted(self.probe.heads[1:-1], inner).tolist(), self.probe.heads.size - 1]
        return list(pairwise(edges))

    def arranged(self, left: Array, right: Array) -> tuple[Array, Array]:
        """Values are looked up for pairs, not for rows."""
        return left, right

    def pairs(self, arranged: tuple[Array, Array], first: int, last: int, most: int) -> Iterator[tuple[Array, Array]]:
        """Values of the pairs in the buckets first..last, at most so many at a time."""
        page = Page(np.dtype(np.int32), np.dtype(np.int32), most)
        widest = int(np.diff(self.indexed.heads[first : last + 1]).max(initial=1))
        table, following = np.empty(max(8, 2 * widest), np.int32), np.empty(widest, np.int32)
        position = first, int(self.probe.heads[first]), -1
        demands = self.pin.distance, self.pin.by_end, self.point, self.rest
        while position[0] < last:
            bucket, row, at, found = look_up(
                self.indexed, self.probe, *demands, position, last, table, following, *page.rest
            )
            position = bucket, row, at
            page.size += found
            if bucket == last or not page.room:
                owners, indexed = page.take()
                lefts, rights = (indexed, owners) if self.driver.flip else (owners, indexed)
                yield arranged[0][lefts], arranged[1][rights]


def equality(problem: Problem, driver: Driver) -> Equality | None:
    """The pairs of a driver by looking up, if its runs hold a single value and plain sums do."""
    pin = _pin(driver)
    point, rest = limits_of(driver.point), limits_of(driver.rest)
    near = problem.left.near and problem.right.near and are_near(point) and are_near(rest)
    if pin is None or problem.fold is not None or not near:
        return None
    probe, indexed = problem.sides(driver.flip)
    points = indexed.points(driver.by_end), indexed.points(not driver.by_end)
    looking = probe.points(pin.by_end), probe.points(not pin.by_end)
    found = distribute(points, looking, pin.distance, problem.threads)
    return Equality(driver, pin, found[1], found[0], point, rest)


def _pin(driver: Driver) -> Pin | None:
    for by_end, (lo, hi) in enumerate(driver.point):
        if lo is not None and lo == hi:
            return Pin(bool(by_end), int(lo))  # type: ignore[arg-type]
    return None
