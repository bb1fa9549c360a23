"""Window queries that stay open: the next steps come as transactions make them certain."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from timeloom.bitemporal.expressions import Expression, check_measures, expressions_of
from timeloom.bitemporal.snapshot import Snapshot
from timeloom.bitemporal.windows import Step, WindowQuery
from timeloom.engines.tables.conditions import held
from timeloom.engines.windows.slides import lay_out
from timeloom.errors import UsageError
from timeloom.kernels.bitemporal.windows import Code, Ticks, Windows
from timeloom.model.conditions import Condition
from timeloom.model.measures import Measure
from timeloom.model.slide import Slide, check_steps
from timeloom.model.sliding_windows import read_select

FIRST_STEPS = 1024


class News:
    """Wakes those who wait for the next state of an index."""

    def __init__(self) -> None:
        self._changed = threading.Condition()

    def tell(self) -> None:
        """There is another state."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, until: Callable[[], bool], timeout: float | None) -> bool:
        """Wait until something holds; False if it takes too long."""
        with self._changed:
            return self._changed.wait_for(until, timeout)


@dataclass(frozen=True)
class LiveRequest:
    """What a live query asks for."""

    sys: Slide
    app: Slide
    ratio: tuple[int, int]
    code: Code
    measures: tuple[Measure, ...]
    condition: Condition | None
    steps: int | None


@dataclass(repr=False)
class LiveWindows:
    """The steps of a window query, each as soon as it is certain: when system time has passed its window.

    Iterating waits for the next step, and ends with `close`, after all steps, or when ``timeout`` seconds pass without
    one. `ready` gives those that are certain by now, and waits for nothing. Each step is given once.
    """

    pinned: Callable[[], Snapshot]
    news: News
    request: LiveRequest
    timeout: float | None = None
    _done: int = 0
    _closed: bool = False
    _planned: Windows | None = None
    _expressions: dict[str, Expression] = field(default_factory=dict)
    _inside: Ticks = field(default_factory=lambda: np.empty(0, np.int64))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __repr__(self) -> str:
        of = "" if self.request.steps is None else f" of {self.request.steps + 1:,}"
        return f"LiveWindows({self._done:,}{of} steps given, {'ended' if self._ended() else 'open'})"

    def __iter__(self) -> Iterator[Step]:
        while not self._ended():
            steps = self.ready()
            yield from steps
            if not steps and not self.news.wait(lambda: self._closed or self._certain() > self._done, self.timeout):
                return

    def ready(self) -> list[Step]:
        """The steps that have become certain since the last call."""
        with self._lock:
            return self._steps(self.pinned(), self._certain())

    def finish(self) -> list[Step]:
        """The steps up to the latest system time, which nothing will change any more; then the query is closed."""
        with self._lock:
            now = self.pinned()
            steps = self._steps(now, self._certain(now.latest + 1))
        self.close()
        return steps

    def close(self) -> None:
        """Let nobody wait any longer."""
        self._closed = True
        self.news.tell()

    def _ended(self) -> bool:
        return self._closed or (self.request.steps is not None and self._done > self.request.steps)

    def _certain(self, passed: int | None = None) -> int:
        """How many steps have windows that end before a system time, by default the latest."""
        now = self.pinned()
        if now.types is None or self._closed:
            return self._done
        until = now.latest if passed is None else passed
        planned = self._windows(now, until)
        return int(np.searchsorted(planned.sys_last, until, side="left"))

    def _windows(self, now: Snapshot, until: int) -> Windows:
        """The windows of enough steps to reach a system time."""
        request, planned = self.request, self._planned
        count = FIRST_STEPS if planned is None else planned.sys_last.size - 1
        while planned is None or (planned.sys_last[-1] < until and request.steps is None):
            steps = count if request.steps is None else request.steps
            planned = lay_out(request.sys, request.app, request.ratio, check_steps(steps), *now.known_types())
            count *= 2
        self._planned = planned
        return planned

    def _steps(self, now: Snapshot, certain: int) -> list[Step]:
        """The steps from the last one given on; only what entered and left since is read."""
        if certain <= self._done or now.types is None:
            return []
        planned, request = self._windows(now, now.latest), self.request
        begin = max(0, self._done - 1)
        windows = Windows(*(ticks[begin:certain] for ticks in planned))
        payload = now.payload()
        numbered = selected(now, request.condition)
        query = WindowQuery(now.lines.state(), windows, request.code, now.types, numbered, dict)
        if not self._expressions:
            self._expressions = expressions_of(request.measures, payload)
        found = []
        for step in query.following(self._inside, begin) if self._done else query:
            for name, expression in self._expressions.items():
                expression.payload = payload
                if expression.by_delta:
                    expression.slide(step.entered, step.left)
                step.values[name] = expression.value(step.number, step.valid)
            found.append(step)
        self._inside = found[-1].valid()
        self._done = certain
        return found


def selected(now: Snapshot, condition: Condition | None) -> Callable[[Ticks], Ticks]:
    """The numbers of rows by arrival: of all of them, or of those that satisfy a condition."""
    numbered = now.numbering()
    if condition is None:
        return numbered
    payload = now.payload()
    return lambda rows: payload.satisfying(condition, numbered(rows))


def asked(now: Snapshot, select: Any, where: str | None) -> "tuple[tuple[Measure, ...], Condition | None]":
    """The measures and the condition of a query, checked against the columns."""
    assert now.schema is not None
    measures = read_select(select) if select is not None else ()
    check_measures(measures, now.schema)
    if where is None:
        return measures, None
    condition, none = Condition(where), now.schema.empty_table()
    held(condition, {name: none[column] for name, column in condition.resolve(now.schema.names).items()}, 0)
    return measures, condition


def check_forward(sys: Slide, ratio: tuple[int, int], first: Any, last: Any) -> None:
    """Refuse a query whose system time stands still or goes back: no transaction would bring its next step."""
    if ratio[0] == 0 or last <= first:
        raise UsageError(
            f"the system window does not move forward (ratio {ratio[0]}:{ratio[1]}, slide {sys.slide!r}), so no "
            "transaction brings a next step; give a pace above 0, or use windows"
        )
