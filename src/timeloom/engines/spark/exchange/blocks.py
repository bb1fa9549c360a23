"""What travels between tasks: blocks, each the rows of one source for one task and one slice, as an Arrow IPC stream.

The shuffle moves a few large values instead of many rows.
"""

import json
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from timeloom.engines.spark.exchange.narrowing import narrowed, widened
from timeloom.engines.tables.arrays import from_numpy
from timeloom.model.ticks import FOREVER, MIN_TICK

BLOCKS = "task int, source int, slice int, since bigint, until bigint, block binary"
"""The schema of blocks, wherever they come from and go to."""

TASK, BLOCK = "task", "block"

HELD = b"timeloom.held"
"""In the metadata of rows that do not travel: the number of their source, and where they go."""

CHUNK_BYTES = 64 << 20
"""How much a task takes in hand at a time."""

_FIELDS = pa.schema(
    [(TASK, pa.int32()), ("source", pa.int32()), ("slice", pa.int32()), ("since", pa.int64()), ("until", pa.int64())]
)

_DTYPES = (np.int32, np.int32, np.int32, np.int64, np.int64)


class Destination(NamedTuple):
    """Where a block goes: to one slice of a bucket, numbered from 1, which begins at ``since`` and ends at ``until``.

    Slice 0 has the rows of all buckets of a task that are not cut.
    """

    task: int
    slice: int = 0
    since: int = MIN_TICK
    until: int = FOREVER


class Block(NamedTuple):
    """Rows of one source, and where they were sent."""

    source: int
    destination: Destination
    rows: pa.Table


def block_row(rows: pa.Table, source: int, at: Destination) -> pa.RecordBatch:
    """A block as a row of Spark's."""
    return _row(ipc_column(rows), source, at)


def held_block(rows: pa.Table, source: int, at: Destination) -> Iterator[pa.RecordBatch]:
    """A block for the task that has made it: its rows as they are, which say themselves where they go."""
    told = {HELD: json.dumps([source, *at]).encode()}
    return iter(rows.replace_schema_metadata(told).combine_chunks().to_batches())


def block_rows(rows: pa.Table, source: int, tasks: int) -> Iterator[pa.RecordBatch]:
    """The same rows as a block for each of so many tasks."""
    written = ipc_column(rows)
    return (_row(written, source, Destination(task)) for task in range(tasks))


def _row(block: pa.Array, source: int, at: Destination) -> pa.RecordBatch:
    numbers = (at.task, source, *at[1:])
    arrays = [from_numpy(np.array([number], dtype)) for number, dtype in zip(numbers, _DTYPES, strict=True)]
    return pa.RecordBatch.from_arrays([*arrays, block], names=[*_FIELDS.names, BLOCK])


def received(batches: Iterator[pa.RecordBatch]) -> Iterator[Block]:
    """The blocks that a task receives, or has made itself."""
    for batch in batches:
        told = (batch.schema.metadata or {}).get(HELD)
        if told is not None:
            source, *rest = json.loads(told)
            yield Block(source, Destination(*rest), pa.Table.from_batches([batch]).replace_schema_metadata())
            continue
        for number in range(batch.num_rows):
            task, source, *rest = (batch.column(name)[number].as_py() for name in _FIELDS.names)
            yield Block(source, Destination(task, *rest), read_ipc(batch.column(BLOCK)[number]))


def ipc_column(table: pa.Table) -> pa.Array:
    """A column of one value: a table as an Arrow IPC stream."""
    stream = ipc_stream(table)
    ends = pa.py_buffer(np.array([0, stream.size], np.int32))
    return pa.Array.from_buffers(pa.binary(), 1, [None, ends, stream])


def ipc_stream(table: pa.Table) -> pa.Buffer:
    """A table as an Arrow IPC stream, narrowed."""
    sink, table = pa.BufferOutputStream(), narrowed(table)
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def read_ipc(stream: pa.BinaryScalar) -> pa.Table:
    """The table in an Arrow IPC stream."""
    return widened(pa.ipc.open_stream(stream.as_buffer()).read_all())


def chunks(batches: Iterator[pa.RecordBatch], size: int = CHUNK_BYTES) -> Iterator[pa.Table]:
    """Put batches together until they have so many bytes."""
    chunk: list[pa.RecordBatch] = []
    filled = 0
    for batch in batches:
        if batch.num_rows:
            chunk.append(batch)
            filled += batch.nbytes
        if filled >= size:
            yield pa.Table.from_batches(chunk)
            chunk, filled = [], 0
    if chunk:
        yield pa.Table.from_batches(chunk)
