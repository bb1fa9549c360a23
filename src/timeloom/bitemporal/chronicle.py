"""The history of a bitemporal table after some batch, which never changes."""

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from timeloom.bitemporal.columns import GrowingArray
from timeloom.bitemporal.layout import Layout
from timeloom.engines.tables.taking import chosen_rows
from timeloom.engines.tables.ticks import column_ticks
from timeloom.errors import UsageError
from timeloom.kernels.bitemporal.windows import Ticks
from timeloom.model.ticks import FOREVER, MIN_TICK


@dataclass(frozen=True)
class Chronicle:
    """All versions. The list of chunks is shared and only grows: ``held`` of them are of this state.

    A system end after ``latest`` may be written by a later state that shares the array, and counts as open here.
    """

    layout: Layout
    chunks: list[pa.Table] = field(default_factory=list)
    held: int = 0
    sys_end: GrowingArray = field(default_factory=lambda: GrowingArray(np.empty(0, np.int64)))
    latest: int = MIN_TICK

    def __len__(self) -> int:
        return self.sys_end.size

    @property
    def versions(self) -> pa.Table:
        """All versions without their system ends."""
        if not self.layout.schema.names:
            raise UsageError("the table is empty, so its columns are unknown; insert something first")
        first = self.layout.written([])
        return pa.concat_tables([first, *self.chunks[: self.held]])

    @property
    def ends(self) -> Ticks:
        """The system ends that this state knows of; the others are open."""
        ends = self.sys_end.values
        return np.where(ends > self.latest, FOREVER, ends)

    @property
    def history(self) -> pa.Table:
        """All versions."""
        ends = self.ends
        return self.versions.append_column("sys_end", self.layout.sys_time.to_arrow(ends, ends == FOREVER))

    def as_of(self, sys: int | None, app: int | None) -> pa.Table:
        """The versions believed at a system time, by default the latest, and valid at an application time or at any."""
        history, at = self.history, self.latest if sys is None else sys
        sys_starts, _ = column_ticks(history["sys_start"], self.layout.sys_time, truncate=False)
        wanted = (sys_starts <= at) & (self.ends > at)
        if app is not None:
            starts, ends = self.app_ticks(history)
            wanted &= (starts <= app) & (ends > app)
        return chosen_rows(history, wanted)

    def app_ticks(self, history: pa.Table) -> tuple[Ticks, Ticks]:
        """The application periods as ticks."""
        starts, _ = column_ticks(history["app_start"], self.layout.app_time, truncate=False)
        ends, is_open = column_ticks(history["app_end"], self.layout.app_time, truncate=False)
        return starts, np.where(is_open, FOREVER, ends)

    def grown(self, chunk: "pa.Table | None", ends: Ticks, ended: dict[int, int], latest: int) -> "Chronicle":
        """More versions, and ends of earlier ones. Ends that earlier states would see are written to a copy."""
        sys_end = self.sys_end.appended(ends)
        rows, at = np.array(list(ended), np.int64), np.array(list(ended.values()), np.int64)
        if rows.size and int(at.min()) <= self.latest:
            sys_end = sys_end.changed(rows, at)
        else:
            sys_end.room[rows] = at
        if chunk is None:
            return replace(self, sys_end=sys_end, latest=latest)
        self.chunks[self.held :] = [chunk]
        return replace(self, sys_end=sys_end, latest=latest, held=self.held + 1)

    def without(self, undone: set[int]) -> "tuple[Chronicle, Ticks]":
        """This history without some versions, and the place of each version then (of no meaning for those)."""
        keep = np.ones(len(self), np.bool_)
        keep[list(undone)] = False
        versions = chosen_rows(self.versions, keep)
        sys_end = GrowingArray.of(self.ends[keep])
        return Chronicle(self.layout, [versions], 1, sys_end, self.latest), np.cumsum(keep) - 1
