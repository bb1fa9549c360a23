"""Pairs of rows found by a join, in a form that can be written whole, written in batches, or only marked."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, ClassVar, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.resources.threads import MANY_PAIRS, in_parallel, look_up

Array = NDArray[Any]
Positions = NDArray[np.int32]

PAGE = 1 << 21
"""So many pairs are written into one piece of memory: enough for the system to give it huge pages."""

FIRST_PAGE = 1 << 14


class TooManyPairsError(Exception):
    """More pairs were written than allowed; whoever set the limit says so to the user."""


class Tally:
    """Counts pairs over all threads that write them, up to a limit."""

    def __init__(self, most: int | None) -> None:
        self._most, self._written, self._lock = most, 0, Lock()

    def add(self, pairs: int) -> None:
        """Count more pairs, or stop."""
        with self._lock:
            self._written += pairs
            if self._most is not None and self._written > self._most:
                raise TooManyPairsError


class Source(Protocol):
    """Pairs from one box of a relation. Each probe row has its pairs; any range of them can be written alone.

    ``from_runs`` tells that writing the pairs once more costs no more than reading them.
    """

    from_runs: ClassVar[bool]

    def parts(self, threads: int) -> list[tuple[int, int]]:
        """Ranges of the probe rows, all together, to be shared out to threads."""

    def arranged(self, left: Array, right: Array) -> tuple[Array, Array]:
        """Bring the values of left and right rows into the order in which `pairs` needs them."""

    def pairs(self, arranged: tuple[Array, Array], first: int, last: int, most: int) -> Iterator[tuple[Array, Array]]:
        """Left and right values of the pairs of the probe rows first..last, at most so many at a time."""


class Page:
    """Room for a number of pairs, taken anew whenever it is full: little at first, for joins that find few."""

    def __init__(self, first: np.dtype[Any], second: np.dtype[Any], most: int) -> None:
        self._types, self._most = (first, second), most
        self._open(min(most, FIRST_PAGE))

    def _open(self, room: int) -> None:
        self.size = 0
        self._room = np.empty(room, self._types[0]), np.empty(room, self._types[1])

    @property
    def room(self) -> int:
        """How many pairs still fit."""
        return self._room[0].size - self.size

    @property
    def rest(self) -> tuple[Array, Array]:
        """The part that is not written yet."""
        return self._room[0][self.size :], self._room[1][self.size :]

    def take(self) -> tuple[Array, Array]:
        """Hand out what is written, and start afresh."""
        written = self._room[0][: self.size], self._room[1][: self.size]
        if self.size < self._room[0].size // 4:
            written = written[0].copy(), written[1].copy()
        self._open(self._most)
        return written


@dataclass(frozen=True)
class Matches:
    """All pairs of a join between tables with so many rows."""

    left_rows: int
    right_rows: int
    sources: list[Source]
    threads: int = 1

    @property
    def from_runs(self) -> bool:
        """Tell whether the pairs can be written several times at little cost."""
        return all(source.from_runs for source in self.sources)

    def pages(self, left: Array, right: Array, most: int | None = None) -> list[tuple[Array, Array]]:
        """For every pair, a value of the left row and a value of the right row, in pieces of bounded size.

        The pieces are cut in the same positions whatever the values. More than ``most`` pairs are an error.
        """
        tasks, tally = [], Tally(most)
        for source in self.sources:
            arranged = source.arranged(left, right)
            for part in source.parts(self.threads):
                tasks.append(partial(_listed, source, arranged, *part, tally))
        threads = self.threads if left.size * right.size >= MANY_PAIRS else 1
        return [page for pages in in_parallel(tasks, threads) for page in pages]

    def positions(self, most: int | None = None) -> list[tuple[Positions, Positions]]:
        """Every pair as row positions, in pieces of bounded size."""
        pages = self.pages(_rows(self.left_rows), _rows(self.right_rows), most)
        return cast("list[tuple[Positions, Positions]]", pages)

    def batches(
        self, rows: int, left: Positions | None = None, right: Positions | None = None
    ) -> Iterator[tuple[Positions, Positions]]:
        """Row positions, or the numbers given for the rows, in batches of at most so many pairs."""
        left = _rows(self.left_rows) if left is None else left
        right = _rows(self.right_rows) if right is None else right
        for source in self.sources:
            arranged = source.arranged(left, right)
            for part in source.parts(1):
                yield from source.pairs(arranged, *part, rows)

    def matched(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which left rows and which right rows are in any pair."""
        left, right = np.zeros(self.left_rows, np.bool_), np.zeros(self.right_rows, np.bool_)
        for lefts, rights in self.batches(PAGE):
            look_up()
            left[lefts] = True
            right[rights] = True
        return left, right


def _listed(
    source: Source, arranged: tuple[Array, Array], first: int, last: int, tally: Tally
) -> list[tuple[Array, Array]]:
    pages = []
    for page in source.pairs(arranged, first, last, PAGE):
        look_up()
        tally.add(page[0].size)
        pages.append(page)
    return pages


def _rows(count: int) -> Positions:
    return np.arange(count, dtype=np.int32)
