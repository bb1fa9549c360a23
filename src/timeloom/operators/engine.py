"""What an engine does for the verbs, and which engine takes which tables."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from timeloom.model.count_join import CountRequest, TopRequest
from timeloom.model.explanation import Explanation
from timeloom.model.join import JoinRequest
from timeloom.model.neighbours import AsOfRequest, BitemporalAsOfRequest, NearestRequest
from timeloom.model.one_way import OneWayRequest
from timeloom.model.pattern import PatternRequest
from timeloom.model.sequenced import (
    AggregateRequest,
    AntijoinRequest,
    CheckRequest,
    CoalesceRequest,
    GapsRequest,
    LanesRequest,
    SplitRequest,
    TemporalJoinRequest,
    TemporalSetRequest,
)
from timeloom.model.sliding_windows import WindowRequest
from timeloom.model.stab import StabRequest

if TYPE_CHECKING:
    pass

Frame = Any
"""A table of the user's, of any kind that the engine takes."""

Answer = Any
"""A table of the first input's kind, or `Quarantined` with two of them when the policy says so."""


class Engine(Protocol):
    """One method a verb, and one for each plan that can be explained.

    An engine refuses what it cannot do by a `UsageError` that names the option and says what to do instead.
    """

    def join(self, left: Frame, right: Frame, request: JoinRequest) -> Answer:
        """Pair the rows whose periods are in a relation."""

    def join_batches(self, left: Frame, right: Frame, request: JoinRequest, rows: int) -> Any:
        """Yield the result of a join in batches of at most so many rows, beside rejected rows if they are asked for."""

    def explain_join(self, left: Frame, right: Frame, request: JoinRequest) -> Explanation:
        """Say how a join would run."""

    def count_join(self, left: Frame, right: Frame, request: CountRequest) -> Answer:
        """Count the right rows of each left row."""

    def top_k(self, left: Frame, right: Frame, request: TopRequest) -> Answer:
        """Keep the left rows with the highest counts."""

    def explain_count_join(self, left: Frame, right: Frame, request: CountRequest) -> Explanation:
        """Say how counts are made."""

    def pattern(self, tables: Mapping[str, Frame], request: PatternRequest) -> Answer:
        """Find rows of several tables whose periods are in given relations."""

    def explain_pattern(self, tables: Mapping[str, Frame], request: PatternRequest) -> Explanation:
        """Say in which order a pattern is joined."""

    def temporal_join(self, frames: Sequence[Frame], requests: Sequence[TemporalJoinRequest]) -> Answer:
        """Join two or more tables instant by instant; one request for each table after the first."""

    def explain_temporal_join(self, frames: Sequence[Frame], requests: Sequence[TemporalJoinRequest]) -> Explanation:
        """Say how a sequenced join would run."""

    def temporal_antijoin(self, left: Frame, right: Frame, request: AntijoinRequest) -> Answer:
        """Keep of each left row the time in which it has no partner."""

    def explain_temporal_antijoin(self, left: Frame, right: Frame, request: AntijoinRequest) -> Explanation:
        """Say how a sequenced antijoin would run."""

    def temporal_aggregate(self, df: Frame, request: AggregateRequest) -> Answer:
        """Aggregate over time."""

    def explain_temporal_aggregate(self, df: Frame, request: AggregateRequest) -> Explanation:
        """Say how an aggregation would run."""

    def explain_coalesce(self, df: Frame, request: CoalesceRequest) -> Explanation:
        """Say how periods would be merged."""

    def coalesce(self, df: Frame, request: CoalesceRequest) -> Answer:
        """Merge the periods of equal rows."""

    def explain_gaps(self, df: Frame, request: GapsRequest) -> Explanation:
        """Say how gaps would be found."""

    def gaps(self, df: Frame, request: GapsRequest) -> Answer:
        """Find the time that no row covers."""

    def stab(self, df: Frame, request: StabRequest) -> Answer:
        """Keep the rows that are active at an instant."""

    def sliding_windows(self, df: Frame, request: WindowRequest) -> Answer:
        """Slide windows over two time axes."""

    def explain_sliding_windows(self, df: Frame, request: WindowRequest) -> Explanation:
        """Say how windows would slide."""

    def as_of(self, left: Frame, right: Frame, request: AsOfRequest) -> Answer:
        """Give each left row the right row in force at its instant."""

    def explain_as_of(self, left: Frame, right: Frame, request: AsOfRequest) -> Explanation:
        """Say how an as-of join would run."""

    def believed(self, df: Frame, request: BitemporalAsOfRequest) -> Answer:
        """Keep the rows of a table with two periods that hold both instants."""

    def nearest(self, left: Frame, right: Frame, request: NearestRequest) -> Answer:
        """Find the nearest right rows of each left row."""

    def explain_nearest(self, left: Frame, right: Frame, request: NearestRequest) -> Explanation:
        """Say how neighbours would be found."""

    def explain_one_way(self, verb: str, frames: Sequence[Frame], request: OneWayRequest) -> Explanation:
        """Say what a verb does that runs in one way only."""

    def split(self, df: Frame, request: SplitRequest) -> Answer:
        """Cut periods at a grid of time."""

    def lanes(self, df: Frame, request: LanesRequest) -> Answer:
        """Lay rows out in lanes without overlap."""

    def check(self, df: Frame, request: CheckRequest) -> Answer:
        """List what is wrong with a table of periods."""

    def temporal_union(self, left: Frame, right: Frame, request: TemporalSetRequest) -> Answer:
        """Unite two tables at every instant."""

    def temporal_intersect(self, left: Frame, right: Frame, request: TemporalSetRequest) -> Answer:
        """Keep what both tables have at an instant."""

    def temporal_except(self, left: Frame, right: Frame, request: TemporalSetRequest) -> Answer:
        """Keep what the left table alone has at an instant."""


def engine_of(inputs: Mapping[str, object]) -> Engine:
    """Pick the engine that takes these tables; a mixture is refused, its members by their names."""
    from timeloom.engines.tables.frames import family_of
    from timeloom.engines.tables.marks import is_spark

    if family_of(dict(inputs)) == "spark":
        from timeloom.engines.spark import SparkEngine
        from timeloom.engines.spark.cluster.interpreter import use_own_python

        frames: list[Any] = [frame for frame in inputs.values() if is_spark(frame)]
        use_own_python(frames[0].sparkSession, frames)
        return SparkEngine()
    from timeloom.engines.local import LocalEngine

    return LocalEngine()
