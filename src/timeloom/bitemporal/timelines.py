"""The arrays of the index: what arrives is filed, and windows and deltas are read from a pinned state."""

from dataclasses import dataclass, field

import numpy as np

from timeloom.bitemporal.buckets import Buckets, Grid
from timeloom.bitemporal.checkpoints import Checkpoint
from timeloom.bitemporal.columns import GrowingArray, TimeColumns, View
from timeloom.kernels.bisw import (
    APP_LOWER,
    APP_UPPER,
    BEGAN,
    SYS_LOWER,
    SYS_UPPER,
    Ticks,
    by_step,
    rising,
    runs_of,
)
from timeloom.kernels.bisw_buckets import (
    Rows,
    crossing_range,
    crossing_rows,
    inside_range,
    inside_rows,
    rank,
)
from timeloom.model.ticks import FOREVER

REGRID = 4
SCATTERED = 4
"""How much slower a row is to read out of order than in order."""


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

    def inside(self, corner: Ticks, meaning: int) -> Ticks:
        """The rows inside one window, in order of arrival: the rectangle from the origin to the window."""
        corner = self.known(corner, meaning)
        keys = self.view.keys(meaning)
        upto = self.view.arrived(int(corner[SYS_UPPER]))
        if meaning == BEGAN:
            return inside_range(self.view.arrived(int(corner[SYS_LOWER])), upto, corner, *keys)
        base = self.checkpoint_before(int(corner[SYS_LOWER]))
        if base is None:
            return inside_range(0, upto, corner, *keys)
        started = rank(base.by_start, self.view.app_start, int(corner[APP_UPPER]))
        if started * SCATTERED > base.rows:
            return inside_range(0, upto, corner, *keys)
        found = np.sort(inside_rows(base.by_start[:started], corner, *keys))
        return np.concatenate([found, inside_range(base.rows, upto, corner, *keys)])

    def deltas(self, bounds: Ticks, meaning: int) -> Deltas:
        """What changes between consecutive steps: the deltas into the steps 1, 2, … of these bounds."""
        bounds = self.known(bounds, meaning)
        keys = self.view.keys(meaning)
        reach = np.stack([bounds.min(axis=1), bounds.max(axis=1)], axis=1)
        rows = np.sort(np.concatenate([self._horizontal(reach, meaning), self._vertical(reach, meaning)]))
        enter, leave = runs_of(rows, bounds, rising(bounds), *keys)
        inside, last = enter < leave, bounds.shape[1] - 1
        rows, enter, leave = rows[inside], enter[inside], leave[inside]
        return Deltas(*by_step(rows, enter, 1, last), *by_step(rows, leave, 1, last))

    def known(self, bounds: Ticks, meaning: int) -> Ticks:
        """Stop system time at the latest instant: after it the state is that of the latest instant."""
        if meaning == BEGAN:
            return bounds
        stopped = bounds.copy()
        stopped[:2] = np.minimum(bounds[:2], self.view.latest)
        return stopped

    def checkpoint_before(self, instant: int) -> Checkpoint | None:
        """The last checkpoint at or before a system time."""
        earlier = [checkpoint for checkpoint in self.checkpoints if checkpoint.at <= instant]
        return max(earlier, key=lambda checkpoint: checkpoint.at, default=None)

    def _horizontal(self, reach: Ticks, meaning: int) -> Ticks:
        """Rows whose system start or end is passed by the window."""
        keys, view = self.view.keys(meaning), self.view
        low, high = (int(instant) for instant in reach[SYS_UPPER])
        begun = crossing_range(view.arrived(low), view.arrived(high), SYS_UPPER, reach, *keys)
        low, high = (int(instant) for instant in reach[SYS_LOWER])
        if low == high:
            return begun
        if meaning == BEGAN:
            ended = crossing_range(view.arrived(low), view.arrived(high), SYS_LOWER, reach, *keys)
        else:
            rows = self.ended[rank(self.ended, view.sys_end, low) : rank(self.ended, view.sys_end, high)]
            ended = crossing_rows(rows, SYS_LOWER, reach, *keys)
        return np.concatenate([begun, ended])

    def _vertical(self, reach: Ticks, meaning: int) -> Ticks:
        """Rows whose application start or end is passed by the window."""
        keys = self.view.keys(meaning)
        alive_after = int(reach[SYS_LOWER, 0])
        base = None if meaning == BEGAN else self.checkpoint_before(alive_after)
        oldest = self.view.arrived(alive_after) if meaning == BEGAN else base.rows if base else 0
        rows = (oldest, self.view.arrived(int(reach[SYS_UPPER, 1])))
        found = [np.empty(0, np.int64)]
        for level in (APP_UPPER, APP_LOWER):
            after, upto = (int(instant) for instant in reach[level])
            if after == upto:
                continue
            by_start = level == APP_UPPER or meaning == BEGAN
            if base:
                read = base.started if by_start else base.finished
                found.append(read(after, upto, level, reach, keys))
            if rows[0] < rows[1]:
                buckets = self.starts if by_start else self.ends
                found.append(buckets.crossing(after, upto, rows, level, reach, keys))
        return np.concatenate(found)


