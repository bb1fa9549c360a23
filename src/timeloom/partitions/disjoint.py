"""`DisjointPartitions`: periods in the fewest lists without overlap."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.errors import InvalidInputError, UsageError
from timeloom.kernels.aggregates.dip import joined_periods
from timeloom.kernels.order import Positions, Ticks
from timeloom.kernels.sequenced.dip_join import join_pages
from timeloom.kernels.sequenced.dip_merge import Counters, Page, merge_pages
from timeloom.kernels.sequenced.dip_outer import outer_pages
from timeloom.partitions.growing import Assigned, Growing
from timeloom.partitions.spilled import spill

How = Literal["inner", "left", "right", "full"]
BATCH = 1 << 20


class Meetings(NamedTuple):
    """Result periods with the rows they stem from, -1 for an absent one, and the comparisons that they took."""

    left: Positions
    right: Positions
    starts: Ticks
    ends: Ticks
    comparisons: int
    unproductive: int


class DisjointPartitions:
    """Periods in the fewest partitions within which no two overlap: made once, used for several operators.

    Periods are half-open int64 ticks; rows are named by their positions in the input, those that are added later by
    going on. Many threads may read while one adds rows: an operator sees one complete state.

    Examples
    --------
    >>> import timeloom as tl
    >>> rooms = tl.DisjointPartitions.build([1, 6, 11, 7, 10, 7], [5, 8, 13, 8, 11, 10])
    >>> rooms.depth, len(rooms)
    (3, 6)
    >>> guests = tl.DisjointPartitions.build([4, 9], [7, 12])
    >>> found = rooms.join(guests)
    >>> sorted(zip(found.left.tolist(), found.right.tolist(), found.starts.tolist(), found.ends.tolist()))
    [(0, 0, 4, 5), (1, 0, 6, 7), (2, 1, 11, 12), (4, 1, 10, 11), (5, 1, 9, 10)]
    >>> rooms.extend([20], [22])
    >>> rooms.antijoin(guests).starts.tolist()
    [1, 7, 7, 7, 12, 20]
    """

    def __init__(self) -> None:
        self._growing: Growing | None = Growing()
        self._known = Assigned.nothing()
        self._directory: Path | None = None
        self._lock = Lock()

    @classmethod
    def build(cls, starts: Any, ends: Any) -> "DisjointPartitions":
        """Partition periods, given in any order."""
        made = cls()
        made.extend(starts, ends)
        return made

    @classmethod
    def on_disk(
        cls, batches: "Iterable[tuple[Any, Any]]", directory: "str | Path", *, run_rows: int = 1 << 22
    ) -> "DisjointPartitions":
        """Partition batches of starts and ends that need not fit into memory, in files of an empty directory.

        About ``run_rows`` rows are held at once; merges then read the files from front to back. Such partitions take no
        further rows. The files belong to the caller, and must stay as long as the partitions are used.
        """
        place = Path(directory)
        place.mkdir(parents=True, exist_ok=True)
        if any(place.iterdir()):
            raise UsageError(f"directory={str(directory)!r} holds files; give an empty directory")
        if run_rows < 1:
            raise UsageError(f"run_rows={run_rows} is no number of rows; give 1 or more")
        made = cls()
        made._known = spill((periods_of(*batch) for batch in batches), place, run_rows)
        made._growing, made._directory = None, place
        return made

    def extend(self, starts: Any, ends: Any) -> None:
        """Add rows, in any order. Those that start after all others cost no more than themselves."""
        added = periods_of(starts, ends)
        with self._lock:
            if self._growing is None:
                raise UsageError("partitions on disk take no further rows; make them anew from all batches")
            self._known = self._growing.add(*added)

    def __len__(self) -> int:
        return self._known.starts.size

    def __repr__(self) -> str:
        known = self._known
        return f"DisjointPartitions({known.starts.size} rows, depth={known.count})"

    @property
    def depth(self) -> int:
        """The number of partitions: the largest number of rows that are valid at one time."""
        return self._known.count

    def partition(self, number: int) -> "tuple[Positions, Ticks, Ticks]":
        """The rows of one partition, with their starts and ends, ascending."""
        parts = self._known.partitions
        if not 0 <= number < parts.depth:
            raise UsageError(f"there is no partition {number}; there are {parts.depth}, from 0 on")
        part = slice(int(parts.offsets[number]), int(parts.offsets[number + 1]))
        return parts.rows[part], parts.starts[part], parts.ends[part]

    def join(self, other: "DisjointPartitions", *, how: How = "inner", m: int | None = None) -> Meetings:
        """All pairs that share time; outer joins also keep what is left of either side, with -1 for the other."""
        _check(how, m)
        counters = Counters()
        return _together(_batches(self._known, other._known, how, m, BATCH, counters), counters)

    def join_batches(
        self, other: "DisjointPartitions", *, how: How = "inner", m: int | None = None, rows: int = BATCH
    ) -> Iterator[Meetings]:
        """The same in batches of at most so many rows, each with the comparisons up to its end."""
        _check(how, m, rows)
        counters = Counters()
        return _told(_batches(self._known, other._known, how, m, rows, counters), counters)

    def antijoin(self, other: "DisjointPartitions", *, m: int | None = None) -> Meetings:
        """The maximal sub-periods of rows in which no other row is valid; ``right`` is -1."""
        _check("inner", m)
        counters = Counters()
        return _together(_alone(self._known, other._known, m, BATCH, counters), counters)

    def periods(self) -> "tuple[Ticks, Ticks, NDArray[np.int64]]":
        """The maximal periods in which the same rows are valid, and how many rows that are.

        Partitions are joined one after the other; of these joins one is kept, on disk if the partitions are there.
        """
        known = self._known
        parts = known.partitions
        begins, finishes = joined_periods(parts, Counters(), None if self._directory is None else self._room)
        begun = np.searchsorted(known.starts, begins, side="right")
        ended = np.searchsorted(np.sort(parts.ends), begins, side="right")
        return begins, finishes, begun - ended

    def _room(self, shape: tuple[int, int]) -> Ticks:
        """Room on disk that has no name and is gone with its last reader."""
        if not shape[1]:
            return np.empty(shape, np.int64)
        with TemporaryFile(dir=self._directory) as file:
            return np.asarray(np.memmap(file, np.int64, "w+", shape=shape))


def _batches(left: Assigned, right: Assigned, how: str, m: int | None, rows: int, counters: Counters) -> Iterator[Page]:
    """A join of two states in pages: outer joins in memory by one merge, else pairs first and remainders after them."""
    keep_left, keep_right = how in ("left", "full"), how in ("right", "full")
    if how != "inner" and m is None and left.laid_out is None and right.laid_out is None:
        yield from outer_pages(
            left.partitions,
            right.one_list,
            keep_outer=keep_left,
            keep_inner=keep_right,
            most=rows,
            counters=counters,
        )
        return
    yield from join_pages(left.numbered, right.numbered, m or 0, most=rows, counters=counters)
    if keep_left:
        yield from _alone(left, right, m, rows, counters)
    if keep_right:
        for page in _alone(right, left, m, rows, counters):
            yield page._replace(outer=page.inner, inner=page.outer)


def _alone(left: Assigned, right: Assigned, m: int | None, rows: int, counters: Counters) -> Iterator[Page]:
    for page in merge_pages(left.partitions, right.one_list, m or 0, most=rows, counters=counters):
        yield page._replace(inner=np.full(page.outer.size, -1, np.int32))


def periods_of(starts: Any, ends: Any) -> tuple[Ticks, Ticks]:
    """Starts and ends as ticks; every period must last."""
    first, last = np.ascontiguousarray(starts, np.int64), np.ascontiguousarray(ends, np.int64)
    if first.ndim != 1 or first.shape != last.shape:
        raise InvalidInputError(f"starts {first.shape} and ends {last.shape} are no two columns of one length")
    empty = np.flatnonzero(first >= last)
    if empty.size:
        raise InvalidInputError(
            f"{empty.size} periods do not last, the first in row {empty[0]}: [{first[empty[0]]}, {last[empty[0]]}); "
            "starts must be before ends"
        )
    return first, last


def _check(how: str, m: int | None, rows: int = BATCH) -> None:
    if how not in ("inner", "left", "right", "full"):
        raise UsageError(f"how={how!r} is no way to join partitions; use 'inner', 'left', 'right' or 'full'")
    if m is not None and m < 1:
        raise UsageError(f"m={m} is no number of partitions; give 1 or more, or leave it out")
    if rows < 2:
        raise UsageError(f"rows={rows} is too small; give 2 or more")


def _together(pages: Iterator[Page], counters: Counters) -> Meetings:
    parts = [Page.room(0), *pages]
    left, right = (np.concatenate([page[which] for page in parts]) for which in (0, 1))
    starts, ends = (np.concatenate([page[which] for page in parts]) for which in (2, 3))
    return Meetings(left, right, starts, ends, counters.comparisons, counters.unproductive)


def _told(pages: Iterator[Page], counters: Counters) -> Iterator[Meetings]:
    for page in pages:
        yield Meetings(*page, counters.comparisons, counters.unproductive)
