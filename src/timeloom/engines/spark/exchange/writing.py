"""What a task does with rows that are to be worked on elsewhere: it routes them, and writes them in blocks.

It knows where time is cut: copies of the first row of its partition say so. So it reads each period once, and sends to
a slice what belongs there and nothing else; whoever receives a block need not look where its rows lie.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from timeloom.engines.spark.exchange.blocks import block_row, chunks, held_block
from timeloom.engines.spark.exchange.routing import Dealing, RowTicks, routed
from timeloom.engines.spark.slicing.cuts import CUTS, Cuts
from timeloom.engines.spark.slicing.sharing import content
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.spark.slicing.tick_ranges import TickRange
from timeloom.engines.tables.arrays import from_numpy, to_numpy
from timeloom.engines.tables.ticks import Ticks

KEY = "key"
"""The column with the hash of a row's key, or of its group; without it, all rows are in one bucket."""

SOURCE = "source"
"""The column with the number of a row's source, where rows of several go to a task together."""

BITS = "bits"
"""The column with the bits of copies, in the blocks of slices."""


class RowReader(Protocol):
    """How a task reads the rows of a source that it sends on."""

    @property
    def range(self) -> TickRange:
        """Where rows must be present."""

    def admitted(self, rows: pa.Table) -> pa.Table:
        """The rows without those that are dropped; some may be refused."""

    def ticks(self, rows: pa.Table) -> RowTicks:
        """The ticks of rows, and where they must be present."""


@dataclass(frozen=True)
class BlockWriter:
    """Turns the rows of a source into blocks; ``marked`` if receivers need the bits of copies.

    Blocks that do not travel are read by the task that writes them.
    """

    source: int
    reader: RowReader
    slicing: Slicing
    marked: bool = False
    travels: bool = True

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the rows of one partition."""
        for rows, cuts in _with_cuts(batches):
            yield from self.written(rows, cuts)

    def written(self, rows: pa.Table, cuts: Cuts) -> Iterator[pa.RecordBatch]:
        """The blocks of some rows."""
        rows = self.reader.admitted(rows)
        if rows.num_rows:
            rows, keys = apart(rows.combine_chunks())
            yield from self.dealt(rows, keys, self.reader.ticks(rows) if cuts.bounds else None, cuts)

    def dealt(
        self, rows: pa.Table, keys: Ticks | None, ticks: RowTicks | None, cuts: Cuts, task: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The blocks of rows with these keys and ticks, for all tasks, or for one of them."""
        dealing = Dealing(self.source, lambda chosen: content(rows.take(from_numpy(chosen))))
        found = routed(rows.num_rows, keys, ticks, cuts, self.slicing, dealing)
        if task is not None:
            found = found.of(task)
        alone = len(found.destinations) == 1 and found.rows.size == rows.num_rows
        arranged = rows if alone else rows.take(from_numpy(found.rows))
        for number, destination in enumerate(found.destinations):
            first, last = found.edges[number : number + 2]
            if first < last:
                block = arranged.slice(first, last - first)
                if self.marked and destination.slice:
                    block = block.append_column(BITS, from_numpy(found.bits[first:last]))
                if self.travels:
                    yield block_row(block, self.source, destination)
                else:
                    yield from held_block(block, self.source, destination)


def apart(rows: pa.Table) -> tuple[pa.Table, Ticks | None]:
    """Rows without the hashes of their keys, and these, if there are any."""
    return (rows.drop_columns([KEY]), to_numpy(rows[KEY])) if KEY in rows.column_names else (rows, None)


@dataclass(frozen=True)
class MixedWriter:
    """Turns rows of several sources, told apart by a column, into blocks; each source has these columns only."""

    writers: tuple[BlockWriter, ...]
    columns: tuple[tuple[str, ...], ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the rows of one partition."""
        for table, cuts in _with_cuts(batches):
            sources = to_numpy(table[SOURCE])
            for writer, names in zip(self.writers, self.columns, strict=True):
                mine = table.select(list(names)).filter(from_numpy(sources == writer.source))
                yield from writer.written(mine, cuts)


def _with_cuts(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[pa.Table, Cuts]]:
    """The rows of a partition in chunks, each with the cuts: from copies of the first row, or from a text in it."""
    tables = chunks(batches)
    first = next(tables, None)
    if first is None:
        return
    if CUTS not in first.column_names:
        yield from ((table, Cuts({})) for table in (first, *tables))
        return
    if pa.types.is_string(first.schema.field(CUTS).type):
        told = Cuts.read(json.loads(first[CUTS][0].as_py() or "[]"))
        yield from ((table.drop_columns([CUTS]), told) for table in (first, *tables))
        return
    numbers = _numbers(first)
    while numbers and len(numbers) < numbers[0]:
        first = pa.concat_tables([first, next(tables)])
        numbers = _numbers(first)
    cuts = Cuts.read(numbers)
    rows = first.drop_columns([CUTS])
    yield pa.concat_tables([rows.slice(0, 1), rows.slice(max(1, len(numbers)))]), cuts
    yield from ((table.drop_columns([CUTS]), cuts) for table in tables)


def _numbers(rows: pa.Table) -> "list[int]":
    """The cuts as far as they are in some rows."""
    found: list[int] = rows[CUTS].drop_null().to_pylist()
    return found
