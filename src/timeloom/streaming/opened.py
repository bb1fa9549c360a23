"""Rows that have started and not ended, for operators that need no sweep."""

from typing import NamedTuple

import numpy as np

from timeloom.kernels.gapless import Cells
from timeloom.kernels.open_rows import HANDLE, START, empty_rows, refilled, rows_in, with_space
from timeloom.kernels.open_rows import ID as OPEN_ID
from timeloom.kernels.order import Ticks
from timeloom.kernels.sweep_arrival import ACCEPTED, admit
from timeloom.kernels.sweep_layout import EVENT_SIDE, ID, KNOWN, STARTING, STATE_SIZE, VERDICT
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
        handles, starts = np.empty(len(events), np.int64), np.empty(len(events), np.int64)
        self._opened = with_space(self._opened, len(events))
        admit(events, self._opened, self._state, handles, starts)
        return self._rows(0, events, handles, starts), self._rows(1, events, handles, starts)

    def _rows(self, side: int, events: Cells, handles: Ids, starts: Ticks) -> tuple[Rows, Rows]:
        good = (events[:, VERDICT] == ACCEPTED) & (events[:, EVENT_SIDE] == side)
        starting = events[:, STARTING] != 0
        begun, ended = np.flatnonzero(good & starting), np.flatnonzero(good & ~starting)
        return (
            Rows(handles[begun], starts[begun], np.full(begun.size, FOREVER), events[begun, ID]),
            Rows(handles[ended], starts[ended], events[ended, KNOWN], events[ended, ID]),
        )

    def never_ending(self, side: int) -> Rows:
        """The rows of a side that are open; from now on none is."""
        opened = rows_in(self._opened, side)
        nothing = opened[:0]
        others = rows_in(self._opened, 1 - side)
        self._opened = refilled(nothing, others) if side == 0 else refilled(others, nothing)
        return Rows(opened[:, HANDLE], opened[:, START], np.full(len(opened), FOREVER), opened[:, OPEN_ID])
