"""The public names, with results as exact as the arguments allow.

A result is of the first table's own kind: pandas, Polars, Arrow, DuckDB or Spark. With
``on_invalid="quarantine"`` it is a `Quarantined` of that kind. Tables of other kinds that export Arrow come back as
Arrow tables, for which no type stands here.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypedDict, TypeVar, Unpack, overload

from pyarrow import RecordBatch

from timeloom.bitemporal.index import BitemporalIndex as BitemporalIndex
from timeloom.bitemporal.table import BitemporalTable as BitemporalTable
from timeloom.engines.tables.validity import Quarantined as Quarantined
from timeloom.errors import DroppedRowsWarning as DroppedRowsWarning
from timeloom.errors import InvalidInputError as InvalidInputError
from timeloom.errors import StorageError as StorageError
from timeloom.errors import TimeloomError as TimeloomError
from timeloom.errors import UsageError as UsageError
from timeloom.model import allen as allen
from timeloom.model import iseql as iseql
from timeloom.model.count_join import CountAlgorithm, Ties
from timeloom.model.explanation import Explanation as Explanation
from timeloom.model.join import How, JoinAlgorithm, Strategy
from timeloom.model.merge import Late
from timeloom.model.names import RelationLike
from timeloom.model.names import relation as relation
from timeloom.model.neighbours import AsOfDirection, KeptHow, NearestDirection
from timeloom.model.period import Period as Period
from timeloom.model.period import PeriodLike
from timeloom.model.policy import OnEmpty, OnInvalid
from timeloom.model.relation import Relation as Relation
from timeloom.model.sequenced import AggregateAlgorithm, AntijoinAlgorithm, SequencedAlgorithm, SequencedHow
from timeloom.model.slide import Meanings
from timeloom.model.slide import Slide as Slide
from timeloom.model.ticks import Span
from timeloom.operators.explain import explain as explain
from timeloom.operators.install import install as install
from timeloom.operators.with_schema import with_schema as with_schema
from timeloom.partitions.disjoint import DisjointPartitions as DisjointPartitions
from timeloom.plots.drawing import Plot as Plot
from timeloom.plots.plot import plot as plot
from timeloom.query.sql import sql as sql
from timeloom.stab_forest.forest import StabForest as StabForest
from timeloom.stab_forest.keyed import KeyedForest as KeyedForest

__version__: str

__all__: list[str]

_F = TypeVar("_F")
_Kept = Literal["error", "drop"]
_Apart = Literal["quarantine"]

class _Periods(TypedDict, total=False):
    period: PeriodLike
    empty: OnEmpty | None

class _Grouped(_Periods, total=False):
    by: str | Sequence[str] | None

class _Coalesce(_Grouped, total=False):
    max_gap: Span | str | None

class _Lanes(_Grouped, total=False):
    name: str

class _Split(_Periods, total=False):
    every: Span | str | None
    at: Any
    origin: Any
    zone: str | None

class _Windowed(_Grouped, total=False):
    within: tuple[Any, Any] | None

class _Profiled(_Windowed, total=False):
    fill: bool

class _Depth(_Profiled, total=False):
    name: str

class _TemporalAggregate(_Profiled, total=False):
    every: Span | str | None
    origin: Any
    zone: str | None
    algorithm: AggregateAlgorithm

class _TwoTables(_Periods, total=False):
    on: str | Sequence[str] | None
    left_on: str | Sequence[str] | None
    right_on: str | Sequence[str] | None
    left_period: PeriodLike | None
    right_period: PeriodLike | None

class _Related(_TwoTables, total=False):
    delta: Span | str | None
    epsilon: Span | str | None
    strategy: Strategy

class _Join(_Related, total=False):
    how: How
    overlap: bool | Literal["length"]
    where: str | None
    max_gap: Span | str | None
    min_overlap: Any
    columns: Sequence[str] | None
    suffixes: tuple[str, str]
    algorithm: JoinAlgorithm
    batch_rows: int
    max_rows: int | None
    window: tuple[Any, Any] | None

class _CountJoin(_Related, total=False):
    name: str
    aggregates: Mapping[str, Any] | None
    algorithm: CountAlgorithm

class _TopK(_Related, total=False):
    by: str | Sequence[str] | None
    ties: Ties
    name: str
    aggregates: Mapping[str, Any] | None
    highest: str | None

class _Nearest(_TwoTables, total=False):
    direction: NearestDirection
    max_distance: Span | str | None
    ties: Ties
    how: KeptHow
    name: str
    columns: Sequence[str] | None
    suffixes: tuple[str, str]

class _AsOf(TypedDict, total=False):
    at: str
    right_at: str | None
    on: str | Sequence[str] | None
    left_on: str | Sequence[str] | None
    right_on: str | Sequence[str] | None
    direction: AsOfDirection
    tolerance: Span | str | None
    allow_exact: bool
    how: KeptHow
    columns: Sequence[str] | None
    suffixes: tuple[str, str]
    sys: Any
    app: Any
    sys_period: PeriodLike
    app_period: PeriodLike

class _TemporalSet(_Periods, total=False):
    all: bool
    left_period: PeriodLike | None
    right_period: PeriodLike | None

class _TemporalAntijoin(_TwoTables, total=False):
    where: str | None
    columns: Sequence[str] | None
    suffixes: tuple[str, str]
    algorithm: AntijoinAlgorithm
    m: int | None

class _TemporalJoin(_TwoTables, total=False):
    how: SequencedHow
    where: str | None
    columns: Sequence[str] | None
    suffixes: Sequence[str]
    algorithm: SequencedAlgorithm
    m: int | None
    max_rows: int | None

class _SlidingWindows(TypedDict, total=False):
    ratio: tuple[int, int]
    meaning: Meanings
    select: Mapping[str, Any] | None
    deltas: bool
    rows: bool
    bounds: bool
    sys_period: PeriodLike
    app_period: PeriodLike

class _Stream(TypedDict, total=False):
    by: str | Sequence[str] | None
    watermark: str | None
    arrives: str
    event_columns: dict[str, str] | None

class _StreamAggregate(_Stream, total=False):
    every: Span | str | None
    origin: Any
    zone: str | None

class _StreamCoalesce(_Stream, total=False):
    max_gap: Span | str | None

class _StreamCount(TypedDict, total=False):
    on: str | Sequence[str] | None
    name: str
    aggregates: Mapping[str, Any] | None
    delta: Span | str | None
    epsilon: Span | str | None
    watermark: str | None
    left_arrives: str
    right_arrives: str
    columns: Sequence[str] | dict[str, str] | None
    event_columns: dict[str, str] | None

class _StreamWindows(TypedDict, total=False):
    ratio: tuple[int, int]
    meaning: Meanings
    select: Mapping[str, Any] | None
    app_period: PeriodLike
    watermark: str | None
    arrives: str
    event_columns: dict[str, str] | None

class _StreamPattern(TypedDict, total=False):
    on: str | Sequence[str] | None
    watermark: str | None
    arrives: str | Mapping[str, Any]
    columns: Sequence[str] | dict[str, str] | None
    event_columns: dict[str, str] | None

class _Pattern(TypedDict, total=False):
    on: str | Sequence[str] | None
    columns: Sequence[str] | None
    period: PeriodLike
    periods: Mapping[str, Any] | None
    on_invalid: OnInvalid
    empty: OnEmpty | None

class _Merge(TypedDict, total=False):
    op: str
    sys: str
    order: str | Sequence[str] | None
    late: Late
    sys_period: PeriodLike
    app_period: PeriodLike
    without_overlaps: bool

class _StreamJoin(TypedDict, total=False):
    on: str | Sequence[str] | None
    how: str
    delta: Span | str | None
    epsilon: Span | str | None
    watermark: str | Mapping[str, str | None] | None
    left_arrives: str
    right_arrives: str
    columns: str | Sequence[str] | dict[str, str] | None
    suffixes: tuple[str, str]
    overlap: bool | Literal["length"]
    where: str | None
    event_columns: dict[str, str] | None

@overload
def as_of(left: _F, right: object = None, *, on_invalid: _Kept = "error", **options: Unpack[_AsOf]) -> _F: ...
@overload
def as_of(left: _F, right: object = None, *, on_invalid: _Apart, **options: Unpack[_AsOf]) -> Quarantined[_F]: ...
def check(
    df: _F,
    *,
    by: str | Sequence[str] | None = None,
    overlaps: bool = True,
    gaps: bool = False,
    duplicates: bool = False,
    within: tuple[Any, Any] | None = None,
    period: PeriodLike = ("start", "end"),
) -> _F: ...
@overload
def coalesce(df: _F, *, on_invalid: _Kept = "error", **options: Unpack[_Coalesce]) -> _F: ...
@overload
def coalesce(df: _F, *, on_invalid: _Apart, **options: Unpack[_Coalesce]) -> Quarantined[_F]: ...
@overload
def lanes(df: _F, *, on_invalid: _Kept = "error", **options: Unpack[_Lanes]) -> _F: ...
@overload
def lanes(df: _F, *, on_invalid: _Apart, **options: Unpack[_Lanes]) -> Quarantined[_F]: ...
def merge(history: _F, feed: object, key: str | Sequence[str], **options: Unpack[_Merge]) -> _F: ...
@overload
def nearest(left: _F, right: object, k: int = 1, *, on_invalid: _Kept = "error", **options: Unpack[_Nearest]) -> _F: ...
@overload
def nearest(
    left: _F, right: object, k: int = 1, *, on_invalid: _Apart, **options: Unpack[_Nearest]
) -> Quarantined[_F]: ...
@overload
def split(df: _F, *, on_invalid: _Kept = "error", **options: Unpack[_Split]) -> _F: ...
@overload
def split(df: _F, *, on_invalid: _Apart, **options: Unpack[_Split]) -> Quarantined[_F]: ...
@overload
def temporal_except(left: _F, right: object, *, on_invalid: _Kept = "error", **options: Unpack[_TemporalSet]) -> _F: ...
@overload
def temporal_except(
    left: _F, right: object, *, on_invalid: _Apart, **options: Unpack[_TemporalSet]
) -> Quarantined[_F]: ...
@overload
def temporal_intersect(
    left: _F, right: object, *, on_invalid: _Kept = "error", **options: Unpack[_TemporalSet]
) -> _F: ...
@overload
def temporal_intersect(
    left: _F, right: object, *, on_invalid: _Apart, **options: Unpack[_TemporalSet]
) -> Quarantined[_F]: ...
@overload
def temporal_union(left: _F, right: object, *, on_invalid: _Kept = "error", **options: Unpack[_TemporalSet]) -> _F: ...
@overload
def temporal_union(
    left: _F, right: object, *, on_invalid: _Apart, **options: Unpack[_TemporalSet]
) -> Quarantined[_F]: ...
@overload
def count_join(
    left: _F,
    right: object,
    relation: RelationLike = "intersects",
    *,
    on_invalid: _Kept = "error",
    **options: Unpack[_CountJoin],
) -> _F: ...
@overload
def count_join(
    left: _F, right: object, relation: RelationLike = "intersects", *, on_invalid: _Apart, **options: Unpack[_CountJoin]
) -> Quarantined[_F]: ...
@overload
def depth(df: _F, *, on_invalid: _Kept = "error", **options: Unpack[_Depth]) -> _F: ...
@overload
def depth(df: _F, *, on_invalid: _Apart, **options: Unpack[_Depth]) -> Quarantined[_F]: ...
@overload
def gaps(df: _F, *, on_invalid: _Kept = "error", **options: Unpack[_Windowed]) -> _F: ...
@overload
def gaps(df: _F, *, on_invalid: _Apart, **options: Unpack[_Windowed]) -> Quarantined[_F]: ...
@overload
def join(
    left: _F,
    right: object,
    relation: RelationLike = "intersects",
    *,
    batches: Literal[False] = False,
    on_invalid: _Kept = "error",
    **options: Unpack[_Join],
) -> _F: ...
@overload
def join(
    left: _F,
    right: object,
    relation: RelationLike = "intersects",
    *,
    batches: Literal[False] = False,
    on_invalid: _Apart,
    **options: Unpack[_Join],
) -> Quarantined[_F]: ...
@overload
def join(
    left: object,
    right: object,
    relation: RelationLike = "intersects",
    *,
    batches: Literal[True],
    on_invalid: _Kept = "error",
    **options: Unpack[_Join],
) -> Iterator[RecordBatch]: ...
@overload
def join(
    left: object,
    right: object,
    relation: RelationLike = "intersects",
    *,
    batches: Literal[True],
    on_invalid: _Apart,
    **options: Unpack[_Join],
) -> Quarantined[Any]: ...
@overload
def join(
    left: _F,
    right: object,
    relation: RelationLike = "intersects",
    *,
    batches: bool,
    on_invalid: OnInvalid = "error",
    **options: Unpack[_Join],
) -> _F | Quarantined[_F] | Iterator[RecordBatch]: ...
@overload
def sliding_windows(
    df: _F, sys: Slide, app: Slide, *, steps: int, on_invalid: _Kept = "error", **options: Unpack[_SlidingWindows]
) -> _F: ...
@overload
def sliding_windows(
    df: _F, sys: Slide, app: Slide, *, steps: int, on_invalid: _Apart, **options: Unpack[_SlidingWindows]
) -> Quarantined[_F]: ...
@overload
def stab(df: _F, at: Any, *, on_invalid: _Kept = "error", **options: Unpack[_Periods]) -> _F: ...
@overload
def stab(df: _F, at: Any, *, on_invalid: _Apart, **options: Unpack[_Periods]) -> Quarantined[_F]: ...
def pattern(tables: Mapping[str, Any], relations: Sequence[Any], **options: Unpack[_Pattern]) -> Any: ...
def stream_aggregate(df: _F, aggregates: Mapping[str, Any], **options: Unpack[_StreamAggregate]) -> _F: ...
def stream_coalesce(df: _F, **options: Unpack[_StreamCoalesce]) -> _F: ...
def stream_count(
    left: _F, right: object, relation: RelationLike = "intersects", **options: Unpack[_StreamCount]
) -> _F: ...
def stream_pattern(streams: Mapping[str, Any], relations: Sequence[Any], **options: Unpack[_StreamPattern]) -> Any: ...
def stream_join(
    left: _F, right: object, relation: RelationLike = "intersects", **options: Unpack[_StreamJoin]
) -> _F: ...
def stream_windows(df: _F, sys: Slide, app: Slide, **options: Unpack[_StreamWindows]) -> _F: ...
@overload
def temporal_aggregate(
    df: _F, aggregates: Mapping[str, Any], *, on_invalid: _Kept = "error", **options: Unpack[_TemporalAggregate]
) -> _F: ...
@overload
def temporal_aggregate(
    df: _F, aggregates: Mapping[str, Any], *, on_invalid: _Apart, **options: Unpack[_TemporalAggregate]
) -> Quarantined[_F]: ...
@overload
def temporal_antijoin(
    left: _F, right: object, *, on_invalid: _Kept = "error", **options: Unpack[_TemporalAntijoin]
) -> _F: ...
@overload
def temporal_antijoin(
    left: _F, right: object, *, on_invalid: _Apart, **options: Unpack[_TemporalAntijoin]
) -> Quarantined[_F]: ...
@overload
def temporal_join(
    left: list[_F] | tuple[_F, ...],
    right: object = None,
    *,
    on_invalid: _Kept = "error",
    **options: Unpack[_TemporalJoin],
) -> _F: ...
@overload
def temporal_join(
    left: list[_F] | tuple[_F, ...], right: object = None, *, on_invalid: _Apart, **options: Unpack[_TemporalJoin]
) -> Quarantined[_F]: ...
@overload
def temporal_join(left: _F, right: object, *, on_invalid: _Kept = "error", **options: Unpack[_TemporalJoin]) -> _F: ...
@overload
def temporal_join(
    left: _F, right: object, *, on_invalid: _Apart, **options: Unpack[_TemporalJoin]
) -> Quarantined[_F]: ...
@overload
def top_k(
    left: _F,
    right: object,
    k: int,
    relation: RelationLike = "intersects",
    *,
    on_invalid: _Kept = "error",
    **options: Unpack[_TopK],
) -> _F: ...
@overload
def top_k(
    left: _F,
    right: object,
    k: int,
    relation: RelationLike = "intersects",
    *,
    on_invalid: _Apart,
    **options: Unpack[_TopK],
) -> Quarantined[_F]: ...
