"""`BitemporalIndex`: application-time buckets of system timelines, for sliding windows over a bitemporal history."""

import os
import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.bitemporal import persistence
from timeloom.bitemporal.cells import cells_of
from timeloom.bitemporal.description import in_a_line, index_facts
from timeloom.bitemporal.ends import Ends
from timeloom.bitemporal.expressions import expressions_of
from timeloom.bitemporal.identity import read_numbers
from timeloom.bitemporal.live import LiveRequest, LiveWindows, News, asked, check_forward, selected
from timeloom.bitemporal.snapshot import Batch, Snapshot, fitted
from timeloom.bitemporal.timelines import AUTO, Every, Timelines
from timeloom.bitemporal.windows import WindowQuery
from timeloom.engines.tables.frames import to_arrow
from timeloom.engines.tables.ticks import TimeType
from timeloom.engines.windows.history import History, read_history
from timeloom.engines.windows.slides import lay_out, meaning_code
from timeloom.errors import InvalidInputError, UsageError, shown
from timeloom.kernels.bitemporal.windows import SNAPSHOT, Ticks
from timeloom.model.markup import fact_table
from timeloom.model.options import checked, checked_late
from timeloom.model.period import Period, PeriodLike
from timeloom.model.slide import Instant, Meanings, Slide, check_meaning
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK, Span, parse_span, saturate, ticks_of

