"""Sequenced joins and differences of two lists of periods with keys: arrays in, row positions and ticks out."""

from collections.abc import Iterator
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from timeloom.engines.joins.algorithms import find
from timeloom.engines.joins.key_axis import Fold
from timeloom.engines.joins.pairs import Matches, Pairs
from timeloom.engines.joins.problem import Problem, Side
from timeloom.engines.resources.threads import chunks, in_parallel
from timeloom.engines.tables.keys import NO_KEY, Keys
from timeloom.kernels import order
from timeloom.kernels.order import Positions, Ticks
from timeloom.kernels.sequenced import difference as sequenced
from timeloom.kernels.sequenced import dip_merge
from timeloom.model.box import Box
from timeloom.model.names import relation
from timeloom.model.ticks import Axis


class Shared(NamedTuple):
    """Pairs of rows, NO_ROW for an absent side, with periods."""

    left: Positions
    right: Positions
    starts: Ticks
    ends: Ticks


class TwoSides:
    """The periods of two tables, their keys folded into the axis.

    Rows without a key get a stretch of the axis for each side, so that they meet nothing.
    """

    def __init__(self, left: Side, right: Side, keys: int, threads: int) -> None:
        self.left, self.right, self.keys, self.threads = left, right, keys, threads
        self.fold: Fold | None = None
        self._places = (left.starts, left.ends), (right.starts, right.ends)
        if left.keys is None or right.keys is None:
            return
        self.fold = Fold.over([left.starts, left.ends, right.starts, right.ends], keys + 2)
        self._places = self._folded(left, left.keys, keys), self._folded(right, right.keys, keys + 1)

    def _folded(self, side: Side, keys: Keys, without: int) -> tuple[Ticks, Ticks]:
        assert self.fold is not None
        keys = np.where(keys == NO_KEY, without, keys)
        return self.fold.points(side.starts, keys), self.fold.points(side.ends, keys)

    def pairs(self, algorithm: str, most: int | None = None) -> list[Shared]:
        """All pairs that share time, with the time that they share, in pieces of bounded size."""
        found = self._matches(algorithm)
        at = found.positions(most)
        if sum(lefts.size for lefts, _ in at) <= len(self.left) + len(self.right):
            starts = [(self.left.starts[lefts], self.right.starts[rights]) for lefts, rights in at]
            ends = [(self.left.ends[lefts], self.right.ends[rights]) for lefts, rights in at]
        else:
            starts = found.pages(self.left.starts, self.right.starts)
            ends = found.pages(self.left.ends, self.right.ends)
        return [
            Shared(*rows, np.maximum(*both, out=both[0]), np.minimum(*either, out=either[0]))
            for rows, both, either in zip(at, starts, ends, strict=True)
        ]

    def batches(self, algorithm: str, rows: int) -> Iterator[Shared]:
        """All pairs that share time, in batches of at most so many."""
        for lefts, rights in self._matches(algorithm).batches(rows):
            starts = np.maximum(self.left.starts[lefts], self.right.starts[rights])
            yield Shared(lefts, rights, starts, np.minimum(self.left.ends[lefts], self.right.ends[rights]))

    def _matches(self, algorithm: str) -> Matches:
        if algorithm == "dip":
            found = dip_merge.join(*self._places[0], *self._places[1])
            return Matches(len(self.left), len(self.right), [Pairs(found.outer, found.inner)], self.threads)
        return find(self.problem, self.boxes, algorithm)

    @property
    def boxes(self) -> tuple[Box, ...]:
        """Rows that share time."""
        return relation("intersects").boxes(Axis.INTEGER)

    @cached_property
    def problem(self) -> Problem:
        """The two sides as a join."""
        return Problem.of(self.left, self.right, self.keys, self.threads)

    def alone(self, algorithm: str, *, flip: bool = False) -> sequenced.Pieces:
        """The maximal sub-periods of left rows in which no right row is active; with ``flip`` the converse."""
        mine, others = self._places[::-1] if flip else self._places
        if algorithm == "dip":
            found = dip_merge.antijoin(*mine, *others)
            by_row = np.argsort(found.outer, kind="stable")
            pieces = sequenced.Pieces(found.outer[by_row], found.starts[by_row], found.ends[by_row])
        else:
            pieces = subtract(*mine, sequenced.cover(*others, self.threads), self.threads)
        if self.fold is None:
            return pieces
        return sequenced.Pieces(pieces.rows, self.fold.unfold(pieces.starts), self.fold.unfold(pieces.ends))


def subtract(starts: Ticks, ends: Ticks, covered: order.Order, threads: int) -> sequenced.Pieces:
    """The uncovered pieces of each row; every thread writes those of its own range of rows."""
    ranges = chunks(starts.size, threads)
    offsets, first = np.zeros(starts.size + 1, np.int64), np.empty(starts.size, np.int32)
    grid = covered.values, covered.offsets, covered.base, covered.shift
    count = partial(sequenced.count_pieces, *grid, starts, ends)
    in_parallel([partial(count, *part, first, offsets) for part in ranges], threads)
    np.cumsum(offsets, out=offsets)
    pieces = sequenced.Pieces.room(int(offsets[-1]))
    write = partial(sequenced.write_pieces, covered.values, starts, ends)
    out = pieces.rows, pieces.starts, pieces.ends
    in_parallel([partial(write, *part, first, offsets, *out) for part in ranges], threads)
    return pieces
