"""A history of orders after the TPC-BiH description: an initial load, then nine kinds of update transactions."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from timeloom.kernels.jit import compiled
from timeloom.model.ticks import FOREVER

PER_INSTANT = 5
"""System times for each application time, as in the thesis."""


@dataclass(frozen=True)
class Orders:
    """Versions in order of system start; an open end is FOREVER."""

    sys_start: np.ndarray
    sys_end: np.ndarray
    app_start: np.ndarray
    app_end: np.ndarray
    instants: int

    def __len__(self) -> int:
        return self.sys_start.size

    @cached_property
    def latest(self) -> int:
        """The last system time at which anything began or ended."""
        ended = self.sys_end[self.sys_end != FOREVER]
        return int(max(self.sys_start[-1], ended.max() if ended.size else 0))

    def table(self, begin: int = 0, end: int | None = None, known: int = FOREVER - 1) -> pa.Table:
        """Some versions as they were known at a system time."""
        rows = slice(begin, end)
        sys_end, app_end = self.sys_end[rows], self.app_end[rows]
        return pa.table(
            {
                "sys_start": self.sys_start[rows],
                "sys_end": pa.array(sys_end, mask=sys_end > known),
                "app_start": self.app_start[rows],
                "app_end": pa.array(app_end, mask=app_end == FOREVER),
            }
        )


@compiled
def _evolve(random: np.ndarray, loaded: int, transactions: int, instants: int, columns: np.ndarray) -> int:
    """Write versions: the initial load at system time 1, then one transaction at each further system time.

    Kinds: two of new orders, cancelling, delivering, paying, delaying, a price for a portion of time, correcting a
    start, withdrawing a portion of time. Most replace a version by another one; portions leave two or three.
    """
    alive, count, size = np.empty(columns.shape[1], np.int64), 0, 0
    for row in range(loaded):
        start = int(random[3 * row] * instants)
        columns[0, row], columns[1, row], columns[2, row] = 1, FOREVER, start
        columns[3, row] = FOREVER if random[3 * row + 1] < 0.1 else start + 1 + int(random[3 * row + 2] * instants / 4)
        alive[row] = row
    count = size = loaded
    at = 3 * loaded
    for number in range(transactions):
        now = 2 + number
        kind, pick, where, length = int(random[at] * 9), random[at + 1], random[at + 2], random[at + 3]
        at += 4
        if kind < 2 or count == 0:
            start = int(where * instants)
            pieces = [(start, start + 1 + int(length * instants / 4))]
        else:
            place = int(pick * count)
            old = alive[place]
            alive[place] = alive[count - 1]
            count -= 1
            columns[1, old] = now
            start, end = columns[2, old], columns[3, old]
            finite = min(end, start + instants)
            middle = start + 1 + int(where * max(1, finite - start - 1))
            if kind == 2:
                pieces = [(start, start)]
            elif kind == 3:
                pieces = [(start, middle)]
            elif kind == 4:
                pieces = [(start, end)]
            elif kind == 5:
                shift = 1 + int(length * 100)
                pieces = [(start + shift, end if end == FOREVER else end + shift)]
            elif kind == 6:
                pieces = [(start, middle), (middle, end)]
            elif kind == 7:
                pieces = [(max(0, start - int(length * 100)), end)]
            else:
                pieces = [(start, middle), (middle + 1 + int(length * 100), end)]
        for start, end in pieces:
            if start < end:
                columns[0, size], columns[1, size], columns[2, size], columns[3, size] = now, FOREVER, start, end
                alive[count] = size
                count += 1
                size += 1
    return size


def orders(versions: int, seed: int = 7) -> Orders:
    """Make about so many versions, a fifth of them in the initial load."""
    loaded = versions // 5
    transactions = int((versions - loaded) / 1.1)
    instants = max(100, transactions // PER_INSTANT)
    random = np.random.default_rng(seed).random(3 * loaded + 4 * transactions)
    columns = np.empty((4, loaded + 2 * transactions), np.int64)
    size = _evolve(random, loaded, transactions, instants, columns)
    return Orders(*(np.ascontiguousarray(column[:size]) for column in columns), instants)
