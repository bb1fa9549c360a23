"""Rows by start with the partition of each, to which more rows can be added."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from timeloom.kernels.order import Positions, Ticks, sort
from timeloom.kernels.sequenced.dip import Numbered, Partitions, assign_on, lay_out


@dataclass(frozen=True)
class Assigned:
    """Rows in ascending order of start: their periods, where they stood in the input, and their partitions.

    ``laid_out`` are the rows partition by partition, if someone has made them already.
    """

    starts: Ticks
    ends: Ticks
    rows: Positions
    number: Positions
    count: int
    laid_out: Partitions | None = None

    @classmethod
    def nothing(cls) -> "Assigned":
        """No rows."""
        ticks, positions = np.empty(0, np.int64), np.empty(0, np.int32)
        return cls(ticks, ticks, positions, positions, 0)

    @cached_property
    def partitions(self) -> Partitions:
        """The rows partition by partition."""
        if self.laid_out is not None:
            return self.laid_out
        offsets = np.zeros(self.count + 1, np.int32)
        np.cumsum(np.bincount(self.number, minlength=self.count), out=offsets[1:])
        starts, ends, rows = np.empty_like(self.starts), np.empty_like(self.ends), np.empty_like(self.rows)
        lay_out(self.number, self.starts, self.ends, self.rows, offsets[:-1].copy(), starts, ends, rows)
        return Partitions(starts, ends, rows, offsets)

    @property
    def numbered(self) -> Numbered:
        """The rows by start with their partitions: what joins take."""
        return Numbered(self.starts, self.ends, self.rows, self.number, self.count)

    @cached_property
    def one_list(self) -> Partitions:
        """All rows by start: what gives the leads."""
        return Partitions(self.starts, self.ends, self.rows, np.array([0, self.starts.size], np.int32))


class Growing:
    """The writer's side: arrays with room to spare, and the heap of the partitions' last ends.

    What was handed out is the beginning of the arrays and is never written again. Rows that start before others do make
    new arrays; those that start after them are assigned anew, so that there are never more partitions than needed.
    """

    def __init__(self) -> None:
        self._size = self._count = 0
        self._ticks, self._positions = np.empty((2, 0), np.int64), np.empty((2, 0), np.int32)
        self._last_ends, self._names = np.empty(0, np.int64), np.empty(0, np.int32)

    def add(self, starts: Ticks, ends: Ticks) -> Assigned:
        """Add rows, which are numbered on from those that are there."""
        size, by_start = self._size, sort(starts, 1, ends)
        rows = by_start.ids + np.int32(size)
        starts, ends = by_start.values, by_start.beside
        kept = size
        if size and starts.size and starts[0] < self._ticks[0, size - 1]:
            kept = int(np.searchsorted(self._ticks[0, :size], starts[0], side="right"))
            held = self._ticks[0, kept:size], self._ticks[1, kept:size], self._positions[0, kept:size]
            order = np.argsort(np.concatenate([held[0], starts]), kind="stable")
            starts, ends = np.concatenate([held[0], starts])[order], np.concatenate([held[1], ends])[order]
            rows = np.concatenate([held[2], rows])[order]
            self._return_to(kept)
        self._reserve(kept + starts.size, fresh=kept < size)
        part = slice(kept, kept + starts.size)
        self._ticks[0, part], self._ticks[1, part], self._positions[0, part] = starts, ends, rows
        self._count = assign_on(starts, ends, self._positions[1, part], self._last_ends, self._names, self._count)
        self._size = kept + starts.size
        return self.assigned

    @property
    def assigned(self) -> Assigned:
        """All rows so far."""
        size = self._size
        return Assigned(
            self._ticks[0, :size],
            self._ticks[1, :size],
            self._positions[0, :size],
            self._positions[1, :size],
            self._count,
        )

    def _return_to(self, rows: int) -> None:
        """Make the heap what it was after so many rows: partitions are named in the order in which they begin."""
        number = self._positions[1, :rows]
        self._count = int(number.max(initial=-1)) + 1
        last_ends = np.empty(self._count, np.int64)
        last_ends[number] = self._ticks[1, :rows]
        order = np.argsort(last_ends, kind="stable")
        self._last_ends[: self._count], self._names[: self._count] = last_ends[order], order

    def _reserve(self, rows: int, *, fresh: bool) -> None:
        if rows > self._ticks.shape[1] or fresh:
            room = max(rows, self._ticks.shape[1] * (2 if rows > self._ticks.shape[1] else 1))
            ticks, positions = np.empty((2, room), np.int64), np.empty((2, room), np.int32)
            ticks[:, : self._size] = self._ticks[:, : self._size]
            positions[:, : self._size] = self._positions[:, : self._size]
            self._ticks, self._positions = ticks, positions
        if rows > self._last_ends.size:
            last_ends, names = np.empty(2 * rows, np.int64), np.empty(2 * rows, np.int32)
            last_ends[: self._count], names[: self._count] = self._last_ends[: self._count], self._names[: self._count]
            self._last_ends, self._names = last_ends, names
