"""`BitemporalTable`: facts with an application period, and the history of what was believed about them."""

import os
import threading
import warnings
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom import storage
from timeloom.bitemporal import snapshot
from timeloom.bitemporal.adoption import adopted
from timeloom.bitemporal.batch import Batch, Portion
from timeloom.bitemporal.chronicle import Chronicle
from timeloom.bitemporal.description import in_a_line, table_facts
from timeloom.bitemporal.draft import Draft
from timeloom.bitemporal.ends import Ends
from timeloom.bitemporal.feed import Feed, apply_feed
from timeloom.bitemporal.index import BitemporalIndex
from timeloom.bitemporal.layout import Layout, facts_table
from timeloom.bitemporal.ledger import Ledger, Record, Replay, described, new_edition
from timeloom.bitemporal.persistence import bytes_table
from timeloom.bitemporal.present import Present
from timeloom.bitemporal.restoring import restored
from timeloom.bitemporal.timelines import AUTO, Every
from timeloom.engines.tables.frames import to_arrow
from timeloom.engines.tables.taking import chosen_rows
from timeloom.errors import StorageError, UsageError
from timeloom.model.markup import fact_table
from timeloom.model.merge import Late
from timeloom.model.naming import column_names
from timeloom.model.options import checked, checked_late
from timeloom.model.period import Period, PeriodLike
from timeloom.model.slide import Instant
from timeloom.model.ticks import Span

KIND = "bitemporal-table"
VERSION = 1


