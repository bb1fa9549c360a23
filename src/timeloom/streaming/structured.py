"""The streaming join on Spark: two streaming DataFrames in, one out."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from timeloom.engines.spark.cluster.versions import from_arrow_type, to_arrow_schema
from timeloom.engines.spark.columns.ticks import column_ticks
from timeloom.engines.tables.frames import require_columns
from timeloom.engines.tables.keys import shared_keys
from timeloom.errors import InvalidInputError, UsageError, did_you_mean
from timeloom.kernels.streaming.arrival import NO_EVENT, NO_KEY, OFF_AXIS, UNREADABLE
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK, Axis
from timeloom.streaming.answering import KEY
from timeloom.streaming.deciding import AT_END, EVENTS
from timeloom.streaming.encoding import INSTANTS, decoded, encoded, key_part, whole_key
from timeloom.streaming.join_plan import Plan
from timeloom.streaming.payload import as_text, check_tested, from_text
from timeloom.streaming.processor import BUCKET, BUCKETS, JoinProcessor
from timeloom.streaming.wanted import ID, PAYLOAD, PERIOD, Columns, Source, payload_names

logger = logging.getLogger("timeloom")

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
CLOCK = "clock"
Watermark = str | Mapping[str, str | None] | None
"""How late events may be, on both streams or on each; None where a stream has its watermark already."""
SIDES = ("left", "right")

_AXES: dict[type[T.DataType], Axis] = {T.TimestampType: Axis.ZONED, T.TimestampNTZType: Axis.TIMESTAMP}


@dataclass(frozen=True)
class Side:
    """One stream. Its columns go by their positions, so that no name of the user's can mean anything else."""

    frame: DataFrame
    number: int
    names: tuple[str, ...]
    kinds: tuple[T.DataType, ...]

    @classmethod
    def of(cls, frame: DataFrame, number: int) -> "Side":
        """Number the columns of a stream."""
        schema = frame.schema
        repeated = sorted({name for name in schema.names if schema.names.count(name) > 1})
        if repeated:
            raise InvalidInputError(
                f"the {SIDES[number]} stream has more than one column named {', '.join(map(repr, repeated))}; "
                "rename them first"
            )
        kinds = tuple(field.dataType for field in schema)
        return cls(frame.toDF(*(f"c{at}" for at in range(len(kinds)))), number, tuple(schema.names), kinds)

    def column(self, name: str) -> str:
        """The column of this name, in SQL."""
        return f"c{self.names.index(name)}"

    def kind(self, name: str) -> T.DataType:
        """The type of a column."""
        return self.kinds[self.names.index(name)]

    def about(self, name: str) -> str:
        """A column in words."""
        return f"column {name!r} of the {SIDES[self.number]} stream"


def stream_join(left: DataFrame, right: DataFrame, plan: Plan, watermark: Watermark) -> DataFrame:
    """Join two streaming DataFrames by a plan; lazy, as all of Spark."""
    _check(left, right)
    sides, keys, columns = (Side.of(left, 0), Side.of(right, 1)), plan.wanted.keys, plan.wanted.roles
    axis = _axis(sides, plan, columns)
    for side in sides:
        second = columns.event if plan.arrivals[side.number] == EVENTS else columns.end
        require_columns(list(side.names), [*keys, columns.id, second], SIDES[side.number])
    if not keys:
        logger.warning("stream_join without on=: all rows share one state, so one task does all the work")
    kinds = _key_types(sides, keys)
    ids = [side.kind(columns.id) for side in sides]
    integers = (isinstance(ids[0], T.IntegralType), isinstance(ids[1], T.IntegralType))
    types = tuple(kind.simpleString() for kind in (*kinds, *ids))
    named = replace(plan, integers=integers, types=types, axis=axis, payload=_payload(sides, plan))
    named = replace(named, kinds=_tested_kinds(sides, named))
    ours, theirs = (_events(side, named, watermark, kinds) for side in sides)
    texts = named.answers().columns
    joined = (
        ours.unionByName(theirs)
        .groupBy(BUCKET)
        .transformWithStateInPandas(JoinProcessor(named), _schema(integers, texts), "Append", "EventTime")
    )
    chosen = named.wanted.layout(*named.payload).chosen
    return joined.select(
        *(
            F.expr(key_part(KEY, number, kind)).alias(name)
            for number, (name, kind) in enumerate(zip(keys, kinds, strict=True))
        ),
        F.expr(_id_back("left_id", ids[0])).alias("left_id"),
        F.expr(_id_back("right_id", ids[1])).alias("right_id"),
        F.expr(INSTANTS[axis].format(f"nullif(at, {FOREVER})")).alias("at"),
        "reason",
        *(
            _back(text, source, sides, axis).alias(name)
            for text, (name, source) in zip(texts, chosen.items(), strict=True)
        ),
    )


