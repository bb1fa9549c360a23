"""Pairs that an algorithm meets on its way through both sides. They leave it in pages: no more is ever held at once."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from timeloom.engines.joins.pairs import Array, Positions
from timeloom.engines.resources.threads import look_up, shares
from timeloom.kernels.joins import range_tree
from timeloom.kernels.joins.runs import Offsets

BLOCK = 1 << 14
"""So many queries of a range tree are counted before their results are written."""


@dataclass(frozen=True)
class Pages:
    """The pairs of an algorithm that cannot be cut: ``begin`` runs it from its beginning, in pages of about a size."""

    begin: Callable[[int], Iterator[tuple[Positions, Positions]]]
    from_runs: ClassVar[bool] = False

    def parts(self, threads: int) -> list[tuple[int, int]]:
        """All of them, for one thread."""
        return [(0, 1)]

    def arranged(self, left: Array, right: Array) -> tuple[Array, Array]:
        """Nothing needs arranging."""
        return left, right

    def pairs(self, arranged: tuple[Array, Array], first: int, last: int, most: int) -> Iterator[tuple[Array, Array]]:
        """Run the algorithm and look the values of its pairs up."""
        for lefts, rights in self.begin(most):
            look_up()
            for at in range(0, lefts.size, most):
                yield arranged[0][lefts[at : at + most]], arranged[1][rights[at : at + most]]


@dataclass(frozen=True)
class TreePages:
    """The pairs of left rows, given in some order, that query a range tree of right rows."""

    tree: range_tree.RangeTree
    queries: range_tree.Windows
    rows: Positions
    from_runs: ClassVar[bool] = False

    def parts(self, threads: int) -> list[tuple[int, int]]:
        """Ranges of queries."""
        return shares(self.rows.size, threads)

    def arranged(self, left: Array, right: Array) -> tuple[Array, Array]:
        """The left values as the queries are ordered."""
        return left[self.rows], right

    def pairs(self, arranged: tuple[Array, Array], first: int, last: int, most: int) -> Iterator[tuple[Array, Array]]:
        """Answer a range of queries, as many of them at a time as fill a page; one alone may fill several."""
        for begin in range(first, last, BLOCK):
            stop = min(begin + BLOCK, last)
            counts = np.empty(stop - begin, np.int64)
            range_tree.count(self.tree, self._some(begin, stop), 0, counts.size, counts)
            bounds = np.concatenate([[0], np.cumsum(counts)])
            at = 0
            while at < counts.size:
                look_up()
                end = max(at + 1, int(np.searchsorted(bounds, bounds[at] + most, side="right")) - 1)
                answers = self._answers(begin + at, begin + end, bounds[at : end + 1] - bounds[at])
                for page in range(0, answers[0].size, most):
                    lefts, rights = (side[page : page + most] for side in answers)
                    yield arranged[0][lefts], arranged[1][rights]
                at = end

    def _some(self, first: int, last: int) -> range_tree.Windows:
        x_begins, x_lengths, y_begins, y_lengths = self.queries
        some = slice(first, last)
        return range_tree.Windows(x_begins[some], x_lengths[some], y_begins[some], y_lengths[some])

    def _answers(self, first: int, last: int, offsets: Offsets) -> tuple[Positions, Positions]:
        """The pairs of some queries, whose numbers of results are known; queries by their position among all."""
        lefts, rights = np.empty(int(offsets[-1]), np.int32), np.empty(int(offsets[-1]), np.int32)
        range_tree.report(self.tree, self._some(first, last), 0, last - first, offsets, lefts, rights)
        return lefts + np.int32(first), rights
