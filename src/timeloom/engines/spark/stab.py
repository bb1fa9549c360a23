"""Stabs of DataFrames."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.columns.arrow_types import arrow_schema
from timeloom.engines.spark.columns.faults import admitted_in_task, answer, refused_in_sql
from timeloom.engines.spark.columns.instants import may_be_active, tested_in_sql
from timeloom.engines.spark.columns.validity import JudgedFrame, judge_frame
from timeloom.engines.tables.arrays import from_numpy
from timeloom.engines.tables.instants import instant_ticks, stabbed
from timeloom.engines.tables.ticks import Ticks
from timeloom.engines.tables.verdicts import unusable_in_sql
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.stab import StabRequest


def stab(df: DataFrame, request: StabRequest) -> Any:
    """Keep the rows that are active at any of the instants. Nothing runs before an action.

    Spark drops what cannot be active. Few instants it tests itself, and refuses invalid rows. Otherwise tasks see the
    rest: many instants are looked up, and of invalid rows that are dropped somebody must tell.
    """
    frame = judge_frame(df, request.period, "input", request.policy)
    instants = instant_ticks(request.at, frame.columns.kind.type)
    active, in_sql = may_be_active(frame.columns, instants), tested_in_sql(instants, request.policy)
    if request.policy.judges:
        unusable = unusable_in_sql(frame.columns.start, frame.columns.end)
        seen = refused_in_sql(frame) if in_sql else "true"
        active = f"CASE WHEN {unusable} THEN {seen} ELSE {active} END"
    found = frame.rows.where(active)
    names = tuple(frame.schema.names)
    if not in_sql:
        arrow_schema(frame.schema, "input")
        task = StabTask(request.period, request.policy, instants, names)
        found = mapped(found, task, _renamed(frame))
    return answer(found.toDF(*names), [frame], request.policy)


def _renamed(frame: JudgedFrame) -> T.StructType:
    """The schema under the names that columns have among tasks."""
    fields = [
        T.StructField(frame.column(field.name), field.dataType, field.nullable, field.metadata)
        for field in frame.schema
    ]
    return T.StructType(fields)


@dataclass(frozen=True)
class StabTask:
    """Keeps the active rows of each batch; invalid rows are refused, or dropped and reported in the task's log."""

    period: Period
    policy: Policy
    instants: Ticks
    names: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Filter batches."""
        for batch in batches:
            table = pa.Table.from_batches([batch]).rename_columns(self.names)
            rows = admitted_in_task(table, self.period, "input", self.policy, "stab")
            active = stabbed(rows.starts, rows.ends, self.instants, threads=1)
            yield from rows.table.filter(from_numpy(active)).rename_columns(batch.schema.names).to_batches()
