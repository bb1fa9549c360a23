"""How a task receives its rows: from a shuffle, or as a stream of one side with the other side broadcast."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from timeloom.engines.spark.parcels import END_HOME, RIGHT, SOLE, START_HOME, Packed
from timeloom.engines.spark.sending import BITS, SLICE, large
from timeloom.engines.spark.sequenced_dispatch import unsealed
from timeloom.engines.spark.sieve import STREAM


@dataclass(frozen=True)
class ShuffledParcels:
    """Parcels of both sides, each with the columns of its side; ``schema`` has the columns of both."""

    schema: pa.Schema

    def read(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Packed]:
        """All rows at once: a slice must be whole."""
        tables = [unsealed(sealed) for batch in batches for sealed in batch.column("parcel")]
        if not tables:
            return
        table = _packed(tables, self.schema)
        bits, slices = (np.asarray(table[name].combine_chunks()) for name in (BITS, SLICE))
        yield Packed(table.drop_columns([BITS, SLICE]), bits, slices)


@dataclass(frozen=True)
class StreamedRows:
    """Rows of one side; the first row of a partition carries the whole other side."""

    streamed_is_right: bool
    schema: pa.Schema

    def read(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Packed]:
        """The streamed side in chunks, each with all rows of the broadcast side, if there are any."""
        broadcast: pa.Table | None = None
        for table in large(batches):
            rows = table.drop_columns([STREAM])
            if broadcast is None:
                sent = table[STREAM][0]
                broadcast = unsealed(sent) if sent.is_valid else rows.slice(0, 0)
            yield self._together(broadcast, rows)

    def _together(self, broadcast: pa.Table, streamed: pa.Table) -> Packed:
        home = START_HOME | END_HOME
        here = home | SOLE | (RIGHT if self.streamed_is_right else 0)
        there = home | (0 if self.streamed_is_right else RIGHT)
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
