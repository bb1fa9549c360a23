"""The arrays of the index: what arrives is filed, and windows and deltas are read from a pinned state."""

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from timeloom.bitemporal.buckets import Buckets, Grid
from timeloom.bitemporal.checkpoints import Checkpoint, checkpoint_before, spaced
from timeloom.bitemporal.columns import GrowingArray, TimeColumns, View
from timeloom.kernels.bitemporal.arrival import closing_rows
from timeloom.kernels.bitemporal.buckets import Rows, crossing_range, crossing_rows, inside_range, inside_rows, rank
from timeloom.kernels.bitemporal.windows import (
    APP_LOWER,
    APP_UPPER,
    BEGAN,
    SYS_LOWER,
    SYS_UPPER,
    Code,
    Ticks,
    by_step,
    per_axis,
    rising,
    runs_of,
)

REGRID = 4
AUTO: Literal["auto"] = "auto"
"""Checkpoints as the rows alive demand them."""

Every = int | Literal["auto"] | None


@dataclass(frozen=True)
class Deltas:
    """Rows that enter and that leave, ascending within each step.

    Those that enter at step k + 1 are ``entered[entered_at[k]:entered_at[k + 1]]``.
    """

    entered: Ticks
    entered_at: Ticks
    left: Ticks
    left_at: Ticks


@dataclass(frozen=True)
class State:
    """One consistent state of the index; later appends do not change what it answers."""

    view: View
    starts: Buckets
    ends: Buckets
    ended: Rows
    checkpoints: tuple[Checkpoint, ...] = field(default=())

    def inside(self, corner: Ticks, meaning: Code) -> Ticks:
        """The rows inside one window, in order of arrival: the rectangle from the origin to the window."""
        corner = self.known(corner, meaning)
        keys = self.view.keys(meaning)[1:]
        upto = self.view.arrived(int(corner[SYS_UPPER]))
        if per_axis(meaning)[0] == BEGAN:
            return inside_range(self.view.arrived(int(corner[SYS_LOWER])), upto, corner, *keys)
        base = self.checkpoint_before(int(corner[SYS_LOWER]))
        if base is None:
            return inside_range(0, upto, corner, *keys)
        rows = base.candidates(self.view, int(corner[APP_UPPER]), int(corner[APP_LOWER]))
        if rows is None:
            return inside_range(0, upto, corner, *keys)
        found = inside_rows(rows, corner, *keys)
        found = found if rows is base.alive else np.sort(found)
        return np.concatenate([found, inside_range(base.rows, upto, corner, *keys)])

    def deltas(self, bounds: Ticks, meaning: Code) -> Deltas:
        """What changes between consecutive steps: the deltas into the steps 1, 2, … of these bounds."""
        bounds = self.known(bounds, meaning)
        keys = self.view.keys(meaning)
        reach = np.stack([bounds.min(axis=1), bounds.max(axis=1)], axis=1)
        rows = np.sort(np.concatenate([self._horizontal(reach, meaning), self._vertical(reach, meaning)]))
        enter, leave = runs_of(rows, bounds, rising(bounds), *keys)
        inside, last = enter < leave, bounds.shape[1] - 1
        rows, enter, leave = rows[inside], enter[inside], leave[inside]
        return Deltas(*by_step(rows, enter, 1, last), *by_step(rows, leave, 1, last))

    def known(self, bounds: Ticks, meaning: Code) -> Ticks:
        """Stop system time at the latest instant: after it the state is that of the latest instant."""
        if per_axis(meaning)[0] == BEGAN:
            return bounds
        stopped = bounds.copy()
        stopped[:2] = np.minimum(bounds[:2], self.view.latest)
        return stopped

    def checkpoint_before(self, instant: int) -> Checkpoint | None:
        """The last checkpoint at or before a system time."""
        return checkpoint_before(self.checkpoints, instant)

    def _horizontal(self, reach: Ticks, meaning: Code) -> Ticks:
        """Rows whose system start or end is passed by the window."""
        keys, view = self.view.keys(meaning), self.view
        low, high = (int(instant) for instant in reach[SYS_UPPER])
        begun = crossing_range(view.arrived(low), view.arrived(high), SYS_UPPER, reach, *keys)
        low, high = (int(instant) for instant in reach[SYS_LOWER])
        if low == high:
            return begun
        if per_axis(meaning)[0] == BEGAN:
            ended = crossing_range(view.arrived(low), view.arrived(high), SYS_LOWER, reach, *keys)
        else:
            rows = self.ended[rank(self.ended, view.sys_end, low) : rank(self.ended, view.sys_end, high)]
            ended = crossing_rows(rows, SYS_LOWER, reach, *keys)
        return np.concatenate([begun, ended])

    def _vertical(self, reach: Ticks, meaning: Code) -> Ticks:
        """Rows whose application start or end is passed by the window."""
        keys = self.view.keys(meaning)
        alive_after = int(reach[SYS_LOWER, 0])
        sys, app = per_axis(meaning)
        base = None if sys == BEGAN else self.checkpoint_before(alive_after)
        oldest = self.view.arrived(alive_after) if sys == BEGAN else base.rows if base else 0
        rows = (oldest, self.view.arrived(int(reach[SYS_UPPER, 1])))
        found = [np.empty(0, np.int64)]
        for level in (APP_UPPER, APP_LOWER):
            after, upto = (int(instant) for instant in reach[level])
            if after == upto:
                continue
            by_start = level == APP_UPPER or app == BEGAN
            if base:
                read = base.started if by_start else base.finished
                found.append(read(after, upto, level, reach, keys))
            if rows[0] < rows[1]:
                buckets = self.starts if by_start else self.ends
                found.append(buckets.crossing(after, upto, rows, level, reach, keys))
        return np.concatenate(found)


