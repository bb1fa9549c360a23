"""Buckets of time: rows are cut at a grid where they are, and the pieces of a bucket meet in a task, in blocks."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.sizes import Spread, all_within, estimate
from timeloom.engines.spark.cluster.versions import from_arrow_schema
from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.columns.validity import JudgedFrame
from timeloom.engines.spark.exchange.blocks import received
from timeloom.engines.spark.exchange.plan import Exchange, Source
from timeloom.engines.spark.exchange.routing import RowTicks
from timeloom.engines.spark.exchange.writing import KEY
from timeloom.engines.spark.sequenced.whole_groups import (
    GroupWork,
    empty_table,
    handed_out,
    in_utc,
    inner_policy,
    needed_rows,
)
from timeloom.engines.spark.slicing.sharing import content
from timeloom.engines.spark.slicing.slices import ALONE_BYTES, Slicing
from timeloom.engines.spark.slicing.tick_ranges import PeriodRange
from timeloom.engines.tables.arrays import from_numpy
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.taking import take_rows
from timeloom.engines.tables.validity import admit as admit_local
from timeloom.engines.tables.validity import free_name
from timeloom.engines.timelines.bucketing import bucketed, cut_rows
from timeloom.model.policy import Policy
from timeloom.model.sequenced import AggregateRequest

HASHED = (T.IntegralType, T.BooleanType, T.DateType, T.TimestampType, T.TimestampNTZType, T.StringType)
"""Values of these types are equal if their bits are, so that they may decide to which task a piece goes."""


@dataclass(frozen=True)
class Cutting:
    """Cuts rows at the lines of a grid; a column tells where the bucket of each piece begins, in ticks."""

    request: AggregateRequest
    needed: tuple[str, ...]
    edge: str

    def __call__(self, table: pa.Table) -> pa.Table:
        """The pieces of some rows."""
        admitted = admit_local(table, self.request.period, "input", self.request.policy)
        found, lines = cut_rows(admitted, self.request)
        rows = take_rows(admitted.table.select(list(self.needed)), from_numpy(found.rows))
        writer = PeriodWriter.of([admitted.ticks], self.request.policy, wide=False)
        columns = {name: rows[name] for name in self.needed} | writer.columns(found.starts, found.ends)
        return pa.table(columns | {self.edge: from_numpy(lines.edges(found.cells))})


@dataclass(frozen=True)
class PieceReader:
    """How rows are read that are sent on as pieces: these get the hashes of their groups and buckets.

    ``names`` are those of the user's columns, and ``hashed`` the columns of pieces that decide where they go.
    """

    cutting: Cutting
    names: tuple[str, ...]
    hashed: tuple[str, ...]
    range: PeriodRange = field(default_factory=PeriodRange)

    def admitted(self, rows: pa.Table) -> pa.Table:
        """The pieces of rows, with their columns named by position."""
        pieces = self.cutting(in_utc(rows.rename_columns(list(self.names))))
        hashes = content(pieces.select(list(self.hashed))).view(np.int64)
        numbered = pieces.rename_columns([f"c{at}" for at in range(pieces.num_columns)])
        return numbered.append_column(KEY, from_numpy(hashes))

    def ticks(self, rows: pa.Table) -> RowTicks:
        """Pieces are not cut by time once more."""
        raise AssertionError("a bucket is never cut")


@dataclass(frozen=True)
class Bucket:
    """Measures the pieces of buckets."""

    request: AggregateRequest

    def __call__(self, table: pa.Table) -> pa.Table:
        """The result for some buckets of some groups."""
        return bucketed(admit_local(table, self.request.period, "input", Policy()), self.request)


@dataclass(frozen=True)
class BucketTask:
    """Takes all buckets of a partition at once."""

    work: GroupWork

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The result for a partition; nothing for one without rows."""
        pieces = [block.rows for block in received(batches)]
        if pieces:
            yield from self.work(pa.concat_tables(pieces)).to_batches()


def buckets_of(admitted: JudgedFrame, request: AggregateRequest) -> Any:
    """The plan of buckets."""
    measured = [measure.column for measure in request.measures if measure.column is not None]
    needed = tuple(dict.fromkeys([*request.by, *measured, *request.period.columns]))
    edge = free_name("bucket", admitted.schema.names)
    cutting = Cutting(replace(request, policy=inner_policy(request.policy)), needed, edge)
    rows, given = needed_rows(admitted, needed)
    work = Bucket(replace(request, within=None))
    pieces = cutting(empty_table(given))
    result = from_arrow_schema(work(pieces).schema)
    hashed = *(name for name in request.by if isinstance(given[name].dataType, HASHED)), edge
    reader = PieceReader(cutting, tuple(given.names), hashed)
    exchange = Exchange((Source(rows, lambda: rows, ("0", "0"), KEY, reader),), _whole(rows))
    task = BucketTask(GroupWork(work, tuple(pieces.column_names), (), result))
    numbered = T.StructType([T.StructField(f"c{at}", field.dataType) for at, field in enumerate(result)])
    found = mapped(exchange.rows(), task, numbered).toDF(*result.names)
    return handed_out(found, [admitted], request.policy)


def _whole(rows: DataFrame) -> Slicing:
    """Nothing is cut by time but by the grid; small tables that are merely read are taken by one task."""
    known = estimate(rows)
    alone = all_within([known], ALONE_BYTES)
    tasks = 1 if alone else Spread.of(rows.sparkSession, [known.size]).partitions
    return Slicing(1, 1, by_key=True, partitions=tasks, groups=True, alone=alone)
