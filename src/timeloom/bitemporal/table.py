"""`BitemporalTable`: facts with an application period, and the history of what was believed about them."""

import os
import threading
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom import storage
from timeloom.bitemporal.batch import Batch, Portion, Version, facts_table
from timeloom.bitemporal.columns import GrowingArray
from timeloom.bitemporal.index import BitemporalIndex
from timeloom.bitemporal.persistence import bytes_table, table_bytes
from timeloom.engines.admission import admit
from timeloom.engines.frames import require_columns
from timeloom.engines.ticks import TimeType, column_ticks
from timeloom.errors import InvalidInputError, UsageError
from timeloom.model.naming import column_names
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.slide import Instant
from timeloom.model.ticks import FOREVER, MIN_TICK

KIND = "bitemporal-table"
VERSION = 1
PERIODS = ("app_start", "app_end", "sys_start", "sys_end")


class BitemporalTable:
    """Keep facts and everything that was ever believed about them. Nothing is changed in place.

    Parameters
    ----------
    key
        The column, or columns, that say what a fact is about.

    Notes
    -----
    The first insert fixes the columns. Facts carry ``app_start`` and ``app_end`` (null: until further notice); the
    table adds ``sys_start`` and ``sys_end``. System times never go backwards.

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

    def __init__(self, key: "str | Sequence[str]") -> None:
        self._key = list(column_names("key", key))
        self._schema: pa.Schema | None = None
        self._attributes: list[str] = []
        self._sys_type: TimeType | None = None
        self._app_type: TimeType | None = None
        self._chunks: list[pa.Table] = []
        self._sys_end = GrowingArray(np.empty(0, np.int64))
        self._latest = MIN_TICK
        self._current: dict[tuple[Any, ...], list[Version]] = {}
        self._indexes: list[BitemporalIndex] = []
        self._batch: Batch | None = None
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return self._sys_end.size

    @property
    def latest(self) -> Any:
        """The latest system time, or None before the first transaction."""
        return None if self._latest == MIN_TICK else self._sys_instant(self._latest)

    def batch(self) -> Batch:
        """Open a batch: ``with table.batch() as batch: batch.insert(…, sys=1); batch.delete(…, sys=2)``."""
        return Batch(self)

    def insert(self, rows: Any, *, sys: Instant) -> None:
        """Insert facts at a system time: a table, a dict, or a list of dicts, with ``app_start`` and ``app_end``."""
        with self.batch() as batch:
            batch.insert(rows, sys=sys)

    def update(self, key: Any, values: Mapping[str, Any], *, sys: Instant, portion: "Portion | None" = None) -> None:
        """Change values of a key at a system time; ``portion=(from, to)`` limits the application time."""
        with self.batch() as batch:
            batch.update(key, values, sys=sys, portion=portion)

    def delete(self, key: Any, *, sys: Instant, portion: "Portion | None" = None) -> None:
        """Delete a key at a system time; ``portion=(from, to)`` limits the application time."""
        with self.batch() as batch:
            batch.delete(key, sys=sys, portion=portion)

    def history(self) -> pa.Table:
        """All versions, in order of arrival: the columns of the facts, and both periods; open ends are null."""
        with self._lock:
            if self._sys_type is None:
                raise UsageError("the table is empty, so its columns are unknown; insert something first")
            ends = self._sys_end.values.copy()
            table = pa.concat_tables(self._chunks)
            return table.append_column("sys_end", self._sys_type.to_arrow(ends, ends == FOREVER))

    def as_of(self, *, sys: "Instant | None" = None, app: "Instant | None" = None) -> pa.Table:
        """The versions believed at a system time (by default the latest), valid at an application time (or at any)."""
        with self._lock:
            history = self.history()
            at = self._latest if sys is None else self._sys_tick(sys)
            starts, _ = column_ticks(history["sys_start"], self._time(self._sys_type), truncate=False)
            wanted = (starts <= at) & (self._sys_end.values > at)
            if app is not None:
                wanted &= self._valid_at(history, self._app_tick(app))
            return history.filter(pa.array(wanted))

    def index(self, **options: Any) -> BitemporalIndex:
        """A `BitemporalIndex` over the history that follows every further batch, as one with the table."""
        with self._lock:
            index = BitemporalIndex(self.history(), **options)
            self._indexes.append(index)
            return index

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Write the table to one file, which replaces an earlier one only when it is whole."""
        with self._lock:
            meta = {"key": self._key, "latest": self._latest}
            storage.save(path, KIND, VERSION, {"history": table_bytes(self.history())}, meta)

    @classmethod
    def load(cls, path: "str | os.PathLike[str]") -> "BitemporalTable":
        """Read a table from its file."""
        return storage.restore(path, KIND, VERSION, cls._restored)

    @classmethod
    def _restored(cls, arrays: storage.Arrays, meta: dict[str, Any]) -> "BitemporalTable":
        storage.require_int(meta["latest"], "latest")
        table = cls(meta["key"])
        history = bytes_table(arrays["history"])
        table._sys_type = TimeType.of(history.schema.field("sys_start").type, "sys_start", "bitemporal")
        table._adopt_schema(history.drop_columns(["sys_start", "sys_end"]))
        ends, is_open = column_ticks(history["sys_end"], table._sys_type, truncate=False)
        table._sys_end = GrowingArray.of(np.where(is_open, FOREVER, ends))
        table._chunks = [history.drop_columns(["sys_end"])]
        table._latest = meta["latest"]
        table._remember_current()
        return table

    def _open(self, batch: Batch) -> None:
        self._lock.acquire()
        if self._batch is not None:
            self._lock.release()
            raise UsageError("a batch is open already; finish it before the next change")
        self._batch = batch

    def _close(self) -> None:
        if not self._chunks:
            self._schema = self._app_type = self._sys_type = None
        self._batch = None
        self._lock.release()

    def _commit(self, staged: list[Version], ended: dict[int, int], latest: int) -> None:
        """Make a batch visible. Whatever can fail comes first."""
        chunk = self._chunk(staged) if staged else None
        sys_ends = np.array([version.sys_end for version in staged], np.int64)
        for index in self._indexes:
            rows = None if chunk is None else self._closed(chunk, sys_ends)
            index.apply_ticks(rows, ended)
        if chunk is not None:
            for row, version in enumerate(staged, len(self)):
                version.row = row
            self._chunks.append(chunk)
            self._sys_end.append(sys_ends)
        self._sys_end.room[list(ended)] = list(ended.values())
        assert self._batch is not None
        self._current.update(self._batch._touched)
        self._latest = latest

    def _chunk(self, versions: list[Version]) -> pa.Table:
        assert self._schema is not None
        app_type, sys_type = self._time(self._app_type), self._time(self._sys_type)
        ends = np.array([version.app_end for version in versions], np.int64)
        times = {
            "app_start": app_type.to_arrow(np.array([version.app_start for version in versions], np.int64)),
            "app_end": app_type.to_arrow(ends, ends == FOREVER),
        }
        columns = []
        for field in self._schema:
            if field.name in times:
                columns.append(times[field.name])
                continue
            at = self._attributes.index(field.name)
            try:
                columns.append(pa.array([version.values[at] for version in versions], field.type))
            except pa.ArrowException as error:
                raise InvalidInputError(
                    f"a value for column {field.name!r} does not fit its type {field.type}: {error}"
                ) from error
        starts = sys_type.to_arrow(np.array([version.sys_start for version in versions], np.int64))
        return pa.table(columns, schema=self._schema).append_column("sys_start", starts)

    def _closed(self, chunk: pa.Table, ends: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Table:
        return chunk.append_column("sys_end", self._time(self._sys_type).to_arrow(ends, ends == FOREVER))

    def _read_facts(self, rows: Any, now: int) -> list[tuple[tuple[Any, ...], Version]]:
        table = facts_table(rows)
        require_columns(table.column_names, [*self._key, "app_start", "app_end"], "inserted")
        if self._schema is None:
            self._adopt_schema(table)
        assert self._schema is not None
        table = self._conform(table)
        admitted = admit(table, Period("app_start", "app_end"), "inserted", Policy())
        values = zip(*(table[name].to_pylist() for name in self._attributes), strict=True)
        places = [self._attributes.index(name) for name in self._key]
        return [
            (tuple(fact[at] for at in places), Version(None, fact, start, end, now))
            for fact, start, end in zip(values, admitted.starts.tolist(), admitted.ends.tolist(), strict=True)
        ]

    def _adopt_schema(self, table: pa.Table) -> None:
        clashing = [name for name in ("sys_start", "sys_end") if name in table.column_names]
        if clashing:
            raise InvalidInputError(f"the facts have a column {clashing[0]!r}, which the table writes itself; drop it")
        fields = list(table.schema)
        self._app_type = TimeType.of(table.schema.field("app_start").type, "app_start", "inserted")
        at = table.column_names.index("app_end")
        fields[at] = pa.field("app_end", self._app_type.arrow)
        self._schema = pa.schema(fields)
        self._attributes = [name for name in table.column_names if name not in PERIODS]

    def _conform(self, table: pa.Table) -> pa.Table:
        assert self._schema is not None
        require_columns(table.column_names, self._schema.names, "inserted")
        require_columns(self._schema.names, table.column_names, "bitemporal")
        try:
            return table.select(self._schema.names).cast(self._schema)
        except pa.ArrowException as error:
            raise InvalidInputError(
                f"the inserted columns do not fit the table's ({self._schema.to_string()}): {error}"
            ) from error

    def _remember_current(self) -> None:
        """Find the versions that are still believed, by key."""
        history = self.history()
        starts, ends, sys_starts = self._ticks_of(history)
        columns = [history[name].to_pylist() for name in self._attributes]
        places = [self._attributes.index(name) for name in self._key]
        for row in np.flatnonzero(self._sys_end.values == FOREVER).tolist():
            values = tuple(column[row] for column in columns)
            version = Version(row, values, int(starts[row]), int(ends[row]), int(sys_starts[row]))
            self._current.setdefault(tuple(values[at] for at in places), []).append(version)

    def _ticks_of(self, history: pa.Table) -> tuple[Any, Any, Any]:
        app_type, sys_type = self._time(self._app_type), self._time(self._sys_type)
        starts, _ = column_ticks(history["app_start"], app_type, truncate=False)
        ends, is_open = column_ticks(history["app_end"], app_type, truncate=False)
        sys_starts, _ = column_ticks(history["sys_start"], sys_type, truncate=False)
        return starts, np.where(is_open, FOREVER, ends), sys_starts

    def _valid_at(self, history: pa.Table, at: int) -> Any:
        starts, ends, _ = self._ticks_of(history)
        return (starts <= at) & (ends > at)

    def _key_of(self, key: Any) -> tuple[Any, ...]:
        if isinstance(key, Mapping):
            require_columns(list(key), self._key, "key's")
            return tuple(key[name] for name in self._key)
        parts = key if isinstance(key, tuple) else (key,)
        if len(parts) != len(self._key):
            raise UsageError(f"the key {key!r} has {len(parts)} parts, expected {len(self._key)}: {self._key}")
        return parts

    def _sys_tick(self, sys: Instant) -> int:
        if self._sys_type is None:
            self._sys_type = TimeType.of(_type_of(sys), "sys", "bitemporal")
        return self._sys_type.ticks_of(sys, "sys")

    def _sys_instant(self, tick: int) -> Any:
        return self._time(self._sys_type).to_arrow(np.array([tick]))[0].as_py()

    def _app_tick(self, app: Instant) -> int:
        return self._time(self._app_type).ticks_of(app, "app")

    def _time(self, kind: TimeType | None) -> TimeType:
        if kind is None:
            raise UsageError("the table is empty, so the type of its times is unknown; insert something first")
        return kind


def _type_of(instant: Instant) -> pa.DataType:
    if isinstance(instant, datetime):
        return pa.timestamp("us", str(instant.tzinfo) if instant.tzinfo else None)
    if isinstance(instant, date):
        return pa.date32()
    if isinstance(instant, int):
        return pa.int64()
    raise UsageError(f"sys={instant!r} is no instant; give an int, a date or a timestamp")
