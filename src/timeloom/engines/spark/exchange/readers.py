"""How a task receives its rows: from a shuffle, or as a stream of one side with the other side broadcast."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.spark.exchange.blocks import (
    END_HOME,
    FIRST,
    RECEIVED,
    RIGHT,
    SOLE,
    START_HOME,
    Packed,
    SideLayout,
)
from timeloom.engines.spark.exchange.dispatch import unsealed
from timeloom.engines.spark.exchange.prefilter import STREAM
from timeloom.engines.spark.exchange.writing import large
from timeloom.engines.spark.slicing.join_parts import Piece
from timeloom.engines.spark.slicing.packed_ranges import spans
from timeloom.model.policy import Policy
from timeloom.model.ticks import MAX_TICK, MIN_TICK

Bits = NDArray[np.int8]


@dataclass(frozen=True)
class ShuffledParcels:
    """Parcels of both sides, each with the columns of its side; ``schema`` has the columns of both."""

    schema: pa.Schema
    layouts: tuple[SideLayout, SideLayout]
    pieces: tuple[Piece, ...]
    policy: Policy

    def read(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Packed]:
        """All rows at once: a slice must be whole."""
        tables: list[pa.Table] = []
        bits: list[Bits] = []
        slices: list[int] = []
        for batch in batches:
            for number in range(batch.num_rows):
                at, low, high, is_right = (batch.column(name)[number].as_py() for name in RECEIVED[1:5])
                table, marks = self._clipped(unsealed(batch.column("parcel")[number]), low, high, is_right)
                tables.append(table)
                bits.append(marks | np.int8(RIGHT if is_right else 0))
                slices.append(at)
        if tables:
            numbers = np.repeat(np.array(slices, np.int32), [table.num_rows for table in tables])
            yield Packed(_packed(tables, self.schema), np.concatenate(bits), numbers)

    def _clipped(self, table: pa.Table, low: int | None, high: int | None, is_right: bool) -> tuple[pa.Table, Bits]:
        """The rows that touch the slice, and their bits.

        A row that goes to one slice has there whatever point of it is asked for.
        """
        home = START_HOME | END_HOME
        if low is None and high is None:
            return table, np.full(table.num_rows, SOLE | home, np.int8)
        found = spans(table, self.layouts[is_right], self.pieces, self.policy)
        first, last = MIN_TICK if low is None else low, MAX_TICK if high is None else high - 1
        begun, done = found.low >= first, found.high <= last
        starting, ending = ((ticks >= first) & (ticks <= last) for ticks in (found.starts, found.ends))
        several = starting * START_HOME | ending * END_HOME | begun * FIRST
        bits = np.where(begun & done, SOLE | home, several).astype(np.int8)
        here = (found.low <= last) & (found.high >= first)
        return (table, bits) if here.all() else (table.filter(pa.array(here)), bits[here])


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
