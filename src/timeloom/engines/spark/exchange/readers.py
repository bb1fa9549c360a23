"""How a task of a join receives its rows: from a shuffle, or as a stream of one side with the other side broadcast."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from timeloom.engines.spark.exchange.blocks import chunks, read_ipc, received
from timeloom.engines.spark.exchange.packed_rows import RIGHT, Packed
from timeloom.engines.spark.exchange.prefilter import STREAM
from timeloom.engines.spark.exchange.routing import Bits
from timeloom.engines.spark.exchange.writing import BITS
from timeloom.engines.tables.arrays import to_numpy
from timeloom.kernels.slicing.copies import END_HERE, ONLY, START_HERE


@dataclass(frozen=True)
class ShuffledBlocks:
    """Blocks of both sides, each with the columns of its side; ``schema`` has the columns of both."""

    schema: pa.Schema

    def read(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Packed]:
        """All rows at once: a slice must be whole."""
        tables: list[pa.Table] = []
        bits: list[Bits] = []
        slices: list[int] = []
        for block in received(batches):
            rows, marks = _unmarked(block.rows)
            tables.append(rows)
            bits.append(marks | np.int8(RIGHT * block.source))
            slices.append(block.destination.slice)
        if tables:
            numbers = np.repeat(np.array(slices, np.int32), [table.num_rows for table in tables])
            yield Packed(_packed(tables, self.schema), np.concatenate(bits), numbers)


def _unmarked(rows: pa.Table) -> tuple[pa.Table, Bits]:
    """The rows of a block, and their bits; where nothing is cut, each row has one copy."""
    if BITS not in rows.column_names:
        return rows, np.full(rows.num_rows, ONLY, np.int8)
    return rows.drop_columns([BITS]), to_numpy(rows[BITS])


@dataclass(frozen=True)
class StreamedRows:
    """Rows of one side; the first row of a partition carries the whole other side."""

    streamed_is_right: bool
    schema: pa.Schema

    def read(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Packed]:
        """The streamed side in chunks, each with all rows of the broadcast side, if there are any."""
        broadcast: pa.Table | None = None
        for table in chunks(batches):
            rows = table.drop_columns([STREAM])
            if broadcast is None:
                sent = table[STREAM][0]
                broadcast = read_ipc(sent) if sent.is_valid else rows.slice(0, 0)
            yield self._together(broadcast, rows)

    def _together(self, broadcast: pa.Table, streamed: pa.Table) -> Packed:
        here = ONLY | (RIGHT if self.streamed_is_right else 0)
        there = START_HERE | END_HERE | (0 if self.streamed_is_right else RIGHT)
        bits = np.full(broadcast.num_rows + streamed.num_rows, there, np.int8)
        bits[broadcast.num_rows :] = here
        return Packed(_packed([broadcast, streamed], self.schema), bits, np.zeros(bits.size, np.int32))


def _packed(tables: list[pa.Table], schema: pa.Schema) -> pa.Table:
    """The rows of all tables in one; the columns that a table has not are null."""
    table = pa.concat_tables(tables, promote_options="default")
    for field in schema:
        if field.name not in table.column_names:
            table = table.append_column(field.name, pa.nulls(table.num_rows, field.type))
    return table
