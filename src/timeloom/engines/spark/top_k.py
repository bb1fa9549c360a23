"""The rows with the most partners, on Spark: each task offers its best, the best of these are kept."""

from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.spark.columns.arrow_types import arrow_schema
from timeloom.engines.spark.columns.validity import JudgedFrame
from timeloom.engines.spark.count_join import as_asked, planned
from timeloom.engines.spark.counting.tasks import Best
from timeloom.engines.tables.frames import require_columns
from timeloom.engines.tables.keys import group_keys
from timeloom.model.count_join import TopRequest


def top_k(left: DataFrame, right: DataFrame, request: TopRequest) -> Any:
    """Keep the k left rows with the highest counts, of all or of each group. Nothing runs before an action."""
    counted = planned(left, right, request.count)
    side, packing = counted.inputs.sides.left, counted.inputs.packing
    require_columns(side.schema.names, list(request.by), "left")
    grouping = T.StructType([side.schema[name] for name in request.by])
    group_keys(arrow_schema(grouping, "left", comparing=True).empty_table(), list(request.by))
    best = Best(request.k, tuple(f"p{packing.left[name]}" for name in request.by))
    names = counted.schema.names
    columns = {name: f"c{number}" for number, name in enumerate(names)}
    offered = counted.frame(best if request.ranked == request.count.name else None).toDF(*columns.values())
    return as_asked(counted, _kept(offered, request, columns, _order(side, columns)).toDF(*names))


def _kept(offered: DataFrame, request: TopRequest, columns: dict[str, str], order: list[Column]) -> DataFrame:
    highest = F.col(columns[request.ranked]).desc_nulls_last()
    all_ties = request.ties == "all"
    if not request.by and not all_ties:
        return offered.orderBy(highest, *order).limit(request.k)
    window = Window.partitionBy(*(columns[name] for name in request.by))
    if all_ties:
        ranked = offered.withColumn("rank", F.rank().over(window.orderBy(highest)))
    else:
        ranked = offered.withColumn("rank", F.row_number().over(window.orderBy(highest, *order)))
    return ranked.where(F.col("rank") <= request.k).drop("rank")


def _order(left: JudgedFrame, columns: dict[str, str]) -> list[Column]:
    """What decides between equal counts: the start, the end (open ones last), then the other columns."""
    period = left.period
    others = [
        field.name for field in left.schema if field.name not in (period.start, period.end) and _sorts(field.dataType)
    ]
    ends = F.col(columns[period.end]).asc_nulls_last()
    return [F.col(columns[period.start]), ends, *(F.col(columns[name]) for name in others)]


def _sorts(kind: T.DataType) -> bool:
    return isinstance(kind, T.AtomicType) and not isinstance(kind, T.CalendarIntervalType)
