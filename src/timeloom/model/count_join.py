"""Counting joins as data: what was asked, checked once, for every engine."""

from collections.abc import Mapping
from dataclasses import dataclass

from timeloom.errors import UsageError, did_you_mean
from timeloom.model.join import choose
from timeloom.model.naming import Keys, column_names
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.relation import Relation

ALGORITHMS = ("auto", "ranks", "dominance", "naive", "simple", "smart")
FUNCTIONS = ("sum", "avg", "min", "max", "count")
TIES = ("first", "all")


@dataclass(frozen=True)
class Aggregate:
    """One value for each left row, over a column of its right rows."""

    name: str
    column: str
    function: str


@dataclass(frozen=True)
class CountRequest:
    """One call of ``count_join``."""

    relation: Relation
    keys: Keys
    left_period: Period
    right_period: Period
    policy: Policy
    name: str = "count"
    aggregates: tuple[Aggregate, ...] = ()
    algorithm: str = "auto"

    def __post_init__(self) -> None:
        choose("algorithm", self.algorithm, ALGORITHMS)
        names = [self.name, *(aggregate.name for aggregate in self.aggregates)]
        for name in names:
            if not isinstance(name, str) or not name:
                raise UsageError(f"{name!r} is no column name; give a text")
        if names.count(self.name) > 1:
            raise UsageError(
                f"the count and an aggregate are both named {self.name!r}; rename one, for example name='n'"
            )

    def check_names(self, left: "list[str]") -> None:
        """Refuse result columns that the left table has already."""
        for name in (self.name, *(aggregate.name for aggregate in self.aggregates)):
            if name in left:
                raise UsageError(f"the left table has a column {name!r} already; give the result another name")


@dataclass(frozen=True)
class TopRequest:
    """One call of ``top_k``: a count, and which of its rows to keep."""

    count: CountRequest
    k: int
    by: tuple[str, ...] = ()
    ties: str = "first"

    def __post_init__(self) -> None:
        choose("ties", self.ties, TIES)
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 0:
            raise UsageError(f"k={self.k!r} is no number of rows; give 0 or more")


def read_aggregates(given: "Mapping[str, tuple[str, str]] | None") -> tuple[Aggregate, ...]:
    """Read ``{"total": ("price", "sum")}``."""
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise UsageError(
            f"aggregates={given!r} is no mapping; give names and pairs such as {{'total': ('price', 'sum')}}"
        )
    return tuple(_aggregate(name, pair) for name, pair in given.items())


def _aggregate(name: str, pair: object) -> Aggregate:
    parts = tuple(pair) if isinstance(pair, tuple | list) else ()
    if len(parts) != 2 or not all(isinstance(part, str) for part in parts):
        raise UsageError(f"aggregate {name!r} is {pair!r}; give a column and a function, such as ('price', 'sum')")
    column, function = column_names("aggregates", parts)
    function = {"mean": "avg"}.get(function, function)
    if function not in FUNCTIONS:
        raise UsageError(
            f"aggregate {name!r}: {function!r} cannot be had without listing the pairs. "
            f"{did_you_mean(function, FUNCTIONS)} For anything else, join and group by the left row"
        )
    return Aggregate(name, column, function)
