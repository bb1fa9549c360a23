"""Rows that have started and not ended, for operators that need no sweep."""

from typing import NamedTuple

import numpy as np

from timeloom.kernels.order import Ticks
from timeloom.kernels.streaming.arrival import admitted
from timeloom.kernels.streaming.gapless import Cells
from timeloom.kernels.streaming.layout import EVENT_HANDLE, EVENT_SIDE, FROM, ID, STARTING, STATE_SIZE, TO
from timeloom.kernels.streaming.open_rows import HANDLE, START, empty_rows, refilled, rows_in
from timeloom.kernels.streaming.open_rows import ID as OPEN_ID
from timeloom.model.ticks import FOREVER
from timeloom.streaming.intake import Ids


class Rows(NamedTuple):
    """Rows that start or end, in the order of time: their handles, periods (an open end is FOREVER) and ids."""

    handles: Ids
    starts: Ticks
    ends: Ticks
    ids: Ids


class OpenRows:
    """The open rows of two sides."""

    def __init__(self) -> None:
        self._opened = empty_rows(32)
        self._state = np.zeros(STATE_SIZE, np.int64)

    def accept(self, events: Cells) -> tuple[tuple[Rows, Rows], tuple[Rows, Rows]]:
        """Match ends with starts; answers for each side the rows that start and those that end. Fills in verdicts."""
        self._opened = admitted(events, self._opened, self._state)
        return self._rows(0, events), self._rows(1, events)

    def _rows(self, side: int, events: Cells) -> tuple[Rows, Rows]:
        own = events[(events[:, EVENT_HANDLE] >= 0) & (events[:, EVENT_SIDE] == side)]
        begun, ended = own[own[:, STARTING] != 0], own[own[:, STARTING] == 0]
        return (
            Rows(begun[:, EVENT_HANDLE], begun[:, FROM], begun[:, TO], begun[:, ID]),
            Rows(ended[:, EVENT_HANDLE], ended[:, FROM], ended[:, TO], ended[:, ID]),
        )

    def never_ending(self, side: int) -> Rows:
        """The rows of a side that are open; from now on none is."""
        opened = rows_in(self._opened, side)
        nothing = opened[:0]
        others = rows_in(self._opened, 1 - side)
        self._opened = refilled(nothing, others) if side == 0 else refilled(others, nothing)
        return Rows(opened[:, HANDLE], opened[:, START], np.full(len(opened), FOREVER), opened[:, OPEN_ID])
