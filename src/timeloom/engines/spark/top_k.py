"""The rows with the most partners, on Spark: each task offers its best, the best of these are kept."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.spark.columns.arrow_types import arrow_schema
from timeloom.engines.spark.count_join import SparkCount, answer
from timeloom.engines.spark.counting.tasks import Best
from timeloom.engines.tables.frames import require_columns
from timeloom.engines.tables.keys import group_keys
from timeloom.engines.tables.validity import Quarantined
from timeloom.model.count_join import TopRequest


def top_k(left: DataFrame, right: DataFrame, request: TopRequest) -> "DataFrame | Quarantined[DataFrame]":
    """Keep the k left rows with the highest counts, of all or of each group. Nothing runs before an action."""
    task = SparkCount(left, right, request.count)
    require_columns(task.left.schema.names, list(request.by), "left")
    grouping = T.StructType([task.left.schema[name] for name in request.by])
    group_keys(arrow_schema(grouping, "left", comparing=True).empty_table(), list(request.by))
    best = Best(request.k, tuple(f"p{task.packing.left[name]}" for name in request.by))
    offered = task.counts(best)
    columns = [f"c{number}" for number in range(len(task.schema.names))]
    places = dict(zip(task.schema.names, columns, strict=True))
    kept = _kept(offered.toDF(*columns), request, places, _order(task, places))
    return answer(task, kept.toDF(*task.schema.names))


def _kept(offered: DataFrame, request: TopRequest, places: dict[str, str], order: list[Column]) -> DataFrame:
    highest = F.col(places[request.count.name]).desc()
    all_ties = request.ties == "all"
    if not request.by and not all_ties:
        return offered.orderBy(highest, *order).limit(request.k)
    window = Window.partitionBy(*(places[name] for name in request.by))
    if all_ties:
        ranked = offered.withColumn("rank", F.rank().over(window.orderBy(highest)))
    else:
        ranked = offered.withColumn("rank", F.row_number().over(window.orderBy(highest, *order)))
    return ranked.where(F.col("rank") <= request.k).drop("rank")


def _order(task: SparkCount, places: dict[str, str]) -> list[Column]:
    """What decides between equal counts: the start, the end (open ones last), then the other columns."""
    period = task.left.period
    others = [
        field.name
        for field in task.left.schema
        if field.name not in (period.start, period.end) and _sorts(field.dataType)
    ]
    ends = F.col(places[period.end]).asc_nulls_last()
    return [F.col(places[period.start]), ends, *(F.col(places[name]) for name in others)]


def _sorts(kind: T.DataType) -> bool:
    return isinstance(kind, T.AtomicType) and not isinstance(kind, T.CalendarIntervalType)
