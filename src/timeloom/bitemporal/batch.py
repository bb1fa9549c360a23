"""A batch of transactions on a bitemporal table: staged on a copy, visible at once or not at all."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from timeloom.bitemporal.chronicle import Chronicle
from timeloom.bitemporal.layout import Key, Version, facts_table
from timeloom.engines.tables.frames import require_columns
from timeloom.errors import InvalidInputError, UsageError, did_you_mean, shown
from timeloom.model.slide import Instant
from timeloom.model.ticks import FOREVER, MIN_TICK

Portion = tuple["Instant | None", "Instant | None"]


class Changeable(Protocol):
    """The table that a batch changes, as far as a batch knows it."""

    _state: Chronicle
    _current: dict[Key, list[Version]]

    def _open(self) -> None:
        """Let one batch in, and no other."""

    def _commit(self, batch: "Batch") -> None:
        """Make what a batch has staged visible."""

    def _close(self) -> None:
        """Let the next one in."""


class Batch:
    """Transactions that become visible together, when the ``with`` block ends without an error."""

    def __init__(self, table: Changeable) -> None:
        self._table = table
        self._is_open = False
        self._staged: list[Version] = []
        self.ended: dict[int, int] = {}
        self.undone: set[int] = set()
        self.touched: dict[Key, list[Version]] = {}
        self.latest = MIN_TICK

    def __enter__(self) -> "Batch":
        if self._staged or self.touched:
            raise UsageError("this batch has been used; open another one with table.batch()")
        self._table._open()
        state = self._table._state
        self.layout, self.latest = state.layout, state.latest
        self._is_open = True
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self._table._commit(self)
        finally:
            self._is_open = False
            self._table._close()

    @property
    def staged(self) -> list[Version]:
        """The new versions, in order of system time; those that were replaced as they came were never visible."""
        return [version for version in self._staged if version.sys_end > version.sys_start]

    def insert(self, rows: Any, *, sys: Instant) -> None:
        """Insert facts, valid in their application periods, at a system time."""
        now, table = self._advance(sys), facts_table(rows)
        require_columns(table.column_names, [*self.layout.key, "app_start", "app_end"], "inserted")
        if not self.layout.schema.names:
            self.layout = self.layout.adopting(table)
        for key, version in self.layout.read_facts(table, now):
            self._current(key).append(version)
            self._staged.append(version)

    def update(self, key: Any, values: Mapping[str, Any], *, sys: Instant, portion: "Portion | None" = None) -> None:
        """Change values of a key at a system time, for all its application time or for a portion of it."""
        now, layout = self._advance(sys), self.layout
        if not isinstance(values, Mapping):
            raise UsageError(f"values={values!r} is no mapping; give columns and their new values, such as {{'v': 1}}")
        changeable = [known for known in layout.attributes if known not in layout.key]
        for name in values:
            if name not in changeable:
                raise InvalidInputError(f"column {name!r} cannot be updated. {did_you_mean(str(name), changeable)}")
        changed = [(layout.attributes.index(name), value) for name, value in values.items()]
        self._replace(layout.key_of(key), now, portion, changed)

    def delete(self, key: Any, *, sys: Instant, portion: "Portion | None" = None) -> None:
        """Delete a key at a system time, for all its application time or for a portion of it."""
        now = self._advance(sys)
        self._replace(self.layout.key_of(key), now, portion, None)

    def _advance(self, sys: Instant) -> int:
        if not self._is_open:
            raise UsageError("the batch is not open; use it inside its block: with table.batch() as batch: …")
        layout = self.layout.timed_by(sys)
        now = layout.sys_time.ticks_of(sys, "sys")
        if now < self.latest:
            raise InvalidInputError(
                f"system time goes backwards: found {sys!r}, but the table has reached "
                f"{layout.sys_instant(self.latest)!r}; give that time or a later one"
            )
        if now == FOREVER:
            raise InvalidInputError(f"sys={sys!r} is the last instant there is; give an earlier one")
        self.layout, self.latest = layout, now
        return now

    def _current(self, key: Key) -> list[Version]:
        if key not in self.touched:
            self.touched[key] = [replace(version) for version in self._table._current.get(key, [])]
        return self.touched[key]

    def _replace(self, key: Key, now: int, portion: "Portion | None", changed: "list[tuple[int, Any]] | None") -> None:
        low, high = self._bounds(portion)
        versions = self._current(key)
        affected = [v for v in versions if v.app_start < high and low < v.app_end]
        if not affected:
            found = "no current row" if not versions else f"no current row that overlaps the portion {portion!r}"
            raise InvalidInputError(
                f"the key {shown(key if len(key) > 1 else key[0])} has {found}; expected one to change: insert it first"
            )
        kept = [v for v in versions if not (v.app_start < high and low < v.app_end)]
        for old in affected:
            self._end(old, now)
            kept += self._pieces(old, low, high, now, changed)
        self.touched[key] = kept

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
        """End a version; one that came at this very time was never visible, and leaves the history."""
        version.sys_end = now
        if version.row is not None and version.sys_start == now:
            self.undone.add(version.row)
        elif version.row is not None:
            self.ended[version.row] = now

    def _bounds(self, portion: "Portion | None") -> tuple[int, int]:
        if portion is None:
            return MIN_TICK, FOREVER
        if not isinstance(portion, tuple | list) or len(portion) != 2:
            raise UsageError(f"portion={portion!r} is no portion; give (from, to), each an instant or None")
        low, high = portion
        begin = MIN_TICK if low is None else self.layout.app_time.ticks_of(low, "portion")
        stop = FOREVER if high is None else self.layout.app_time.ticks_of(high, "portion")
        if begin >= stop:
            raise UsageError(f"portion={shown(portion)} covers no time; give (from, to) with from before to")
        return begin, stop
