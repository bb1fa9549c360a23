"""Window queries over the index: an iterator of steps, each a delta to the step before."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from timeloom.bitemporal.description import counted, listed
from timeloom.bitemporal.expressions import Expression
from timeloom.bitemporal.timelines import State
from timeloom.engines.tables.ticks import TimeType
from timeloom.engines.windows.slides import written_windows
from timeloom.errors import UsageError
from timeloom.kernels.bitemporal.windows import Code, Ticks, Windows, bounds_of
from timeloom.kernels.order import distinct
from timeloom.model.ticks import Axis

FIRST_STRETCH, LARGEST_STRETCH = 8, 1024
"""Deltas are read for so many steps at once: few at first, so that the first step comes soon, then more and more."""


class Step:
    """One window of a query.

    Attributes
    ----------
    number
        0 for the initial window, then 1, 2, ….
    sys, app
        The first and the last instant of the window on each axis, both included.
    entered, left
        The rows that are inside this window and were not inside the one before, and the other way round; ascending
        row numbers. The initial window's rows all enter.
    values
        What ``select`` asked for, by name.
    """

    __slots__ = ("_query", "app", "entered", "left", "number", "sys", "values")

    def __init__(self, query: "WindowQuery", number: int, sys: Any, app: Any, entered: Ticks, left: Ticks) -> None:
        entered.flags.writeable = left.flags.writeable = False
        self._query = query
        self.number = number
        self.sys = sys
        self.app = app
        self.entered = entered
        self.left = left
        self.values: dict[str, Any] = {}

    def valid(self) -> Ticks:
        """All rows inside this window, as ascending row numbers."""
        return self._query.valid(self)

    def __repr__(self) -> str:
        sys, app = (f"({first}, {last})" for first, last in (self.sys, self.app))
        return f"Step({self.number}, sys={sys}, app={app}, entered={listed(self.entered)}, left={listed(self.left)})"


class WindowQuery:
    """A sliding-window query over one pinned state of the index. Iterate over it for its steps, as often as needed.

    Each iteration is one of its own, so several threads may iterate over one query.
    """

    def __init__(
        self,
        state: State,
        windows: Windows,
        meaning: Code,
        types: tuple[TimeType, TimeType],
        numbered: Callable[[Ticks], Ticks],
        expressions: Callable[[], dict[str, Expression]],
    ) -> None:
        self._state = state
        self._windows = windows
        self._meaning = meaning
        self._bounds = bounds_of(windows, meaning)
        self._types = types
        self._numbered = numbered
        self._expressions = expressions
        self._known: tuple[int, Ticks] = (-1, np.empty(0, np.int64))
        self._first = 0

    def __len__(self) -> int:
        return int(self._bounds.shape[1])

    def __repr__(self) -> str:
        (sys, app), *_ = self._instants(0, 1)
        first = f"sys=({sys[0]}, {sys[1]}), app=({app[0]}, {app[1]})"
        return f"WindowQuery({counted(len(self), 'window')}, the first {first})"

    def __iter__(self) -> Iterator[Step]:
        expressions = self._expressions()
        for step in self._steps():
            for name, expression in expressions.items():
                if expression.by_delta:
                    expression.slide(step.entered, step.left)
                step.values[name] = expression.value(step.number, step.valid)
            yield step

    def valid(self, step: Step) -> Ticks:
        """All rows inside a step's window: by its delta if the step before is known, else from the index."""
        number, rows = self._known
        if number == step.number - 1:
            rows = distinct(np.concatenate([np.setdiff1d(rows, step.left, assume_unique=True), step.entered]))
        elif number != step.number:
            rows = self._numbered(self._state.inside(self._bounds[:, step.number - self._first], self._meaning))
        self._known = (step.number, rows)
        return rows.copy()

    def following(self, inside: Ticks, number: int) -> Iterator[Step]:
        """The steps behind the first one, whose rows are known, and which is step ``number`` of a longer query."""
        self._known, self._first = (number, inside), number
        return self._deltas()

    def _steps(self) -> Iterator[Step]:
        nothing = np.empty(0, np.int64)
        initial = self._numbered(self._state.inside(self._bounds[:, 0], self._meaning))
        self._known = (0, initial)
        (sys, app), *_ = self._instants(0, 1)
        yield Step(self, 0, sys, app, initial, nothing)
        yield from self._deltas()

    def _deltas(self) -> Iterator[Step]:
        done, stretch = 0, FIRST_STRETCH
        while done < len(self) - 1:
            upto = min(done + stretch, len(self) - 1)
            deltas = self._state.deltas(self._bounds[:, done : upto + 1], self._meaning)
            for k, (sys, app) in enumerate(self._instants(done + 1, upto + 1)):
                entered = deltas.entered[deltas.entered_at[k] : deltas.entered_at[k + 1]]
                left = deltas.left[deltas.left_at[k] : deltas.left_at[k + 1]]
                number = self._first + done + 1 + k
                yield Step(self, number, sys, app, self._numbered(entered), self._numbered(left))
            done, stretch = upto, min(stretch * 4, LARGEST_STRETCH)

    def _instants(self, begin: int, end: int) -> list[tuple[tuple[Any, Any], tuple[Any, Any]]]:
        """The windows of some steps in the user's own types."""
        axes = (self._types[0], self._types[0], self._types[1], self._types[1])
        first, last, app_first, app_last = (
            _in_python(ticks[begin:end], kind, begin) for kind, ticks in zip(axes, self._windows, strict=True)
        )
        return list(zip(zip(first, last, strict=True), zip(app_first, app_last, strict=True), strict=True))


def _in_python(ticks: Ticks, kind: TimeType, step: int) -> list[Any]:
    """Ticks as Python has them."""
    if kind.axis is Axis.INTEGER:
        return list(ticks.tolist())
    written = written_windows(ticks, kind, "window")
    try:
        return list(written.to_pylist())
    except (OverflowError, ValueError) as error:
        raise UsageError(
            f"a window from step {step} on lies outside the years 1 to 9999, which are all that Python has; "
            "take fewer steps, or a smaller range or slide"
        ) from error
