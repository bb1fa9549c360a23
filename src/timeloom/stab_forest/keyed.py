"""One forest for each key: what holds of hosts, accounts or rooms, each by itself."""

from collections.abc import Iterator
from threading import RLock
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.engines.tables.frames import require_columns, to_arrow
from timeloom.engines.tables.keys import group_keys
from timeloom.engines.tables.taking import take_rows
from timeloom.errors import InvalidInputError, UsageError, shown
from timeloom.kernels.order import Ticks
from timeloom.model.options import checked
from timeloom.model.period import Period, PeriodLike
from timeloom.stab_forest.arrivals import Order
from timeloom.stab_forest.forest import StabForest
from timeloom.stab_forest.instants import Instant


class KeyedForest:
    """A `StabForest` for each value of a column, found in constant time; each carries the rows of its key.

    An event's id is its row in the table, and counts on as events are appended.

    Examples
    --------
    >>> stays = pa.table({"room": ["a", "b", "a"], "start": [1, 2, 5], "end": [4, 9, 8]})
    >>> rooms = KeyedForest.build(stays, by="room")
    >>> rooms.stab("a", 6).tolist(), rooms.count("b", 6), rooms["a"].table().to_pylist()[0]
    ([2], 1, {'start': 1, 'end': 4})
    >>> rooms.append("b", 7, 8)
    3
    """

    def __init__(self, by: str, period: Period, key_type: pa.DataType, rows: pa.Schema, order: Order) -> None:
        self.by, self.period = by, period
        self._key_type, self._rows, self._order = key_type, rows, order
        self._entries: dict[Any, tuple[StabForest, list[int]]] = {}
        self._next = 0
        self._lock = RLock()
        self._nothing = self._empty()

    @classmethod
    @checked
    def build(
        cls, table: Any, *, by: str, period: PeriodLike = ("start", "end"), order: Order = "start_end"
    ) -> "KeyedForest":
        """Index the periods of a table, key by key; null is no key."""
        rows, _ = to_arrow(table, "given")
        read = Period.of(period)
        require_columns(rows.column_names, [by, read.start, read.end], "given")
        if rows[by].null_count:
            raise InvalidInputError(f"column {by!r} has {rows[by].null_count} nulls; give each event a key, or drop it")
        if pa.types.is_floating(rows[by].type) or pa.types.is_nested(rows[by].type):
            raise InvalidInputError(
                f"column {by!r} is {rows[by].type}; expected keys that are texts, integers or dates"
            )
        carried = rows.drop_columns([by])
        forest = cls(by, read, rows[by].type, carried.schema, order)
        codes, count = group_keys(rows, [by])
        sorted_rows = np.argsort(codes, kind="stable")
        edges = np.searchsorted(codes[sorted_rows], np.arange(count + 1))
        for begin, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            positions = sorted_rows[begin:stop]
            if positions.size:
                part = take_rows(carried, pa.array(positions))
                key = rows[by][int(positions[0])].as_py()
                built = StabForest.build(part, period=read, order=order, payload=part)
                forest._entries[key] = built, positions.tolist()
        forest._next = rows.num_rows
        return forest

    def __len__(self) -> int:
        return sum(len(forest) for forest, _ in list(self._entries.values()))

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._entries))

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __getitem__(self, key: Any) -> StabForest:
        if key not in self._entries:
            raise UsageError(f"there is no event of {self.by}={shown(key)}; the forest has {len(self._entries)} keys")
        return self.of(key)

    def __repr__(self) -> str:
        return f"KeyedForest({len(self)} events, by={self.by!r}, {len(self._entries)} keys)"

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = RLock()

    def of(self, key: Any) -> StabForest:
        """The forest of a key; one without events if there is none."""
        return self._entry(key)[0]

    def stab(self, key: Any, t: Instant) -> Ticks:
        """The events of a key that are active at an instant."""
        forest, ids = self._entry(key)
        return _named(ids, forest.stab(t))

    def overlapping(self, key: Any, begin: Instant, end: Instant | None = None) -> Ticks:
        """The events of a key that are active at any instant of a window ``[begin, end)``."""
        forest, ids = self._entry(key)
        return _named(ids, forest.overlapping(begin, end))

    def count(self, key: Any, t: Instant) -> int:
        """How many events of a key are active at an instant."""
        return self.of(key).count(t)

    def append(self, key: Any, start: Instant, end: Instant | None = None, **columns: Any) -> int:
        """Add an event of a key, which may be new, and the other columns of its row; answers its id."""
        if key is None:
            raise InvalidInputError(f"{self.by} is None; give the event a key")
        with self._lock:
            forest, ids = self._entries.get(key) or (self._empty(), [])
            ids.append(self._next)
            try:
                forest.append(start, end, payload=columns)  # the event tells its period
            except BaseException:
                ids.pop()
                raise
            self._entries[key] = forest, ids
            self._next += 1
            return self._next - 1

    def forget(self, *, before: Instant) -> int:
        """Drop the events of all keys that have ended by an instant, and keys without events; answers how many."""
        with self._lock:
            dropped = sum(forest.forget(before=before) for forest, _ in self._entries.values())
            self._entries = {key: entry for key, entry in self._entries.items() if len(entry[0])}
            return dropped

    def table(self) -> pa.Table:
        """All rows, key by key."""
        parts = []
        for key, (forest, _) in list(self._entries.items()):
            rows = forest.table()
            parts.append(rows.add_column(0, self.by, pa.repeat(pa.scalar(key, self._key_type), rows.num_rows)))
        if parts:
            return pa.concat_tables(parts)
        return self._nothing.table().add_column(0, self.by, pa.nulls(0, self._key_type))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table().__arrow_c_stream__(requested_schema)

    def __timeloom_keys__(self) -> tuple[str, pa.DataType]:
        """The column by which there is an index each, and its type."""
        return self.by, self._key_type

    def _empty(self) -> StabForest:
        rows = self._rows.empty_table()
        return StabForest.build(rows, period=self.period, order=self._order, payload=rows)

    def _entry(self, key: Any) -> tuple[StabForest, list[int]]:
        return self._entries.get(key) or (self._nothing, [])


def _named(ids: list[int], found: Ticks) -> Ticks:
    """The ids in the whole of a key's own ids; an id is noted before its event can be found."""
    return np.array([ids[event] for event in found.tolist()], np.int64)
