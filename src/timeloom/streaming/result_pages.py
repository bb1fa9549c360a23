"""Memory for results: large pages, which an operating system hands out much faster than many small pieces."""

import numpy as np

from timeloom.kernels.streaming.gapless import Cells

PAGE = 1 << 20
"""Pairs of a page: 24 MiB."""

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
