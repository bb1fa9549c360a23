"""The sequenced verbs as data: what was asked, checked once, for every engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from timeloom.errors import UsageError, shown
from timeloom.model.conditions import Condition
from timeloom.model.grids import GridRequest
from timeloom.model.join import HOWS, check_max_rows, choose, join_kind, suffix_pair
from timeloom.model.measures import TIMED, Measure
from timeloom.model.naming import Keys, OutputColumn, joined_columns
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import Span

SequencedHow = Literal["inner", "left", "right", "full", "semi"]
SequencedAlgorithm = Literal["auto", "forward_scan", "sweep", "dip"]
FAULT_COLUMNS = ("fault", "start", "end", "rows")

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
    where: Condition | None = None

    def __post_init__(self) -> None:
        choose("algorithm", self.algorithm, get_args(SequencedAlgorithm))
        check_at_once(self.m, self.algorithm)
        check_max_rows(self.max_rows)
        if isinstance(self.how, str) and self.how.lower() in HOWS["anti"]:
            raise UsageError(f"how={self.how!r} is a verb of its own: temporal_antijoin takes the same tables and keys")
        object.__setattr__(self, "how", join_kind(self.how, get_args(SequencedHow)))
        object.__setattr__(self, "suffixes", suffix_pair(self.suffixes))
        check_names(self.keys.left, self.left_period, "left")
        check_names(self.keys.right, self.right_period, "right")

    def wide(self, right: Period) -> bool:
        """Whether a result may last longer than an instant of the left side: where a right row is alone."""
        return self.how in ("right", "full") and not right.is_instant


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
    where: Condition | None = None
    suffixes: tuple[str, str] = ("", "_right")

    def __post_init__(self) -> None:
        choose("algorithm", self.algorithm, get_args(AntijoinAlgorithm))
        check_at_once(self.m, self.algorithm)
        object.__setattr__(self, "suffixes", suffix_pair(self.suffixes))
        check_names(self.keys.left, self.left_period, "left")
        check_names(self.keys.right, self.right_period, "right")


def read_columns(
    request: TemporalJoinRequest | AntijoinRequest, left: Sequence[str], right: Sequence[str]
) -> dict[str, OutputColumn]:
    """The columns of a pair that a condition reads, by the names that it has for them; the period is the shared one."""
    if request.where is None:
        return {}
    known = joined_columns(
        left, right, request.keys, suffixes=request.suffixes, without_right=request.right_period.columns
    )
    by_name = {column.name: column for column in known}
    return {name: by_name[output] for name, output in request.where.resolve(list(by_name)).items()}


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
    grid: GridRequest | None = None

    def __post_init__(self) -> None:
        choose("algorithm", self.algorithm, get_args(AggregateAlgorithm))
        self._check_grid()
        check_names(self.by, self.period, "input")
        taken = [*self.by, *self.period.columns]
        for name in (measure.name for measure in self.measures):
            if name in taken:
                raise UsageError(
                    f"an aggregate is named {name!r}, like a grouping or period column of the result; rename it"
                )

    def _check_grid(self) -> None:
        """Buckets have measures of their own; constant lineage has the others."""
        for measure in self.measures:
            if self.grid is None and measure.function in TIMED:
                raise UsageError(
                    f"aggregate {measure.name!r}: {measure.function!r} is of a bucket of time; give every="
                )
            if self.grid is not None and measure.function not in TIMED and measure.minds_order:
                raise UsageError(
                    f"aggregate {measure.name!r} minds the order of rows, and rows of a bucket have none; tl.split "
                    "cuts them at the same grid, to be sorted and grouped by anything"
                )
        if self.grid is not None and (self.fill or self.algorithm != "auto"):
            raise UsageError("fill= and algorithm= are for periods of constant lineage; every= makes buckets")


@dataclass(frozen=True)
class CoalesceRequest:
    """One call of ``coalesce``; ``by=None`` means all columns but the period."""

    by: tuple[str, ...] | None
    period: Period
    policy: Policy
    max_gap: Span | None = None

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


@dataclass(frozen=True)
class SplitRequest:
    """One call of ``split``."""

    grid: GridRequest
    period: Period
    policy: Policy


@dataclass(frozen=True)
class LanesRequest:
    """One call of ``lanes``."""

    by: tuple[str, ...]
    name: str
    period: Period
    policy: Policy

    def __post_init__(self) -> None:
        check_names(self.by, self.period, "input")
        if not isinstance(self.name, str) or not self.name:
            raise UsageError(f"name={self.name!r} is no column name; give a text")


@dataclass(frozen=True)
class CheckRequest:
    """One call of ``check``."""

    by: tuple[str, ...]
    period: Period
    overlaps: bool = True
    gaps: bool = False
    duplicates: bool = False
    within: tuple[Any, Any] | None = None

    def __post_init__(self) -> None:
        check_names(self.by, self.period, "input")
        for name in self.by:
            if name in FAULT_COLUMNS:
                raise UsageError(f"by= names {name!r}, like a column of the table of faults; rename it first")
        if self.within is not None and not self.gaps:
            raise UsageError("within= is the time in which gaps are looked for; give gaps=True, too")


@dataclass(frozen=True)
class TemporalSetRequest:
    """One call of ``temporal_union``, ``temporal_intersect`` or ``temporal_except``."""

    left_period: Period
    right_period: Period
    policy: Policy
    all: bool = False


def check_names(names: Sequence[str], period: Period, side: str) -> None:
    """Refuse keys that are the period itself."""
    for name in names:
        if name in period.columns:
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