def _schema(integers: tuple[bool, bool], columns: list[str]) -> T.StructType:
    """What tasks answer: keys, texts and ticks."""
    inner = [T.LongType() if integer else T.StringType() for integer in integers]
    fields: list[tuple[str, T.DataType]] = [(KEY, T.StringType()), ("left_id", inner[0]), ("right_id", inner[1])]
    fields += [("at", T.LongType()), ("reason", T.StringType()), *((name, T.StringType()) for name in columns)]
    return T.StructType([T.StructField(name, kind) for name, kind in fields])


def _payload(sides: tuple[Side, Side], plan: Plan) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that each stream has beside keys and events."""
    keys, columns = plan.wanted.keys, plan.wanted.roles
    left, right = (payload_names(side.names, keys, columns, plan.arrivals[side.number]) for side in sides)
    return left, right


def _tested_kinds(sides: tuple[Side, Side], plan: Plan) -> tuple[tuple[str, T.DataType], ...]:
    """The types of the columns that the condition reads."""
    found = []
    for name, source in plan.wanted.layout(*plan.payload).tested.items():
        side = sides[source.side]
        if source.kind in (PAYLOAD, ID):
            column = source.column or plan.wanted.roles.id
            check_tested(side.kind(column), side.about(column))
            found.append((name, side.kind(column)))
    return tuple(found)


def _back(text: str, source: Source, sides: tuple[Side, Side], axis: Axis) -> Column:
    """A column of results from its text."""
    if source.kind == PAYLOAD:
        return from_text(text, sides[source.side].kind(source.column))
    ticks = f"CAST({text} AS BIGINT)"
    if source.kind == PERIOD or source.column != "overlap_length":
        return F.expr(INSTANTS[axis].format(ticks))
    return F.expr(f"timestamp_micros({ticks}) - timestamp_micros(0)")


def _check(left: DataFrame, right: DataFrame) -> None:
    for side, frame in zip(SIDES, (left, right), strict=True):
        if not frame.isStreaming:
            raise UsageError(f"the {side} table is no stream; use join for tables, or readStream to make a stream")
    provider = left.sparkSession.conf.get(PROVIDER, "") or ""
    if "RocksDB" not in provider:
        raise UsageError(
            f"streaming joins keep their state in RocksDB, but {PROVIDER} is {provider or 'not set'}; "
            f"set it to {ROCKSDB} before the query starts"
        )


def check_watermark(watermark: Watermark) -> None:
    """Refuse the watermark of a side that is none."""
    unknown = [side for side in watermark if side not in SIDES] if isinstance(watermark, Mapping) else []
    if unknown:
        raise UsageError(f"watermark= names {unknown[0]!r}, which is no side. {did_you_mean(unknown[0], SIDES)}")


def _clocks(plan: Plan, number: int, columns: Columns) -> tuple[str, str]:
    """The first time column of a side, and the one at which its rows become known."""
    time = columns.time if plan.arrivals[number] == EVENTS else columns.start
    return time, columns.end if plan.arrivals[number] == AT_END else time


def _axis(sides: tuple[Side, Side], plan: Plan, columns: Columns) -> Axis:
    """The axis that both sides share; watermarks are defined on timestamps, with zone or without."""
    found: dict[Axis, str] = {}
    for side in sides:
        time, _ = _clocks(plan, side.number, columns)
        names = [time] if plan.arrivals[side.number] == EVENTS else [time, columns.end]
        require_columns(list(side.names), names, SIDES[side.number])
        for name in names:
            kind = side.kind(name)
            if type(kind) not in _AXES:
                raise InvalidInputError(
                    f"{side.about(name)} is {kind.simpleString()}; expected timestamp, because "
                    "watermarks are defined on timestamps; convert it, for example with timestamp_micros"
                )
            found[_AXES[type(kind)]] = f"{name!r} of the {SIDES[side.number]} stream is {kind.simpleString()}"
    if len(found) > 1:
        raise InvalidInputError(f"the streams do not share a time axis: {' and '.join(found.values())}; convert one")
    return next(iter(found))


def _key_types(sides: tuple[Side, Side], keys: tuple[str, ...]) -> list[T.DataType]:
    """The type of each key that both sides share; keys that cannot be equal are refused in the words of tables."""
    common = []
    for name in keys:
        kinds = [side.kind(name) for side in sides]
        for side, kind in zip(sides, kinds, strict=True):
            encoded("", kind, side.about(name))
        if kinds[0] == kinds[1]:
            common.append(kinds[0])
            continue
        schemas = [to_arrow_schema(T.StructType([T.StructField(name, kind)])) for kind in kinds]
        shared_keys(schemas[0].empty_table(), schemas[1].empty_table(), [name], [name])
        if any(isinstance(kind, T.DateType | T.TimestampType | T.TimestampNTZType) for kind in kinds):
            raise InvalidInputError(
                f"the keys {name!r} ({kinds[0].simpleString()}) and {name!r} ({kinds[1].simpleString()}) "
                "are times of different types; cast one"
            )
        common.append(from_arrow_type(pa.unify_schemas(schemas, promote_options="permissive").types[0]))
    return common


def _events(side: Side, plan: Plan, watermark: Watermark, kinds: list[T.DataType]) -> DataFrame:
    """One side as events: its key, id, time and end in microseconds, and what is wrong with it.

    The watermark column itself is left out: Spark would drop late rows by it without a word.
    """
    columns, axis, keys = plan.wanted.roles, plan.axis, plan.wanted.keys
    apart = plan.arrivals[side.number] == EVENTS
    time, clock = _clocks(plan, side.number, columns)
    at, row = side.column(time), side.column(columns.id)
    ticks = column_ticks(at, axis)
    starting, known = _starting(side, columns.event) if apart else ("true", "true")
    keyless = " OR ".join(f"{side.column(name)} IS NULL" for name in keys) or "false"
    end = f"{FOREVER}L" if apart else f"coalesce({column_ticks(side.column(columns.end), axis)}, {FOREVER}L)"
    verdict = (
        f"CASE WHEN {at} IS NULL OR {row} IS NULL THEN {UNREADABLE} "
        f"WHEN {ticks} IN ({_literal(MIN_TICK)}, {_literal(MAX_TICK)}) THEN {OFF_AXIS} "
        f"WHEN NOT ({known}) THEN {NO_EVENT} WHEN {keyless} THEN {NO_KEY} ELSE 0 END"
    )
    kind = side.kind(columns.id)
    is_integer = isinstance(kind, T.IntegralType)
    text = _id_text(row, kind, side.about(columns.id))
    casts = [f"CAST({side.column(name)} AS {shared.simpleString()})" for name, shared in zip(keys, kinds, strict=True)]
    key = whole_key(casts, kinds, [side.about(name) for name in keys])
    selected = {
        BUCKET: f"CAST(pmod(xxhash64({key}), {BUCKETS}L) AS STRING)",
        KEY: key,
        "side": str(side.number),
        "id": f"CASE WHEN {verdict} <> 0 THEN {text} END" if is_integer else text,
        "number": f"coalesce(CAST({row} AS BIGINT), 0L)" if is_integer else "0L",
        "time": f"coalesce({ticks}, 0L)",
        "starting": starting,
        "end": end,
        "verdict": verdict,
    }
    found = [F.expr(sql).alias(name) for name, sql in selected.items()]
    found += _texts(side, plan)
    delay = watermark.get(SIDES[side.number]) if isinstance(watermark, Mapping) else watermark
    if delay is None:
        return side.frame.select(*found)
    instant = F.expr(f"timestamp_micros({column_ticks(side.column(clock), axis)})").alias(CLOCK)
    return side.frame.select(*found, instant).withWatermark(CLOCK, delay).drop(CLOCK)


def _texts(side: Side, plan: Plan) -> list[Column]:
    """The columns that rows of a side carry, as text; both streams have as many."""
    layout = plan.wanted.layout(*plan.payload)
    names = layout.carried(side.number)
    missing = max(len(layout.carried(0)), len(layout.carried(1))) - len(names)
    found = [as_text(side.column(name), side.kind(name), side.about(name)) for name in names]
    found += [F.lit(None).cast("string")] * missing
    return [text.alias(f"p{at}") for at, text in enumerate(found)]


def _literal(tick: int) -> str:
    """A tick in SQL, where the smallest one cannot be written as it is."""
    return f"({tick + 1}L - 1L)" if tick == MIN_TICK else f"{tick}L"


def _id_text(column: str, kind: T.DataType, what: str) -> str:
    return column if isinstance(kind, T.StringType) else encoded(column, kind, what)


def _id_back(column: str, kind: T.DataType) -> str:
    return column if isinstance(kind, T.StringType) else decoded(column, kind)


def _starting(side: Side, name: str) -> tuple[str, str]:
    """Which events are starts, and which are events at all, in SQL."""
    event, kind = side.column(name), side.kind(name)
    if isinstance(kind, T.BooleanType):
        return f"coalesce({event}, false)", f"{event} IS NOT NULL"
    if not isinstance(kind, T.StringType):
        raise InvalidInputError(
            f"{side.about(name)} is {kind.simpleString()}; expected 'start' and 'end', or true and false"
        )
    return f"coalesce({event} = 'start', false)", f"coalesce({event} IN ('start', 'end'), false)"
