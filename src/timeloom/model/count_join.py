"""Counting joins as data: what was asked, checked once, for every engine."""

from dataclasses import dataclass
from typing import Literal, get_args

from timeloom.errors import UsageError, did_you_mean, shown
from timeloom.model.aggregates import AGGREGATES
from timeloom.model.allen import intersects
from timeloom.model.join import Strategy, choose
from timeloom.model.measures import Measure
from timeloom.model.naming import Keys
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.relation import Relation

SWEEPS = ("naive", "simple", "smart")
CountAlgorithm = Literal["auto", "dominance", "ranks", "naive", "simple", "smart"]
Ties = Literal["first", "all"]
MOST = 2**31 - 1


def check_k(k: object, least: int) -> None:
    """Refuse a number of rows to keep, or of neighbours, that is none."""
    if isinstance(k, bool) or not isinstance(k, int) or not least <= k <= MOST:
        raise UsageError(f"k={shown(k)} is no number of rows; give {least} or more, at most {MOST:,}")


@dataclass(frozen=True)
class CountRequest:
    """One call of ``count_join``."""

    relation: Relation
    keys: Keys
    left_period: Period
    right_period: Period
    policy: Policy
    name: str = "count"
    aggregates: tuple[Measure, ...] = ()
    algorithm: str = "auto"
    strategy: str = "auto"

    def __post_init__(self) -> None:
        choose("algorithm", self.algorithm, get_args(CountAlgorithm))
        choose("strategy", self.strategy, get_args(Strategy))
        if self.algorithm in ("ranks", *SWEEPS) and self.relation != intersects:
            raise UsageError(
                f"algorithm={self.algorithm!r} counts 'intersects' only, not {self.relation.name!r}; "
                "algorithm='auto' counts every relation"
            )
        if not isinstance(self.name, str) or not self.name:
            raise UsageError(f"name={self.name!r} is no column name; give a text")
        for measure in self.aggregates:
            if measure.aggregate is None or not measure.aggregate.without_pairs:
                known = ", ".join(name for name, record in AGGREGATES.items() if record.without_pairs)
                raise UsageError(
                    f"aggregate {measure.name!r}: {measure.function!r} cannot be had without listing the pairs; "
                    f"{known} can. For anything else, join and group by the left row"
                )
            if measure.name == self.name:
                raise UsageError(
                    f"the count and an aggregate are both named {self.name!r}; give the count another name="
                )

    @property
    def at_once(self) -> bool:
        """Whether an aggregate needs all partners of a left row at once, so that one task must have them."""
        return any(
            measure.aggregate is not None and measure.aggregate.combination is None for measure in self.aggregates
        )

    @property
    def ordered_by(self) -> tuple[str, ...]:
        """The columns whose values decide which of the partners with one period is the first, or the last."""
        minded = (measure for measure in self.aggregates if measure.aggregate and measure.aggregate.order != "ignored")
        return tuple(dict.fromkeys(str(measure.column) for measure in minded))

    @property
    def chosen(self) -> str:
        """The algorithm that runs: two ranks are enough for ``intersects``."""
        if self.algorithm != "auto":
            return self.algorithm
        return "ranks" if self.relation == intersects else "dominance"

    def check_names(self, left: "list[str]") -> None:
        """Refuse result columns that the left table has already."""
        for name in (self.name, *(measure.name for measure in self.aggregates)):
            if name in left:
                raise UsageError(f"the left table has a column {name!r} already; give the result another name")


@dataclass(frozen=True)
class TopRequest:
    """One call of ``top_k``: a count, and which of its rows to keep."""

    count: CountRequest
    k: int
    by: tuple[str, ...] = ()
    ties: str = "first"
    highest: str | None = None

    def __post_init__(self) -> None:
        choose("ties", self.ties, get_args(Ties))
        ranks = [self.count.name, *(measure.name for measure in self.count.aggregates)]
        if self.highest is not None and self.highest not in ranks:
            raise UsageError(f"highest={self.highest!r} is no column to rank by. {did_you_mean(self.highest, ranks)}")
        check_k(self.k, least=0)

    @property
    def ranked(self) -> str:
        """The result column by which rows are ranked."""
        return self.highest or self.count.name
