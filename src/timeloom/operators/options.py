"""The options that several verbs share, read from a verb's arguments by name."""

from collections.abc import Callable, Mapping
from typing import Any

from timeloom.model.naming import Keys, column_names
from timeloom.model.options import bind
from timeloom.model.period import Period
from timeloom.model.policy import Policy


def arguments(function: Callable[..., Any], *args: Any, **options: Any) -> Mapping[str, Any]:
    """The arguments of a call by name, defaults included."""
    bound = bind(function, *args, **options)
    bound.apply_defaults()
    return bound.arguments


def policy(asked: Mapping[str, Any]) -> Policy:
    """What to do with invalid and empty periods."""
    return Policy(asked["on_invalid"], asked["empty"])


def two_sides(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Keys, periods and policy of a verb that takes two tables."""
    return {
        "keys": Keys.of(asked["on"], asked["left_on"], asked["right_on"]),
        "left_period": _period_of(asked, "left_period"),
        "right_period": _period_of(asked, "right_period"),
        "policy": policy(asked),
    }


def _period_of(asked: Mapping[str, Any], side: str) -> Period:
    return Period.of(asked["period"] if asked[side] is None else asked[side])


def wanted_columns(asked: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The output columns asked for, or None for all."""
    return None if asked["columns"] is None else column_names("columns", asked["columns"])
