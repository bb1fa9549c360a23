"""Sequenced joins with a condition besides time and keys: which pairs match, and what these leave of either side."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.joins.key_axis import Fold
from timeloom.engines.joins.pairs import PAGE, Tally
from timeloom.engines.joins.problem import Side
from timeloom.engines.resources.threads import look_up
from timeloom.engines.tables.gather import NO_ROW
from timeloom.engines.timelines.sequenced import Shared, TwoSides
from timeloom.kernels.order import Positions, Ticks
from timeloom.kernels.sequenced.coalesce import coalesce
from timeloom.kernels.sequenced.difference import Pieces

Predicate = Callable[[Positions, Positions], NDArray[np.bool_]]
"""Tells, for row positions of either side, which pairs satisfy the condition."""


@dataclass
class Matched:
    """The time in which each row of one side has a match; merged whenever much of it is held."""

    side: Side
    threads: int
    most: int = PAGE
    _parts: list[tuple[Positions, Ticks, Ticks]] = field(default_factory=list)
    _held: int = 0

    def add(self, rows: Positions, starts: Ticks, ends: Ticks) -> None:
        """Take in matches of rows."""
        self._parts.append((rows, starts, ends))
        self._held += rows.size
        if self._held > self.most:
            self._merge()
            self.most = max(self.most, 2 * self._held)

    def rest(self) -> Pieces:
        """The maximal sub-periods of each row in which it has no match."""
        self._merge()
        rows, starts, ends = self._parts[0]
        each = Side(self.side.starts, self.side.ends, np.arange(len(self.side)))
        matches = Side(starts, ends, rows.astype(np.int64))
        return TwoSides(each, matches, len(self.side), self.threads).alone("cover")

    def _merge(self) -> None:
        empty = np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int64)
        parts = self._parts or [empty]
        rows = np.concatenate([part[0] for part in parts])
        starts, ends = (np.concatenate([part[which] for part in parts]) for which in (1, 2))
        keys = rows.astype(np.int64)
        fold = Fold.over([starts, ends], len(self.side))
        merged = coalesce(fold.points(starts, keys), fold.points(ends, keys), self.threads)
        self._parts = [(rows[merged.rows], fold.unfold(merged.starts), fold.unfold(merged.ends))]
        self._held = merged.rows.size


@dataclass(frozen=True)
class Conditioned:
    """Two sides and the condition of their match."""

    sides: TwoSides
    predicate: Predicate
    algorithm: str = "auto"

    def batches(self, rows: int) -> Iterator[Shared]:
        """The pairs that share time and satisfy the condition, looked at in batches of so many."""
        for lefts, rights, starts, ends in self.sides.batches(self.algorithm, rows):
            look_up()
            kept = self.predicate(lefts, rights)
            if kept.any():
                yield Shared(lefts[kept], rights[kept], starts[kept], ends[kept])

    def rows(self, how: str, most: int | None = None) -> list[Shared]:
        """All result rows of a join: the pairs, and what ``how`` keeps of either side."""
        tally, found = Tally(most), []
        left, right = (Matched(side, self.sides.threads) for side in (self.sides.left, self.sides.right))
        for page in self.batches(PAGE):
            tally.add(page.left.size)
            found.append(page)
            if how in ("left", "full"):
                left.add(page.left, page.starts, page.ends)
            if how in ("right", "full"):
                right.add(page.right, page.starts, page.ends)
        absent = partial(np.full, fill_value=NO_ROW, dtype=np.int32)
        if how in ("left", "full"):
            rows, starts, ends = left.rest()
            found.append(Shared(rows, absent(rows.size), starts, ends))
        if how in ("right", "full"):
            rows, starts, ends = right.rest()
            found.append(Shared(absent(rows.size), rows, starts, ends))
        return found

    def alone(self) -> Pieces:
        """The maximal sub-periods of left rows in which no right row matches."""
        left = Matched(self.sides.left, self.sides.threads)
        for page in self.batches(PAGE):
            left.add(page.left, page.starts, page.ends)
        return left.rest()
