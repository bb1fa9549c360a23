"""Memory for results: large pages, which an operating system hands out much faster than many small pieces.

And memory for what is gone when a result is there, which the next one takes again: what is handed back to an operating
system comes back page by page, and empty.
"""

import numpy as np

from timeloom.kernels.streaming.gapless import Cells

PAGE = 1 << 20
"""Pairs of a page: 24 MiB."""

KEPT = 1 << 19
"""Numbers of working memory that is kept: 4 MiB."""

SMALL = PAGE // 128
"""Results that have memory of their own: one that is kept would keep a page."""


class ResultPages:
    """Room for pairs, one result behind the other."""

    def __init__(self) -> None:
        self._page = np.empty((3, 0), np.int64)
        self._used = 0

    def __reduce__(self) -> tuple[type["ResultPages"], tuple[()]]:
        """Results have left: a copy begins with nothing."""
        return ResultPages, ()

    def room(self, pairs: int) -> Cells:
        """Room for at least this many pairs."""
        if pairs < SMALL or pairs > PAGE:
            return np.empty((3, pairs), np.int64)
        if self._used + pairs > self._page.shape[1]:
            self._page, self._used = np.empty((3, PAGE), np.int64), 0
        return self._page[:, self._used :]

    def written(self, room: Cells, pairs: int) -> Cells:
        """What was written into such room; it stays as it is."""
        if room.base is self._page:
            self._used += pairs
        return room[:, :pairs]


class WorkingMemory:
    """Arrays that are used again for what has the same name; nothing of them may leave."""

    def __init__(self) -> None:
        self._kept: dict[str, Cells] = {}

    def __reduce__(self) -> tuple[type["WorkingMemory"], tuple[()]]:
        """Nothing is in use between two results: a copy begins with nothing."""
        return WorkingMemory, ()

    def room(self, name: str, rows: int, columns: int = 1) -> Cells:
        """Room for a table, with anything in it; what takes much is not kept."""
        size, kept = rows * columns, self._kept.get(name)
        if kept is None or kept.size < size:
            kept = np.empty(size, np.int64)
            if size <= KEPT:
                self._kept[name] = kept
        return kept[:size].reshape(rows, columns)