@dataclass(frozen=True)
class Timelines:
    """The arrays behind the index, as they are after some batch; a batch makes the next ones.

    What a batch appends lies behind all that earlier states read, so these stay as they are.
    """

    retroactive: bool
    checkpoint_every: Every
    bucket: int | None = None
    columns: TimeColumns = field(default_factory=TimeColumns)
    ended: GrowingArray = field(default_factory=lambda: GrowingArray(np.empty(0, np.int32)))
    checkpoints: tuple[Checkpoint, ...] = ()
    starts: Buckets = field(default_factory=lambda: Buckets.empty(Grid(0, 1, 1)))
    ends: Buckets = field(default_factory=lambda: Buckets.empty(Grid(0, 1, 1)))
    gridded: int = 0
    since_checkpoint: int = 0

    def state(self) -> State:
        """What queries read."""
        ended = self.ended.room[: self.ended.size]
        return State(self.columns.view(), self.starts, self.ends, ended, self.checkpoints)  # type: ignore[arg-type]

    def applied(self, rows: tuple[Ticks, Ticks, Ticks, Ticks], ended: Ticks, at: Ticks) -> "Timelines":
        """File new rows (sorted by system start) and the ends of earlier ones (sorted by time)."""
        begin, checkpoints = len(self.columns), self._checkpoints_before_undone(ended, at)
        closing = closing_rows(begin, rows[0], rows[1], ended, at)
        columns = self.columns.appended(*rows).closed(ended, at, self.columns.latest)
        regrid = not self.gridded or len(columns) > REGRID * self.gridded
        starts, ends = self.starts, self.ends
        if not regrid:
            starts = starts.filed(columns.app_start.values, begin, len(columns))
            ends = ends.filed(columns.app_end.values, begin, len(columns))
        lines = Timelines(
            self.retroactive,
            self.checkpoint_every,
            self.bucket,
            columns,
            self.ended.appended(closing) if self.retroactive else self.ended,
            checkpoints,
            starts,
            ends,
            self.gridded,
            self.since_checkpoint + rows[0].size + closing.size,
        )
        return (lines.regridded() if regrid else lines)._with_checkpoints()

    def _with_checkpoints(self) -> "Timelines":
        """Take the checkpoints that are due."""
        if isinstance(self.checkpoint_every, str):
            found = spaced(self.checkpoints, self.columns.view()) if self.retroactive else ()
            return replace(self, checkpoints=found)
        if self.checkpoint_every and self.since_checkpoint >= self.checkpoint_every:
            return self.checkpointed(self.columns.latest)
        return self

    def checkpointed(self, at: int) -> "Timelines":
        """Take a checkpoint at a system time that has been reached."""
        state = self.state()
        taken = Checkpoint.take(state.view, at, state.checkpoint_before(at))
        kept = (other for other in self.checkpoints if other.at != at)
        checkpoints = tuple(sorted((*kept, taken), key=lambda checkpoint: checkpoint.at))
        return replace(self, checkpoints=checkpoints, since_checkpoint=0)

    def regridded(self) -> "Timelines":
        """Lay new grids over all rows and file them again; happens whenever there are REGRID times as many."""
        starts, ends, rows = self.columns.app_start.values, self.columns.app_end.values, len(self.columns)
        return replace(
            self,
            starts=Buckets.empty(Grid.over(starts, self.bucket)).filed(starts, 0, rows),
            ends=Buckets.empty(Grid.over(ends, self.bucket)).filed(ends, 0, rows),
            gridded=rows,
        )

    def kept(self, rows: Ticks) -> "Timelines":
        """Forget all rows but these, in order."""
        view = self.columns.view()
        alive = (view.sys_start[rows], view.sys_end[rows], view.app_start[rows], view.app_end[rows])
        columns = replace(TimeColumns().appended(*alive), latest=view.latest)
        ended = GrowingArray(np.empty(0, np.int32))
        return replace(self, columns=columns, checkpoints=(), ended=ended).regridded()

    def _checkpoints_before_undone(self, ended: Ticks, at: Ticks) -> tuple[Checkpoint, ...]:
        """A row that ends when it starts was never visible, so checkpoints that hold it are void."""
        if not self.checkpoints or not ended.size:
            return self.checkpoints
        undone = at[self.columns.sys_start.values[ended] == at]
        if not undone.size:
            return self.checkpoints
        earliest = int(undone.min())
        return tuple(kept for kept in self.checkpoints if kept.at < earliest)

    @property
    def nbytes(self) -> int:
        """Bytes held besides the time columns of the table itself, without room to grow."""
        checkpoints = sum(checkpoint.nbytes for checkpoint in self.checkpoints)
        return self.starts.nbytes + self.ends.nbytes + self.ended.size * 4 + checkpoints
