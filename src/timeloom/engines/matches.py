"""Pairs of rows found by a join, in a form that can be counted, written whole, written in batches, or only marked."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.threads import chunks, in_parallel
from timeloom.kernels import runs

Array = NDArray[np.generic]
Positions = NDArray[np.int32]


class Source(Protocol):
    """Pairs from one box of a relation. Candidates are numbered; any range of them can be written by itself."""

    @property
    def candidates(self) -> int:
        """How many candidates there are, pairs included."""

    def count(self, first: int, last: int) -> int:
        """Count the pairs among the candidates first..last."""

    def arranged(self, left: Array, right: Array) -> tuple[Array, Array]:
        """Bring the values of left and right rows into the order in which `fill` needs them."""

    def fill(self, arranged: tuple[Array, Array], first: int, last: int, out: tuple[Array, Array]) -> int:
        """Write left and right values of the pairs among the candidates first..last; count them."""


@dataclass(frozen=True)
class Filter:
    """What candidates must satisfy: the driven row has its other endpoint within the driving row's range."""

    other: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]


@dataclass(frozen=True)
class Runs:
    """Pairs as runs over the sorted order of the driven side, with a filter where the runs are only candidates."""

    flip: bool
    owners: Positions
    begins: Positions
    bounds: NDArray[np.int64]
    order: Positions
    filter: Filter | None = None

    @property
    def candidates(self) -> int:
        """The total length of the runs."""
        return int(self.bounds[-1])

    def count(self, first: int, last: int) -> int:
        """Count the pairs among the candidates first..last."""
        if self.filter is None:
            return last - first
        test = self.filter
        return runs.count_filtered(self.begins, self.bounds, test.other, test.low, test.high, first, last)

    def arranged(self, left: Array, right: Array) -> tuple[Array, Array]:
        """Values of the driving rows as they drive, and of the driven rows as they are sorted."""
        driving, driven = (right, left) if self.flip else (left, right)
        return driving[self.owners], driven[self.order]

    def fill(self, arranged: tuple[Array, Array], first: int, last: int, out: tuple[Array, Array]) -> int:
        """Expand the runs of the candidates first..last, filtered if need be."""
        owners, driven = arranged
        out_owner, out_driven = (out[1], out[0]) if self.flip else out
        if self.filter is None:
            runs.expand(owners, self.begins, self.bounds, driven, first, last, out_owner, out_driven)
            return last - first
        test = self.filter.other, self.filter.low, self.filter.high
        return runs.expand_filtered(owners, self.begins, self.bounds, driven, *test, first, last, out_owner, out_driven)


@dataclass(frozen=True)
class Pairs:
    """Pairs that an algorithm has written out: positions in both tables."""

    left: Positions
    right: Positions

    @property
    def candidates(self) -> int:
        """The number of pairs."""
        return int(self.left.size)

    def count(self, first: int, last: int) -> int:
        """Every candidate is a pair."""
        return last - first

    def arranged(self, left: Array, right: Array) -> tuple[Array, Array]:
        """Nothing needs arranging."""
        return left, right

    def fill(self, arranged: tuple[Array, Array], first: int, last: int, out: tuple[Array, Array]) -> int:
        """Look the values of some pairs up."""
        np.take(arranged[0], self.left[first:last], out=out[0][: last - first])
        np.take(arranged[1], self.right[first:last], out=out[1][: last - first])
        return last - first


@dataclass(frozen=True)
class Matches:
    """All pairs of a join between tables with so many rows."""

    left_rows: int
    right_rows: int
    sources: list[Source]
    threads: int = 1

    @property
    def candidates(self) -> int:
        """How many candidates all sources have."""
        return sum(source.candidates for source in self.sources)

    def values(self, left: Array, right: Array) -> tuple[Array, Array]:
        """For every pair, a value of the left row and a value of the right row.

        The pairs of every range of candidates are counted first, so that each thread writes to its own place.
        """
        parts = [(source, part) for source in self.sources for part in chunks(source.candidates, self.threads)]
        sizes = in_parallel([partial(source.count, *part) for source, part in parts], self.threads)
        arranged = in_parallel([partial(source.arranged, left, right) for source in self.sources], self.threads)
        of = {id(source): values for source, values in zip(self.sources, arranged, strict=True)}
        edges = [0, *np.cumsum(sizes, dtype=np.int64).tolist()]
        out = np.empty(edges[-1], left.dtype), np.empty(edges[-1], right.dtype)
        tasks = [
            partial(source.fill, of[id(source)], *part, (out[0][at:stop], out[1][at:stop]))
            for (source, part), (at, stop) in zip(parts, pairwise(edges), strict=True)
        ]
        in_parallel(tasks, self.threads)
        return out

    def positions(self) -> tuple[Positions, Positions]:
        """Every pair as row positions."""
        return cast("tuple[Positions, Positions]", self.values(_rows(self.left_rows), _rows(self.right_rows)))

    def batches(
        self, rows: int, left: Positions | None = None, right: Positions | None = None
    ) -> Iterator[tuple[Positions, Positions]]:
        """Row positions, or the numbers given for the rows, in batches of at most so many pairs."""
        left = _rows(self.left_rows) if left is None else left
        right = _rows(self.right_rows) if right is None else right
        for source in self.sources:
            arranged = source.arranged(left, right)
            for first in range(0, source.candidates, rows):
                last = min(first + rows, source.candidates)
                lefts, rights = np.empty(last - first, np.int32), np.empty(last - first, np.int32)
                size = source.fill(arranged, first, last, (lefts, rights))
                if size:
                    yield lefts[:size], rights[:size]

    def matched(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which left rows and which right rows are in any pair."""
        left, right = np.zeros(self.left_rows, np.bool_), np.zeros(self.right_rows, np.bool_)
        for lefts, rights in self.batches(1 << 22):
            left[lefts] = True
            right[rights] = True
        return left, right


def _rows(count: int) -> Positions:
    return np.arange(count, dtype=np.int32)
