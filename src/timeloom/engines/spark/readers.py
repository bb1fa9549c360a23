"""How a task receives its rows: from a shuffle, or as a stream of one side with the other side broadcast."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from timeloom.engines.spark.parcels import BITS, END_HOME, RIGHT, SOLE, START_HOME, Packed

BLOB = "blob"
"""The column whose first value in a partition is the broadcast side, as an Arrow stream."""

CHUNK_BYTES = 64 << 20
"""How much of the streamed side is joined at a time."""


@dataclass(frozen=True)
class ShuffledRows:
    """Rows with a column ``tag``, which is ``(slice * BITS + bits) * partitions + partition``."""

    partitions: int

    def read(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Packed]:
        """All rows at once: a slice must be whole."""
        received = [batch for batch in batches if batch.num_rows]
        if received:
            table = pa.Table.from_batches(received)
            tags = np.asarray(table["tag"].combine_chunks()) // self.partitions
            yield Packed(table.drop_columns("tag"), tags % BITS, tags // BITS)


@dataclass(frozen=True)
class StreamedRows:
    """Rows of one side; the first row of a partition carries the whole other side."""

    streamed_is_right: bool

    def read(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Packed]:
        """The streamed side in chunks, each with all rows of the broadcast side."""
        broadcast: pa.Table | None = None
        chunk: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            if not batch.num_rows:
                continue
            rows = batch.drop_columns([BLOB])
            if broadcast is None:
                broadcast = _unpacked(batch.column(BLOB)[0].as_py(), rows.schema)
            chunk.append(rows)
            size += rows.nbytes
            if size >= CHUNK_BYTES:
                yield self._together(broadcast, chunk)
                chunk, size = [], 0
        if broadcast is not None and chunk:
            yield self._together(broadcast, chunk)

    def _together(self, broadcast: pa.Table, chunk: list[pa.RecordBatch]) -> Packed:
        streamed = pa.Table.from_batches(chunk)
        home = START_HOME | END_HOME
        here = home | SOLE | (RIGHT if self.streamed_is_right else 0)
        there = home | (0 if self.streamed_is_right else RIGHT)
        bits = np.full(broadcast.num_rows + streamed.num_rows, there, np.int64)
        bits[broadcast.num_rows :] = here
        return Packed(pa.concat_tables([broadcast, streamed]), bits, np.zeros(bits.size, np.int64))


def pack_blob(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn all rows of a partition into one row: a list with one Arrow stream."""
    sink = pa.BufferOutputStream()
    writer = None
    for batch in batches:
        writer = writer or pa.ipc.new_stream(sink, batch.schema)
        writer.write_batch(batch)
    if writer is not None:
        writer.close()
        blob = pa.array([[sink.getvalue().to_pybytes()]], pa.list_(pa.binary()))
        yield pa.RecordBatch.from_arrays([blob], names=[BLOB])


def _unpacked(blob: bytes | None, schema: pa.Schema) -> pa.Table:
    """Read the broadcast side; none came when it has no rows."""
    if blob is None:
        return schema.empty_table()
    return pa.ipc.open_stream(blob).read_all().cast(schema)
