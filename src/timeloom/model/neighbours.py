"""As-of and nearest joins as data: what was asked, checked once, for every engine."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

from timeloom.errors import UsageError, shown
from timeloom.model.count_join import Ties, check_k
from timeloom.model.join import choose, join_kind, suffix_pair
from timeloom.model.naming import Keys
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.sequenced import check_names
from timeloom.model.ticks import Axis, Span, parse_span, ticks_of

AsOfDirection = Literal["backward", "forward", "nearest"]
NearestDirection = Literal["both", "backward", "forward"]
KeptHow = Literal["left", "inner"]


@dataclass(frozen=True)
class AsOfRequest:
    """One call of ``as_of`` for two tables of instants."""

    keys: Keys
    left_period: Period
    right_period: Period
    policy: Policy
    direction: str = "backward"
    tolerance: Span | None = None
    allow_exact: bool = True
    how: str = "left"
    suffixes: tuple[str, str] = ("", "_right")
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        choose("direction", self.direction, get_args(AsOfDirection))
        _check_pair(self)
        for option, period in (("at", self.left_period), ("right_at", self.right_period)):
            if len(period.columns) != 1:
                raise UsageError(
                    f"{option}={shown(period.columns)} is a period; as_of compares instants: name one column"
                )


@dataclass(frozen=True)
class BitemporalAsOfRequest:
    """One call of ``as_of`` for a table with two periods: the instants that were asked for, and the periods."""

    instants: tuple[tuple[Any, Period], ...]
    policy: Policy


@dataclass(frozen=True)
class NearestRequest:
    """One call of ``nearest``."""

    keys: Keys
    left_period: Period
    right_period: Period
    policy: Policy
    k: int = 1
    direction: str = "both"
    max_distance: Span | None = None
    ties: str = "first"
    how: str = "inner"
    name: str = "distance"
    suffixes: tuple[str, str] = ("", "_right")
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        choose("direction", self.direction, get_args(NearestDirection))
        choose("ties", self.ties, get_args(Ties))
        _check_pair(self)
        check_k(self.k, least=1)
        if not isinstance(self.name, str) or not self.name:
            raise UsageError(f"name={self.name!r} is no column name; give a text")


def _check_pair(request: "AsOfRequest | NearestRequest") -> None:
    object.__setattr__(request, "how", join_kind(request.how, get_args(KeptHow)))
    object.__setattr__(request, "suffixes", suffix_pair(request.suffixes))
    check_names(request.keys.left, request.left_period, "left")
    check_names(request.keys.right, request.right_period, "right")


def read_distance(option: str, given: "Span | str | None") -> Span | None:
    """Read a largest distance: a span that is not negative, or None for no limit."""
    if given is None:
        return None
    span = parse_span(given, option)
    if (span if isinstance(span, int) else span.total_seconds()) < 0:
        raise UsageError(f"{option}={shown(given)} is below zero; give the largest distance that is allowed")
    return span


def distance_ticks(span: Span | None, axis: Axis, unlimited: int) -> int:
    """A largest distance in the ticks of an axis."""
    return unlimited if span is None else min(ticks_of(span, axis), unlimited)
