"""Which versions are believed now, by key: what a transaction changes is found without reading the history."""

from collections.abc import Iterable, Sequence

import numpy as np

from timeloom.bitemporal.chronicle import Chronicle
from timeloom.bitemporal.layout import Key
from timeloom.model.ticks import FOREVER

KeyPositions = int | list[int]
"""The position of a key's only version, or the positions of all of them."""


class Present:
    """The positions of current versions by key. A batch notes what it changes, and can take it back."""

    def __init__(self, positions: "dict[Key, KeyPositions] | None" = None) -> None:
        self._positions = {} if positions is None else positions
        self._before: dict[Key, KeyPositions | None] = {}

    @classmethod
    def of(cls, state: Chronicle) -> "Present":
        """Find the versions that are still believed in a state."""
        present = cls()
        if not len(state):
            return present
        settled = np.flatnonzero(state.times.ended_by.values > state.number)
        settled = settled[state.times.sys_end.values[settled] == FOREVER]
        recent = np.array(
            [at for at, one in enumerate(state.recent[: state.held]) if one.ended_by > state.number], np.int64
        )
        keys = state.layout.keys_of(state.rows(settled, recent).select(list(state.layout.key)))
        present.enter(keys, [*settled.tolist(), *(recent + len(state.times)).tolist()])
        return present

    def of_key(self, key: Key) -> list[int]:
        """The positions of a key's current versions, in order of arrival."""
        found = self._positions.get(key)
        if found is None:
            return []
        return [found] if isinstance(found, int) else found

    def set(self, key: Key, rows: list[int]) -> None:
        """Let a key have these current versions."""
        if key not in self._before:
            self._before[key] = self._positions.get(key)
        self._put(key, rows[0] if len(rows) == 1 else rows or None)

    def enter(self, keys: list[Key], rows: "Sequence[int]") -> None:
        """Give many keys one more current version each; this cannot be taken back."""
        fresh: dict[Key, KeyPositions] = dict(zip(keys, rows, strict=True))
        if len(fresh) == len(keys) and fresh.keys().isdisjoint(self._positions):
            if self._positions:
                self._positions.update(fresh)
            else:
                self._positions = fresh
            return
        positions = self._positions
        for key, row in zip(keys, rows, strict=True):
            held = positions.get(key)
            if held is None:
                positions[key] = row
            else:
                positions[key] = [held, row] if isinstance(held, int) else [*held, row]

    def known(self, keys: Iterable[Key]) -> "list[tuple[int, Key]]":
        """Those among some keys, and where, that have a current version or come again."""
        seen: set[Key] = set()
        found = []
        for at, key in enumerate(keys):
            if key in self._positions or key in seen:
                found.append((at, key))
            seen.add(key)
        return found

    def settle(self) -> None:
        """Let what was changed stand."""
        self._before.clear()

    def undo(self) -> None:
        """Take back what was changed since `settle`."""
        for key, rows in self._before.items():
            self._put(key, rows)
        self._before.clear()

    def _put(self, key: Key, rows: KeyPositions | None) -> None:
        if rows is None:
            self._positions.pop(key, None)
        else:
            self._positions[key] = rows
