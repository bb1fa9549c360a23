"""Partners in time of two sides of instants: merged where both are in order, looked up in the right side otherwise."""

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.joins.key_axis import Fold
from timeloom.engines.joins.problem import Side
from timeloom.engines.resources.threads import chunks, in_parallel
from timeloom.engines.tables.gather import NO_ROW
from timeloom.engines.tables.value_order import Settle, runs_of_equals
from timeloom.kernels import order
from timeloom.kernels.neighbours import as_of as kernel
from timeloom.kernels.order import Order, Ticks, sealed

Rows = NDArray[np.int32]

_AS_THEY_COME: Rows = np.zeros(0, np.int32)
_NO_KEYS = np.zeros(0, np.int64)


class Way(Protocol):
    """How partners are found."""

    def partners(self, direction: str, exact: bool) -> Rows:
        """The partner of each left row, or NO_ROW."""


def way_of(left: Side, right: Side, keys: int, threads: int, settle: Settle) -> Way:
    """Choose how partners are found."""
    if in_time_order(left, right, threads):
        return Merge.of(_in_order(left), _in_order(right), keys, threads, settle)
    fold = None
    if left.keys is not None and right.keys is not None:
        fold = Fold.over([left.starts, right.starts], keys)
    if fold is None or fold.distinct is None:
        return LookUp.of(left, right, fold, threads, settle)
    sides = in_parallel([partial(_sorted, side, max(1, threads // 2)) for side in (left, right)], threads)
    return Merge.of(sides[0], sides[1], keys, threads, settle)


def in_time_order(left: Side, right: Side, threads: int = 1) -> bool:
    """Tell whether both sides are in the order of time."""
    return all(in_parallel([partial(order.in_order, sealed(side.starts)) for side in (left, right)], threads))


def _in_order(side: Side) -> kernel.Side:
    return kernel.Side(sealed(side.starts), _AS_THEY_COME, _NO_KEYS if side.keys is None else side.keys)


def _sorted(side: Side, threads: int) -> kernel.Side:
    by_time = order.sort(side.starts, threads)
    return kernel.Side(by_time.values, by_time.ids, _NO_KEYS if side.keys is None else side.keys)


@dataclass(frozen=True)
class Merge:
    """Both sides in order of time, passed once by each thread's part of them."""

    left: kernel.Side
    right: kernel.Side
    keys: int
    threads: int

    @classmethod
    def of(cls, left: kernel.Side, right: kernel.Side, keys: int, threads: int, settle: Settle) -> "Merge":
        """Bring right rows that are level into their order."""
        left, right = (side._replace(keys=sealed(side.keys)) for side in (left, right))
        positions, groups = kernel.level_rows(right, keys)
        if positions.size:
            rows = right.rows.copy() if right.rows.size else np.arange(right.ticks.size, dtype=np.int32)
            together = np.argsort(groups, kind="stable")
            positions = positions[together]
            rows[positions] = settle(rows[positions].astype(np.int64), groups[together].astype(np.int64))
            right = right._replace(rows=rows)
        return cls(left, right, keys, threads)

    def partners(self, direction: str, exact: bool) -> Rows:
        """The partner of each left row, or NO_ROW."""
        merge = kernel.backward if direction == "backward" else kernel.forward
        parts = self._parts()
        found = np.empty(self.left.ticks.size, np.int32)
        seen = [np.full(max(1, self.keys), NO_ROW, np.int32) for _ in parts]
        step = partial(merge, self.left, self.right)
        missing = in_parallel(
            [partial(step, part, exact, last, found) for part, last in zip(parts, seen, strict=True)], self.threads
        )
        in_turn = list(zip(parts, seen, missing, strict=True))
        self._carry(in_turn if direction == "backward" else in_turn[::-1], found)
        return found

    def _parts(self) -> list[kernel.Bounds]:
        """Stretches of both sides; rows level in time are in one of them."""
        ticks = self.left.ticks
        firsts = [first for first, _ in chunks(ticks.size, self.threads)]
        edges = sorted({int(np.searchsorted(ticks, ticks[first])) for first in firsts if first})
        lefts = [0, *(edge for edge in edges if edge), ticks.size]
        rights = [0, *np.searchsorted(self.right.ticks, ticks[lefts[1:-1]]).tolist(), self.right.ticks.size]
        return list(zip(lefts[:-1], lefts[1:], rights[:-1], rights[1:], strict=True))

    def _carry(self, parts: "list[tuple[kernel.Bounds, Rows, int]]", found: Rows) -> None:
        """Give rows without a partner in their own part what the parts before have seen last."""
        tasks = []
        carried = parts[0][1]
        for bounds, last, missing in parts[1:]:
            if missing:
                tasks.append(partial(kernel.carry_over, self.left, bounds[0], bounds[1], carried, found))
            carried = np.where(last == NO_ROW, carried, last)
        in_parallel(tasks, self.threads)


@dataclass(frozen=True)
class LookUp:
    """The right side in order of key and time, and where the left rows stand on the same axis."""

    left: Ticks
    rows: Rows
    right: Order
    width: int
    threads: int

    @classmethod
    def of(cls, left: Side, right: Side, fold: Fold | None, threads: int, settle: Settle) -> "LookUp":
        """Sort the right side; of rows that are level each stands for the last."""
        placed = in_parallel([partial(_positions, side, fold) for side in (left, right)], threads)
        made = order.sort(placed[1], threads)
        level, groups = runs_of_equals(made.values)
        if level.size:
            settled = settle(made.ids[level].astype(np.int64), groups)
            made.ids[level] = settled[np.searchsorted(groups, groups, side="right") - 1]
        left_positions, rows = order.roughly(placed[0], made, threads)
        return cls(left_positions, rows, made, 0 if fold is None else fold.width, threads)

    def partners(self, direction: str, exact: bool) -> Rows:
        """The partner of each left row, or NO_ROW."""
        found = order.room(self.left.size, np.int32)
        look = partial(kernel.look_up, self.right, self.left, self.rows, self.width)
        parts = chunks(self.left.size, self.threads)
        in_parallel([partial(look, part, direction == "backward", exact, found) for part in parts], self.threads)
        return found


def _positions(side: Side, fold: Fold | None) -> Ticks:
    """Where the rows of a side stand on the axis."""
    return side.starts if fold is None or side.keys is None else fold.points(side.starts, side.keys)
