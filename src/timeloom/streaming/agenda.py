"""What is to happen when: the entries that starts and ends of rows put on the agenda of a streaming join."""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.order import Ticks
from timeloom.kernels.sweep_layout import (
    ANTI,
    CHECK,
    END,
    EXPIRE,
    FIRE,
    FIRES,
    FROM,
    HANDLE,
    LEFT,
    LEFT_READY,
    NAME,
    RIGHT_READY,
    SIDE,
    START,
    TIME,
    TO,
    WHAT,
)
from timeloom.kernels.sweep_pairs import NEVER
from timeloom.kernels.sweep_schedule import closing_instants, last_instants, ready_instants
from timeloom.model.box import Box
from timeloom.model.ticks import MAX_TICK, MIN_TICK
from timeloom.streaming.deciding import AT_END, EVENTS, Decision, in_ticks
from timeloom.streaming.intake import Rows

Entries = NDArray[np.int64]


class Agenda:
    """Turns rows that start or end into entries, by the decisions of a relation."""

    def __init__(self, decided: tuple[Decision, ...], how: int, arrivals: tuple[str, str]) -> None:
        self.arrivals = arrivals
        self.rules = _rules(decided)
        self._reports_unmatched = how in (LEFT, ANTI)
        self._decides = (
            np.array([decision.left_decides for decision in decided], np.bool_),
            np.array([decision.right_decides for decision in decided], np.bool_),
        )
        self._constants = tuple(self.rules[:, at : at + 2].copy() for at in (LEFT_READY, RIGHT_READY))
        self._tight = tuple(
            _table([_bounds(_seen_from(side, decision.box).tight() or Box()) for decision in decided], 8)
            for side in (0, 1)
        )
        self._open_limits = np.array(
            [_open_limit(decision.box, at_end=arrivals[1] == AT_END) for decision in decided], np.int64
        )

    @staticmethod
    def nothing() -> Entries:
        """No entries."""
        return np.empty((0, 8), np.int64)

    def starts(self, side: int, rows: Rows) -> list[Entries]:
        """Entries for rows that become known, with their end if that is known, too."""
        known = rows.ends if self.arrivals[side] == AT_END else rows.starts
        whole = self.arrivals[side] != EVENTS
        ready = [number for number in self._deciding(side) if whole or not self._needs_end(side, number)]
        return self._entries(START, known, side, rows, ready)

    def ends(self, side: int, rows: Rows) -> list[Entries]:
        """Entries for rows that end."""
        ready = [number for number in self._deciding(side) if self._needs_end(side, number)]
        return self._entries(END, rows.ends, side, rows, ready)

    def _deciding(self, side: int) -> list[int]:
        return np.flatnonzero(self._decides[side]).tolist()

    def _needs_end(self, side: int, decision: int) -> bool:
        return bool(self._constants[side][decision, 1] != NEVER)

    def _entries(self, what: int, known: Ticks, side: int, rows: Rows, ready: list[int]) -> list[Entries]:
        """The entry of each row at the instant at which it is known, and further ones for later instants."""
        entries = np.zeros((rows.ids.size, 8), np.int64)
        entries[:, TIME] = known
        entries[:, WHAT], entries[:, SIDE] = what, side
        for column, values in zip((HANDLE, FROM, TO, NAME), rows, strict=True):
            entries[:, column] = values
        starts, ends = rows.starts, rows.ends
        later = []
        for decision in ready:
            instants = ready_instants(starts, ends, *self._constants[side][decision])
            later += _plan(entries, instants, FIRE, 1 << decision)
        last = last_instants(
            starts,
            ends,
            self._tight[side],
            self._constants[side],
            self._constants[1 - side],
            self._decides[side],
            self._decides[1 - side],
        )
        later += _plan(entries, last, EXPIRE)
        if side == 0 and self._reports_unmatched:
            closing = closing_instants(starts, ends, self._tight[0], self._open_limits, self.arrivals[1] == AT_END)
            later += _plan(entries, closing, CHECK)
        return [entries, *later]


def _plan(entries: Entries, instants: Ticks, what: int, fires: int = 0) -> list[Entries]:
    """Ask for something at these instants: now, where they have come, else in entries of their own.

    What is due at the end of the axis is asked for only if that has come.
    """
    now = instants <= entries[:, TIME]
    entries[:, WHAT] |= now * what
    entries[:, FIRES] |= now * fires
    later = ~now & (instants < MAX_TICK)
    if not later.any():
        return []
    more = entries[later]
    more[:, TIME], more[:, WHAT], more[:, FIRES] = instants[later], what, fires
    return [more]


def _rules(decided: tuple[Decision, ...]) -> NDArray[np.int64]:
    """A row per decision, with the columns that the kernel asks for."""
    rows = []
    for box, left, right, left_decides, right_decides in decided:
        constants = [NEVER if constant is None else constant for constant in (*left, *right)]
        rows.append([*_bounds(box), *_bounds(box.inverse()), *constants, int(left_decides and right_decides)])
    return _table(rows, 21)


def _table(rows: list[list[int]], columns: int) -> NDArray[np.int64]:
    return np.array(rows, np.int64).reshape(-1, columns)


def _seen_from(side: int, box: Box) -> Box:
    return box if side == 0 else box.inverse()


def _bounds(box: Box) -> list[int]:
    return [
        tick
        for low, high in in_ticks(box)
        for tick in (MIN_TICK if low is None else low, MAX_TICK if high is None else high)
    ]


def _open_limit(box: Box, *, at_end: bool) -> int:
    """How long after the start of a left row that is still open a partner may still become known."""
    (_, ss_high), (se_low, _), (_, es_high), (ee_low, _) = in_ticks(box.tight() or box)
    limits = [es_high if at_end else ss_high]
    for to_start, from_end in ((ss_high, se_low), (es_high, ee_low)):
        limits.append(None if to_start is None or from_end is None else to_start - from_end)
    return min((limit for limit in limits if limit is not None), default=MAX_TICK)
