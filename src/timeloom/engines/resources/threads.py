"""Plain threads over kernels that release the interpreter lock, and that an interrupt of the user leaves behind.

A kernel cannot be stopped, but whoever waits for it can go. The thread that called a verb therefore only waits, where
work may be long (`aside`); an interrupt reaches it at once. What was begun is told to stop (`Stop`), which it looks at
between tasks and between pages; it changes nothing that anyone else sees.

Threads that have done their work are kept for the next: starting one takes longer than many a join.
"""

import os
import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar, copy_context
from functools import partial
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")

SMALL = 20_000
"""Work on fewer items than this is not worth a second thread."""

KEPT = 16
"""So many idle threads are kept at most."""

MANY_PAIRS = 1 << 20
"""Nor is work on fewer pairs of rows, whatever is done with each."""


def cores() -> int:
    """The number of threads that the local engine uses."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def worth(threads: int, rows: int) -> int:
    """As many threads as so many rows are worth."""
    return threads if rows >= SMALL else 1


class StoppedError(Exception):
    """Work that nobody waits for any more ends with this; no caller sees it."""


class Stop:
    """Tells threads that nobody waits for their results."""

    def __init__(self, outer: "Stop | None" = None) -> None:
        self._outer, self._asked = outer, False

    def ask(self) -> None:
        """Ask all work under this to end."""
        self._asked = True

    @property
    def asked(self) -> bool:
        """Whether this or the work around it is to end."""
        return self._asked or (self._outer is not None and self._outer.asked)


_STOP: ContextVar[Stop | None] = ContextVar("stop", default=None)


def look_up() -> None:
    """End here if nobody waits for the result any more."""
    stop = _STOP.get()
    if stop is not None and stop.asked:
        raise StoppedError


class Hand:
    """A daemon thread that does what it is given, and then waits among the idle ones for more.

    An interpreter that ends does not wait for it. A process that is forked has none of its parent's threads, and so
    begins without idle ones.
    """

    def __init__(self) -> None:
        self._wanted = threading.Lock()
        self._wanted.acquire()
        self._work: Callable[[], object] | None = None
        threading.Thread(target=self._serve, daemon=True).start()

    @classmethod
    def begin(cls, work: Callable[[], object]) -> None:
        """Have some work done by an idle thread, or by a new one."""
        try:
            hand = _IDLE.pop()
        except IndexError:
            hand = cls()
        hand._work = work
        hand._wanted.release()

    def _serve(self) -> None:
        while True:
            self._wanted.acquire()
            if self._work is not None:
                self._work()
            self._work = None
            if len(_IDLE) >= KEPT:
                return
            _IDLE.append(self)


_IDLE: list[Hand] = []

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_IDLE.clear)


class Crew(Generic[T]):
    """Tasks that threads work off one after the other; whoever is never interrupted works along."""

    def __init__(self, tasks: Sequence[Callable[[], T]], threads: int) -> None:
        self._tasks, self._next = tasks, 0
        self._results: dict[int, T] = {}
        self._error: BaseException | None = None
        self._lock, self._done = threading.Lock(), threading.Lock()
        self._done.acquire()
        self._stop = Stop(_STOP.get())
        self._running = min(threads, len(tasks))
        self._works_along = threading.current_thread() is not threading.main_thread()
        for _ in range(self._running - self._works_along):
            Hand.begin(partial(copy_context().run, self._work))

    def results(self) -> list[T]:
        """Wait for all results; an interrupt, or the first error, leaves the rest undone."""
        try:
            if self._works_along:
                copy_context().run(self._work)
            self._done.acquire()
        finally:
            self._stop.ask()
        if self._error is not None:
            raise self._error
        if len(self._results) < len(self._tasks):
            raise StoppedError
        return [self._results[number] for number in range(len(self._tasks))]

    def _work(self) -> None:
        _STOP.set(self._stop)
        while (number := self._taken()) is not None:
            try:
                result = self._tasks[number]()
            except BaseException as error:
                self._fail(error)
                break
            with self._lock:
                self._results[number] = result
        with self._lock:
            self._running -= 1
            if not self._running:
                self._done.release()

    def _taken(self) -> int | None:
        with self._lock:
            if self._stop.asked or self._next >= len(self._tasks):
                return None
            self._next += 1
            return self._next - 1

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            if self._error is None:
                self._error = error
            self._stop.ask()


def in_parallel(tasks: Sequence[Callable[[], T]], threads: int) -> list[T]:
    """Run the tasks, at most so many at a time, and return their results in order."""
    if threads <= 1 or len(tasks) <= 1:
        return [task() for task in tasks]
    return Crew(tasks, threads).results()


def aside(function: Callable[..., T], *args: Any, pairs: int = MANY_PAIRS) -> T:
    """Call a function so that an interrupt need not wait for its end. Only the main thread is ever interrupted.

    Few ``pairs`` of rows that it may look at are not worth a thread.
    """
    if pairs < MANY_PAIRS or threading.current_thread() is not threading.main_thread():
        return function(*args)
    return Crew([partial(function, *args)], 1).results()[0]


def chunks(total: int, threads: int) -> list[tuple[int, int]]:
    """Cut 0..total into one range a thread; small totals stay whole."""
    parts = max(1, min(threads, total // SMALL))
    edges = [total * part // parts for part in range(parts + 1)]
    return list(pairwise(edges))


def shares(total: int, threads: int) -> list[tuple[int, int]]:
    """Cut 0..total into several ranges a thread, so that a costly range holds only one of them up."""
    parts = max(1, min(8 * threads, total // SMALL)) if threads > 1 else 1
    edges = [total * part // parts for part in range(parts + 1)]
    return list(pairwise(edges))


def gathered(values: NDArray[Any], rows: NDArray[np.integer], threads: int) -> NDArray[Any]:
    """Rows of a column; every thread gathers a part of them."""
    found = np.empty(rows.size, values.dtype)

    def gather(first: int, last: int) -> None:
        np.take(values, rows[first:last], out=found[first:last], mode="clip")

    in_parallel([partial(gather, *part) for part in chunks(rows.size, threads)], threads)
    return found