ANY: Any = object()
"""Stands for an instant that is left out."""


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
        Take a checkpoint whenever so many rows have begun or ended since the last one. ``"auto"``: whenever as many
        have begun as were alive at the last one. None takes none by itself.

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

    Notes
    -----
    Any number of threads may read while one writes. A reader sees the state after a whole batch, never one between.
    """

    @checked
    def __init__(
        self,
        table: Any = None,
        *,
        sys_period: PeriodLike = ("sys_start", "sys_end"),
        app_period: PeriodLike = ("app_start", "app_end"),
        retroactive: bool = True,
        bucket: "Span | str | None" = None,
        checkpoint_every: Every = AUTO,
    ) -> None:
        if not isinstance(retroactive, bool):
            raise UsageError(f"retroactive={shown(retroactive)} is neither True nor False")
        every = checkpoint_every
        if every not in (None, AUTO) and (isinstance(every, bool | str) or every < 1):
            raise UsageError(
                f"checkpoint_every={shown(every)} is no number of rows; give an int of at least 1, 'auto', or None"
            )
        self._sys_period = Period.of(sys_period)
        self._app_period = Period.of(app_period)
        self._bucket = None if bucket is None else parse_span(bucket, "bucket")
        self._retroactive = retroactive
        self._now = Snapshot(Timelines(retroactive, every))
        self._lock = threading.RLock()
        self._follows = False
        self._news = News()
        if table is not None:
            self.append(table)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.rows(self.held()).__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return self._now.numbers.total

    @property
    def latest(self) -> Any:
        """The latest system time at which anything happened, or None before the first row."""
        now = self._now
        return None if now.types is None or now.latest == MIN_TICK else now.instant(now.latest, 0)

    @property
    def sys_period(self) -> Period:
        """The period columns of system time."""
        return self._sys_period

    @property
    def app_period(self) -> Period:
        """The period columns of application time."""
        return self._app_period

    def __repr__(self) -> str:
        facts = self.describe()
        shown = {"latest": facts["latest"], "retroactive": facts["retroactive"], "checkpoints": facts["checkpoints"]}
        return in_a_line("BitemporalIndex", facts["rows"], "row", shown)

    def _repr_html_(self) -> str:
        facts = self.describe()
        return fact_table("BitemporalIndex", facts | {"columns": ", ".join(facts["columns"])})

    def describe(self) -> dict[str, Any]:
        """What the index holds, all at one time, by name."""
        return index_facts(self._now)

    @property
    def checkpoints(self) -> list[Any]:
        """The system times of all checkpoints."""
        now = self._now
        return [now.instant(checkpoint.at, 0) for checkpoint in now.lines.checkpoints]

    @property
    def nbytes(self) -> int:
        """Bytes that the index holds besides the four time columns."""
        return self._now.lines.nbytes

    @checked
    def append(self, table: Any) -> None:
        """Add versions, none of which begins before the latest system time; their numbers go on from ``len(index)``.

        They have the columns of the first table, in any order, and the same types.
        """
        if table is None:
            raise UsageError("append needs a table; found None")
        self.apply(table)

    @checked
    def end(self, rows: "Ticks | list[int]", at: Instant) -> None:
        """End rows, by their numbers, at a system time."""
        self.apply(None, dict.fromkeys(read_numbers(rows).tolist(), at))

    @checked_late
    def apply(self, rows: Any = None, ended: "Mapping[int, Instant] | tuple[Any, Any] | None" = None) -> None:
        """Apply a batch of transactions as one: a table of new versions, and row numbers with their system ends.

        The ends are a mapping such as ``{0: 5}``, or a pair of arrays or columns: row numbers, and the end of each.
        Everything is checked before anything changes, and queries see all of the batch or none of it.
        """
        if self._follows:
            raise UsageError("this index follows a BitemporalTable; change the table, and the index follows")
        with self._lock:
            self.publish(self.prepared(rows, Ends() if ended is None else Ends.read(ended, self._now.known_types)))

    def prepared(self, rows: Any, ended: Ends) -> Batch:
        """Check a batch whose ends are given as ticks; nothing changes yet."""
        now = self._now
        table = None if rows is None else to_arrow(rows, "bitemporal")[0]
        if table is None:
            return now.next(None, History.empty(), ended, None)
        history = read_history(table, self._sys_period, self._app_period)
        if now.holds(table):
            return now.next(table, history, ended, None)
        types = history.types if now.types is None else now.types
        if [kind.axis for kind in history.types] != [kind.axis for kind in types]:
            raise InvalidInputError(
                f"the periods are {history.types[0].arrow} and {history.types[1].arrow}, but the index holds "
                f"{types[0].arrow} and {types[1].arrow}; cast the columns"
            )
        columns = ((self._sys_period, types[0]), (self._app_period, types[1]))
        times = {name: kind.arrow for period, kind in columns for name in (period.start, period.end)}
        return now.next(fitted(table, now.schema, times), history, ended, self._bucket_ticks(types[1]))

    def publish(self, batch: Batch) -> None:
        """Make a batch visible; if anything fails, all stays as it was."""
        before = self._now
        try:
            self._publish(batch.applied())
        finally:
            if self._now is before:
                batch.undo()

    def _publish(self, now: Snapshot) -> None:
        self._now = now
        self._news.tell()

    @checked
    def checkpoint(self, at: "Instant | None" = None) -> None:
        """Take a checkpoint at a system time that has been reached; by default the latest."""
        with self._lock:
            now = self._now
            now.known_types()
            tick = now.latest if at is None else self._tick(at, 0, "at")
            if tick > now.latest:
                raise UsageError(
                    f"a checkpoint at {shown(at)} is after the latest system time {self.latest!r}; wait for it"
                )
            self._now = replace(now, lines=now.lines.checkpointed(tick))

    @checked
    def windows(
        self,
        *,
        sys: Slide,
        app: Slide,
        steps: int,
        ratio: tuple[int, int] = (1, 1),
        meaning: Meanings = "snapshot",
        select: "Mapping[str, Any] | None" = None,
        where: "str | None" = None,
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
            within. ``"began"``: rows whose system start and application start lie within. A pair such as
            ``("began", "snapshot")`` gives system time and application time one each.
        select
            Expressions by name, found in ``step.values``: ``"count"`` and ``(column, "count" | "sum" | "avg")``, which
            follow what enters and leaves; ``(column, "min")``, ``(column, "top", k)``, ``(column, callable)`` and the
            like, which look at all valid rows.
        where
            A condition of SQL on the rows, such as ``"fee > 5"``: windows hold those that satisfy it. Only rows that
            enter or leave are looked at.

        Returns
        -------
        An iterable of ``steps + 1`` `Step`. It reads the state of now, whatever is appended meanwhile.
        """
        now = self._now
        code = meaning_code(meaning)
        types = now.known_types()
        plan = lay_out(sys, app, ratio, steps, *types)
        if not self._retroactive:
            now.refuse_past(plan.sys_last, check_meaning(meaning)[0])
        measures, condition = asked(now, select, where)
        payload, numbering = now.payload(), selected(now, condition)
        expressions = partial(expressions_of, measures, payload)
        return WindowQuery(now.lines.state(), plan, code, types, numbering, expressions)

    @checked
    def live(
        self,
        *,
        sys: Slide,
        app: Slide,
        steps: int | None = None,
        ratio: tuple[int, int] = (1, 1),
        meaning: Meanings = "snapshot",
        select: "Mapping[str, Any] | None" = None,
        where: "str | None" = None,
        timeout: "float | int | None" = None,
    ) -> LiveWindows:
        """Slide windows over transactions as they arrive: a query that stays open and yields each step once.

        A step is certain, and comes, when system time has passed the end of its window. Options are those of `windows`;
        without ``steps`` the query has no end, and with ``timeout`` it ends when so many seconds pass without a step.

        Examples
        --------
        >>> import timeloom as tl
        >>> accounts = tl.BitemporalTable(key="name")
        >>> accounts.insert({"name": "John", "balance": 50, "app_start": 10, "app_end": None}, sys=100)
        >>> live = accounts.index().live(sys=tl.Slide(100, 0, 1), app=tl.Slide(12, 0, 0), ratio=(1, 0),
        ...                              select={"total": ("balance", "sum")})
        >>> accounts.insert({"name": "Mary", "balance": 7, "app_start": 11, "app_end": None}, sys=102)
        >>> [(step.sys[1], step.values["total"]) for step in live.ready()]
        [(100, 50), (101, 50)]
        >>> [(step.sys[1], step.values["total"]) for step in live.finish()]
        [(102, 57)]
        """
        now = self._now
        types = now.known_types()
        if not self._retroactive:
            raise UsageError("a live query reads a little of the past; use an index with retroactive=True")
        plan = lay_out(sys, app, ratio, max(1, ratio[0]), *types)
        check_forward(sys, ratio, int(plan.sys_last[0]), int(plan.sys_last[-1]))
        if steps is not None:
            lay_out(sys, app, ratio, steps, *types)
        measures, condition = asked(now, select, where)
        request = LiveRequest(sys, app, ratio, meaning_code(meaning), measures, condition, steps)
        return LiveWindows(lambda: self._now, self._news, request, timeout)

    @checked
    def as_of(self, *, sys: "Instant | None" = None, app: Instant = ANY, where: "str | None" = None) -> Ticks:
        """The rows believed at a system time (by default the latest), valid at an application time (or at any)."""
        now = self._now
        at = now.latest if sys is None else self._tick(sys, 0, "sys")
        if not self._retroactive:
            now.refuse_past(np.array([at]), "snapshot")
        upper, lower = FOREVER - 1, MIN_TICK
        if app is not ANY:
            upper = lower = self._tick(app, 1, "app")
        corner = np.array([at, at, upper, lower], np.int64)
        _, condition = asked(now, None, where)
        return selected(now, condition)(now.lines.state().inside(np.minimum(corner, FOREVER - 1), SNAPSHOT))

    @checked
    def rows(self, numbers: "Ticks | list[int]") -> pa.Table:
        """The rows of the table with these numbers."""
        now, wanted = self._now, read_numbers(numbers)
        now.known_types()
        return now.payload().rows(wanted)

    def held(self) -> Ticks:
        """The numbers of all rows that the index holds; one that is not retroactive has forgotten others."""
        return self._now.held()

    @checked
    def cells(self, *, sys: "tuple[Instant, Instant] | None" = None) -> pa.Table:
        """The events by application time and system time, none of them empty: the index as the thesis draws it.

        A row brings ``+row`` to the bucket of its application start and ``-row`` to that of its end when it
        begins, and the opposite when it ends. ``sys`` limits the system times, both ends included.
        """
        now = self._now
        types = now.known_types()
        low, high = MIN_TICK, MAX_TICK
        if sys is not None:
            if not isinstance(sys, tuple | list) or len(sys) != 2:
                raise UsageError(f"sys={shown(sys)} is no range of system times; give (first, last), both included")
            low, high = (self._tick(instant, 0, "sys") for instant in sys)
        return cells_of(now.lines.columns.view(), now.numbers.pinned(), low, high, types, net=not self._retroactive)

    @checked
    def save(self, path: "str | os.PathLike[str]") -> None:
        """Write the index to one file, which replaces an earlier one only when it is whole."""
        persistence.save_index(path, self)

    @classmethod
    @checked
    def load(cls, path: "str | os.PathLike[str]") -> "BitemporalIndex":
        """Read an index from its file; the arrays are memory-mapped."""
        return persistence.load_index(path, cls)

    def again(self, table: pa.Table) -> "BitemporalIndex":
        """An index like this one, with its checkpoints, over another table."""
        every = self._now.lines.checkpoint_every
        index = BitemporalIndex(
            sys_period=self._sys_period,
            app_period=self._app_period,
            retroactive=self._retroactive,
            bucket=self._bucket,
            checkpoint_every=every,
        )
        index.append(table)
        for checkpoint in self._now.lines.checkpoints:
            if self._retroactive and checkpoint.at <= index._now.latest:
                index._now = replace(index._now, lines=index._now.lines.checkpointed(checkpoint.at))
        return index

    def _bucket_ticks(self, kind: TimeType) -> int | None:
        if self._bucket is None:
            return None
        ticks = saturate(ticks_of(self._bucket, kind.axis))
        if ticks < 1:
            raise UsageError(f"bucket={self._bucket!r} covers no time; give at least one tick")
        return ticks

    def _tick(self, instant: Instant, axis: int, option: str) -> int:
        return self._now.known_types()[axis].ticks_of(instant, option)
