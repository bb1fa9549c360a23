"""The states of a bucket of keys in RocksDB: few pages, each with the keys that share it.

Each read and each write of a state is a message to the JVM, whatever its size up to some hundred kilobytes: keys that
share a page share these. A bucket begins with one page; once pages are large, there are twice as many, so that a
micro-batch that touches few of very many keys does not read and write all of them.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timeloom.model.ticks import FOREVER
from timeloom.streaming.shared_state import SharedState
from timeloom.streaming.storage import VERSION, malformed, seal, unseal
from timeloom.streaming.versions import require_known

PAGE, STATE = "page INT", "version INT, body BINARY, names STRING"
"""What a page is found by, and what it holds."""

PAGES, MARK = "pages", "join"
"""The variables of the state: pages, and what query it is of, as a list of one. Up to version 7 the second one was a
value, the state of each key. Spark refuses to make another variable of it when a query goes on, and says that a new
checkpoint is needed."""

DIRECTORY = -1
"""The page that says when each of the others has something to do; a bucket with one page has none."""

WHOLE_QUERY = "?"
"""What stands for no bucket but for the query as a whole."""

LARGE = 1 << 18
"""Bytes of a page from which on a bucket gets twice as many pages."""


class Pages:
    """The pages of one bucket after the other, in a task."""

    def __init__(self, handle: Any, query: str, empty: Callable[[], SharedState]) -> None:
        self._client = handle._statefulProcessorApiClient
        self._state, self._mark = handle.getMapState(PAGES, PAGE, STATE), handle.getListState(MARK, STATE)
        self._query, self._empty = query, empty
        self._is_known = False

    def open(self, bucket: Any) -> None:
        """Begin with a bucket, the key of which Spark has set."""
        self._require_same_query(bucket)
        found = self._read(DIRECTORY)
        self._dues = np.array([FOREVER]) if found is None else _directory(found[0])
        self._written = self._dues.copy() if found is not None else None
        self._largest, self._unread = 0, found is None

    @property
    def next_due(self) -> int:
        """The next instant at which something is to be done even if nothing happens, or FOREVER."""
        return int(self._dues.min())

    def touched(self, keys: Sequence[str], complete: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """The pages that have something to do up to an instant, and which of the given keys are theirs."""
        own = _pages_of(keys, self._dues.size)
        due = (self._dues <= complete) | self._unread
        due[own] = True
        for page in np.flatnonzero(due).tolist():
            yield page, np.flatnonzero(own == page)

    def load(self, page: int) -> SharedState:
        """The state of a page, which may be empty."""
        state, found = self._empty(), self._read(page)
        if found is not None:
            state.load(*found)
        return state

    def save(self, page: int, state: SharedState) -> None:
        """Write a page, or drop it if there is nothing to keep."""
        self._dues[page] = state.join.next_instant
        if not state.join.keys:
            self._state.removeKey((page,))
            return
        arrays, known = state.dump()
        self._largest = max(self._largest, self._write(page, arrays, known))

    def close(self) -> None:
        """Write when pages have something to do; more pages, if one is large."""
        if self._largest > LARGE:
            self._double()
        if self._dues.size > 1 and (self._written is None or not np.array_equal(self._dues, self._written)):
            self._write(DIRECTORY, [self._dues], "")

    def _double(self) -> None:
        """Give each page half of its keys to a new one: those whose hash says so with one bit more."""
        pages = self._dues.size
        self._dues = np.concatenate([self._dues, np.full(pages, FOREVER)])
        for page in range(pages):
            halves = self.load(page), self.load(page)
            for half, state in zip((page, page + pages), halves, strict=True):
                state.keep_only(_pages_of(state.keys, 2 * pages) == half)
                self.save(half, state)

    def _read(self, page: int) -> tuple[list[NDArray[np.int64]], str] | None:
        found = self._state.getValue((page,))
        return None if found is None else self._opened(found)

    def _opened(self, found: tuple[Any, ...]) -> tuple[list[NDArray[np.int64]], str]:
        """What is in a state, if it is one of this query."""
        version, body, known = found
        require_known(version)
        return unseal(bytes(body), self._query, known, version), known

    def _write(self, page: int, arrays: list[NDArray[np.int64]], known: str) -> int:
        body = seal(arrays, self._query, known)
        self._state.updateValue((page,), (VERSION, body, known))
        return len(body) + len(known)

    def _require_same_query(self, bucket: Any) -> None:
        """Refuse the checkpoint of another query, also where its buckets are not those of this one.

        Each partition of the state remembers its query once, under a bucket that is none.
        """
        if self._is_known:
            return
        self._client.set_implicit_key((WHOLE_QUERY,))
        try:
            marks = list(self._mark.get())
            for mark in marks:
                self._opened(mark)
            if not marks:
                nothing = seal([np.zeros(1, np.int64)], self._query, self._query)
                self._mark.put([(VERSION, nothing, self._query)])
        finally:
            self._client.set_implicit_key(bucket)
        self._is_known = True


def _pages_of(keys: Sequence[str], pages: int) -> NDArray[np.int64]:
    """The page of each key. Spark spreads keys over buckets by another hash."""
    if pages == 1:
        return np.zeros(len(keys), np.int64)
    return np.array([zlib.crc32(key.encode()) & (pages - 1) for key in keys], np.int64)


def _directory(arrays: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """When each page has something to do, if that is what was stored."""
    if len(arrays) != 1 or arrays[0].ndim != 1 or arrays[0].size < 2 or arrays[0].size & (arrays[0].size - 1):
        raise malformed("it does not say when pages have something to do")
    return arrays[0]
