"""Temporal aggregation on Spark."""

from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.readings import require_unchanging
from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.columns.faults import answer
from timeloom.engines.spark.columns.measure_fields import measure_fields
from timeloom.engines.spark.columns.periods import period_writer, result_fields
from timeloom.engines.spark.columns.validity import JudgedFrame, judge_frame
from timeloom.engines.spark.gaps import uncovered
from timeloom.engines.spark.sequenced.bucket_pieces import buckets_of
from timeloom.engines.spark.sequenced.changed_rows import ChangedRows, change_task, travels_as_changes
from timeloom.engines.spark.sequenced.measures import AggregateTask
from timeloom.engines.spark.sequenced.rows import GroupedRows, Writer
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.tables.frames import require_columns
from timeloom.model.explanation import Explanation
from timeloom.model.sequenced import AggregateRequest


def temporal_aggregate(df: DataFrame, request: AggregateRequest, slices: int | None = None) -> Any:
    """Aggregate the active rows of every period of constant lineage. Nothing runs before an action."""
    admitted = _admitted(df, request)
    if request.grid is not None:
        return buckets_of(admitted, request)
    schema, by_changes = _schema(admitted, request), _by_changes(admitted, request)
    slicing = Slicing.of(
        df.sparkSession, [df], slices, grouped=bool(request.by), agrees=by_changes and not request.fill
    )
    rows = _rows(admitted, request, slicing)
    periods = period_writer(admitted, bounds=rows.window or (), wide=request.fill)
    writer = Writer(schema, periods, admitted.names)
    if by_changes and not slicing.alone:
        changed = ChangedRows(rows, request.measures)
        result = mapped(changed.sent(), change_task(changed, writer), schema)
    else:
        task = AggregateTask(rows.delivery, replace(request, fill=False, within=None), writer)
        result = mapped(rows.sent(), task, schema)
    if request.fill:
        require_unchanging(admitted, "fill=True takes a second pass over it")
        result = result.unionAll(_empty_time(admitted, request, slicing, schema))
    return answer(result, [admitted], request.policy)


def explain_temporal_aggregate(df: DataFrame, request: AggregateRequest) -> Explanation:
    """Say how an aggregation would run."""
    admitted = _admitted(df, request)
    if request.grid is not None:
        every = request.grid.every.shown if request.grid.every else ""
        known = {"algorithm": "buckets", "every": every, "groups by": list(request.by)}
        why = "rows are cut at the grid where they are, and the pieces of each bucket meet in a task"
        return Explanation("temporal_aggregate", "spark", known, (why,))
    _schema(admitted, request)
    by_changes = _by_changes(admitted, request)
    slicing = Slicing.of(df.sparkSession, [df], grouped=bool(request.by), agrees=by_changes and not request.fill)
    facts = {
        "algorithm": "dip" if request.algorithm == "dip" else "sweep",
        "groups by": list(request.by),
        **slicing.facts(grouped=bool(request.by)),
    }
    rows, reasons = _rows(admitted, request, slicing), slicing.reasons(grouped=bool(request.by))
    if not by_changes or slicing.alone:
        return Explanation("temporal_aggregate", "spark", facts, reasons, rows.forecast)
    facts |= {"rows travel as": "changes", "replication bound": 1.0}
    told = "tasks that read rows add up what changes at each tick, and send that; so no row has copies"
    return Explanation(
        "temporal_aggregate", "spark", facts, (told, *reasons[:1]), ChangedRows(rows, request.measures).forecast
    )


def _admitted(df: DataFrame, request: AggregateRequest) -> JudgedFrame:
    admitted = judge_frame(df, request.period, "input", request.policy)
    measured = [measure.column for measure in request.measures if measure.column is not None]
    require_columns(admitted.schema.names, [*request.by, *measured], "input")
    return admitted


def _by_changes(admitted: JudgedFrame, request: AggregateRequest) -> bool:
    """Whether rows travel as what they change."""
    return request.algorithm != "dip" and travels_as_changes(admitted.schema, request)


def _rows(admitted: JudgedFrame, request: AggregateRequest, slicing: Slicing) -> GroupedRows:
    needed = [measure.column for measure in request.measures if measure.column is not None]
    in_order = [measure.column for measure in request.measures if measure.column is not None and measure.minds_order]
    return GroupedRows(
        "temporal_aggregate",
        admitted,
        request.by,
        tuple(dict.fromkeys([*request.by, *needed])),
        slicing,
        request.within,
        order_by=tuple(in_order) if in_order else None,
    )


def _schema(admitted: JudgedFrame, request: AggregateRequest) -> T.StructType:
    period = request.period.wide if request.fill else request.period
    if request.fill:
        request.period.placed([*request.by, *(measure.name for measure in request.measures), request.period.start])
    names = (*request.by, *period.columns)
    given = result_fields(admitted, names, period_writer(admitted, wide=request.fill))
    return T.StructType([*given, *measure_fields(admitted.schema, request.measures)])


def _empty_time(admitted: JudgedFrame, request: AggregateRequest, slicing: Slicing, schema: T.StructType) -> DataFrame:
    """The periods without active rows."""
    found = uncovered(admitted, request.by, request.within, slicing, "temporal_aggregate")
    values = [
        F.lit(measure.aggregate and measure.aggregate.over_nothing)
        .cast(schema[measure.name].dataType)
        .alias(measure.name)
        for measure in request.measures
    ]
    return found.select("*", *values)
