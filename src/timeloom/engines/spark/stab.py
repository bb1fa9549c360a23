"""Stabs of DataFrames."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.columns.arrow_types import arrow_schema
from timeloom.engines.spark.columns.faults import admitted_in_task, answer
from timeloom.engines.spark.columns.ticks import PeriodColumns, literal
from timeloom.engines.spark.columns.validity import JudgedFrame, judge_frame
from timeloom.engines.tables.arrays import from_numpy
from timeloom.engines.tables.instants import instant_ticks, stabbed
from timeloom.engines.tables.ticks import Ticks
from timeloom.engines.tables.verdicts import VALID
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.stab import StabRequest

FEW = 16
"""Up to so many instants, Spark itself tests each of them; more are looked up by tasks."""


def stab(df: DataFrame, request: StabRequest) -> Any:
    """Keep the rows that are active at any of the instants. Nothing runs before an action.

    Spark drops what cannot be active; tasks see the rest, and the invalid rows, which they must refuse or report.
    """
    frame = judge_frame(df, request.period, "input", request.policy)
    instants = instant_ticks(request.at, frame.columns.kind.type)
    judges = request.policy.judges
    active = _may_be_active(frame.columns, instants)
    found = frame.rows.where(f"{frame.verdict} <> {VALID} OR {active}" if judges else active)
    names = tuple(frame.schema.names)
    if judges or instants.size > FEW:
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


def _may_be_active(columns: PeriodColumns, instants: Ticks) -> str:
    """A test in SQL: exact for few instants; for many, whether a row reaches into the time from first to last."""
    if not instants.size:
        return "false"
    spans = [(t, t) for t in instants.tolist()]
    if len(spans) > FEW:
        spans = [(spans[0][0], spans[-1][0])]
    tests = (f"({columns.start} <= {literal(last)} AND {columns.end} > {literal(first)})" for first, last in spans)
    return f"({' OR '.join(tests)})"


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
