"""The sequenced verbs as data: what was asked, checked once, for every engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from timeloom.errors import UsageError, shown
from timeloom.model.join import check_max_rows, choose, join_kind, suffix_pair
from timeloom.model.measures import Measure
from timeloom.model.naming import Keys
from timeloom.model.period import Period
from timeloom.model.policy import Policy

SequencedHow = Literal["inner", "left", "right", "full"]
SequencedAlgorithm = Literal["auto", "forward_scan", "sweep", "dip"]
AntijoinAlgorithm = Literal["auto", "cover", "dip"]
AggregateAlgorithm = Literal["auto", "sweep", "dip"]


@dataclass(frozen=True)
class TemporalJoinRequest:
    """One call of ``temporal_join`` for two tables."""

    keys: Keys
    how: str
    left_period: Period
    right_period: Period
    policy: Policy
    suffixes: tuple[str, str] = ("", "_right")
    columns: tuple[str, ...] | None = None
    algorithm: str = "auto"
    max_rows: int | None = None
    m: int | None = None

    def __post_init__(self) -> None:
        choose("algorithm", self.algorithm, get_args(SequencedAlgorithm))
        check_at_once(self.m, self.algorithm)
        check_max_rows(self.max_rows)
        object.__setattr__(self, "how", join_kind(self.how, get_args(SequencedHow)))
        object.__setattr__(self, "suffixes", suffix_pair(self.suffixes))
        check_names(self.keys.left, self.left_period, "left")
        check_names(self.keys.right, self.right_period, "right")


@dataclass(frozen=True)
class AntijoinRequest:
    """One call of ``temporal_antijoin``."""

    keys: Keys
    left_period: Period
    right_period: Period
    policy: Policy
    columns: tuple[str, ...] | None = None
    algorithm: str = "auto"
    m: int | None = None

    def __post_init__(self) -> None:
        choose("algorithm", self.algorithm, get_args(AntijoinAlgorithm))
        check_at_once(self.m, self.algorithm)
        check_names(self.keys.left, self.left_period, "left")
        check_names(self.keys.right, self.right_period, "right")


@dataclass(frozen=True)
class AggregateRequest:
    """One call of ``temporal_aggregate``."""

    measures: tuple[Measure, ...]
    by: tuple[str, ...]
    period: Period
    policy: Policy
    fill: bool = False
    within: tuple[Any, Any] | None = None
    algorithm: str = "auto"

    def __post_init__(self) -> None:
        choose("algorithm", self.algorithm, get_args(AggregateAlgorithm))
        check_names(self.by, self.period, "input")
        taken = [*self.by, self.period.start, self.period.end]
        for name in (measure.name for measure in self.measures):
            if name in taken:
                raise UsageError(
                    f"an aggregate is named {name!r}, like a grouping or period column of the result; rename it"
                )


@dataclass(frozen=True)
class CoalesceRequest:
    """One call of ``coalesce``; ``by=None`` means all columns but the period."""

    by: tuple[str, ...] | None
    period: Period
    policy: Policy

    def __post_init__(self) -> None:
        check_names(self.by or (), self.period, "input")


@dataclass(frozen=True)
class GapsRequest:
    """One call of ``gaps``; ``within=None`` means from the first start to the last end of each group."""

    by: tuple[str, ...]
    within: tuple[Any, Any] | None
    period: Period
    policy: Policy

    def __post_init__(self) -> None:
        check_names(self.by, self.period, "input")


def check_at_once(m: int | None, algorithm: str) -> None:
    """Refuse a number of partitions that cannot be, or that nobody would look at."""
    if m is None:
        return
    if algorithm != "dip":
        raise UsageError(
            f"m={m} is how many disjoint partitions are merged at once, which algorithm={algorithm!r} has not; "
            "give algorithm='dip', or leave m= out"
        )
    if m < 1:
        raise UsageError(f"m={m} is no number of partitions; give 1 or more, or leave it out")


def refuse_at_once(m: int | None) -> None:
    """Refuse a number of partitions on Spark, whose tasks choose it for their slices."""
    if m is not None:
        raise UsageError(f"m={m} is for local tables; on Spark each task merges as many partitions as its slice has")


def check_names(names: Sequence[str], period: Period, side: str) -> None:
    """Refuse keys that are named twice or that are the period itself."""
    if len(set(names)) < len(names):
        raise UsageError(f"a column is named twice: {', '.join(map(repr, names))}")
    for name in names:
        if name in (period.start, period.end):
            raise UsageError(
                f"{name!r} is a period column of the {side} table and cannot be a key; keys are compared for "
                "equality, the verb looks after the periods"
            )


def read_within(given: Any) -> tuple[Any, Any] | None:
    """Read a window: a pair of bounds, the second of which may be None for an open end."""
    if given is None:
        return None
    pair = tuple(given) if isinstance(given, tuple | list) else ()
    if len(pair) != 2 or pair[0] is None:
        raise UsageError(f"within={shown(given)} is no window; give two bounds (start, end), the end None for no end")
    return pair[0], pair[1]
