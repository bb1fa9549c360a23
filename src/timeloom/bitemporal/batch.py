"""A batch of transactions on a bitemporal table: staged on a copy, visible at once or not at all."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from timeloom.errors import InvalidInputError, UsageError, did_you_mean
from timeloom.model.slide import Instant
from timeloom.model.ticks import FOREVER, MIN_TICK

if TYPE_CHECKING:
    from timeloom.bitemporal.table import BitemporalTable

Portion = tuple["Instant | None", "Instant | None"]


@dataclass
class Version:
    """A fact as it is now believed: its row in the history (None while staged), values, and periods in ticks."""

    row: int | None
    values: tuple[Any, ...]
    app_start: int
    app_end: int
    sys_start: int
    sys_end: int = FOREVER


class Batch:
    """Transactions that become visible together, when the ``with`` block ends without an error."""

    def __init__(self, table: "BitemporalTable") -> None:
        self._table = table
        self._staged: list[Version] = []
        self._ended: dict[int, int] = {}
        self._touched: dict[tuple[Any, ...], list[Version]] = {}
        self._now = table._latest

    def __enter__(self) -> "Batch":
        self._table._open(self)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self._table._commit([v for v in self._staged if v.sys_end > v.sys_start], self._ended, self._now)
        finally:
            self._table._close()

    def insert(self, rows: Any, *, sys: Instant) -> None:
        """Insert facts, valid in their application periods, at a system time."""
        now = self._advance(sys)
        for key, version in self._table._read_facts(rows, now):
            self._current(key).append(version)
            self._staged.append(version)

    def update(self, key: Any, values: Mapping[str, Any], *, sys: Instant, portion: "Portion | None" = None) -> None:
        """Change values of a key at a system time, for all its application time or for a portion of it."""
        now = self._advance(sys)
        attributes = self._table._attributes
        for name in values:
            if name not in attributes or name in self._table._key:
                changeable = [known for known in attributes if known not in self._table._key]
                raise InvalidInputError(f"column {name!r} cannot be updated. {did_you_mean(name, changeable)}")
        changed = [(attributes.index(name), value) for name, value in values.items()]
        self._replace(self._table._key_of(key), now, portion, changed)

    def delete(self, key: Any, *, sys: Instant, portion: "Portion | None" = None) -> None:
        """Delete a key at a system time, for all its application time or for a portion of it."""
        now = self._advance(sys)
        self._replace(self._table._key_of(key), now, portion, None)

    def _advance(self, sys: Instant) -> int:
        now = self._table._sys_tick(sys)
        if now < self._now:
            raise InvalidInputError(
                f"system time goes backwards: found {sys!r}, but the table has reached "
                f"{self._table._sys_instant(self._now)!r}; give that time or a later one"
            )
        self._now = now
        return now

    def _current(self, key: tuple[Any, ...]) -> list[Version]:
        if key not in self._touched:
            self._touched[key] = [replace(version) for version in self._table._current.get(key, [])]
        return self._touched[key]

    def _replace(
        self,
        key: tuple[Any, ...],
        now: int,
        portion: "Portion | None",
        changed: "list[tuple[int, Any]] | None",
    ) -> None:
        low, high = self._bounds(portion)
        versions = self._current(key)
        affected = [v for v in versions if v.app_start < high and low < v.app_end]
        if not affected:
            found = "no current row" if not versions else f"no current row that overlaps the portion {portion!r}"
            raise InvalidInputError(
                f"the key {key if len(key) > 1 else key[0]!r} has {found}; expected one to change: insert it first"
            )
        kept = [v for v in versions if not (v.app_start < high and low < v.app_end)]
        for old in affected:
            self._end(old, now)
            kept += self._pieces(old, low, high, now, changed)
        self._touched[key] = kept

    def _pieces(
        self, old: Version, low: int, high: int, now: int, changed: "list[tuple[int, Any]] | None"
    ) -> list[Version]:
        """What takes the place of a version: its parts outside the portion, and the changed part inside."""
        begin, stop = max(old.app_start, low), min(old.app_end, high)
        pieces = [(old.values, old.app_start, begin), (old.values, stop, old.app_end)]
        if changed is not None:
            values = list(old.values)
            for at, value in changed:
                values[at] = value
            pieces.insert(1, (tuple(values), begin, stop))
        fresh = [Version(None, values, start, end, now) for values, start, end in pieces if start < end]
        self._staged += fresh
        return fresh

    def _end(self, version: Version, now: int) -> None:
        version.sys_end = now
        if version.row is not None:
            self._ended[version.row] = now

    def _bounds(self, portion: "Portion | None") -> tuple[int, int]:
        if portion is None:
            return MIN_TICK, FOREVER
        low, high = portion
        begin = MIN_TICK if low is None else self._table._app_tick(low)
        stop = FOREVER if high is None else self._table._app_tick(high)
        if begin >= stop:
            raise UsageError(f"portion={portion!r} covers no time; give (from, to) with from before to")
        return begin, stop


def facts_table(rows: Any) -> pa.Table:
    """Read what `insert` takes: a table, a dict for one fact, or a list of dicts."""
    from timeloom.engines.frames import to_arrow

    if isinstance(rows, Mapping):
        rows = [rows]
    if isinstance(rows, list | tuple):
        if not rows or not all(isinstance(row, Mapping) for row in rows):
            raise UsageError("insert takes a table, a dict, or a list of dicts; found something else in the list")
        return pa.Table.from_pylist([dict(row) for row in rows])
    return to_arrow(rows, "inserted")[0]
