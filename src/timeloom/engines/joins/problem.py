"""A join as a problem of numbers: two lists of periods, keys folded into their axis, sorted orders as needed.

This is what every join stands on, on a local table as in a Spark task.
"""

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.joins.key_axis import Fold
from timeloom.engines.resources.threads import SMALL, in_parallel
from timeloom.engines.tables.keys import Keys
from timeloom.kernels import order
from timeloom.kernels.joins.sweep_join import Counters
from timeloom.kernels.order import Order
from timeloom.kernels.rectangles import point_ranges
from timeloom.model.box import Range
from timeloom.model.ticks import MAX_TICK, MIN_TICK, Span

Ticks = NDArray[np.int64]
Picked = NDArray[np.integer] | slice
Limits = tuple[int, int, int, int]

_NEAR = 2**61


class Side:
    """The periods of one table, or of some of its rows."""

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

    def pick(self, rows: Picked) -> "Side":
        """Some of the rows, as arrays of their own."""
        keys = None if self.keys is None else copied(self.keys, rows)
        return Side(copied(self.starts, rows), copied(self.ends, rows), keys)


@dataclass
class Problem:
    """Two sides, an optional fold of their keys into the axis, and the number of threads to use."""

    left: Side
    right: Side
    fold: Fold | None = None
    threads: int = 1
    counters: Counters | None = None
    orders: dict[tuple[bool, bool], Order] = field(default_factory=dict)
    _placed: dict[tuple[int, bool], Ticks] = field(default_factory=dict)

    @classmethod
    def of(cls, left: Side, right: Side, keys: int = 0, threads: int = 1) -> "Problem":
        """Pose the problem; with keys, ticks are folded."""
        fold = None
        if left.keys is not None and right.keys is not None:
            fold = Fold.over([left.starts, left.ends, right.starts, right.ends], keys)
        return cls(left, right, fold, threads)

    def sides(self, flip: bool) -> tuple[Side, Side]:
        """The probe and the indexed side."""
        return (self.right, self.left) if flip else (self.left, self.right)

    def placed(self, side: Side, by_end: bool) -> Ticks:
        """Starts or ends of a side as positions on the (folded) axis."""
        points = side.points(by_end)
        if self.fold is None or side.keys is None:
            return points
        if (id(side), by_end) not in self._placed:
            self._placed[(id(side), by_end)] = self.fold.points(points, side.keys)
        return self._placed[(id(side), by_end)]

    def sort(self, wanted: set[tuple[bool, bool]], *, beside: bool = False) -> None:
        """Make the sorted orders (is it the right side?, by end?) that do not exist yet, side by side.

        With ``beside`` they carry the other endpoint of each row.
        """
        known = {which for which, made in self.orders.items() if not beside or made.beside.size == made.ids.size}
        missing = sorted(wanted - known)
        threads = self.threads if len(self.left) + len(self.right) >= SMALL else 1
        share = max(1, threads // max(1, len(missing)))
        made = in_parallel([partial(self._sorted, *which, beside, share) for which in missing], threads)
        self.orders.update(zip(missing, made, strict=True))

    def _sorted(self, right: bool, by_end: bool, beside: bool, threads: int) -> Order:
        side = self.right if right else self.left
        return order.sort(self.placed(side, by_end), threads, self.placed(side, not by_end) if beside else None)


def ranges(problem: Problem, bounds: tuple[Range, Range], probe: Side) -> tuple[Ticks, Ticks]:
    """The inclusive range of one endpoint of the indexed side, for each of these rows of the probe side."""
    limits = limits_of(bounds)
    near = probe.near and are_near(limits)
    low, high = np.empty(len(probe), np.int64), np.empty(len(probe), np.int64)
    point_ranges(probe.starts, probe.ends, limits, near, low, high)
    if problem.fold is None or probe.keys is None:
        return low, high
    return problem.fold.ranges(low, high, probe.keys)


def limits_of(bounds: tuple[Range, Range]) -> Limits:
    """Bounds relative to the start and to the end as four numbers; an open bound is the end of the axis."""
    (start_lo, start_hi), (end_lo, end_hi) = bounds
    return _low(start_lo), _high(start_hi), _low(end_lo), _high(end_hi)


def are_near(limits: Limits) -> bool:
    """Tell whether the limits are so small that no sum with a near tick leaves the axis."""
    return all(abs(limit) < _NEAR or limit in (MIN_TICK, MAX_TICK) for limit in limits)


def copied(column: NDArray[Any], rows: Picked) -> NDArray[Any]:
    """Some rows of a column as an array of its own, which kernels can tell from a read-only one."""
    return column[rows].copy() if isinstance(rows, slice) else column[rows]


def _low(bound: Span | None) -> int:
    return MIN_TICK if bound is None else int(bound)  # type: ignore[arg-type]


def _high(bound: Span | None) -> int:
    return MAX_TICK if bound is None else int(bound)  # type: ignore[arg-type]
