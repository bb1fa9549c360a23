"""The local engine: Arrow tables in, kernels, Arrow tables out.

Each method loads the module of its verb when it is first called: a verb costs nothing before it runs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from timeloom.engines.tables.marks import is_index, is_keyed
from timeloom.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from timeloom.engines.tables.validity import Quarantined
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


class LocalEngine:
    """The verbs on local tables of any kind that exports Arrow."""

    def join(self, left: object, right: object, request: "JoinRequest") -> Any:
        """Pair the rows whose periods are in a relation."""
        if is_index(left) or is_index(right):
            found = _through_indexes().join(left, right, request)
            if found is not None:
                return found
        if is_keyed(right):
            from timeloom.engines.indexes.keyed import join as by_key

            if (found := by_key(left, right, request)) is not None:
                return found
        from timeloom.engines.local.join import join

        return join(left, right, request)

    def join_batches(
        self, left: object, right: object, request: "JoinRequest", rows: int
    ) -> "Iterator[pa.RecordBatch] | Quarantined[Any]":
        """Yield the result of a join in batches of at most so many rows."""
        from timeloom.engines.local.join import join_batches

        if rows < 1:
            raise UsageError(f"batch_rows={rows} is too small; give 1 or more")
        return join_batches(left, right, request, rows)

    def explain_join(self, left: object, right: object, request: "JoinRequest") -> "Explanation":
        """Say how a join would run."""
        if is_index(left) or is_index(right):
            from timeloom.engines.indexes.verbs import explained

            if (found := explained("join", left, right, request)) is not None:
                return found
        from timeloom.engines.local.join import explain_join

        return _told_of_index(explain_join(left, right, request), left, right, request)

    def count_join(self, left: object, right: object, request: "CountRequest") -> Any:
        """Count the right rows of each left row."""
        if is_index(right):
            found = _through_indexes().count_join(left, right, request)
            if found is not None:
                return found
        from timeloom.engines.local.count_join import count_join

        return count_join(left, right, request)

    def top_k(self, left: object, right: object, request: "TopRequest") -> Any:
        """Keep the left rows with the highest counts."""
        from timeloom.engines.local.top_k import top_k

        return top_k(left, right, request)

    def explain_count_join(self, left: object, right: object, request: "CountRequest") -> "Explanation":
        """Say how counts are made."""
        if is_index(right):
            from timeloom.engines.indexes.verbs import explained

            if (found := explained("count_join", left, right, request)) is not None:
                return found
        from timeloom.engines.local.count_join import explain_count_join

        return _told_of_index(explain_count_join(left, right, request), left, right, request)

    def temporal_join(self, frames: Sequence[object], requests: "Sequence[TemporalJoinRequest]") -> Any:
        """Join two or more tables instant by instant."""
        from timeloom.engines.local.temporal_join import temporal_join, temporal_join_all

        if len(frames) == 2:
            return temporal_join(frames[0], frames[1], requests[0])
        return temporal_join_all(list(frames), list(requests))

    def explain_temporal_join(
        self, frames: Sequence[object], requests: "Sequence[TemporalJoinRequest]"
    ) -> "Explanation":
        """Say how a sequenced join would run."""
        from timeloom.engines.local.temporal_join import explain_temporal_join

        return explain_temporal_join(list(frames), list(requests))

    def temporal_antijoin(self, left: object, right: object, request: "AntijoinRequest") -> Any:
        """Keep of each left row the time in which it has no partner."""
        from timeloom.engines.local.temporal_antijoin import temporal_antijoin

        return temporal_antijoin(left, right, request)

    def explain_temporal_antijoin(self, left: object, right: object, request: "AntijoinRequest") -> "Explanation":
        """Say how a sequenced antijoin would run."""
        from timeloom.engines.local.temporal_antijoin import explain_temporal_antijoin

        return explain_temporal_antijoin(left, right, request)

    def temporal_aggregate(self, df: object, request: "AggregateRequest") -> Any:
        """Aggregate over time."""
        from timeloom.engines.local.temporal_aggregate import temporal_aggregate

        return temporal_aggregate(df, request)

    def explain_temporal_aggregate(self, df: object, request: "AggregateRequest") -> "Explanation":
        """Say how an aggregation would run."""
        from timeloom.engines.local.temporal_aggregate import explain_temporal_aggregate

        return explain_temporal_aggregate(df, request)

    def coalesce(self, df: object, request: "CoalesceRequest") -> Any:
        """Merge the periods of equal rows."""
        from timeloom.engines.local.coalesce import coalesce

        return coalesce(df, request)

    def explain_coalesce(self, df: object, request: "CoalesceRequest") -> "Explanation":
        """Say how periods would be merged."""
        from timeloom.engines.local.coalesce import explain_coalesce

        return explain_coalesce(df, request)

    def gaps(self, df: object, request: "GapsRequest") -> Any:
        """Find the time that no row covers."""
        from timeloom.engines.local.gaps import gaps

        return gaps(df, request)

    def explain_gaps(self, df: object, request: "GapsRequest") -> "Explanation":
        """Say how gaps would be found."""
        from timeloom.engines.local.gaps import explain_gaps

        return explain_gaps(df, request)

    def stab(self, df: object, request: "StabRequest") -> Any:
        """Keep the rows that are active at an instant."""
        if is_index(df):
            found = _through_indexes().stab(df, request)
            if found is not None:
                return found
        from timeloom.engines.local.stab import stab

        return stab(df, request)

    def sliding_windows(self, df: object, request: "WindowRequest") -> Any:
        """Slide windows over two time axes."""
        from timeloom.engines.local.sliding_windows import sliding_windows

        return sliding_windows(df, request)

    def explain_sliding_windows(self, df: object, request: "WindowRequest") -> "Explanation":
        """Say how windows would slide."""
        from timeloom.engines.local.sliding_windows import explain_sliding_windows

        return explain_sliding_windows(df, request)

    def as_of(self, left: object, right: object, request: "AsOfRequest") -> Any:
        """Give each left row the right row in force at its instant."""
        from timeloom.engines.local.as_of import as_of

        return as_of(left, right, request)

    def explain_as_of(self, left: object, right: object, request: "AsOfRequest") -> "Explanation":
        """Say how an as-of join would run."""
        from timeloom.engines.local.as_of import explain_as_of

        return explain_as_of(left, right, request)

    def believed(self, df: object, request: "BitemporalAsOfRequest") -> Any:
        """Keep the rows of a table with two periods that hold both instants."""
        from timeloom.engines.local.as_of import believed

        return believed(df, request)

    def nearest(self, left: object, right: object, request: "NearestRequest") -> Any:
        """Find the nearest right rows of each left row."""
        if is_index(left):
            from timeloom.engines.indexes.nearest_left import nearest as of_events

            if (found := of_events(left, right, request)) is not None:
                return found
        elif is_index(right):
            from timeloom.engines.indexes.nearest import nearest as through_index

            if (found := through_index(left, right, request)) is not None:
                return found
        from timeloom.engines.local.nearest import nearest

        return nearest(left, right, request)

    def explain_nearest(self, left: object, right: object, request: "NearestRequest") -> "Explanation":
        """Say how neighbours would be found."""
        if is_index(left) or is_index(right):
            from timeloom.engines.indexes.nearest import explain_nearest as near_rows
            from timeloom.engines.indexes.nearest_left import explain_nearest as near_events

            if (known := (near_events if is_index(left) else near_rows)(left, right, request)) is not None:
                return known
        from timeloom.engines.local.nearest import explain_nearest

        return explain_nearest(left, right, request)

    def explain_one_way(self, verb: str, frames: Sequence[object], request: "OneWayRequest") -> "Explanation":
        """Say what a verb does that runs in one way only."""
        from timeloom.engines.tables.one_way import explain_one_way

        return explain_one_way(verb, frames, request)

    def split(self, df: object, request: "SplitRequest") -> Any:
        """Cut periods at a grid of time."""
        from timeloom.engines.local.split import split

        return split(df, request)

    def lanes(self, df: object, request: "LanesRequest") -> Any:
        """Lay rows out in lanes without overlap."""
        from timeloom.engines.local.lanes import lanes

        return lanes(df, request)

    def check(self, df: object, request: "CheckRequest") -> Any:
        """List what is wrong with a table of periods."""
        from timeloom.engines.local.check import check

        return check(df, request)

    def temporal_union(self, left: object, right: object, request: "TemporalSetRequest") -> Any:
        """Unite two tables at every instant."""
        from timeloom.engines.local.temporal_union import temporal_union

        return temporal_union(left, right, request)

    def temporal_intersect(self, left: object, right: object, request: "TemporalSetRequest") -> Any:
        """Keep what both tables have at an instant."""
        from timeloom.engines.local.temporal_intersect import temporal_intersect

        return temporal_intersect(left, right, request)

    def temporal_except(self, left: object, right: object, request: "TemporalSetRequest") -> Any:
        """Keep what the left table alone has at an instant."""
        from timeloom.engines.local.temporal_except import temporal_except

        return temporal_except(left, right, request)

    def pattern(self, tables: "Mapping[str, Any]", request: "PatternRequest") -> Any:
        """Find rows of several tables whose periods are in given relations."""
        from timeloom.engines.local.pattern import pattern

        return pattern(tables, request)

    def explain_pattern(self, tables: "Mapping[str, Any]", request: "PatternRequest") -> "Explanation":
        """Say in which order a pattern is joined."""
        from timeloom.engines.local.pattern import explain_pattern

        return explain_pattern(tables, request)


@cache
def _through_indexes() -> Any:
    """The verbs that go through an index; asking where they stand each time would take a tenth of what they take."""
    from timeloom.engines.indexes import verbs

    return verbs


def _told_of_index(
    plan: "Explanation", left: object, right: object, request: "JoinRequest | CountRequest"
) -> "Explanation":
    """A plan of tables; of an index it also says why it is read as one."""
    if not (is_index(left) or is_index(right)):
        return plan
    from timeloom.engines.indexes.verbs import reason

    return replace(plan, why=(*plan.why, reason(left, right, request)))