class BitemporalTable:
    """Keep facts and everything that was ever believed about them. Nothing is changed in place.

    Parameters
    ----------
    key
        The column, or columns, that say what a fact is about. They are never null.
    without_overlaps
        True refuses a fact that overlaps a current one of the same key in application time, as SQL's ``WITHOUT
        OVERLAPS``. False lets a key have several facts at an instant.

    Notes
    -----
    The first insert fixes the columns. Facts carry ``app_start`` and ``app_end`` (null: until further notice); the
    table adds ``sys_start`` and ``sys_end``. System times never go backwards. Any number of threads may read while one
    writes: a reader sees the state after a whole batch. Batches of several threads follow one another.

    Examples
    --------
    >>> import timeloom as tl
    >>> accounts = tl.BitemporalTable(key="name")
    >>> accounts.insert({"name": "John", "balance": 50, "app_start": 10, "app_end": None}, sys=100)
    >>> accounts.update("John", {"balance": 40}, sys=102, portion=(11, None))
    >>> accounts.history().select(["balance", "app_start", "app_end", "sys_start", "sys_end"]).to_pylist()[1:]
    ... # doctest: +NORMALIZE_WHITESPACE
    [{'balance': 50, 'app_start': 10, 'app_end': 11, 'sys_start': 102, 'sys_end': None},
     {'balance': 40, 'app_start': 11, 'app_end': None, 'sys_start': 102, 'sys_end': None}]

    At application time 11 the old balance has ended: periods are half-open.

    >>> accounts.as_of(sys=102, app=11)["balance"].to_pylist(), accounts.as_of(sys=101, app=11)["balance"].to_pylist()
    ([40], [50])
    """

    @checked
    def __init__(self, key: "str | Sequence[str]", *, without_overlaps: bool = False) -> None:
        names = column_names("key", key) if isinstance(key, str | list | tuple) else ()
        if not names or not all(isinstance(name, str) and name for name in names):
            raise UsageError(f"key={key!r} names no columns; give those, one or a list, that say what a fact is about")
        self._without_overlaps = without_overlaps
        self._state = Chronicle(Layout(tuple(names)))
        self._present: Present | None = Present()
        self._indexes: weakref.WeakSet[BitemporalIndex] = weakref.WeakSet()
        self._writing = threading.Lock()
        self._writer: int | None = None
        self._lock = threading.RLock()
        self._ledger: Ledger | None = None
        self._closed = False

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.history().__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self._state)

    def __repr__(self) -> str:
        state = self._state
        facts = table_facts(state, without_overlaps=self._without_overlaps)
        shown = {"key": facts["key"], "latest": facts["latest"], "without overlaps": self._without_overlaps or None}
        return in_a_line("BitemporalTable", len(state), "version", shown)

    def _repr_html_(self) -> str:
        return fact_table("BitemporalTable", table_facts(self._state, without_overlaps=self._without_overlaps))

    @property
    def latest(self) -> Any:
        """The latest system time, or None before the first transaction."""
        state = self._state
        return None if state.layout.sys_type is None else state.layout.sys_instant(state.latest)

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that say what a fact is about."""
        return self._state.layout.key

    @property
    def without_overlaps(self) -> bool:
        """Whether facts of one key must not overlap in application time."""
        return self._without_overlaps

    def batch(self) -> Batch:
        """Open a batch: ``with table.batch() as batch: batch.insert(…, sys=1); batch.delete(…, sys=2)``."""
        return Batch(self)

    @checked_late
    def insert(self, rows: Any, *, sys: Instant) -> None:
        """Insert facts at a system time: a table, a dict, or a list of dicts, with ``app_start`` and ``app_end``."""
        with self.batch() as batch:
            batch.insert(rows, sys=sys)

    @checked_late
    def update(
        self,
        key: Any,
        values: Mapping[str, Any],
        *,
        sys: Instant,
        portion: "Portion | None" = None,
        valid_at: "Instant | None" = None,
    ) -> None:
        """Change values of a key at a system time; ``portion=(from, to)`` limits the application time.

        ``app_start`` and ``app_end`` among the values move the period itself; where a key has several current versions,
        ``valid_at=`` says whose.
        """
        with self.batch() as batch:
            batch.update(key, values, sys=sys, portion=portion, valid_at=valid_at)

    @checked_late
    def delete(self, key: Any, *, sys: Instant, portion: "Portion | None" = None) -> None:
        """Delete a key at a system time; ``portion=(from, to)`` limits the application time."""
        with self.batch() as batch:
            batch.delete(key, sys=sys, portion=portion)

    def history(self) -> pa.Table:
        """All versions, in order of arrival: the columns of the facts, and both periods; open ends are null."""
        return self._state.history

    @checked
    def as_of(self, *, sys: "Instant | None" = None, app: "Instant | None" = None) -> pa.Table:
        """The versions believed at a system time (by default the latest), valid at an application time (or at any)."""
        state = self._state
        at = None if sys is None else state.layout.sys_time.ticks_of(sys, "sys")
        return state.as_of(at, None if app is None else state.layout.app_time.ticks_of(app, "app"))

    def index(
        self,
        *,
        retroactive: bool = True,
        bucket: "Span | str | None" = None,
        checkpoint_every: Every = AUTO,
    ) -> BitemporalIndex:
        """A `BitemporalIndex` over the history that follows every further batch, as one with the table.

        Its row numbers are the positions of the versions in `history`.
        """
        with self._lock:
            index = BitemporalIndex(
                self.history(), retroactive=retroactive, bucket=bucket, checkpoint_every=checkpoint_every
            )
            index._follows = True
            self._indexes.add(index)
            return index

    @checked
    def merge(self, feed: Any, *, op: str = "op", sys: str = "sys", late: Late = "error") -> None:
        """Take over a feed of changes, as databases capture them, in order of system time and as one batch.

        Parameters
        ----------
        feed
            A table or a list of dicts: the key, the columns of the facts, ``app_start`` and ``app_end``, an operation
            and a system time. An ``insert`` adds a fact. An ``update`` sets the columns that the feed has and a
            ``delete`` deletes, for the portion from ``app_start`` to ``app_end``, null being all the way. An ``upsert``
            lets the fact hold in its period, whatever was there. Debezium's letters c, r, u, d are understood.
        op, sys
            The columns of the operation and of the system time.
        late
            What to do with changes from before the latest system time: ``"error"``, or ``"now"``, which records them at
            that time, since it is then that they are learned.
        """
        table = facts_table(feed)
        with self.batch() as batch:
            state = self._state
            changes = Feed.read(table, state.layout, state.latest, op, sys, late)
            apply_feed(batch, changes, state.layout)

    @classmethod
    @checked
    def from_history(
        cls,
        history: Any,
        key: "str | Sequence[str]",
        *,
        sys_period: PeriodLike = ("sys_start", "sys_end"),
        app_period: PeriodLike = ("app_start", "app_end"),
        without_overlaps: bool = False,
    ) -> "BitemporalTable":
        """Go on from a history that was kept elsewhere: a table of versions with two periods, in any order.

        It is checked first: valid periods, no null keys, and ``without_overlaps`` no two versions of one key that
        overlap in both times.
        """
        table = cls(key, without_overlaps=without_overlaps)
        versions, _ = to_arrow(history, "history")
        periods = Period.of(sys_period), Period.of(app_period)
        table._adopt(adopted(table._state.layout, versions, *periods, strict=without_overlaps))
        return table

    @classmethod
    @checked
    def open(
        cls, path: "str | os.PathLike[str]", key: "str | Sequence[str] | None" = None, *, without_overlaps: bool = False
    ) -> "BitemporalTable":
        """Open a table that lasts, or make one: each batch is on the disk before anyone sees it.

        Batches go to a log beside the file, which is written anew when the log has grown long. After a crash at any
        instant all batches are there that were finished, and none by half. One process at a time has a table open;
        `close` it, or use it in a ``with`` block.
        """
        ledger = Ledger(path)
        try:
            if not os.path.exists(path):
                if key is None:
                    raise UsageError(f"there is no table {os.fspath(path)!r} yet; say by key= what its facts are about")
                table = cls(key, without_overlaps=without_overlaps)
            else:
                table = storage.restore(path, KIND, VERSION, lambda arrays, meta: cls._replayed(arrays, meta, ledger))
                if key is not None and column_names("key", key) != table.key:
                    raise UsageError(f"{os.fspath(path)!r} has the key {list(table.key)}, not {key!r}; leave key= out")
            table._ledger = ledger
            if not os.path.exists(path):
                table.compact()
        except BaseException:
            ledger.close()
            raise
        return table

    def compact(self) -> None:
        """Write the file of an open table anew, so that its log begins again."""
        if self._ledger is None:
            raise UsageError("the table is not open on a file; open one with BitemporalTable.open, or use save")
        with self._lock:
            edition = new_edition()
            self._save(self._ledger.path, {"edition": edition})
            self._ledger.begin(edition)

    def close(self) -> None:
        """Let others open the table's file; no batch is taken any more. A table without one goes on."""
        with self._lock:
            if self._ledger is not None:
                self._ledger.close()
                self._closed = True

    def __enter__(self) -> "BitemporalTable":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @checked
    def save(self, path: "str | os.PathLike[str]") -> None:
        """Write the table to one file, which replaces an earlier one only when it is whole."""
        self._save(path, {})

    def _save(self, path: "str | os.PathLike[str]", extra: dict[str, Any]) -> None:
        arrays, meta = described(self._state, {"without_overlaps": self._without_overlaps} | extra)
        storage.save(path, KIND, VERSION, arrays, meta)

    @classmethod
    @checked
    def load(cls, path: "str | os.PathLike[str]") -> "BitemporalTable":
        """Read a table from its file."""
        return storage.restore(path, KIND, VERSION, cls._restored)

    @classmethod
    def _restored(cls, arrays: storage.Arrays, meta: dict[str, Any]) -> "BitemporalTable":
        return cls._replayed(arrays, meta, None)

    @classmethod
    def _replayed(cls, arrays: storage.Arrays, meta: dict[str, Any], ledger: Ledger | None) -> "BitemporalTable":
        """A table from its file, and from the log behind it."""
        latest = storage.require_int(meta["latest"], "latest")
        strict = meta.get("without_overlaps", False)
        storage.require(type(strict) is bool, "without_overlaps is neither true nor false")
        table = cls(meta["key"], without_overlaps=strict)
        replay = Replay(bytes_table(arrays["history"]) if arrays["history"].size else None, latest)
        for record in ledger.records(meta.get("edition", "")) if ledger is not None else ():
            replay.apply(record)
        history = replay.history()
        if history is not None:
            table._adopt(restored(table._state.layout, history, replay.latest))
        return table

    def _adopt(self, state: Chronicle) -> None:
        """Take over a state that nobody has seen; who is current is found when it is asked for."""
        self._state, self._present = state, None

    def _open(self) -> Draft:
        """Wait for another thread's batch to end; a second batch of one thread would wait for itself."""
        if self._writer == threading.get_ident():
            raise UsageError("a batch is open already; finish it before the next change")
        if self._closed:
            raise UsageError("the table was closed; open its file again with BitemporalTable.open")
        self._writing.acquire()
        try:
            state = self._state
            if self._present is None:
                self._present = Present.of(state)
            draft = Draft(state, self._present)
        except BaseException:
            self._writing.release()
            raise
        self._writer = threading.get_ident()
        return draft

    def _close(self, draft: Draft, *, kept: bool) -> None:
        try:
            if not kept:
                self._present = None
                self._present = draft.undo()
            elif self._ledger is not None and self._ledger.is_long:
                self._compact_in_passing(self._ledger)
        finally:
            self._writer = None
            self._writing.release()

    def _compact_in_passing(self, ledger: Ledger) -> None:
        """Write the file anew; the batch before lasts in any case, so a failure is only told."""
        try:
            self.compact()
        except (StorageError, OSError) as error:
            ledger.postpone()
            warnings.warn(f"{ledger.path} was not written anew, its log goes on: {error}", RuntimeWarning, stacklevel=5)

    def _commit(self, draft: Draft) -> None:
        """Make a draft visible, to the table and to the indexes that follow it: everywhere or nowhere."""
        with self._lock, ExitStack() as locks:
            indexes = list(self._indexes) if self._indexes else []
            for index in indexes:
                locks.enter_context(index._lock)
            after = draft.finished()
            following = [_followed(index, draft, after) for index in indexes]
            try:
                states = [step.applied() for step in following]
                self._written(draft, after)
            except BaseException:
                for step in following:
                    step.undo()
                raise
            if draft.present is not None:
                draft.present.settle()
            self._present, self._state = draft.present, after
            for index, now in zip(indexes, states, strict=True):
                index._publish(now)

    def _written(self, draft: Draft, after: Chronicle) -> None:
        """Make a batch last, before anybody sees it."""
        if self._ledger is not None:
            self._ledger.write(Record.of(draft, after))


def _followed(index: BitemporalIndex, draft: Draft, after: Chronicle) -> snapshot.Batch:
    """Check a batch for an index that follows; if versions leave, for a fresh one of those that stay."""
    if draft.kept < draft.first:
        keep = np.ones(draft.first, np.bool_)
        keep[[row for row in draft.undone if row < draft.first]] = False
        index = index.again(chosen_rows(draft.start.history, keep))
    new = after.since(draft.kept)
    return index.prepared(new if new.num_rows else None, Ends.of(draft.ends_of_kept()))
