"""Checkpoints: the rows alive at a system time, in order of application time."""

from dataclasses import dataclass

import numpy as np

from timeloom.bitemporal.columns import View
from timeloom.kernels.bitemporal.buckets import Rows, crossing_rows, rank
from timeloom.kernels.bitemporal.windows import Ticks
from timeloom.model.ticks import FOREVER


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
        old = base.by_start if base else np.empty(0, np.int32)
        candidates = np.concatenate([old, np.arange(begin, rows, dtype=np.int32)])
        alive = candidates[(view.sys_end[candidates] > at) & (view.app_start[candidates] != FOREVER)]
        by_start = alive[np.argsort(view.app_start[alive], kind="stable")]
        closing = np.sort(alive[view.app_end[alive] != FOREVER])
        by_end = closing[np.argsort(view.app_end[closing], kind="stable")]
        return cls(at, rows, by_start, by_end)

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
