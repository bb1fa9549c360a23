"""A sliding-window query as data: what was asked, checked once, for every engine."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from timeloom.errors import UsageError, shown
from timeloom.model.measures import Measure, read_measures
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.slide import Meanings, Slide, check_meaning, check_ratio, check_steps

STEP = "step"
CHANGE = "change"
BOUNDS = ("sys_first", "sys_last", "app_first", "app_last")


@dataclass(frozen=True)
class Top:
    """The k greatest values, descending; a function for ``select``."""

    k: int

    def __call__(self, values: Any) -> list[Any]:
        """Pick them from an array."""
        return sorted(values.tolist(), reverse=True)[: self.k]


@dataclass(frozen=True)
class WindowRequest:
    """One call of ``sliding_windows``."""

    sys: Slide
    app: Slide
    steps: int
    ratio: tuple[int, int]
    meaning: Meanings
    measures: tuple[Measure, ...]
    sys_period: Period
    app_period: Period
    policy: Policy
    deltas: bool = False
    bounds: bool = False
    rows: bool = False

    def __post_init__(self) -> None:
        for option, slide in (("sys", self.sys), ("app", self.app)):
            if not isinstance(slide, Slide):
                raise UsageError(f"{option}={shown(slide)} is no slide; give tl.Slide(start, range, slide)")
        check_steps(self.steps)
        object.__setattr__(self, "ratio", check_ratio(self.ratio))
        check_meaning(self.meaning)
        if self.deltas and self.rows:
            raise UsageError("deltas=True and rows=True ask for two results; choose one")
        taken = [STEP, *(BOUNDS if self.bounds else ())]
        clashing = [measure.name for measure in self.measures if measure.name in taken]
        if clashing:
            raise UsageError(f"select names a result {clashing[0]!r}, like a column that the query writes; rename it")


def read_select(select: Any) -> tuple[Measure, ...]:
    """Read ``select``: as aggregates are given, and ``(column, "top", k)`` besides; by default a count."""
    if select is None:
        return (Measure("n", "count"),)
    if isinstance(select, Mapping):
        return read_measures({name: _with_top(name, entry) for name, entry in select.items()})
    return read_measures(select)


def _with_top(name: str, entry: Any) -> Any:
    parts = tuple(entry) if isinstance(entry, tuple | list) else ()
    if len(parts) < 2 or parts[1] != "top":
        return entry
    if len(parts) != 3 or isinstance(parts[2], bool) or not isinstance(parts[2], int) or parts[2] < 1:
        raise UsageError(f"select {name!r}: 'top' needs how many, at least 1, as in ({parts[0]!r}, 'top', 3)")
    return parts[0], Top(parts[2])
