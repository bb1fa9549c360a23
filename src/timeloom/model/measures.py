"""What a temporal aggregation computes for each period: functions over columns, checked once for every engine."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from timeloom.errors import UsageError, did_you_mean, shown
from timeloom.model.options import is_text

FUNCTIONS = {
    "count": ("count",),
    "sum": ("sum", "total"),
    "avg": ("avg", "mean", "average"),
    "min": ("min", "minimum"),
    "max": ("max", "maximum"),
    "var": ("var", "variance", "var_samp"),
    "stddev": ("stddev", "std", "stddev_samp"),
    "first": ("first",),
    "last": ("last",),
    "count_distinct": ("count_distinct", "nunique"),
    "collect": ("collect", "list", "collect_list"),
}


@dataclass(frozen=True)
class Measure:
    """One result column: a function, by name or as a callable, of the active rows' values in a column.

    Only ``count`` goes without a column: it counts rows.
    """

    name: str
    function: str | Callable[..., Any]
    column: str | None = None


def read_measures(given: "Mapping[str, Any]") -> tuple[Measure, ...]:
    """Read ``{"n": "count", "total": ("price", "sum")}``."""
    if not isinstance(given, Mapping):
        raise UsageError(
            f"aggregates={shown(given)} is no mapping; give result names and what they hold, such as "
            "{'n': 'count', 'total': ('price', 'sum')}"
        )
    return tuple(_measure(name, value) for name, value in given.items())


def _measure(name: Any, value: object) -> Measure:
    if not is_text(name) or not name:
        raise UsageError(f"an aggregate is named {shown(name)}; give a text")
    if isinstance(value, str):
        function = _function(name, value)
        if function != "count":
            raise UsageError(f"aggregate {name!r}: {value} needs a column, such as ('price', {value!r})")
        return Measure(name, "count")
    parts = tuple(value) if isinstance(value, tuple | list) else ()
    if len(parts) != 2 or not isinstance(parts[0], str):
        raise UsageError(
            f"aggregate {name!r} is {shown(value)}; give 'count', or a column and a function such as ('price', 'sum')"
        )
    column, function = parts
    return Measure(name, function if callable(function) else _function(name, function), column)


def _function(name: str, given: object) -> str:
    for function, spellings in FUNCTIONS.items():
        if isinstance(given, str) and given.lower() in spellings:
            return function
    raise UsageError(
        f"aggregate {name!r}: there is no function {shown(given)}. {did_you_mean(given, FUNCTIONS)} "
        "Any callable on an array will do, too"
    )
