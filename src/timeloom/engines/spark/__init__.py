"""The Spark engine: the same verbs as plans over DataFrames.

Each method loads the module of its verb when it is first called: a verb costs nothing before it runs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from timeloom.engines.tables.marks import is_index
from timeloom.errors import UsageError
from timeloom.model.join import refuse_max_rows
from timeloom.model.sequenced import refuse_at_once

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

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


class SparkEngine:
    """The verbs on Spark DataFrames, classic or Connect. Nothing runs before an action."""

    def join(self, left: "DataFrame", right: "DataFrame", request: "JoinRequest") -> Any:
        """Pair the rows whose periods are in a relation."""
        from timeloom.engines.spark.columns.index_frames import two_frames
        from timeloom.engines.spark.join import join
        from timeloom.engines.spark.matching.forest_probe import probed, probes

        refuse_max_rows(request.max_rows)
        if probes(right, request):
            return probed(left, right, request)
        return join(*two_frames(left, right), _beside_index(right, request))

    def join_batches(
        self, left: "DataFrame", right: "DataFrame", request: "JoinRequest", rows: int
    ) -> "Iterator[pa.RecordBatch]":
        """Refuse: the rows of a DataFrame are in batches already."""
        raise UsageError("batches=True is for local tables; on Spark the result streams to its sink by itself")

    def explain_join(self, left: "DataFrame", right: "DataFrame", request: "JoinRequest") -> "Explanation":
        """Say how a join would run."""
        from timeloom.engines.spark.columns.index_frames import two_frames
        from timeloom.engines.spark.join import explain_join
        from timeloom.engines.spark.matching.forest_probe import explain_probed, probes

        refuse_max_rows(request.max_rows)
        if probes(right, request):
            return explain_probed("join", right, request)
        return explain_join(*two_frames(left, right), _beside_index(right, request))

    def count_join(self, left: "DataFrame", right: "DataFrame", request: "CountRequest") -> Any:
        """Count the right rows of each left row."""
        from timeloom.engines.spark.columns.index_frames import two_frames
        from timeloom.engines.spark.count_join import count_join
        from timeloom.engines.spark.matching.forest_probe import probed, probes

        if probes(right, request):
            return probed(left, right, request)
        return count_join(*two_frames(left, right), request)

    def top_k(self, left: "DataFrame", right: "DataFrame", request: "TopRequest") -> Any:
        """Keep the left rows with the highest counts."""
        from timeloom.engines.spark.columns.index_frames import two_frames
        from timeloom.engines.spark.top_k import top_k

        return top_k(*two_frames(left, right), request)

    def explain_count_join(self, left: "DataFrame", right: "DataFrame", request: "CountRequest") -> "Explanation":
        """Say how counts are made."""
        from timeloom.engines.spark.columns.index_frames import two_frames
        from timeloom.engines.spark.count_join import explain_count_join
        from timeloom.engines.spark.matching.forest_probe import explain_probed, probes

        if probes(right, request):
            return explain_probed("count_join", right, request)
        return explain_count_join(*two_frames(left, right), request)

    def temporal_join(self, frames: "Sequence[DataFrame]", requests: "Sequence[TemporalJoinRequest]") -> Any:
        """Join two or more tables instant by instant."""
        from timeloom.engines.spark.columns.index_frames import as_frames
        from timeloom.engines.spark.temporal_join import temporal_join, temporal_join_all

        refuse_max_rows(requests[0].max_rows)
        refuse_at_once(requests[0].m)
        given = as_frames(frames)
        if len(given) == 2:
            return temporal_join(given[0], given[1], requests[0])
        return temporal_join_all(given, list(requests))

    def explain_temporal_join(
        self, frames: "Sequence[DataFrame]", requests: "Sequence[TemporalJoinRequest]"
    ) -> "Explanation":
        """Say how a sequenced join would run."""
        from timeloom.engines.spark.columns.index_frames import as_frames
        from timeloom.engines.spark.temporal_join import explain_temporal_join_all

        refuse_max_rows(requests[0].max_rows)
        refuse_at_once(requests[0].m)
        return explain_temporal_join_all(as_frames(frames), list(requests))

    def temporal_antijoin(self, left: "DataFrame", right: "DataFrame", request: "AntijoinRequest") -> Any:
        """Keep of each left row the time in which it has no partner."""
        from timeloom.engines.spark.columns.index_frames import two_frames
        from timeloom.engines.spark.temporal_antijoin import temporal_antijoin

        refuse_at_once(request.m)
        return temporal_antijoin(*two_frames(left, right), request)

    def explain_temporal_antijoin(
        self, left: "DataFrame", right: "DataFrame", request: "AntijoinRequest"
    ) -> "Explanation":
        """Say how a sequenced antijoin would run."""
        from timeloom.engines.spark.columns.index_frames import two_frames
        from timeloom.engines.spark.temporal_antijoin import explain_temporal_antijoin

        refuse_at_once(request.m)
        return explain_temporal_antijoin(*two_frames(left, right), request)

    def temporal_aggregate(self, df: "DataFrame", request: "AggregateRequest") -> Any:
        """Aggregate over time."""
        from timeloom.engines.spark.temporal_aggregate import temporal_aggregate

        return temporal_aggregate(df, request)

    def explain_temporal_aggregate(self, df: "DataFrame", request: "AggregateRequest") -> "Explanation":
        """Say how an aggregation would run."""
        from timeloom.engines.spark.temporal_aggregate import explain_temporal_aggregate

        return explain_temporal_aggregate(df, request)

    def coalesce(self, df: "DataFrame", request: "CoalesceRequest") -> Any:
        """Merge the periods of equal rows."""
        from timeloom.engines.spark.coalesce import coalesce

        return coalesce(df, request)

    def explain_coalesce(self, df: "DataFrame", request: "CoalesceRequest") -> "Explanation":
        """Say how periods would be merged."""
        from timeloom.engines.spark.coalesce import explain_coalesce

        return explain_coalesce(df, request)

    def gaps(self, df: "DataFrame", request: "GapsRequest") -> Any:
        """Find the time that no row covers."""
        from timeloom.engines.spark.gaps import gaps

        return gaps(df, request)

    def explain_gaps(self, df: "DataFrame", request: "GapsRequest") -> "Explanation":
        """Say how gaps would be found."""
        from timeloom.engines.spark.gaps import explain_gaps

        return explain_gaps(df, request)

    def stab(self, df: "DataFrame", request: "StabRequest") -> Any:
        """Keep the rows that are active at an instant."""
        from timeloom.engines.spark.stab import stab

        return stab(df, request)

    def sliding_windows(self, df: "DataFrame", request: "WindowRequest") -> Any:
        """Slide windows over two time axes."""
        from timeloom.engines.spark.sliding_windows import sliding_windows

        return sliding_windows(df, request)

    def explain_sliding_windows(self, df: "DataFrame", request: "WindowRequest") -> "Explanation":
        """Say how windows would slide."""
        from timeloom.engines.spark.sliding_windows import explain_sliding_windows

        return explain_sliding_windows(df, request)

    def as_of(self, left: "DataFrame", right: "DataFrame", request: "AsOfRequest") -> Any:
        """Give each left row the right row in force at its instant."""
        from timeloom.engines.spark.as_of import as_of

        return as_of(left, right, request)

    def explain_as_of(self, left: "DataFrame", right: "DataFrame", request: "AsOfRequest") -> "Explanation":
        """Say how an as-of join would run."""
        from timeloom.engines.spark.as_of import explain_as_of

        return explain_as_of(left, right, request)

    def believed(self, df: "DataFrame", request: "BitemporalAsOfRequest") -> Any:
        """Keep the rows of a table with two periods that hold both instants."""
        from timeloom.engines.spark.as_of import believed

        return believed(df, request)

    def nearest(self, left: "DataFrame", right: "DataFrame", request: "NearestRequest") -> Any:
        """Find the nearest right rows of each left row."""
        from timeloom.engines.spark.columns.index_frames import two_frames
        from timeloom.engines.spark.matching.forest_probe import probed, probes
        from timeloom.engines.spark.nearest import nearest

        if probes(right, request):
            return probed(left, right, request)
        return nearest(*two_frames(left, right), request)

    def explain_nearest(self, left: "DataFrame", right: "DataFrame", request: "NearestRequest") -> "Explanation":
        """Say how neighbours would be found."""
        from timeloom.engines.spark.columns.index_frames import two_frames
        from timeloom.engines.spark.matching.forest_probe import explain_probed, probes
        from timeloom.engines.spark.nearest import explain_nearest

        if probes(right, request):
            return explain_probed("nearest", right, request)
        return explain_nearest(*two_frames(left, right), request)

    def explain_one_way(self, verb: str, frames: "Sequence[DataFrame]", request: "OneWayRequest") -> "Explanation":
        """Say what a verb does that runs in one way only."""
        from timeloom.engines.spark.columns.index_frames import as_frames
        from timeloom.engines.spark.sequenced.one_way import explain_one_way

        return explain_one_way(verb, as_frames(frames), request)

    def split(self, df: "DataFrame", request: "SplitRequest") -> Any:
        """Cut periods at a grid of time."""
        from timeloom.engines.spark.split import split

        return split(df, request)

    def lanes(self, df: "DataFrame", request: "LanesRequest") -> Any:
        """Lay rows out in lanes without overlap."""
        from timeloom.engines.spark.lanes import lanes

        return lanes(df, request)

    def check(self, df: "DataFrame", request: "CheckRequest") -> Any:
        """List what is wrong with a table of periods."""
        from timeloom.engines.spark.check import check

        return check(df, request)

    def temporal_union(self, left: "DataFrame", right: "DataFrame", request: "TemporalSetRequest") -> Any:
        """Unite two tables at every instant."""
        from timeloom.engines.spark.columns.index_frames import two_frames
        from timeloom.engines.spark.temporal_union import temporal_union

        return temporal_union(*two_frames(left, right), request)

    def temporal_intersect(self, left: "DataFrame", right: "DataFrame", request: "TemporalSetRequest") -> Any:
        """Keep what both tables have at an instant."""
        from timeloom.engines.spark.columns.index_frames import two_frames
        from timeloom.engines.spark.temporal_intersect import temporal_intersect

        return temporal_intersect(*two_frames(left, right), request)

    def temporal_except(self, left: "DataFrame", right: "DataFrame", request: "TemporalSetRequest") -> Any:
        """Keep what the left table alone has at an instant."""
        from timeloom.engines.spark.columns.index_frames import two_frames
        from timeloom.engines.spark.temporal_except import temporal_except

        return temporal_except(*two_frames(left, right), request)

    def pattern(self, tables: "Mapping[str, Any]", request: "PatternRequest") -> Any:
        """Find rows of several tables whose periods are in given relations."""
        from timeloom.engines.spark.pattern import pattern

        return pattern(tables, request)

    def explain_pattern(self, tables: "Mapping[str, Any]", request: "PatternRequest") -> "Explanation":
        """Say in which order a pattern is joined."""
        from timeloom.engines.spark.pattern import explain_pattern

        return explain_pattern(tables, request)


def _beside_index(right: Any, request: "JoinRequest") -> "JoinRequest":
    """A join with an index broadcasts it, unless something else is asked for or all its rows are kept."""
    if not is_index(right) or request.strategy != "auto" or request.how in ("right", "full"):
        return request
    return replace(request, strategy="broadcast")
