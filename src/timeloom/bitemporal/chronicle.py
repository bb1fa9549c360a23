"""The history of a bitemporal table after some batch, which never changes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from timeloom.bitemporal.checkpoints import Checkpoint, checkpoint_before
from timeloom.bitemporal.columns import GrowingArray, View
from timeloom.bitemporal.facts import Facts
from timeloom.bitemporal.layout import Layout, Version
from timeloom.bitemporal.slabs import Slabs
from timeloom.engines.resources.threads import cores, gathered
from timeloom.engines.tables.taking import take_rows
from timeloom.errors import UsageError
from timeloom.kernels.bitemporal.believed import believed_range, believed_rows, believed_slabs, known_ends
from timeloom.kernels.bitemporal.windows import Ticks
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK

NEVER = FOREVER
"""The batch that ends what has no end yet."""


def _ticks() -> GrowingArray:
    return GrowingArray(np.empty(0, np.int64))


@dataclass(frozen=True)
class Times:
    """Both periods of versions, in order of arrival, and the number of the batch that wrote their system end."""

    sys_start: GrowingArray = field(default_factory=_ticks)
    sys_end: GrowingArray = field(default_factory=_ticks)
    app_start: GrowingArray = field(default_factory=_ticks)
    app_end: GrowingArray = field(default_factory=_ticks)
    ended_by: GrowingArray = field(default_factory=_ticks)

    @classmethod
    def of(cls, *columns: Ticks) -> "Times":
        """Hold these columns."""
        return cls(*(GrowingArray.of(column) for column in columns))

    def __len__(self) -> int:
        return self.sys_start.size

    def appended(self, *columns: Ticks) -> "Times":
        """More versions behind."""
        return Times(*(own.appended(more) for own, more in zip(self._arrays, columns, strict=True)))

    def taken(self, rows: Ticks) -> tuple[Ticks, ...]:
        """Some of the versions, as columns."""
        return tuple(column[rows] for column in self.columns)

    @property
    def _arrays(self) -> tuple[GrowingArray, ...]:
        return self.sys_start, self.sys_end, self.app_start, self.app_end, self.ended_by

    @property
    def columns(self) -> tuple[Ticks, ...]:
        """The columns as they are now."""
        return tuple(array.values for array in self._arrays)

    def view(self, latest: int) -> View:
        """The four periods, as checkpoints read them."""
        sys_start, sys_end, app_start, app_end, _ = self.columns
        return View(sys_start, sys_end, app_start, app_end, latest)


def times_of(versions: Sequence[Version]) -> tuple[Ticks, ...]:
    """The times of single versions as columns."""
    given = [(one.sys_start, one.sys_end, one.app_start, one.app_end, one.ended_by) for one in versions]
    return tuple(np.ascontiguousarray(np.array(given, np.int64).reshape(-1, 5).T))


@dataclass(frozen=True)
class Chronicle:
    """All versions: most of them settled, in arrays and Arrow chunks, the last ones as they came.

    The list of recent versions is shared with the states before and after and only grows: ``held`` of them are of this
    state. A system end that a later batch wrote counts as open here.
    """

    layout: Layout
    times: Times = field(default_factory=Times)
    facts: Facts = field(default_factory=Facts)
    recent: list[Version] = field(default_factory=list)
    held: int = 0
    number: int = 0
    latest: int = MIN_TICK
    checkpoints: tuple[Checkpoint, ...] = ()
    slabs: Slabs = field(default_factory=Slabs)

    def __len__(self) -> int:
        return len(self.times) + self.held

    @cached_property
    def _tail(self) -> "tuple[tuple[Ticks, ...], pa.Table]":
        """The recent versions as columns: made for the first reader."""
        versions = self.recent[: self.held]
        return times_of(versions), self.layout.facts(versions)

    def rows(self, settled: "Ticks | None", recent: "Ticks | None") -> pa.Table:
        """Versions by their positions among the settled and among the recent ones; None is all of them."""
        self._require_known()
        parts = [self._settled_rows(settled)]
        if self.held if recent is None else recent.size:
            parts.append(self._recent_rows(recent))
        return pa.concat_tables(parts) if len(parts) > 1 else parts[0]

    def _settled_rows(self, rows: "Ticks | None") -> pa.Table:
        sys_start, sys_end, app_start, app_end, ended_by = self.times.columns
        if rows is None:
            ends = np.where(ended_by > self.number, FOREVER, sys_end)
            return self._table(self.facts.chunks, app_start, app_end, sys_start, ends)
        columns = (gathered(column, rows, cores()) for column in (app_start, app_end, sys_start))
        ends = known_ends(rows, self.number, sys_end, ended_by)
        return self._table(self.facts.taken(rows), *columns, ends)

    def _recent_rows(self, rows: "Ticks | None") -> pa.Table:
        times, facts = self._tail
        sys_start, sys_end, app_start, app_end, ended_by = times if rows is None else (one[rows] for one in times)
        ends = np.where(ended_by > self.number, FOREVER, sys_end)
        chosen = facts if rows is None else take_rows(facts, pa.array(rows))
        return self._table([chosen], app_start, app_end, sys_start, ends)

    def _table(self, facts: Sequence[pa.Table], *times: Ticks) -> pa.Table:
        """Versions of the history: their facts in one or several parts, and their times."""
        if len(facts) == 1:
            return self.layout.table(facts[0], *times)
        return self.layout.table(pa.concat_tables([self.layout.no_facts, *facts]), *times)

    @property
    def history(self) -> pa.Table:
        """All versions."""
        return self.rows(None, None)

    def since(self, row: int) -> pa.Table:
        """The versions from a position on."""
        settled = len(self.times)
        return self.rows(np.arange(min(row, settled), settled), np.arange(max(0, row - settled), self.held))

    def as_of(self, sys: int | None, app: int | None) -> pa.Table:
        """The versions believed at a system time, by default the latest, and valid at an application time or at any."""
        self._require_known()
        at = min(self.latest if sys is None else sys, FOREVER - 1)
        low, high = (MIN_TICK, MAX_TICK) if app is None else (min(app, FOREVER - 1),) * 2
        return self.rows(self._believed(at, low, high), self._believed_recently(at, low, high))

    def _believed_recently(self, at: int, low: int, high: int) -> Ticks:
        """The recent versions believed at a system time."""
        if not self.held:
            return np.empty(0, np.int64)
        (sys_start, sys_end, app_start, app_end, ended_by), _ = self._tail
        wanted = (sys_start <= at) & ((sys_end > at) | (ended_by > self.number))
        return np.flatnonzero(wanted & (app_start <= high) & (app_end > low))

    def _believed(self, at: int, low: int, high: int) -> Ticks:
        """The settled versions believed at a system time: those of the last checkpoint before it, and those since."""
        _, sys_end, app_start, app_end, ended_by = self.times.columns
        columns = (sys_end, ended_by, app_start, app_end)
        view, base = self.times.view(self.latest), checkpoint_before(self.checkpoints, at)
        upto = view.arrived(at)
        rows = base.candidates(view, high, low) if base is not None else None
        if base is None or rows is None:
            return believed_range(0, upto, at, self.number, low, high, *columns)
        begin, slabs = base.rows, self.slabs
        if rows is base.alive:
            found = believed_rows(rows, at, self.number, low, high, *columns)
            rest = believed_range(begin, upto, at, self.number, low, high, *columns)
            return np.concatenate([found, rest])
        found = believed_rows(rows, at, self.number, MIN_TICK, MAX_TICK, *columns)
        sliced = max(begin, min(upto, slabs.order.size))
        since = believed_slabs(begin, sliced, *slabs.arrays, at, self.number, low, high, *columns[:3])
        rest = believed_range(sliced, upto, at, self.number, low, high, *columns)
        return np.sort(np.concatenate([found, since, rest]))

    def _require_known(self) -> None:
        if not self.layout.schema.names:
            raise UsageError("the table is empty, so its columns are unknown; insert something first")


def settled_version(times: Times, facts: Facts, row: int) -> Version:
    """One settled version, with its values as Python has them."""
    app = times.app_start.room.item(row), times.app_end.room.item(row)
    sys = times.sys_start.room.item(row), times.sys_end.room.item(row)
    return Version(facts.values(row), *app, *sys, times.ended_by.room.item(row))
