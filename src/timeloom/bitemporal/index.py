"""`BitemporalIndex`: application-time buckets of system timelines, for sliding windows over a bitemporal history."""

import os
import threading
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.bitemporal import persistence
from timeloom.bitemporal.cells import cells_of
from timeloom.bitemporal.expressions import check_measures, expressions_of
from timeloom.bitemporal.identity import RowNumbers, numbered
from timeloom.bitemporal.timelines import Timelines
from timeloom.bitemporal.windows import WindowQuery
from timeloom.engines.frames import to_arrow
from timeloom.engines.history import History, read_history
from timeloom.engines.slides import MEANING_CODES, lay_out
from timeloom.engines.ticks import TimeType
from timeloom.errors import InvalidInputError, UsageError
from timeloom.kernels.bisw import SNAPSHOT, Ticks
from timeloom.model.period import Period, PeriodLike
from timeloom.model.slide import Instant, Meaning, Slide, check_meaning
from timeloom.model.sliding_windows import read_select
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK, Span, parse_span, ticks_of

DEFAULT_CHECKPOINT = 1_000_000


class BitemporalIndex:
    """Index a bitemporal history for sliding windows over system time, application time, or both.

    Parameters
    ----------
    table
        The versions known so far: any local table with two periods. More may be appended later.
    sys_period, app_period
        The period columns of system time and of application time. A null end is open.
    retroactive
        True keeps the whole history and answers for any system time, forward and backward. False keeps the present
        rows only and answers snapshots whose window ends at the latest system time or later.
    bucket
        How much application time one bucket covers: an int (1: a bucket per instant), a ``timedelta``, or text. By
        default the data decide.
    checkpoint_every
        Take a checkpoint whenever so many rows have begun or ended since the last one; None takes none by itself.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> plans = pa.table({"sys_start": [1, 2, 4], "sys_end": [4, None, None],
    ...                   "app_start": [10, 12, 11], "app_end": [20, 14, 13]})
    >>> index = tl.BitemporalIndex(plans)
    >>> query = index.windows(sys=tl.Slide(1, 2, 1), app=tl.Slide(10, 2, 1), ratio=(1, 1), steps=2)
    >>> for step in query:
    ...     print(step.sys, step.app, "entered", step.entered, "left", step.left)
    (1, 3) (10, 12) entered [0 1] left []
    (2, 4) (10, 12) entered [2] left [0]
    (2, 4) (11, 13) entered [] left [2]

    Row 2 ends at 13: periods are half-open, so the window that ends at 13 no longer holds it.
    """

    def __init__(
        self,
        table: Any = None,
        *,
        sys_period: PeriodLike = ("sys_start", "sys_end"),
        app_period: PeriodLike = ("app_start", "app_end"),
        retroactive: bool = True,
        bucket: "Span | str | None" = None,
        checkpoint_every: int | None = DEFAULT_CHECKPOINT,
    ) -> None:
        self._sys_period = Period.of(sys_period)
        self._app_period = Period.of(app_period)
        self._bucket = None if bucket is None else parse_span(bucket, "bucket")
        self._retroactive = retroactive
        self._checkpoint_every = checkpoint_every
        self._types: tuple[TimeType, TimeType] | None = None
        self._lines = Timelines(retroactive=retroactive, bucket=None, checkpoint_every=checkpoint_every)
        self._numbers = RowNumbers()
        self._tables: list[pa.Table] = []
        self._lock = threading.RLock()
        if table is not None:
            self.append(table)

    def __len__(self) -> int:
        return self._numbers.total

    @property
    def latest(self) -> Any:
        """The latest system time at which anything happened, or None before the first row."""
        return None if self._types is None else self._instant(self._lines.columns.latest, 0)

    @property
    def checkpoints(self) -> list[Any]:
        """The system times of all checkpoints."""
        return [self._instant(checkpoint.at, 0) for checkpoint in self._lines.checkpoints]

    @property
    def nbytes(self) -> int:
        """Bytes that the index holds besides the four time columns."""
        return self._lines.nbytes

    def append(self, table: Any) -> None:
        """Add versions, none of which begins before the latest system time; their numbers go on from ``len(index)``."""
        self.apply(table)

    def end(self, rows: "Ticks | list[int]", at: Instant) -> None:
        """End rows, by their numbers, at a system time."""
        self.apply(None, dict.fromkeys(np.asarray(rows, np.int64).tolist(), at))

    def apply(self, rows: Any = None, ended: "Mapping[int, Instant] | None" = None) -> None:
        """Apply a batch of transactions as one: a table of new versions, and row numbers with their system ends.

        Everything is checked before anything changes, and queries see all of the batch or none of it.
        """
        ticks = {at: self._tick(at, 0, "at") for at in set((ended or {}).values())}
        self.apply_ticks(rows, {row: ticks[at] for row, at in (ended or {}).items()})

    def apply_ticks(self, rows: Any, ended: Mapping[int, int]) -> None:
        """Apply a batch whose ends are given as ticks."""
        with self._lock:
            table = None if rows is None else to_arrow(rows, "bitemporal")[0]
            history = self._read(table)
            numbers, at = np.array(list(ended), np.int64), np.array(list(ended.values()), np.int64)
            self._check_system_times(history, at)
            places = self._check_ends(numbers, at)
            order = np.argsort(history.sys_start, kind="stable")
            if len(self) + order.size > np.iinfo(np.int32).max:
                raise InvalidInputError("an index holds at most 2**31 - 1 rows; split the history by key")
            by_time = np.argsort(at, kind="stable")
            if table is not None and self._types is None:
                self._adopt(history.types)
            self._numbers.append(order)
            self._lines.apply(history.take(order).columns, places[by_time], at[by_time])
            if table is not None:
                self._tables.append(table)
            if not self._retroactive:
                self._forget()

    def checkpoint(self, at: "Instant | None" = None) -> None:
        """Take a checkpoint at a system time that has been reached; by default the latest."""
        with self._lock:
            latest = self._lines.columns.latest
            tick = latest if at is None else self._tick(at, 0, "at")
            if tick > latest:
                raise UsageError(f"a checkpoint at {at!r} is after the latest system time {self.latest!r}; wait for it")
            self._lines.checkpoint(tick)

    def windows(
        self,
        *,
        sys: Slide,
        app: Slide,
        steps: int,
        ratio: tuple[int, int] = (1, 1),
        meaning: Meaning = "snapshot",
        select: "Mapping[str, Any] | None" = None,
    ) -> WindowQuery:
        """Slide windows over both times.

        Parameters
        ----------
        sys, app
            The initial window and the pace on each axis.
        steps
            How many slides follow the initial window.
        ratio
            So many slides of system time, then so many of application time, in turn; 0 keeps an axis still.
        meaning
            ``"snapshot"``: rows valid at the last instant of both windows. ``"visible"``: rows valid at any instant
            within. ``"began"``: rows whose system start and application start lie within.
        select
            Expressions by name, found in ``step.values``: ``"count"`` and ``(column, "count" | "sum" | "avg")``, which
            follow what enters and leaves; ``(column, "min")``, ``(column, "top", k)``, ``(column, callable)`` and the
            like, which look at all valid rows.

        Returns
        -------
        An iterable of ``steps + 1`` `Step`. It reads the state of now, whatever is appended meanwhile.
        """
        with self._lock:
            code = MEANING_CODES[check_meaning(meaning)]
            types = self._known_types()
            plan = lay_out(sys, app, ratio, steps, *types)
            if not self._retroactive:
                self._refuse_past(plan.sys_last, meaning)
            measures = read_select(select) if select else ()
            payload = pa.concat_tables(self._tables if measures else self._tables[:1])
            check_measures(measures, payload.column_names)
            return WindowQuery(
                self._lines.state(),
                plan,
                code,
                types,
                partial(numbered, numbers=self._numbers.pinned(), in_order=self._numbers.in_order),
                lambda: expressions_of(measures),
                lambda name, rows: payload[name].take(pa.array(rows)).combine_chunks(),
            )

    def as_of(self, *, sys: "Instant | None" = None, app: Instant) -> Ticks:
        """The rows valid at an instant of each time; by default at the latest system time."""
        with self._lock:
            latest = self._lines.columns.latest
            at = latest if sys is None else self._tick(sys, 0, "sys")
            if not self._retroactive:
                self._refuse_past(np.array([at]), "snapshot")
            valid_at = self._tick(app, 1, "app")
            corner = np.array([at, at, valid_at, valid_at], np.int64)
            return self._numbers.of(self._lines.state().inside(np.minimum(corner, FOREVER - 1), SNAPSHOT))

    def rows(self, numbers: Ticks) -> pa.Table:
        """The rows of the table with these numbers."""
        self._numbers.rows(np.asarray(numbers, np.int64))
        return pa.concat_tables(self._tables).take(pa.array(numbers))

    def cells(self, *, sys: "tuple[Instant, Instant] | None" = None) -> pa.Table:
        """The events by application time and system time, none of them empty: the index as the thesis draws it.

        A row brings ``+row`` to the bucket of its application start and ``-row`` to that of its end when it
        begins, and the opposite when it ends. ``sys`` limits the system times, both ends included.
        """
        with self._lock:
            types = self._known_types()
            low, high = (
                (MIN_TICK, MAX_TICK) if sys is None else (self._tick(sys[0], 0, "sys"), self._tick(sys[1], 0, "sys"))
            )
            return cells_of(
                self._lines.columns.view(), self._numbers.pinned(), low, high, types, net=not self._retroactive
            )

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Write the index to one file, which replaces an earlier one only when it is whole."""
        with self._lock:
            persistence.save_index(path, self)

    @classmethod
    def load(cls, path: "str | os.PathLike[str]") -> "BitemporalIndex":
        """Read an index from its file; the arrays are memory-mapped."""
        return persistence.load_index(path, cls)

    def _read(self, table: "pa.Table | None") -> History:
        if table is None:
            return History.empty()
        history = read_history(table, self._sys_period, self._app_period)
        if self._types is not None and [kind.axis for kind in history.types] != [kind.axis for kind in self._types]:
            raise InvalidInputError(
                f"the periods are {history.types[0].arrow} and {history.types[1].arrow}, but the index holds "
                f"{self._types[0].arrow} and {self._types[1].arrow}; cast the columns"
            )
        return history

    def _adopt(self, types: tuple[TimeType, TimeType]) -> None:
        """Learn the types of both times from the first table."""
        if self._bucket is not None:
            self._lines.bucket = ticks_of(self._bucket, types[1].axis)
            if self._lines.bucket < 1:
                raise UsageError(f"bucket={self._bucket!r} covers no time; give at least one tick")
        self._types = types

    def _check_system_times(self, history: History, at: Ticks) -> None:
        latest = self._lines.columns.latest
        earliest = min(int(history.sys_start.min(initial=MAX_TICK)), int(at.min(initial=MAX_TICK)))
        if self._types is not None and earliest < latest:
            raise InvalidInputError(
                f"system time goes backwards: found {self._instant(earliest, 0)!r}, but the index has reached "
                f"{self._instant(latest, 0)!r}; append batches in order of system time"
            )

    def _check_ends(self, numbers: Ticks, at: Ticks) -> Ticks:
        rows = self._numbers.rows(numbers)
        ends = self._lines.columns.sys_end.values[rows]
        again = np.flatnonzero(ends != FOREVER)
        if again.size:
            raise InvalidInputError(
                f"row {numbers[again[0]]} has ended at {self._instant(int(ends[again[0]]), 0)!r} already; "
                "end each row once"
            )
        early = np.flatnonzero(at < self._lines.columns.sys_start.values[rows])
        if early.size:
            raise InvalidInputError(f"row {numbers[early[0]]} would end before it begins; end it later")
        return rows

    def _forget(self) -> None:
        """Drop the rows that have ended, once they outnumber the others."""
        view = self._lines.columns.view()
        alive = np.flatnonzero((view.sys_end > view.latest) & (view.app_start != FOREVER))
        if len(view) > 2 * alive.size + 1024:
            self._numbers.keep(alive)
            self._lines.keep(alive)

    def _refuse_past(self, sys_last: Ticks, meaning: str) -> None:
        if meaning != "snapshot":
            raise UsageError(
                f"meaning={meaning!r} asks about rows that have ended, which a non-retroactive index forgets; "
                "use meaning='snapshot', or an index with retroactive=True"
            )
        if sys_last[-1] < sys_last[0]:
            raise UsageError(
                "the system window slides backward, but a non-retroactive index goes forward only; "
                "use a pace of at least 0, or an index with retroactive=True"
            )
        if sys_last[0] < self._lines.columns.latest:
            raise UsageError(
                f"the system window ends at {self._instant(int(sys_last[0]), 0)!r}, but a non-retroactive index "
                f"answers from its latest system time, {self.latest!r}, on; use an index with retroactive=True"
            )

    def _known_types(self) -> tuple[TimeType, TimeType]:
        if self._types is None:
            raise UsageError("the index is empty, so the types of its times are unknown; append a table first")
        return self._types

    def _tick(self, instant: Instant, axis: int, option: str) -> int:
        return self._known_types()[axis].ticks_of(instant, option)

    def _instant(self, tick: int, axis: int) -> Any:
        return self._known_types()[axis].to_arrow(np.array([tick]))[0].as_py()
