"""`BitemporalTable`: facts with an application period, and the history of what was believed about them."""

import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom import storage
from timeloom.bitemporal.batch import Batch, Portion
from timeloom.bitemporal.change import Change
from timeloom.bitemporal.chronicle import Chronicle
from timeloom.bitemporal.columns import GrowingArray
from timeloom.bitemporal.index import DEFAULT_CHECKPOINT, BitemporalIndex
from timeloom.bitemporal.layout import Key, Layout, Version
from timeloom.bitemporal.persistence import bytes_table, table_bytes
from timeloom.engines.tables.ticks import TimeType, column_ticks
from timeloom.errors import UsageError
from timeloom.model.markup import fact_table
from timeloom.model.naming import column_names
from timeloom.model.options import checked
from timeloom.model.slide import Instant
from timeloom.model.ticks import FOREVER, Span

KIND = "bitemporal-table"
VERSION = 1


class BitemporalTable:
    """Keep facts and everything that was ever believed about them. Nothing is changed in place.

    Parameters
    ----------
    key
        The column, or columns, that say what a fact is about.

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
    def __init__(self, key: "str | Sequence[str]") -> None:
        names = column_names("key", key) if isinstance(key, str | list | tuple) else ()
        if not names or not all(isinstance(name, str) and name for name in names):
            raise UsageError(f"key={key!r} names no columns; give those, one or a list, that say what a fact is about")
        self._state = Chronicle(Layout(tuple(names)))
        self._current: dict[Key, list[Version]] = {}
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

    def batch(self) -> Batch:
        """Open a batch: ``with table.batch() as batch: batch.insert(…, sys=1); batch.delete(…, sys=2)``."""
        return Batch(self)

    @checked
    def insert(self, rows: Any, *, sys: Instant) -> None:
        """Insert facts at a system time: a table, a dict, or a list of dicts, with ``app_start`` and ``app_end``."""
        with self.batch() as batch:
            batch.insert(rows, sys=sys)

    @checked
    def update(self, key: Any, values: Mapping[str, Any], *, sys: Instant, portion: "Portion | None" = None) -> None:
        """Change values of a key at a system time; ``portion=(from, to)`` limits the application time."""
        column_names("values", list(values))
        with self.batch() as batch:
            batch.update(key, values, sys=sys, portion=portion)

    @checked
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
        checkpoint_every: int | None = DEFAULT_CHECKPOINT,
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
        meta = {"key": list(state.layout.key), "latest": state.latest}
        storage.save(path, KIND, VERSION, {"history": table_bytes(state.history)}, meta)

    @classmethod
    @checked
    def load(cls, path: "str | os.PathLike[str]") -> "BitemporalTable":
        """Read a table from its file."""
        return storage.restore(path, KIND, VERSION, cls._restored)

    @classmethod
    def _restored(cls, arrays: storage.Arrays, meta: dict[str, Any]) -> "BitemporalTable":
        storage.require_int(meta["latest"], "latest")
        table = cls(meta["key"])
        history = bytes_table(arrays["history"])
        sys_type = TimeType.of(history.schema.field("sys_start").type, "sys_start", "bitemporal")
        layout = table._state.layout.adopting(history.drop_columns(["sys_start", "sys_end"]))
        layout = replace(layout, sys_type=sys_type)
        ends, is_open = column_ticks(history["sys_end"], sys_type, truncate=False)
        sys_end = GrowingArray.of(np.where(is_open, FOREVER, ends))
        table._state = Chronicle(layout, [history.drop_columns(["sys_end"])], 1, sys_end, meta["latest"])
        table._remember_current()
        return table

    def _open(self) -> None:
        """Wait for another thread's batch to end; a second batch of one thread would wait for itself."""
        if self._writer == threading.get_ident():
            raise UsageError("a batch is open already; finish it before the next change")
        self._writing.acquire()
        self._writer = threading.get_ident()

    def _close(self) -> None:
        self._writer = None
        self._writing.release()

    def _commit(self, batch: Batch) -> None:
        """Make a batch visible, to the table and to the indexes that follow it: everywhere or nowhere."""
        with self._lock, ExitStack() as locks:
            indexes = list(self._indexes)
            for index in indexes:
                locks.enter_context(index._lock)
            change = Change(self._state, self._current, batch)
            following = [change.followed(index) for index in indexes]
            before, was = self._state, {key: self._current.get(key) for key in change.current}
            try:
                after = [step.applied() for step in following]
                self._current.update(change.current)
                self._state = change.applied()
                for index, now in zip(indexes, after, strict=True):
                    index._now = now
            except BaseException:
                self._state = before
                change.undo()
                for step in following:
                    step.undo()
                self._current.update({key: versions or [] for key, versions in was.items()})
                raise

    def _remember_current(self) -> None:
        """Find the versions that are still believed, by key."""
        state, history = self._state, self._state.history
        starts, ends = state.app_ticks(history)
        sys_starts, _ = column_ticks(history["sys_start"], state.layout.sys_time, truncate=False)
        columns = [history[name].to_pylist() for name in state.layout.attributes]
        for row in np.flatnonzero(state.ends == FOREVER).tolist():
            values = tuple(column[row] for column in columns)
            version = Version(row, values, int(starts[row]), int(ends[row]), int(sys_starts[row]))
            self._current.setdefault(state.layout.key_of_fact(values), []).append(version)
