"""Tables with two periods, read as ticks."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from timeloom.engines.tables.frames import require_columns
from timeloom.engines.tables.ticks import PeriodTicks, TimeType, read_period
from timeloom.engines.tables.validity import admit
from timeloom.engines.tables.verdicts import EMPTY, VALID, judge
from timeloom.kernels.bitemporal.arrival import all_last
from timeloom.kernels.bitemporal.windows import Ticks
from timeloom.model.period import Period
from timeloom.model.policy import Policy


@dataclass(frozen=True)
class History:
    """The system and application periods of some versions, and the types of both times."""

    sys_start: Ticks
    sys_end: Ticks
    app_start: Ticks
    app_end: Ticks
    types: tuple[TimeType, TimeType]

    @classmethod
    def empty(cls) -> "History":
        """No version at all."""
        none, kind = np.empty(0, np.int64), TimeType.of(pa.int64(), "sys_start", "bitemporal")
        return cls(none, none, none, none, (kind, kind))

    @property
    def columns(self) -> tuple[Ticks, Ticks, Ticks, Ticks]:
        """The four columns."""
        return self.sys_start, self.sys_end, self.app_start, self.app_end

    def take(self, rows: Ticks) -> "History":
        """Some of the versions."""
        sys_start, sys_end, app_start, app_end = (column[rows] for column in self.columns)
        return History(sys_start, sys_end, app_start, app_end, self.types)


def read_history(table: pa.Table, sys_period: Period, app_period: Period) -> History:
    """Read both periods; null starts and reversed periods are errors, empty periods are never visible."""
    sys, app = _read(table, sys_period), _read(table, app_period)
    return History(sys.starts, sys.ends, app.starts, app.ends, (sys.type, app.type))


def _read(table: pa.Table, period: Period) -> PeriodTicks:
    require_columns(table.column_names, list(period.columns), "bitemporal")
    ticks = read_period(table, period, "bitemporal")
    if all_last(ticks.starts, ticks.ends) and not ticks.null_starts.any():
        return ticks
    if not np.isin(judge(ticks, Policy())[1], (VALID, EMPTY)).all():
        admit(table, period, "bitemporal", Policy("error", "drop"), options=False)
    return ticks
