"""Streams of final results on Spark: streaming DataFrames in, one out.

Rows travel as Arrow, whatever their types: each task packs the rows of a batch by the bucket of their keys, a stateful
processor keeps the rows of a bucket in pages, and a last task unpacks the results. Keys share buckets and pages: a
micro-batch reads and writes few states, however many keys it has, and leaves alone pages that it does not touch.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from timeloom.engines.spark.cluster.versions import from_arrow_schema, from_arrow_type, to_arrow_schema
from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.columns.ticks import column_ticks
from timeloom.engines.tables.frames import refuse_repeated, require_columns
from timeloom.engines.tables.key_types import common_type
from timeloom.engines.tables.keys import unequal
from timeloom.errors import InvalidInputError, UsageError
from timeloom.kernels.order import distinct
from timeloom.model.ticks import Axis
from timeloom.streaming.buckets import BucketProcessor, Layout, States, Task
from timeloom.streaming.encoding import whole_key
from timeloom.streaming.final.packed import from_bytes, to_bytes
from timeloom.streaming.final.rows import Role
from timeloom.streaming.final.stream import FinalStream
from timeloom.streaming.structured import CLOCK, PROVIDER, ROCKSDB

logger = logging.getLogger("timeloom")

BUCKETS = 64
"""Keys are spread over this many states. A checkpoint depends on it."""

PACKED = "bucket INT, side INT, rows BINARY"
AXES: dict[type[T.DataType], Axis] = {T.TimestampType: Axis.ZONED, T.TimestampNTZType: Axis.TIMESTAMP}


LAYOUT = Layout(mark="final", nowhere=(-1,), earlier="rows")
"""Before there were pages, a bucket had one state, in the variable of the earlier name. It becomes the first page."""


@dataclass(frozen=True)
class Plan:
    """What tasks need to know: how to make the operator, the columns of its streams, and the types of their keys."""

    make: Callable[[], FinalStream]
    schemas: tuple[pa.Schema, ...]
    kinds: tuple[pa.DataType, ...]

    def begin(self, states: States) -> Task:
        """Begin with a partition."""
        from timeloom.streaming.final.task import FinalTask

        made = self.make()
        made.declare(self.schemas)
        return FinalTask(made, self.kinds, states)


def processor_of(
    make: Callable[[], FinalStream], schemas: tuple[pa.Schema, ...], kinds: tuple[pa.DataType, ...]
) -> BucketProcessor:
    """The processor that keeps the rows of keys which share states."""
    return BucketProcessor(Plan(make, schemas, kinds), LAYOUT)


def run(frames: Sequence[DataFrame], make: Callable[[], FinalStream], watermark: str | None) -> DataFrame:
    """The results of streaming DataFrames; lazy, as all of Spark."""
    made = make()
    _check(frames, made.roles)
    schemas = [frame.schema for frame in frames]
    kinds = _key_types(schemas, made.roles)
    conf = frames[0].sparkSession.conf
    zone = conf.get("spark.sql.session.timeZone") if made.by_calendar else "UTC"
    arrow = []
    for schema, role in zip(schemas, made.roles, strict=True):
        _check_columns(schema, role)
        names = [*role.kept(schema.names), *role.times]
        arrow.append(to_arrow_schema(T.StructType([schema[name] for name in dict.fromkeys(names)]), zone))
    made.declare(arrow)
    result = made.with_refused(made._push([None] * len(arrow), None)).schema
    fields = [T.StructField(f"k{at}", kind) for at, kind in enumerate(kinds)]
    processor = processor_of(make, tuple(arrow), tuple(to_arrow_schema(T.StructType(fields), zone).types))
    packed = [
        _packed(frame, schema, role, arrow[side], kinds, side, watermark)
        for side, (frame, schema, role) in enumerate(zip(frames, schemas, made.roles, strict=True))
    ]
    whole = packed[0]
    for other in packed[1:]:
        whole = whole.unionByName(other)
    found = whole.groupBy("bucket").transformWithStateInPandas(processor, "rows BINARY", "Append", "EventTime")
    return mapped(found, Unpack(result), from_arrow_schema(result))


def _check(frames: Sequence[DataFrame], roles: Sequence[Role]) -> None:
    for frame, role in zip(frames, roles, strict=True):
        if not frame.isStreaming:
            raise UsageError(f"the {role.name} table is no stream; use the verb of tables, or readStream for a stream")
    provider = frames[0].sparkSession.conf.get(PROVIDER, "") or ""
    if "RocksDB" not in provider:
        raise UsageError(
            f"streams keep their state in RocksDB, but {PROVIDER} is {provider or 'not set'}; "
            f"set it to {ROCKSDB} before the query starts"
        )
    if not roles[0].keys:
        logger.warning("a stream without keys: all rows share one state, so one task does all the work")


def _check_columns(schema: T.StructType, role: Role) -> None:
    refuse_repeated(schema.names, role.name)
    names = list(dict.fromkeys([*role.kept(schema.names), *role.times]))
    require_columns(schema.names, names, role.name)
    for name in role.times[:1] if role.arrival == "events" else role.times:
        kind = schema[name].dataType
        if type(kind) not in AXES:
            raise InvalidInputError(
                f"column {name!r} of the {role.name} stream is {kind.simpleString()}; expected timestamp, because "
                "watermarks are defined on timestamps; convert it, for example with timestamp_micros"
            )


def _key_types(schemas: Sequence[T.StructType], roles: Sequence[Role]) -> list[T.DataType]:
    """The type of each key that all streams share; keys that cannot be equal are refused in the words of tables."""
    for schema, role in zip(schemas, roles, strict=True):
        require_columns(schema.names, list(role.keys), role.name)
    common: list[T.DataType] = []
    for name in roles[0].keys:
        found = schemas[0][name].dataType
        for schema in schemas[1:]:
            if schema[name].dataType != found:
                fields = [T.StructField(name, kind) for kind in (found, schema[name].dataType)]
                kinds = [to_arrow_schema(T.StructType([field])).types[0] for field in fields]
                shared = common_type(*kinds)
                if shared is None:
                    raise unequal((name, name), (kinds[0], kinds[1]))
                found = from_arrow_type(shared)
        common.append(found)
    return common


def _packed(
    frame: DataFrame,
    schema: T.StructType,
    role: Role,
    arrow: pa.Schema,
    kinds: list[T.DataType],
    side: int,
    watermark: str | None,
) -> DataFrame:
    """A stream as packed rows. Columns go by position, so that no name of the user's can mean anything else.

    The watermark column itself is left out: Spark would drop late rows by it without a word.
    """
    numbered = frame.toDF(*(f"c{at}" for at in range(len(schema.names))))
    aliases = {name: f"c{at}" for at, name in enumerate(schema.names)}
    casts = [f"CAST({aliases[name]} AS {kind.simpleString()})" for name, kind in zip(role.keys, kinds, strict=True)]
    text = whole_key(casts, kinds, [f"column {name!r} of the {role.name} stream" for name in role.keys])
    bucket = f"CAST(pmod(xxhash64({text}), {BUCKETS}L) AS INT)" if role.keys else "0"
    chosen = [
        F.expr(bucket).alias("bucket"),
        *(F.expr(aliases[name]).alias(f"p{at}") for at, name in enumerate(arrow.names)),
    ]
    time = role.times[0]
    if watermark is not None:
        ticks = column_ticks(aliases[time], AXES[type(schema[time].dataType)])
        instant = F.expr(f"timestamp_micros({ticks})").alias(CLOCK)
        found = numbered.select(*chosen, instant).withWatermark(CLOCK, watermark).drop(CLOCK)
    else:
        found = numbered.select(*chosen)
    return mapped(found, Pack(arrow, side), PACKED)


@dataclass(frozen=True)
class Pack:
    """Rows of each bucket of a batch as one row."""

    schema: pa.Schema
    side: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pack the batches of a task."""
        for batch in batches:
            if not batch.num_rows:
                continue
            buckets = np.asarray(batch.column(0))
            rows = pa.Table.from_batches([batch]).drop_columns([batch.schema.names[0]])
            rows = rows.rename_columns(self.schema.names).cast(self.schema)
            numbers = distinct(buckets)
            parts = [to_bytes(rows.filter(pa.array(buckets == number))) for number in numbers.tolist()]
            sides = np.full(len(parts), self.side, np.int32)
            yield pa.RecordBatch.from_arrays(
                [pa.array(numbers, pa.int32()), pa.array(sides), pa.array(parts, pa.binary())],
                ["bucket", "side", "rows"],
            )


@dataclass(frozen=True)
class Unpack:
    """The results that rows hold."""

    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Unpack the batches of a task."""
        for batch in batches:
            for packed in batch.column(0).to_pylist():
                yield from from_bytes(packed).cast(self.schema).to_batches()
