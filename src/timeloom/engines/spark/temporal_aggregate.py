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
from timeloom.engines.spark.sequenced.measures import AggregateTask
from timeloom.engines.spark.sequenced.rows import GroupedRows, Writer
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.tables.frames import require_columns
from timeloom.model.explanation import Explanation
from timeloom.model.measures import Measure
from timeloom.model.sequenced import AggregateRequest


def temporal_aggregate(df: DataFrame, request: AggregateRequest, slices: int | None = None) -> Any:
    """Aggregate the active rows of every period of constant lineage. Nothing runs before an action."""
    admitted = _admitted(df, request)
    slicing = Slicing.of(df.sparkSession, [df], slices, grouped=bool(request.by))
    schema = _schema(admitted, request)
    rows = _rows(admitted, request, slicing)
    writer = Writer(schema, period_writer(admitted, bounds=rows.window or ()), admitted.names)
    task = AggregateTask(rows.delivery, replace(request, fill=False, within=None), writer)
    result = mapped(rows.sent(), task, schema)
    if request.fill:
        require_unchanging(admitted, "fill=True takes a second pass over it")
        result = result.unionAll(_empty_time(admitted, request, slicing, schema))
    return answer(result, [admitted], request.policy)


def explain_temporal_aggregate(df: DataFrame, request: AggregateRequest) -> Explanation:
    """Say how an aggregation would run."""
    _schema(_admitted(df, request), request)
    slicing = Slicing.of(df.sparkSession, [df], grouped=bool(request.by))
    facts = {
        "algorithm": "dip" if request.algorithm == "dip" else "sweep",
        "groups by": list(request.by),
        **slicing.facts(grouped=bool(request.by)),
    }
    return Explanation("temporal_aggregate", "spark", facts, slicing.reasons(grouped=bool(request.by)))


def _admitted(df: DataFrame, request: AggregateRequest) -> JudgedFrame:
    admitted = judge_frame(df, request.period, "input", request.policy)
    measured = [measure.column for measure in request.measures if measure.column is not None]
    require_columns(admitted.schema.names, [*request.by, *measured], "input")
    return admitted


def _rows(admitted: JudgedFrame, request: AggregateRequest, slicing: Slicing) -> GroupedRows:
    needed = [measure.column for measure in request.measures if measure.column is not None]
    in_order = [measure.column for measure in request.measures if measure.column is not None and _minds_order(measure)]
    return GroupedRows(
        "temporal_aggregate",
        admitted,
        request.by,
        tuple(dict.fromkeys([*request.by, *needed])),
        slicing,
        request.within,
        order_by=tuple(in_order) if in_order else None,
    )


def _minds_order(measure: Measure) -> bool:
    """Whether the order of rows matters to a function; to a callable it may."""
    return measure.aggregate is None or measure.aggregate.order != "ignored"


def _schema(admitted: JudgedFrame, request: AggregateRequest) -> T.StructType:
    names = (*request.by, request.period.start, request.period.end)
    given = result_fields(admitted, names, period_writer(admitted))
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
