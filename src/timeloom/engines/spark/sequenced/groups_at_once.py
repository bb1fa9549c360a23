"""Sessions, and buckets of time, each of which is a group of its own: a task takes all of its groups at once."""

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T

from timeloom.engines.spark.columns.validity import JudgedFrame
from timeloom.engines.spark.sequenced.whole_groups import (
    by_batch,
    by_group,
    handed_out,
    inner_policy,
    needed_rows,
    result_schema,
)
from timeloom.engines.tables.frames import require_columns
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.taking import take_rows
from timeloom.engines.tables.validity import admit as admit_local
from timeloom.engines.tables.validity import free_name
from timeloom.engines.timelines.bucketing import bucketed, cut_rows
from timeloom.engines.timelines.grouped import Grouped
from timeloom.engines.timelines.sessions import sessions
from timeloom.model.policy import Policy
from timeloom.model.sequenced import AggregateRequest, CoalesceRequest


@dataclass(frozen=True)
class Sessions:
    """Merges what lies near each other, group by group."""

    request: CoalesceRequest
    by: tuple[str, ...]

    def __call__(self, table: pa.Table) -> pa.Table:
        """The sessions of some groups."""
        request = self.request
        assert request.max_gap is not None
        admitted = admit_local(table, request.period, "input", request.policy)
        grouped = Grouped.of(admitted.table, admitted.starts, admitted.ends, list(self.by))
        writer = PeriodWriter.of([admitted.ticks], request.policy)
        columns = sessions(admitted, grouped, list(self.by), request.max_gap, writer, 1)
        kept = [name for name in table.column_names if name in (*self.by, *request.period.columns)]
        return pa.table({name: columns[name] for name in request.period.placed(kept)})


def sessions_of(admitted: JudgedFrame, request: CoalesceRequest) -> Any:
    """The plan of sessions."""
    names = admitted.schema.names
    others = tuple(name for name in names if name not in request.period.columns)
    by = others if request.by is None else request.by
    require_columns(names, list(by), "input")
    work = Sessions(replace(request, policy=inner_policy(request.policy)), by)
    rows, schema = needed_rows(admitted, (*by, *request.period.columns))
    return handed_out(by_group(rows, by, schema, work, ()), [admitted], request.policy)


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
        rows = take_rows(admitted.table.select(list(self.needed)), pa.array(found.rows))
        writer = PeriodWriter.of([admitted.ticks], self.request.policy, wide=False)
        columns = {name: rows[name] for name in self.needed} | writer.columns(found.starts, found.ends)
        return pa.table(columns | {self.edge: pa.array(lines.edges(found.cells), pa.int64())})


@dataclass(frozen=True)
class Bucket:
    """Measures the pieces of a bucket."""

    request: AggregateRequest

    def __call__(self, table: pa.Table) -> pa.Table:
        """The result for a bucket of a group."""
        return bucketed(admit_local(table, self.request.period, "input", Policy()), self.request)


def buckets_of(admitted: JudgedFrame, request: AggregateRequest) -> Any:
    """The plan of buckets: rows are cut where they are, and the pieces of a bucket meet in a task."""
    measured = [measure.column for measure in request.measures if measure.column is not None]
    needed = tuple(dict.fromkeys([*request.by, *measured, *request.period.columns]))
    edge = free_name("bucket", admitted.schema.names)
    cutting = Cutting(replace(request, policy=inner_policy(request.policy)), needed, edge)
    rows, given = needed_rows(admitted, needed)
    pieces = by_batch(rows, given, cutting)
    schema = result_schema(cutting, given)
    work = Bucket(replace(request, within=None))
    numbered = pieces.toDF(*(f"c{at}" for at in range(len(schema))))
    result = by_group(numbered, [*request.by, edge], T.StructType(list(schema)), work, ())
    return handed_out(result, [admitted], request.policy)
