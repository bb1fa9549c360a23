"""Merges of DataFrames: all versions and changes of a key meet in one task."""

from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from timeloom.bitemporal.merging import Merging, latest_tick, require_sides
from timeloom.engines.spark.cluster.pipelines import known_schema
from timeloom.engines.spark.sequenced.whole_groups import empty_table, in_utc, written
from timeloom.engines.spark.sequenced.whole_partitions import Side, cogrouped
from timeloom.engines.tables.frames import refuse_repeated
from timeloom.model.merge import MergeRequest

GROUPS = 256
"""Keys are dealt to so many groups: many enough for a large cluster, and each small enough for a task."""


@dataclass(frozen=True)
class MergeTask:
    """Merges a group of keys: their versions, and their changes with the latest time of the whole history."""

    merging: Merging
    names: tuple[tuple[str, ...], tuple[str, ...]]
    result: T.StructType

    def __call__(self, history: pa.Table, feed: pa.Table) -> pa.Table:
        """The history of these keys after the changes."""
        ours = in_utc(history.select(range(len(self.names[0]))).rename_columns(list(self.names[0])))
        given = in_utc(feed.select(range(len(self.names[1]) + 2)))
        changes = given.select(range(len(self.names[1]))).rename_columns(list(self.names[1]))
        if not changes.num_rows:
            return written(ours, self.result)
        latest = latest_tick([given.column(at)[0] for at in (-2, -1)], self.merging.request.sys_period.start)
        return written(self.merging(ours, changes, latest), self.result)


def known_columns(history: DataFrame, feed: DataFrame, request: MergeRequest) -> tuple[T.StructType, T.StructType]:
    """The columns of both sides, with all that a merge needs."""
    ours, theirs = known_schema(history, "history"), known_schema(feed, "feed")
    for schema, side in ((ours, "history"), (theirs, "feed")):
        refuse_repeated(schema.names, side)
    require_sides(ours.names, theirs.names, request)
    return ours, theirs


def merge_frames(history: DataFrame, feed: DataFrame, request: MergeRequest) -> DataFrame:
    """The history after the changes. Nothing runs before an action."""
    ours, theirs = known_columns(history, feed, request)
    merging = Merging(request, ordered=False)
    Merging(replace(request, late="now"))(empty_table(ours), empty_table(theirs))
    aliases = [{name: f"c{at}" for at, name in enumerate(schema.names)} for schema in (ours, theirs)]
    left, right = history.toDF(*aliases[0].values()), feed.toDF(*aliases[1].values())
    reached = [F.max(aliases[0][name]).alias(f"reached{at}") for at, name in enumerate(request.sys_period.columns)]
    changes = right.crossJoin(F.broadcast(left.agg(*reached)))
    groups = [
        _group([F.col(alias[name]).cast(ours[name].dataType) for name in request.key], ours, request.key)
        for alias in aliases
    ]
    task = MergeTask(merging, (tuple(ours.names), tuple(theirs.names)), ours)
    numbered = T.StructType([T.StructField(f"c{at}", field.dataType) for at, field in enumerate(ours)])
    reached_kinds = [ours[name].dataType for name in request.sys_period.columns]
    sides = (
        Side(left, list(aliases[0].values()), [field.dataType for field in ours], [groups[0]]),
        Side(
            changes,
            [*aliases[1].values(), *(f"reached{at}" for at in range(len(reached)))],
            [*(field.dataType for field in theirs), *reached_kinds],
            [groups[1]],
        ),
    )
    return cogrouped(sides, task, numbered).toDF(*ours.names)


def _group(keys: list[Column], schema: T.StructType, names: tuple[str, ...]) -> Column:
    """The group of a key; equal keys have equal hashes, also 0.0 and -0.0."""
    plain = [
        key + F.lit(0.0) if isinstance(schema[name].dataType, T.FractionalType) else key
        for key, name in zip(keys, names, strict=True)
    ]
    return F.pmod(F.xxhash64(*plain), F.lit(GROUPS)).alias("group")
