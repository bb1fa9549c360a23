"""The options that several verbs share, read into what requests hold."""

from collections.abc import Sequence
from typing import TypedDict

from timeloom.model.naming import Keys, column_names
from timeloom.model.period import Period, PeriodLike
from timeloom.model.policy import OnEmpty, OnInvalid, Policy

Names = str | Sequence[str] | None
"""One column name or several, or none."""


class TwoSides(TypedDict):
    """Keys, periods and policy of a verb that takes two tables."""

    keys: Keys
    left_period: Period
    right_period: Period
    policy: Policy


def two_sides(
    on: Names,
    left_on: Names,
    right_on: Names,
    period: PeriodLike,
    left_period: PeriodLike | None,
    right_period: PeriodLike | None,
    on_invalid: OnInvalid,
    empty: OnEmpty | None,
) -> TwoSides:
    """Read the options of a verb that takes two tables; ``period`` holds for each side that has none of its own."""
    return {
        "keys": Keys.of(on, left_on, right_on),
        "left_period": Period.of(period if left_period is None else left_period),
        "right_period": Period.of(period if right_period is None else right_period),
        "policy": Policy(on_invalid, empty),
    }


def names_or_all(option: str, given: Names) -> tuple[str, ...] | None:
    """The columns that an option names, or None for all."""
    return None if given is None else column_names(option, given)
