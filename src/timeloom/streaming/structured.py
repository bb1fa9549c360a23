"""The streaming join on Spark: two streaming DataFrames in, one out."""

import logging
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from timeloom.engines.frames import require_columns
from timeloom.engines.spark.ticks import column_ticks
from timeloom.errors import InvalidInputError, UsageError
from timeloom.kernels.sweep_arrival import NO_EVENT, NO_KEY, UNREADABLE
from timeloom.model.ticks import FOREVER, Axis
from timeloom.streaming.deciding import AT_END, EVENTS
from timeloom.streaming.processor import JoinProcessor, Plan
from timeloom.streaming.readers import Columns

logger = logging.getLogger("timeloom")

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
ONE_KEY = "__all"
CLOCK = "__clock"
"""Where times have no zone, the same times as if they were of UTC: Spark wants a zone for its watermark."""

_AXES: dict[type[T.DataType], Axis] = {T.TimestampType: Axis.ZONED, T.TimestampNTZType: Axis.TIMESTAMP}
_INSTANTS = {
    Axis.ZONED: "timestamp_micros({})",
    Axis.TIMESTAMP: "timestampadd(MICROSECOND, {}, TIMESTAMP_NTZ '1970-01-01 00:00:00')",
}
"""How ticks become instants again."""


def stream_join(left: DataFrame, right: DataFrame, plan: Plan, watermark: str | None, columns: Columns) -> DataFrame:
    """Join two streaming DataFrames by a plan; lazy, as all of Spark."""
    _check(left, right)
    axis = _axis(left, right, plan, columns)
    events = None
    for number, (side, frame) in enumerate((("left", left), ("right", right))):
        own = _events(frame, side, number, plan, watermark, columns, axis)
        events = own if events is None else events.unionByName(own)
    assert events is not None
    keys = plan.keys or (ONE_KEY,)
    if not plan.keys:
        logger.warning("stream_join without on=: all rows share one state, so one task does all the work")
        events = events.withColumn(ONE_KEY, F.lit(0))
    kinds = [frame.schema[columns.id].dataType for frame in (left, right)]
    are_integers = (isinstance(kinds[0], T.IntegralType), isinstance(kinds[1], T.IntegralType))
    inner = [T.LongType() if are else T.StringType() for are in are_integers]
    schema = T.StructType(
        [
            *(field for field in events.schema if field.name in keys),
            T.StructField("left_id", inner[0]),
            T.StructField("right_id", inner[1]),
            T.StructField("at", T.LongType()),
            T.StructField("reason", T.StringType()),
        ]
    )
    named = replace(plan, keys=tuple(keys), integers=are_integers)
    joined = events.groupBy(*keys).transformWithStateInPandas(JoinProcessor(named), schema, "Append", "EventTime")
    return joined.select(
        *plan.keys,
        F.col("left_id").cast(kinds[0]),
        F.col("right_id").cast(kinds[1]),
        F.expr(_INSTANTS[axis].format(f"nullif(at, {FOREVER})")).alias("at"),
        "reason",
    )


def _check(left: DataFrame, right: DataFrame) -> None:
    for side, frame in (("left", left), ("right", right)):
        if not frame.isStreaming:
            raise UsageError(f"the {side} table is no stream; use join for tables, or readStream to make a stream")
    provider = left.sparkSession.conf.get(PROVIDER, "") or ""
    if "RocksDB" not in provider:
        raise UsageError(
            f"streaming joins keep their state in RocksDB, but {PROVIDER} is {provider or 'not set'}; "
            f"set it to {ROCKSDB} before the query starts"
        )


def _clocks(plan: Plan, number: int, columns: Columns) -> tuple[str, str]:
    """The first time column of a side, and the one at which its rows become known."""
    time = columns.time if plan.arrivals[number] == EVENTS else columns.start
    return time, columns.end if plan.arrivals[number] == AT_END else time


def _axis(left: DataFrame, right: DataFrame, plan: Plan, columns: Columns) -> Axis:
    """The axis that both sides share; watermarks are defined on timestamps, with zone or without."""
    found: dict[Axis, str] = {}
    for number, (side, frame) in enumerate((("left", left), ("right", right))):
        clocks = _clocks(plan, number, columns)
        require_columns(frame.columns, list(clocks), side)
        for name in clocks:
            kind = frame.schema[name].dataType
            if type(kind) not in _AXES:
                raise InvalidInputError(
                    f"column {name!r} of the {side} stream is {kind.simpleString()}; expected timestamp, because "
                    "watermarks are defined on timestamps; convert it, for example with timestamp_micros"
                )
            found[_AXES[type(kind)]] = f"{name!r} of the {side} stream is {kind.simpleString()}"
    if len(found) > 1:
        raise InvalidInputError(f"the streams do not share a time axis: {' and '.join(found.values())}; convert one")
    return next(iter(found))


def _events(
    frame: DataFrame, side: str, number: int, plan: Plan, watermark: str | None, columns: Columns, axis: Axis
) -> DataFrame:
    """One side as events: its keys, id, time and end in microseconds, and what is wrong with it.

    The watermark column itself is left out: Spark would drop late rows by it without a word.
    """
    apart = plan.arrivals[number] == EVENTS
    time, second = (columns.time, columns.event) if apart else (columns.start, columns.end)
    require_columns(frame.columns, [*plan.keys, columns.id, time, second], side)
    _, clock = _clocks(plan, number, columns)
    if axis is Axis.TIMESTAMP and watermark is not None:
        frame, clock = frame.withColumn(CLOCK, F.timestamp_micros(_ticks(clock, axis))), CLOCK
    marked = frame if watermark is None else frame.withWatermark(clock, watermark)
    starting, known = _starting(frame.schema[second].dataType, second) if apart else (F.lit(True), F.lit(True))
    unread = F.col(time).isNull() | F.col(columns.id).isNull()
    keyless = reduce(or_, (F.col(key).isNull() for key in plan.keys), F.lit(False))
    end: Any = F.lit(FOREVER) if apart else F.coalesce(_ticks(columns.end, axis), F.lit(FOREVER))
    verdict = F.when(unread, UNREADABLE).when(~known, NO_EVENT).when(keyless, NO_KEY).otherwise(0)
    is_integer = isinstance(frame.schema[columns.id].dataType, T.IntegralType)
    text = F.col(columns.id).cast("string")
    return marked.select(
        *plan.keys,
        F.lit(number).alias("side"),
        (F.when(verdict != 0, text) if is_integer else text).alias("id"),
        F.coalesce(F.col(columns.id).cast("long") if is_integer else F.lit(None), F.lit(0))
        .cast("long")
        .alias("number"),
        F.coalesce(_ticks(time, axis), F.lit(0)).alias("time"),
        starting.alias("starting"),
        end.alias("end"),
        verdict.alias("verdict"),
    )


def _ticks(name: str, axis: Axis) -> Column:
    ticked = name.replace("`", "``")
    return F.expr(column_ticks(f"`{ticked}`", axis))


def _starting(kind: T.DataType, name: str) -> tuple[Column, Column]:
    event = F.col(name)
    if isinstance(kind, T.BooleanType):
        return F.coalesce(event, F.lit(False)), event.isNotNull()
    known = F.coalesce(event.isin("start", "end"), F.lit(False))
    return F.coalesce(event == "start", F.lit(False)), known
