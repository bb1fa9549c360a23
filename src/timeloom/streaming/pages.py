"""The states of a bucket of keys in RocksDB: few pages, each with the keys that share it.

Each read and each write of a state is a message to the JVM, whatever its size up to some hundred kilobytes: keys that
share a page share these. A bucket begins with one page; once pages are large, there are more of them, so that a
micro-batch that touches few of very many keys does not read and write all of them.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from timeloom.model.ticks import FOREVER
from timeloom.streaming.buckets import States
from timeloom.streaming.storage import VERSION, malformed, seal, unseal
from timeloom.streaming.versions import require_known

Numbers = NDArray[np.int64]

DIRECTORY = -1
"""The page that says when each of the others has something to do; a bucket with one page has none."""

LARGE = 1 << 18
"""Bytes of a page from which on a bucket gets more pages, if the page has keys to give away."""


class Page(Protocol):
    """The state of some keys."""

    @property
    def next_instant(self) -> int:
        """The next instant at which something is to be done even if nothing happens, or FOREVER."""

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to keep."""

    def read(self, version: int, body: bytes, names: str) -> None:
        """Go on from what was written; anything else is a StorageError."""

    def write(self) -> tuple[int, bytes, str]:
        """What is to be stored: a version, bytes, and text beside them."""

    @property
    def beside_largest(self) -> float:
        """Once it is written: the share of rows that are not of the key that has the most."""

    def divided(self, bits: int, values: Sequence[int]) -> Sequence[Self]:
        """For each of these values the state of the keys whose hashes have it in these bits; this one is over then."""


P = TypeVar("P", bound=Page)


class Pages(Generic[P]):
    """The pages of one bucket after the other, in a task."""

    def __init__(self, states: States, query: str, empty: Callable[[], P]) -> None:
        self._states, self._state = states, states.pages
        self._query, self._empty = query, empty
        self._is_known = False

    def open(self, bucket: Any) -> None:
        """Begin with a bucket, the key of which Spark has set."""
        self._require_same_query(bucket)
        found = self._state.getValue((DIRECTORY,))
        self._dues = np.array([FOREVER]) if found is None else _directory(self._arrays(found))
        self._written = self._dues.copy() if found is not None else None
        self._unread, self._is_earlier = found is None, False
        self._times, self._large = 1, dict[int, P]()

    @property
    def count(self) -> int:
        """How many pages the bucket has."""
        return self._dues.size

    @property
    def next_due(self) -> int:
        """The next instant at which something is to be done even if nothing happens, or FOREVER."""
        return int(self._dues.min())

    def touched(self, hashes: "Numbers | int", complete: int) -> Iterator[tuple[int, Numbers]]:
        """The pages that have something to do up to an instant, and which of the events are theirs.

        Events go by the hashes of their keys; where there is one page, their number will do.
        """
        own = np.zeros(hashes, np.int64) if isinstance(hashes, int) else hashes & (self.count - 1)
        due = (self._dues <= complete) | self._unread
        due[own] = True
        for page in np.flatnonzero(due).tolist():
            yield page, np.flatnonzero(own == page)

    def load(self, page: int) -> P:
        """The state of a page, which may be empty."""
        state, found = self._empty(), self._state.getValue((page,))
        if found is not None:
            version, body, names = found
            state.read(version, bytes(body), names)
        elif self.count == 1 and self._states.earlier is not None and self._states.earlier.exists():
            state.read(0, bytes(self._states.earlier.get()[0]), "")
            self._is_earlier = True
        return state

    def save(self, page: int, state: P) -> None:
        """Write a page, or drop it if there is nothing to keep; a large one is divided in the end."""
        if self._is_earlier:
            self._states.earlier.clear()
            self._is_earlier = False
        stored = None if state.is_idle else state.write()
        size = 0 if stored is None else len(stored[1]) + len(stored[2])
        movable = int(size * state.beside_largest) if size > LARGE else 0
        if movable > LARGE // 2:
            self._times, self._large[page] = max(self._times, 2, 1 << (movable // LARGE).bit_length()), state
        else:
            self._put(page, state, stored)

    def _put(self, page: int, state: P, stored: tuple[int, bytes, str] | None) -> None:
        self._dues[page] = FOREVER if stored is None else state.next_instant
        if stored is None:
            self._state.removeKey((page,))
        else:
            self._state.updateValue((page,), stored)

    def close(self) -> None:
        """Write when pages have something to do; more pages, if one is large and not for a single key."""
        if self._large:
            self._divide()
        if self._dues.size > 1 and (self._written is None or not np.array_equal(self._dues, self._written)):
            self._state.updateValue((DIRECTORY,), (VERSION, seal([self._dues], self._query), ""))

    def _divide(self) -> None:
        """Let each page give keys to new ones, as their hashes say with more bits: once, however large a page is."""
        before, large, pages = self.count, self._large, self.count * self._times
        self._dues = np.concatenate([self._dues, np.full(pages - before, FOREVER)])
        for page in range(before):
            state = large.pop(page, None) or self.load(page)
            numbers = range(page, pages, before)
            for number, part in zip(numbers, state.divided(pages - 1, numbers), strict=True):
                self._put(number, part, None if part.is_idle else part.write())

    def _arrays(self, found: tuple[Any, ...]) -> list[Numbers]:
        """The arrays in a state, if it is one of this query."""
        version, body, known = found
        require_known(version)
        return unseal(bytes(body), self._query, known, version)

    def _require_same_query(self, bucket: Any) -> None:
        """Refuse the checkpoint of another query, also where its buckets are not those of this one.

        Each partition of the state remembers its query once, under a bucket that is none.
        """
        if self._is_known:
            return
        client, mark = self._states.handle._statefulProcessorApiClient, self._states.mark
        client.set_implicit_key(self._states.nowhere)
        try:
            marks = list(mark.get())
            for one in marks:
                self._arrays(one)
            if not marks:
                nothing = seal([np.zeros(1, np.int64)], self._query, self._query)
                mark.put([(VERSION, nothing, self._query)])
        finally:
            client.set_implicit_key(bucket)
        self._is_known = True


def _directory(arrays: list[Numbers]) -> Numbers:
    """When each page has something to do, if that is what was stored."""
    if len(arrays) != 1 or arrays[0].ndim != 1 or arrays[0].size < 2 or arrays[0].size & (arrays[0].size - 1):
        raise malformed("it does not say when pages have something to do")
    return arrays[0]
