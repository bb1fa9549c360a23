"""Rows that have started and not ended, for operators that need no sweep."""

from typing import NamedTuple

import numpy as np

from timeloom.kernels.order import Ticks
from timeloom.kernels.streaming.arrival import admitted
from timeloom.kernels.streaming.gapless import Cells
from timeloom.kernels.streaming.layout import EVENT_HANDLE, EVENT_SIDE, FROM, HANDLES, ID, STARTING, STATE_SIZE, TO
from timeloom.kernels.streaming.open_rows import HANDLE, START, empty_rows, refilled, rows_in
from timeloom.kernels.streaming.open_rows import ID as OPEN_ID
from timeloom.model.ticks import FOREVER
from timeloom.streaming.deciding import EVENTS
from timeloom.streaming.intake import Ids
from timeloom.streaming.restoring import MOST_HANDLES, check_opened
from timeloom.streaming.storage import malformed


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

    def snapshot(self) -> list[Cells]:
        """The whole state as arrays."""
        handles = self._state[[HANDLES, HANDLES + 1]].copy()
        return [handles, rows_in(self._opened, 0), rows_in(self._opened, 1)]

    def restore(self, arrays: list[Cells]) -> None:
        """Go on from a snapshot; one that cannot be is a StorageError."""
        if (
            len(arrays) != 3
            or arrays[0].shape != (2,)
            or any(rows.ndim != 2 or rows.shape[1] != 3 for rows in arrays[1:])
        ):
            raise malformed("the open rows are not what is stored of them")
        handles, *sides = arrays
        if handles.min() < 0 or handles.max() >= MOST_HANDLES:
            raise malformed(f"{handles.tolist()} are no numbers of rows")
        for rows, most in zip(sides, handles.tolist(), strict=True):
            check_opened(rows, EVENTS, most)
        self._state[[HANDLES, HANDLES + 1]] = handles
        self._opened = refilled(*sides)

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
