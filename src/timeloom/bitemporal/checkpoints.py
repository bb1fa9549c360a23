"""Checkpoints: the rows alive at a system time, in order of application time."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from timeloom.bitemporal.columns import View
from timeloom.kernels.bitemporal.believed import latest_ends, reaching_rows
from timeloom.kernels.bitemporal.buckets import Rows, crossing_rows, rank
from timeloom.kernels.bitemporal.windows import Ticks
from timeloom.model.ticks import FOREVER, MIN_TICK

LEAST_SPACE = 1 << 14
"""Checkpoints by themselves are never closer than so many rows: these are passed over as fast as one is read."""

SAMPLE = 256
"""So many rows at most tell how many reach an instant."""

SCATTERED, SPARSE = 8, 4
"""How much slower a row is to read out of order than in order; and if some are left out."""


@dataclass(frozen=True)
class Checkpoint:
    """Every row below ``rows`` that is still alive after system time ``at``, sorted by start and by end.

    Rows that end later stay in it; whoever reads it compares with the columns. Rows from ``rows`` on are found in the
    buckets.
    """

    at: int
    rows: int
    by_start: Rows
    by_end: Rows

    @classmethod
    def take(cls, view: View, at: int, base: "Checkpoint | None") -> "Checkpoint":
        """Take a checkpoint at a system time, starting from an earlier one if there is one."""
        rows = view.arrived(at)
        begin = base.rows if base else 0
        old = base.alive if base else np.empty(0, np.int32)
        candidates = np.concatenate([old, np.arange(begin, rows, dtype=np.int32)])
        alive = candidates[(view.sys_end[candidates] > at) & (view.app_start[candidates] != FOREVER)]
        by_start = alive[np.argsort(view.app_start[alive], kind="stable")]
        closing = alive[view.app_end[alive] != FOREVER]
        by_end = closing[np.argsort(view.app_end[closing], kind="stable")]
        return cls(at, rows, by_start, by_end)

    @cached_property
    def alive(self) -> Rows:
        """The rows in order of arrival."""
        return np.sort(self.by_start)

    def candidates(self, view: View, app_upper: int, app_lower: int) -> "Rows | None":
        """Rows among which are all that start by ``app_upper`` and end after ``app_lower``; None if a scan is cheaper.

        Blocks of rows that all end too early are passed over. What is left is scattered over the columns, so where it
        is a large part of the rows alive, these are taken in order of arrival.
        """
        started = rank(self.by_start, view.app_start, app_upper)
        if app_lower > MIN_TICK or started < self.by_start.size:
            ends, latest = self._ends(view)
            few = ends[: started : 1 + started // SAMPLE] > app_lower
            if np.count_nonzero(few) * started * SCATTERED <= self.by_start.size * few.size:
                return reaching_rows(self.by_start, ends, started, latest, app_lower)
        return self.alive if self.by_start.size * SPARSE <= self.rows else None

    def _ends(self, view: View) -> tuple[Ticks, Ticks]:
        """The application ends in order of the starts, and the latest of each block; made when they are first asked."""
        known: tuple[Ticks, Ticks] | None = self.__dict__.get("ends")
        if known is None:
            known = view.app_end[self.by_start], latest_ends(self.by_start, view.app_end)
            self.__dict__["ends"] = known
        return known

    def started(
        self, after: int, upto: int, level: int, reach: Ticks, keys: tuple[Ticks, Ticks, Ticks, Ticks]
    ) -> Ticks:
        """Of the rows that start in (after, upto], those that may enter or leave."""
        times = keys[2]
        rows = self.by_start[rank(self.by_start, times, after) : rank(self.by_start, times, upto)]
        return crossing_rows(rows, level, reach, *keys)

    def finished(
        self, after: int, upto: int, level: int, reach: Ticks, keys: tuple[Ticks, Ticks, Ticks, Ticks]
    ) -> Ticks:
        """Of the rows that end in (after, upto], those that may enter or leave."""
        times = keys[3]
        rows = self.by_end[rank(self.by_end, times, after) : rank(self.by_end, times, upto)]
        return crossing_rows(rows, level, reach, *keys)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.by_start.nbytes + self.by_end.nbytes


def checkpoint_before(checkpoints: tuple[Checkpoint, ...], instant: int) -> Checkpoint | None:
    """Of checkpoints in order of time, the last at or before a system time."""
    at = bisect_right(checkpoints, instant, key=lambda checkpoint: checkpoint.at)
    return checkpoints[at - 1] if at else None


def spaced(checkpoints: tuple[Checkpoint, ...], view: View) -> tuple[Checkpoint, ...]:
    """More checkpoints over the rows behind the last one: each as far from the one before as that has rows.

    So all together hold no more than there are rows, and behind each there is no more to read than in it.
    """
    found = list(checkpoints)
    while True:
        last = found[-1] if found else None
        position = (last.rows if last else 0) + max(LEAST_SPACE, last.by_start.size if last else 0)
        if position > len(view):
            return tuple(found)
        at = int(view.sys_start[position - 1])
        if last is not None and at <= last.at:
            at = last.at + 1
            if at > view.latest:
                return tuple(found)
        found.append(Checkpoint.take(view, at, last))
