"""`BitemporalTable`: facts with an application period, and the history of what was believed about them."""

import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom import storage
from timeloom.bitemporal import snapshot
from timeloom.bitemporal.batch import Batch, Portion
from timeloom.bitemporal.chronicle import Chronicle
from timeloom.bitemporal.draft import Draft
from timeloom.bitemporal.index import BitemporalIndex
from timeloom.bitemporal.layout import Layout
from timeloom.bitemporal.persistence import bytes_table, table_bytes
from timeloom.bitemporal.present import Present
from timeloom.bitemporal.restoring import restored
from timeloom.bitemporal.timelines import AUTO, Every
from timeloom.engines.tables.taking import chosen_rows
from timeloom.errors import UsageError
from timeloom.model.markup import fact_table
from timeloom.model.naming import column_names
from timeloom.model.options import checked, checked_late
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

    def __len__(self) -> int:
        return len(self._state)

    def __repr__(self) -> str:
        facts = ", ".join(f"{name} {value}" for name, value in self._facts().items())
        return f"BitemporalTable({facts})"

    def _repr_html_(self) -> str:
        return fact_table("BitemporalTable", self._facts())

    def _facts(self) -> dict[str, Any]:
        """What there is to say in a line; of one state, whatever is written meanwhile."""
        state = self._state
        latest = None if state.layout.sys_type is None else state.layout.sys_instant(state.latest)
        return {"key": ", ".join(state.layout.key), "versions": f"{len(state):,}", "latest": latest}

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

        Its row numbers are the places of the versions in `history`.
        """
        with self._lock:
            index = BitemporalIndex(
                self.history(), retroactive=retroactive, bucket=bucket, checkpoint_every=checkpoint_every
            )
            index._follows = True
            self._indexes.add(index)
            return index

    @checked
    def save(self, path: "str | os.PathLike[str]") -> None:
        """Write the table to one file, which replaces an earlier one only when it is whole."""
        state = self._state
        meta = {"key": list(state.layout.key), "latest": state.latest, "without_overlaps": self._without_overlaps}
        storage.save(path, KIND, VERSION, {"history": table_bytes(state.history)}, meta)

    @classmethod
    @checked
    def load(cls, path: "str | os.PathLike[str]") -> "BitemporalTable":
        """Read a table from its file."""
        return storage.restore(path, KIND, VERSION, cls._restored)

    @classmethod
    def _restored(cls, arrays: storage.Arrays, meta: dict[str, Any]) -> "BitemporalTable":
        storage.require_int(meta["latest"], "latest")
        strict = meta.get("without_overlaps", False)
        storage.require(type(strict) is bool, "without_overlaps is neither true nor false")
        table = cls(meta["key"], without_overlaps=strict)
        table._adopt(restored(table._state.layout, bytes_table(arrays["history"]), meta["latest"]))
        return table

    def _adopt(self, state: Chronicle) -> None:
        """Take over a state that nobody has seen; who is current is found when it is asked for."""
        self._state, self._present = state, None

    def _open(self) -> Draft:
        """Wait for another thread's batch to end; a second batch of one thread would wait for itself."""
        if self._writer == threading.get_ident():
            raise UsageError("a batch is open already; finish it before the next change")
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
        finally:
            self._writer = None
            self._writing.release()

    def _commit(self, draft: Draft) -> None:
        """Make a draft visible, to the table and to the indexes that follow it: everywhere or nowhere."""
        with self._lock, ExitStack() as locks:
            indexes = list(self._indexes)
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


def _followed(index: BitemporalIndex, draft: Draft, after: Chronicle) -> snapshot.Batch:
    """Check a batch for an index that follows; if versions leave, for a fresh one of those that stay."""
    if draft.kept < draft.first:
        keep = np.ones(draft.first, np.bool_)
        keep[[row for row in draft.undone if row < draft.first]] = False
        index = index.again(chosen_rows(draft.start.history, keep))
    new = after.since(draft.kept)
    return index.prepared(new if new.num_rows else None, draft.ends_of_kept())
