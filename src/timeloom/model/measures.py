"""What a temporal aggregation computes for each period: functions over columns, checked once for every engine."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from timeloom.errors import UsageError, did_you_mean, shown
from timeloom.model.aggregates import AGGREGATES, BY_SPELLING, Aggregate
from timeloom.model.options import is_text

TIMED = ("covered", "time_avg")
"""The measures of buckets of time: what any row covers, and a mean that is weighted by time."""


@dataclass(frozen=True)
class Measure:
    """One result column: a function, by name or as a callable, of the active rows' values in a column.

    Functions of rows, such as ``count``, go without a column.
    """

    name: str
    function: str | Callable[..., Any]
    column: str | None = None

    @property
    def aggregate(self) -> Aggregate | None:
        """The record of the function; None for the user's own, and for those of buckets of time."""
        return AGGREGATES.get(self.function) if isinstance(self.function, str) else None

    @property
    def minds_order(self) -> bool:
        """Whether the order of rows may matter: to the user's own function it may."""
        return self.aggregate is None or self.aggregate.order != "ignored"


def read_measures(given: "Mapping[str, Any]") -> tuple[Measure, ...]:
    """Read ``{"n": "count", "total": ("price", "sum")}``."""
    if not isinstance(given, Mapping):
        raise UsageError(
            f"aggregates={shown(given)} is no mapping; give result names and what they hold, such as "
            "{'n': 'count', 'total': ('price', 'sum')}"
        )
    return tuple(_measure(name, value) for name, value in given.items())


def read_timed(given: Any) -> tuple[Measure, ...]:
    """Read the measures of buckets of time: ``covered`` of all rows, ``time_avg`` of a column, and those of any table.

    >>> [measure.function for measure in read_timed({"n": "count", "mean": ("load", "time_avg"), "busy": "covered"})]
    ['count', 'time_avg', 'covered']
    """
    if not isinstance(given, Mapping):
        return read_measures(given)
    return tuple(found for name, value in given.items() for found in _timed(name, value))


def _timed(name: Any, value: object) -> tuple[Measure, ...]:
    column, function = value if isinstance(value, tuple | list) and len(value) == 2 else (None, value)
    if not isinstance(function, str) or function.lower() not in TIMED:
        return read_measures({name: value})
    function = function.lower()
    if (function == "covered") != (column is None):
        hint = "'covered' alone" if function == "covered" else "a column, such as ('load', 'time_avg')"
        raise UsageError(f"aggregate {name!r} is {shown(value)}; give {hint}")
    checked = read_measures({name: (column or "", "count")})[0]
    return (Measure(checked.name, function, column),)


def _measure(name: Any, value: object) -> Measure:
    if not is_text(name) or not name:
        raise UsageError(f"an aggregate is named {shown(name)}; give a text")
    if isinstance(value, str):
        function = _function(name, value)
        if not function.of_rows:
            raise UsageError(f"aggregate {name!r}: {value} needs a column, such as ('price', {value!r})")
        return Measure(name, function.name)
    parts = tuple(value) if isinstance(value, tuple | list) else ()
    if len(parts) != 2 or not isinstance(parts[0], str):
        raise UsageError(
            f"aggregate {name!r} is {shown(value)}; give 'count', or a column and a function such as ('price', 'sum')"
        )
    column, function = parts
    return Measure(name, function if callable(function) else _function(name, function).name, column)


def _function(name: str, given: object) -> Aggregate:
    found = BY_SPELLING.get(given.lower()) if isinstance(given, str) else None
    if found is None:
        raise UsageError(
            f"aggregate {name!r}: there is no function {shown(given)}. {did_you_mean(given, AGGREGATES)} "
            "Any callable on an array will do, too"
        )
    return found
