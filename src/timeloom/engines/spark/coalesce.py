"""Coalescing on Spark."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from timeloom.engines.spark.columns.faults import answer
from timeloom.engines.spark.columns.periods import period_writer, result_fields
from timeloom.engines.spark.columns.validity import JudgedFrame, judge_frame
from timeloom.engines.spark.sequenced.one_way import plan_of_groups
from timeloom.engines.spark.sequenced.rows import SLICE, GroupedRows, Received, Writer
from timeloom.engines.spark.sequenced.sessions import sessions_of
from timeloom.engines.spark.sequenced.slice_edges import EdgeTask, Found, SliceTask, joined
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.tables.arrays import from_numpy
from timeloom.engines.tables.frames import require_columns
from timeloom.engines.tables.ticks import Ticks
from timeloom.engines.timelines.grouped import Grouped
from timeloom.kernels.sequenced import coalesce as kernel
from timeloom.model.explanation import Explanation
from timeloom.model.sequenced import CoalesceRequest


def coalesce(df: DataFrame, request: CoalesceRequest, slices: int | None = None) -> Any:
    """Merge periods of rows with equal values where they overlap or touch. Nothing runs before an action."""
    admitted, by = _read(df, request)
    if request.max_gap is not None:
        return sessions_of(admitted, request)
    names, period = admitted.schema.names, request.period
    periods = period_writer(admitted)
    kept = period.placed([name for name in names if name in (*by, *period.columns)])
    schema = T.StructType(result_fields(admitted, kept, periods))
    rows = GroupedRows("coalesce", admitted, by, by, _slicing(admitted, by, slices))
    keys = tuple(map(admitted.column, by))
    writer = Writer(schema, periods, admitted.names)
    task, edges = SliceTask(rows.delivery, Merging(keys)), EdgeTask(partial(merged, keys), writer)
    return answer(joined(rows.sent(), task, edges, schema), [admitted], request.policy)


def explain_coalesce(df: DataFrame, request: CoalesceRequest) -> Explanation:
    """Say how periods would be merged."""
    admitted, by = _read(df, request)
    if request.max_gap is not None:
        strategy, why, cost = plan_of_groups(admitted.rows, [admitted], [by])
        told = {"algorithm": "sorted merge", "compares": list(by), "strategy": strategy}
        return Explanation("coalesce", "spark", told, (why,), cost)
    slicing = _slicing(admitted, by)
    facts = {"algorithm": "sorted merge", "compares": list(by), **slicing.facts(grouped=bool(by))}
    forecast = GroupedRows("coalesce", admitted, by, by, slicing).forecast
    return Explanation("coalesce", "spark", facts, slicing.reasons(grouped=bool(by)), forecast)


def _slicing(admitted: JudgedFrame, by: tuple[str, ...], slices: int | None = None) -> Slicing:
    """How groups are cut; the columns that are read alone decide how large the input is."""
    read = admitted.only({*by, *admitted.period.columns})
    return Slicing.of(read.sparkSession, [read], slices, grouped=bool(by))


def _read(df: DataFrame, request: CoalesceRequest) -> tuple[JudgedFrame, tuple[str, ...]]:
    """The rows, and the columns whose values must be equal."""
    admitted = judge_frame(df, request.period, "input", request.policy)
    names = admitted.schema.names
    by = tuple(name for name in names if name not in request.period.columns) if request.by is None else request.by
    require_columns(names, list(by), "input")
    return admitted, by


@dataclass(frozen=True)
class Merging:
    """Merges periods within each slice; the outermost ones of a slice may go on in the next."""

    by: tuple[str, ...]

    def __call__(self, rows: Received) -> Found:
        """Merge the rows of a task."""
        table = rows.table.append_column(SLICE, from_numpy(rows.slices))
        grouped = Grouped.of(table, rows.starts, rows.ends, [*self.by, SLICE])
        assert grouped.fold is not None
        pieces = kernel.coalesce(grouped.starts, grouped.ends)
        changes = np.diff(pieces.starts // grouped.fold.width, prepend=-1, append=-1) != 0
        outermost = (changes[:-1] | changes[1:]) & (rows.slices[pieces.rows] > 0)
        starts, ends = grouped.fold.unfold(pieces.starts), grouped.fold.unfold(pieces.ends)
        return Found(table.take(from_numpy(pieces.rows)), starts, ends, outermost)


def merged(by: tuple[str, ...], table: pa.Table, starts: Ticks, ends: Ticks) -> tuple[pa.Table, Ticks, Ticks]:
    """Merge periods of equal groups."""
    grouped = Grouped.of(table, starts, ends, list(by))
    pieces = kernel.coalesce(grouped.starts, grouped.ends)
    rows = table.take(from_numpy(pieces.rows))
    if grouped.fold is None:
        return rows, pieces.starts, pieces.ends
    return rows, grouped.fold.unfold(pieces.starts), grouped.fold.unfold(pieces.ends)