class Timelines:
    """The growing arrays behind the index. Whoever reads pins a `State`."""

    def __init__(self, *, retroactive: bool, bucket: int | None, checkpoint_every: int | None) -> None:
        self.retroactive = retroactive
        self.bucket = bucket
        self.checkpoint_every = checkpoint_every
        self.columns = TimeColumns()
        self.ended = GrowingArray(np.empty(0, np.int32))
        self.checkpoints: tuple[Checkpoint, ...] = ()
        self.starts = Buckets(Grid(0, bucket or 1, 1))
        self.ends = Buckets(Grid(0, bucket or 1, 1))
        self.gridded = 0
        self.since_checkpoint = 0

    def state(self) -> State:
        """Pin the present state."""
        ended = self.ended.room[: self.ended.size]
        return State(self.columns.view(), self.starts, self.ends, ended, self.checkpoints)  # type: ignore[arg-type]

    def apply(
        self,
        rows: tuple[Ticks, Ticks, Ticks, Ticks],
        ended: Ticks,
        at: Ticks,
    ) -> None:
        """File new rows (sorted by system start) and the ends of earlier ones (sorted by time)."""
        published, begin = self.columns.latest, len(self.columns)
        self.columns.append(*rows)
        self.columns.end(ended, at, published)
        self._drop_undone_checkpoints(ended, at)
        born_closed = begin + np.flatnonzero((rows[1] != FOREVER) & (rows[1] > rows[0]))
        if born_closed.size:
            order = np.argsort(np.concatenate([at, rows[1][born_closed - begin]]), kind="stable")
            ended = np.concatenate([ended, born_closed])[order]
        if self.retroactive:
            self.ended.append(ended.astype(np.int32))
        if not self.gridded or len(self.columns) > REGRID * self.gridded:
            self.regrid()
        else:
            self._file(begin)
        self.since_checkpoint += rows[0].size + ended.size
        if self.checkpoint_every and self.since_checkpoint >= self.checkpoint_every:
            self.checkpoint(self.columns.latest)

    def checkpoint(self, at: int) -> None:
        """Take a checkpoint at a system time that has been reached."""
        state = self.state()
        taken = Checkpoint.take(state.view, at, state.checkpoint_before(at))
        kept = (other for other in self.checkpoints if other.at != at)
        self.checkpoints = tuple(sorted((*kept, taken), key=lambda checkpoint: checkpoint.at))
        self.since_checkpoint = 0

    def regrid(self) -> None:
        """Lay new grids over all rows and file them again; happens whenever there are REGRID times as many."""
        self.starts = Buckets(Grid.over(self.columns.app_start.values, self.bucket))
        self.ends = Buckets(Grid.over(self.columns.app_end.values, self.bucket))
        self.gridded = len(self.columns)
        self._file(0)

    def keep(self, rows: Ticks) -> None:
        """Forget all rows but these, in order."""
        view = self.columns.view()
        self.columns = TimeColumns()
        self.columns.append(view.sys_start[rows], view.sys_end[rows], view.app_start[rows], view.app_end[rows])
        self.columns.latest = view.latest
        self.checkpoints = ()
        self.ended = GrowingArray(np.empty(0, np.int32))
        self.regrid()

    def _file(self, begin: int) -> None:
        self.starts.file(self.columns.app_start.values, begin, len(self.columns))
        self.ends.file(self.columns.app_end.values, begin, len(self.columns))

    def _drop_undone_checkpoints(self, ended: Ticks, at: Ticks) -> None:
        """A row that ends when it starts was never visible, so checkpoints that hold it are void."""
        undone = at[self.columns.sys_start.values[ended] == at] if ended.size else at
        if undone.size:
            earliest = int(undone.min())
            self.checkpoints = tuple(kept for kept in self.checkpoints if kept.at < earliest)

    @property
    def nbytes(self) -> int:
        """Bytes held besides the time columns of the table itself, without room to grow."""
        checkpoints = sum(checkpoint.nbytes for checkpoint in self.checkpoints)
        return self.starts.nbytes + self.ends.nbytes + self.ended.size * 4 + checkpoints
