"""The periods of one table, group by group, on one axis: what coalescing, gaps and temporal aggregates stand on."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.joins.key_axis import Fold
from timeloom.engines.tables.arrays import from_numpy
from timeloom.engines.tables.keys import Keys, group_keys
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.taking import taken
from timeloom.engines.tables.ticks import PeriodTicks
from timeloom.errors import UsageError
from timeloom.kernels.aggregates.timeline import Timeline
from timeloom.kernels.order import Ticks
from timeloom.model.ticks import FOREVER, MIN_TICK, saturate

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Grouped:
    """Periods with groups folded into the axis.

    ``rows`` are the positions of the rows that touch the window, ``leaders`` a row of each group (-1 for a group that
    has none), and ``window`` the ticks that the window spans.
    """

    starts: Ticks
    ends: Ticks
    rows: Rows
    leaders: Rows
    groups: Keys
    fold: Fold | None
    window: tuple[int, int] | None

    @classmethod
    def of(
        cls, table: pa.Table, starts: Ticks, ends: Ticks, by: list[str], window: tuple[int, int] | None = None
    ) -> "Grouped":
        """Number the groups, leave out what does not touch the window, and fold."""
        groups, count = group_keys(table, by)
        leaders = np.full(count, -1, np.int64)
        leaders[groups[::-1]] = np.arange(groups.size)[::-1]
        rows = np.arange(groups.size)
        if window is not None:
            rows = np.flatnonzero((starts < window[1]) & (ends > window[0]))
            starts, ends, groups = starts[rows], ends[rows], groups[rows]
        if not by:
            return cls(starts, ends, rows, leaders, groups, None, window)
        bounds = np.array(window or (), np.int64)
        fold = Fold.over([starts, ends, bounds], count)
        return cls(fold.points(starts, groups), fold.points(ends, groups), rows, leaders, groups, fold, window)

    def spans(self) -> tuple[Ticks, Ticks, Keys]:
        """For each group the window, or else the time from its first start to its last end, and the group."""
        if self.window is not None:
            names = np.zeros(1, np.int64) if self.fold is None else np.flatnonzero(self.leaders >= 0)
            low, high = (np.full(names.size, bound, np.int64) for bound in self.window)
            if self.fold is not None:
                low, high = self.fold.points(low, names), self.fold.points(high, names)
            return low, high, names
        low = np.full(self.leaders.size, FOREVER, np.int64)
        high = np.full(self.leaders.size, MIN_TICK, np.int64)
        np.minimum.at(low, self.groups, self.starts)
        np.maximum.at(high, self.groups, self.ends)
        names = np.flatnonzero(low < high)
        return low[names], high[names], names

    def cut(self, line: Timeline) -> Timeline:
        """Cut a timeline to the window, within which every row is active."""
        if self.window is None:
            return line
        low, high = (np.array([bound]) for bound in self.window)
        if self.fold is not None:
            first, origin = np.zeros(1, np.int64), line.starts // self.fold.width * self.fold.width
            low, high = self.fold.points(low, first) + origin, self.fold.points(high, first) + origin
        starts, ends = np.maximum(line.starts, low), np.minimum(line.ends, high)
        return line._replace(starts=starts, ends=ends).only(starts < ends)

    def columns(
        self, table: pa.Table, by: list[str], writer: PeriodWriter, starts: Ticks, ends: Ticks
    ) -> "dict[str, pa.Array | pa.ChunkedArray]":
        """The grouping columns and the period columns of result periods that lie on the folded axis."""
        found: dict[str, Any] = {}
        if self.fold is not None:
            leaders = from_numpy(self.leaders[starts // self.fold.width])
            found = {name: taken(table[name], leaders, name) for name in by}
            starts, ends = self.fold.unfold(starts), self.fold.unfold(ends)
        return found | writer.columns(starts, ends)


def window_ticks(within: tuple[Any, Any] | None, ticks: PeriodTicks) -> tuple[int, int] | None:
    """Read a window in the input's own type and convention as half-open ticks."""
    if within is None:
        return None
    first = saturate(ticks.type.ticks_of(within[0], "within") + ticks.period.start_shift)
    last = FOREVER
    if within[1] is not None:
        high = ticks.end_type.ticks_of(within[1], "within")
        last = FOREVER if high in ticks.sentinels else saturate(high + ticks.period.wide.end_shift)
    if first >= last:
        raise UsageError(f"within={within!r} holds no instant; give a start before the end")
    return first, last
