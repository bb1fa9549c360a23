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

    def write(self, left: Array, right: Array, threads: int) -> tuple[Array, Array]:
        """Write every pair, as a value of the left row and a value of the right row."""

    def write_range(self, left: Array, right: Array, first: int, last: int) -> tuple[Array, Array]:
        """Write the pairs among the candidates first..last."""


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

    def write(self, left: Array, right: Array, threads: int) -> tuple[Array, Array]:
        """Write every pair; each thread fills its own part of the output."""
        owners, driven = self._in_order(left, right)
        parts = chunks(self.candidates, threads)
        sizes = in_parallel([partial(self._count, *part) for part in parts], threads)
        edges = [0, *np.cumsum(sizes).tolist()]
        out = np.empty(edges[-1], owners.dtype), np.empty(edges[-1], driven.dtype)
        in_parallel(
            [
                partial(self._fill, owners, driven, part, out[0][at:stop], out[1][at:stop])
                for part, (at, stop) in zip(parts, pairwise(edges), strict=True)
            ],
            threads,
        )
        return (out[1], out[0]) if self.flip else out

    def write_range(self, left: Array, right: Array, first: int, last: int) -> tuple[Array, Array]:
        """Write the pairs among the candidates first..last."""
        owners, driven = self._in_order(left, right)
        out = np.empty(last - first, owners.dtype), np.empty(last - first, driven.dtype)
        size = self._fill(owners, driven, (first, last), *out)
        found = out[0][:size], out[1][:size]
        return (found[1], found[0]) if self.flip else found

    def _in_order(self, left: Array, right: Array) -> tuple[Array, Array]:
        driving, driven = (right, left) if self.flip else (left, right)
        return driving[self.owners], driven[self.order]

    def _count(self, first: int, last: int) -> int:
        if self.filter is None:
            return last - first
        test = self.filter
        return runs.count_filtered(self.begins, self.bounds, test.other, test.low, test.high, first, last)

    def _fill(self, owners: Array, driven: Array, part: tuple[int, int], out_owner: Array, out_driven: Array) -> int:
        if self.filter is None:
            runs.expand(owners, self.begins, self.bounds, driven, *part, out_owner, out_driven)
            return part[1] - part[0]
        test = self.filter.other, self.filter.low, self.filter.high
        return runs.expand_filtered(owners, self.begins, self.bounds, driven, *test, *part, out_owner, out_driven)


@dataclass(frozen=True)
class Pairs:
    """Pairs that an algorithm has written out: positions in both tables."""

    left: Positions
    right: Positions

    @property
    def candidates(self) -> int:
        """The number of pairs."""
        return int(self.left.size)

    def write(self, left: Array, right: Array, threads: int) -> tuple[Array, Array]:
        """Look every pair's values up."""
        found = in_parallel([lambda: left[self.left], lambda: right[self.right]], threads)
        return found[0], found[1]

    def write_range(self, left: Array, right: Array, first: int, last: int) -> tuple[Array, Array]:
        """Look the values of some pairs up."""
        return left[self.left[first:last]], right[self.right[first:last]]


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
        """For every pair, a value of the left row and a value of the right row."""
        found = [source.write(left, right, self.threads) for source in self.sources]
        if len(found) == 1:
            return found[0]
        if not found:
            return left[:0], right[:0]
        return np.concatenate([part[0] for part in found]), np.concatenate([part[1] for part in found])

    def positions(self) -> tuple[Positions, Positions]:
        """Every pair as row positions."""
        return cast("tuple[Positions, Positions]", self.values(_rows(self.left_rows), _rows(self.right_rows)))

    def batches(self, rows: int) -> Iterator[tuple[Positions, Positions]]:
        """Row positions in batches of at most so many pairs."""
        left, right = _rows(self.left_rows), _rows(self.right_rows)
        for source in self.sources:
            for first in range(0, source.candidates, rows):
                found = source.write_range(left, right, first, min(first + rows, source.candidates))
                if found[0].size:
                    yield cast("tuple[Positions, Positions]", found)

    def matched(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which left rows and which right rows are in any pair."""
        left, right = np.zeros(self.left_rows, np.bool_), np.zeros(self.right_rows, np.bool_)
        for lefts, rights in self.batches(1 << 22):
            left[lefts] = True
            right[rights] = True
        return left, right


def _rows(count: int) -> Positions:
    return np.arange(count, dtype=np.int32)
