"""Bitemporal windows over a stream of versions: each step leaves when system time has passed its window."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.engines.tables.ticks import TimeType, read_period
from timeloom.engines.tables.validity import admit
from timeloom.engines.windows.history import History
from timeloom.engines.windows.slides import lay_out, meaning_code, step_runs
from timeloom.engines.windows.steps import step_measures, window_columns
from timeloom.errors import UsageError
from timeloom.kernels.bitemporal.windows import BEGAN, SYS_LOWER, Windows, bounds_of, per_axis
from timeloom.model.options import checked
from timeloom.model.period import Period, PeriodLike
from timeloom.model.policy import Policy
from timeloom.model.slide import Meanings, Slide, check_ratio
from timeloom.model.sliding_windows import STEP, read_select
from timeloom.model.ticks import FOREVER, MIN_TICK
from timeloom.streaming.deciding import EVENTS
from timeloom.streaming.final.rows import Live, Role, StreamRows
from timeloom.streaming.final.stream import FinalStream, Step, refuse_late_rows
from timeloom.streaming.guarding import guarded
from timeloom.streaming.wanted import Columns

FIRST_STEPS = 256


class StreamWindows(FinalStream):
    """Slide windows over a stream of versions: their system starts and ends come as events.

    Parameters
    ----------
    sys, app, ratio, meaning, select
        As in `sliding_windows`. System time must move forward.
    app_period
        The columns of the application period, which start events have.
    arrives, event_columns
        As in `StreamAggregate`; times are system times.

    Examples
    --------
    >>> import pyarrow as pa
    >>> live = StreamWindows(Slide(100, 0, 1), Slide(12, 0, 0), ratio=(1, 0), select={"total": ("fee", "sum")})
    >>> plans = pa.table({"id": [1, 2], "time": [100, 102], "event": ["start", "start"], "fee": [50, 7],
    ...                   "app_start": [10, 11], "app_end": pa.array([None, None], pa.int64())})
    >>> live.push(plans).select(["sys_last", "total"]).to_pylist()
    [{'sys_last': 100, 'total': 50}, {'sys_last': 101, 'total': 50}]
    """

    @checked
    def __init__(
        self,
        sys: Slide,
        app: Slide,
        *,
        ratio: tuple[int, int] = (1, 1),
        meaning: Meanings = "snapshot",
        select: "Mapping[str, Any] | None" = None,
        app_period: PeriodLike = ("app_start", "app_end"),
        arrives: str = EVENTS,
        event_columns: dict[str, str] | None = None,
    ) -> None:
        refuse_late_rows("stream_windows", {"arrives": arrives})
        self._slides, self._ratio, self._code = (sys, app), check_ratio(ratio), meaning_code(meaning)
        self._measures = read_select(select)
        self._app = Period.of(app_period)
        if self._ratio[0] == 0:
            raise UsageError("ratio=0:… keeps system time still, so no event brings a next step; use sliding_windows")
        for measure in self._measures:
            if measure.aggregate is not None and measure.aggregate.order == "decisive":
                raise UsageError(
                    f"select {measure.name!r}: rows of a stream have no order, so {measure.function!r} is not "
                    "defined; use min or max, or a callable"
                )
        self._last = MIN_TICK
        carried = [*self._app.columns, *(measure.column for measure in self._measures if measure.column is not None)]
        role = Role("input", arrives, Columns.of(event_columns), (), tuple(dict.fromkeys(carried)))
        super().__init__([role], f"windows {self._slides} {ratio} {self._code} {self._measures} {self._app}, {role}")

    @checked
    @guarded
    def push(self, rows: object | None = None, until: Any = None) -> pa.Table:
        """Take a table; answer the steps that are final. ``until`` as in `StreamAggregate.push`."""
        return self._push([rows], until)

    @guarded
    def close(self) -> pa.Table:
        """End the stream: all steps up to the last event are final."""
        self._last = max([MIN_TICK, *(int(rows.held.times.max(initial=MIN_TICK)) for rows in self.streams if rows)])
        return super().close()

    @property
    @guarded
    def is_idle(self) -> bool:
        """Which step comes next is to be kept, once there was a row."""
        return super().is_idle and self.since == MIN_TICK

    def _final(self, streams: list[StreamRows], complete: int) -> Step:
        rows, done = streams[0], 0 if self.since == MIN_TICK else self.since
        history = self._history(rows.live)
        until = complete if complete < FOREVER else self._latest()
        planned = self._windows(history, until, done)
        certain = max(done, int(np.searchsorted(planned.sys_last, until, side="right")))
        windows = Windows(*(ticks[done : max(certain, done + 1)] for ticks in planned))
        enter, leave = step_runs(history, windows, self._code, 1)
        last = windows.sys_last.size - 1
        found = step_measures(rows.live.table, enter, leave, last, self._measures, 1)
        numbers = pa.array(np.arange(done, done + last + 1, dtype=np.int64))
        columns = {STEP: numbers} | window_columns(windows, history) | found
        columns = {name: column.slice(0, certain - done) for name, column in columns.items()}
        started = bool(certain or rows.count)
        rows = rows.keep(self._needed(rows.live, planned, certain) & (complete < FOREVER))
        wake = int(planned.sys_last[certain]) if started else FOREVER
        return Step(columns, windows.sys_last[: certain - done], [rows], certain if started else MIN_TICK, wake)

    def _history(self, live: Live) -> History:
        """The versions that are kept, as windows read them; an application period that cannot be is an error."""
        table = live.table
        if not table.num_rows and pa.types.is_null(table.schema.field(self._app.start).type):
            none = np.empty(0, np.int64)
            return History(none, none, none, none, (self._type, TimeType.of(pa.int64(), self._app.start, "input")))
        admit(table, self._app, "input", Policy("error", "point"), options=False)
        app = read_period(table, self._app, "input")
        return History(live.starts, live.ends, app.starts, app.ends, (self._type, app.type))

    def _windows(self, history: History, until: int, done: int) -> Windows:
        """The windows of enough steps: one, at least, is behind an instant."""
        steps = max(FIRST_STEPS, 2 * done)
        while True:
            planned = lay_out(*self._slides, self._ratio, steps, *history.types)
            if planned.sys_last[-1] <= planned.sys_last[0]:
                raise UsageError("the system window does not move forward, so no event brings a next step; give a pace")
            if planned.sys_last[-1] > until:
                return planned
            steps *= 2

    def _latest(self) -> int:
        """The last instant at which anything has happened, at the end of a stream."""
        return max(self.clock, self._last)

    def _needed(self, live: Live, planned: Windows, certain: int) -> "np.ndarray[Any, np.dtype[np.bool_]]":
        """Which rows a step that is not final may hold: those whose system time reaches its lower bound."""
        lower = bounds_of(planned, self._code)[SYS_LOWER]
        if lower[-1] < lower[0]:
            return np.ones(live.starts.size, np.bool_)
        keys = live.starts if per_axis(self._code)[0] == BEGAN else live.ends
        return np.asarray(keys > lower[certain])
