"""Gaps on Spark."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from timeloom.engines.spark.columns.faults import NO_TIME, answer
from timeloom.engines.spark.columns.periods import period_writer, result_fields
from timeloom.engines.spark.columns.validity import JudgedFrame, judge_frame
from timeloom.engines.spark.sequenced.rows import SLICE, GroupedRows, Received, Writer
from timeloom.engines.spark.sequenced.slice_edges import EdgeTask, Found, SliceTask, joined
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.tables.arrays import from_numpy
from timeloom.engines.tables.frames import require_columns
from timeloom.engines.tables.keys import group_keys
from timeloom.engines.tables.ticks import Ticks
from timeloom.engines.timelines.grouped import Grouped
from timeloom.engines.timelines.sequenced import subtract
from timeloom.kernels.sequenced.difference import cover
from timeloom.model.explanation import Explanation
from timeloom.model.sequenced import GapsRequest


def gaps(df: DataFrame, request: GapsRequest, slices: int | None = None) -> Any:
    """Find the time of each group that no row covers. Nothing runs before an action."""
    admitted = judge_frame(df, request.period, "input", request.policy)
    require_columns(admitted.schema.names, list(request.by), "input")
    found = uncovered(
        admitted,
        request.by,
        request.within,
        Slicing.of(df.sparkSession, [_read(admitted, request)], slices, grouped=bool(request.by)),
    )
    return answer(found, [admitted], request.policy)


def explain_gaps(df: DataFrame, request: GapsRequest) -> Explanation:
    """Say how gaps would be found."""
    admitted = judge_frame(df, request.period, "input", request.policy)
    require_columns(admitted.schema.names, list(request.by), "input")
    slicing = Slicing.of(df.sparkSession, [_read(admitted, request)], grouped=bool(request.by))
    facts = {"algorithm": "cover", "groups by": list(request.by), **slicing.facts(grouped=bool(request.by))}
    forecast = GroupedRows("gaps", admitted, request.by, request.by, slicing, request.within, all_groups=True).forecast
    return Explanation("gaps", "spark", facts, slicing.reasons(grouped=bool(request.by)), forecast)


def _read(admitted: JudgedFrame, request: GapsRequest) -> DataFrame:
    """The columns that are read: these alone decide how large the input is."""
    return admitted.only({*request.by, *request.period.columns})


def uncovered(
    admitted: JudgedFrame,
    by: tuple[str, ...],
    within: tuple[object, object] | None,
    slicing: Slicing,
    verb: str = "gaps",
) -> DataFrame:
    """The grouping columns and the gaps of each group."""
    admitted.period.placed([*by, admitted.period.start])
    rows = GroupedRows(verb, admitted, by, by, slicing, within, all_groups=True)
    periods = period_writer(admitted, bounds=rows.window or ())
    schema = T.StructType(result_fields(admitted, (*by, *periods.period.columns), periods))
    keys = tuple(map(admitted.column, by))
    writer = Writer(schema, periods, admitted.names)
    task = SliceTask(rows.delivery, InnerGaps(keys, windowed=rows.window is not None))
    return joined(rows.sent(), task, EdgeTask(OuterGaps(keys, rows.window), writer), schema)


@dataclass(frozen=True)
class InnerGaps:
    """Finds the gaps within each slice, and from where to where each slice has rows, if that matters further on."""

    by: tuple[str, ...]
    windowed: bool

    def __call__(self, rows: Received) -> Found:
        """Find the gaps of a task, then the extents of its slices."""
        table = rows.table.append_column(SLICE, from_numpy(rows.slices))
        by = [*self.by, SLICE]
        timed = np.flatnonzero(rows.starts < rows.ends)
        inner, starts, ends = gaps_of(table.take(from_numpy(timed)), rows.starts[timed], rows.ends[timed], by, None)
        groups, count = group_keys(table, by)
        leaders, low, high = np.full(count, -1), np.full(count, NO_TIME[0]), np.full(count, NO_TIME[1])
        leaders[groups] = np.arange(groups.size)
        np.minimum.at(low, groups, rows.starts)
        np.maximum.at(high, groups, rows.ends)
        wanted = leaders >= 0
        wanted[wanted] &= self.windowed | (rows.slices[leaders[wanted]] > 0)
        extents = table.take(from_numpy(leaders[wanted]))
        is_open = np.arange(starts.size + extents.num_rows) >= starts.size
        return Found(
            pa.concat_tables([inner, extents]),
            np.concatenate([starts, low[wanted]]),
            np.concatenate([ends, high[wanted]]),
            is_open,
        )


@dataclass(frozen=True)
class OuterGaps:
    """Finds the gaps between the slices of each group, and to the edges of the window."""

    by: tuple[str, ...]
    window: tuple[int, int] | None

    def __call__(self, table: pa.Table, starts: Ticks, ends: Ticks) -> tuple[pa.Table, Ticks, Ticks]:
        """Find the gaps between extents."""
        return gaps_of(table, starts, ends, list(self.by), self.window)


def gaps_of(
    table: pa.Table, starts: Ticks, ends: Ticks, by: list[str], window: tuple[int, int] | None
) -> tuple[pa.Table, Ticks, Ticks]:
    """The gaps of each group: a row that names the group, and ticks."""
    grouped = Grouped.of(table, starts, ends, by, window)
    low, high, groups = grouped.spans()
    free = subtract(low, high, cover(grouped.starts, grouped.ends), 1)
    leaders = np.zeros(free.rows.size, np.int64) if grouped.fold is None else grouped.leaders[groups[free.rows]]
    named = table.take(from_numpy(leaders))
    if grouped.fold is None:
        return named, free.starts, free.ends
    return named, grouped.fold.unfold(free.starts), grouped.fold.unfold(free.ends)
