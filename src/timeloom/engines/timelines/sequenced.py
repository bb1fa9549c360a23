"""Sequenced joins and differences of two lists of periods with keys: arrays in, row positions and ticks out."""

from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from timeloom.engines.joins.algorithms import find
from timeloom.engines.joins.key_axis import Fold
from timeloom.engines.joins.pairs import PAGE, Matches, Tally
from timeloom.engines.joins.problem import Problem, Side
from timeloom.engines.resources.threads import chunks, in_parallel, look_up
from timeloom.engines.tables.keys import NO_KEY, Keys
from timeloom.kernels import order
from timeloom.kernels.order import Positions, Ticks
from timeloom.kernels.sequenced import difference as sequenced
from timeloom.kernels.sequenced import dip_merge
from timeloom.kernels.sequenced.dip import Numbered, Partitions, number_rows, partition
from timeloom.kernels.sequenced.dip_join import join_pages
from timeloom.kernels.sequenced.dip_outer import outer_pages
from timeloom.model.box import Box
from timeloom.model.names import relation
from timeloom.model.ticks import MAX_TICK, MIN_TICK, Axis


class Shared(NamedTuple):
    """Pairs of rows, NO_ROW for an absent side, with periods."""

    left: Positions
    right: Positions
    starts: Ticks
    ends: Ticks


class TwoSides:
    """The periods of two tables, their keys folded into the axis; ``positions`` are the starts and ends on it.

    Rows without a key get a stretch of the axis for each side, so that they meet nothing.
    """

    def __init__(self, left: Side, right: Side, keys: int, threads: int) -> None:
        self.left, self.right, self.keys, self.threads = left, right, keys, threads
        self.fold: Fold | None = None
        self.positions = (left.starts, left.ends), (right.starts, right.ends)
        if left.keys is None or right.keys is None:
            return
        self.fold = Fold.over([left.starts, left.ends, right.starts, right.ends], keys + 2)
        self.positions = self._folded(left, left.keys, keys), self._folded(right, right.keys, keys + 1)

    def _folded(self, side: Side, keys: Keys, without: int) -> tuple[Ticks, Ticks]:
        assert self.fold is not None
        keys = np.where(keys == NO_KEY, without, keys)
        return self.fold.points(side.starts, keys), self.fold.points(side.ends, keys)

    def pairs(self, algorithm: str, most: int | None = None, m: int = 0) -> list[Shared]:
        """All pairs that share time, with the time that they share, in pieces of bounded size."""
        if algorithm == "dip":
            return self._counted(self._merged(PAGE, m), most)
        found = self._matches(algorithm)
        at = found.positions(most)
        if not found.from_runs or sum(lefts.size for lefts, _ in at) <= len(self.left) + len(self.right):
            starts = [(self.left.starts[lefts], self.right.starts[rights]) for lefts, rights in at]
            ends = [(self.left.ends[lefts], self.right.ends[rights]) for lefts, rights in at]
        else:
            starts = found.pages(self.left.starts, self.right.starts)
            ends = found.pages(self.left.ends, self.right.ends)
        return [
            Shared(*rows, np.maximum(*both, out=both[0]), np.minimum(*either, out=either[0]))
            for rows, both, either in zip(at, starts, ends, strict=True)
        ]

    def batches(self, algorithm: str, rows: int, m: int = 0) -> Iterator[Shared]:
        """All pairs that share time, in batches of at most so many."""
        if algorithm == "dip":
            yield from self._merged(rows, m)
            return
        for lefts, rights in self._matches(algorithm).batches(rows):
            starts = np.maximum(self.left.starts[lefts], self.right.starts[rights])
            yield Shared(lefts, rights, starts, np.minimum(self.left.ends[lefts], self.right.ends[rights]))

    def outer_pairs(self, how: str, most: int | None = None) -> list[Shared]:
        """An outer join by one merge, in pieces of bounded size."""
        return self._counted(self.outer_batches(how, PAGE), most)

    def outer_batches(self, how: str, rows: int) -> Iterator[Shared]:
        """An outer join by one merge of all partitions: pairs, and what ``how`` keeps of either side."""
        left, right = how in ("left", "full"), how in ("right", "full")
        others = dip_merge.one_list(*self.positions[1])
        pages = outer_pages(self.partitions, others, keep_outer=left, keep_inner=right, most=rows)
        yield from (self._unfolded(page) for page in pages)

    @cached_property
    def numbered(self) -> Numbered:
        """The left side by start, with the partition of each row."""
        return number_rows(*self.positions[0])

    @cached_property
    def partitions(self) -> Partitions:
        """The left side without overlaps."""
        return self.numbered.laid_out()

    def _merged(self, rows: int, m: int) -> Iterator[Shared]:
        for page in join_pages(self.numbered, number_rows(*self.positions[1]), m, most=rows):
            yield self._unfolded(page)

    def _unfolded(self, page: dip_merge.Page) -> Shared:
        if self.fold is None:
            return Shared(*page)
        return Shared(page.outer, page.inner, self.fold.unfold(page.starts), self.fold.unfold(page.ends))

    def _counted(self, pages: Iterable[Shared], most: int | None) -> list[Shared]:
        tally, found = Tally(most), []
        for page in pages:
            look_up()
            tally.add(page.left.size)
            found.append(page)
        return found

    def _matches(self, algorithm: str) -> Matches:
        return find(self.problem, self.boxes, algorithm)

    @property
    def boxes(self) -> tuple[Box, ...]:
        """Rows that share time."""
        return relation("intersects").boxes(Axis.INTEGER)

    @cached_property
    def problem(self) -> Problem:
        """The two sides as a join."""
        return Problem.of(self.left, self.right, self.keys, self.threads)

    def together(self) -> sequenced.Pieces:
        """The maximal sub-periods of left rows in which some right row is active."""
        mine, others = self.positions
        edges = sequenced.cover(*others, self.threads).values
        outside = order.sort(np.concatenate([[MIN_TICK], edges, [MAX_TICK]]))
        pieces = subtract(*mine, outside, self.threads)
        if self.fold is None:
            return pieces
        return sequenced.Pieces(pieces.rows, self.fold.unfold(pieces.starts), self.fold.unfold(pieces.ends))

    def alone(self, algorithm: str, *, flip: bool = False, m: int = 0) -> sequenced.Pieces:
        """The maximal sub-periods of left rows in which no right row is active; with ``flip`` the converse."""
        mine, others = self.positions[::-1] if flip else self.positions
        if algorithm == "dip":
            outer = partition(*mine) if flip else self.partitions
            found = dip_merge.merged(outer, dip_merge.one_list(*others), m)
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
