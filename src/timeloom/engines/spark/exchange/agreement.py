"""Tasks that agree where time is cut: each receives all rows, chooses as the others do, and keeps its own part.

A sample takes a pass over the inputs before the rows can be sent. Rows that every task can hold are sent to all of a
few tasks instead. What these choose depends on what the rows say, never on the order in which they arrive; and all that
is added up on the way is whole numbers, of which no order of additions makes another sum, on whatever machine.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from timeloom.engines.spark.exchange.blocks import Block, block_rows, chunks, received
from timeloom.engines.spark.exchange.routing import RowTicks
from timeloom.engines.spark.exchange.writing import BlockWriter, RowReader, apart
from timeloom.engines.spark.slicing.cuts import Cuts, Sampled
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.tables.ticks import Ticks
from timeloom.kernels.order import NOTHING, sealed
from timeloom.kernels.slicing.deciding import deciding_rows

LOOKED_AT = 1 << 13
"""Between so many rows and twice as many decide where to cut, if there are more."""


@dataclass(frozen=True)
class CommonWriter:
    """Writes the rows of a source, as they are, for each of so many tasks."""

    source: int
    reader: RowReader
    tasks: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the rows of one partition."""
        for table in chunks(batches):
            rows = self.reader.admitted(table)
            if rows.num_rows:
                yield from block_rows(rows.combine_chunks(), self.source, self.tasks)


class _Arrived(NamedTuple):
    """The rows of a source in a task, and who writes them."""

    writer: BlockWriter
    rows: pa.Table
    keys: Ticks | None
    ticks: RowTicks


@dataclass(frozen=True)
class Agreement:
    """Takes all rows, and hands on the blocks of one task; there is a writer for each source.

    Should Spark put the partitions of several tasks together, each has its own copy of all rows.
    """

    writers: tuple[BlockWriter, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Keep the part of one task."""
        copies: dict[int, list[Block]] = {}
        for block in received(batches):
            copies.setdefault(block.destination.task, []).append(block)
        for task, blocks in copies.items():
            yield from self._kept(task, blocks)

    def _kept(self, task: int, blocks: Sequence[Block]) -> Iterator[pa.RecordBatch]:
        sources = [found for writer in self.writers if (found := _arrived(writer, blocks)) is not None]
        cuts = agreed_cuts(self.writers[0].slicing, [(found.ticks, found.keys) for found in sources])
        for writer, rows, keys, ticks in sources:
            yield from writer.dealt(rows, keys, ticks, cuts, task)


def _arrived(writer: BlockWriter, blocks: Sequence[Block]) -> _Arrived | None:
    tables = [block.rows for block in blocks if block.source == writer.source]
    if not tables:
        return None
    rows, keys = apart(pa.concat_tables(tables).combine_chunks())
    return _Arrived(writer, rows, keys, writer.reader.ticks(rows))


def agreed_cuts(slicing: Slicing, sources: Sequence[tuple[RowTicks, Ticks | None]]) -> Cuts:
    """The cuts that all tasks choose that have these rows, in whatever order."""
    halvings = max(0, (sum(ticks.low.size for ticks, _ in sources) // LOOKED_AT).bit_length() - 1)
    parts = [_looked_at(ticks, keys, halvings) for ticks, keys in sources]
    if halvings and not any(low.size for low, *_ in parts):
        halvings, parts = 0, [_looked_at(ticks, keys, 0) for ticks, keys in sources]
    if not parts:
        return Cuts({})
    numbers = [np.full(part[0].size, source) for source, part in enumerate(parts)]
    low, high, keys = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((np.concatenate(numbers), keys, high, low))
    sample = Sampled(
        low[order], high[order], keys[order], np.full(low.size, 2.0**halvings), np.concatenate(numbers)[order]
    )
    return Cuts(*slicing.chosen(*sample))


def _looked_at(ticks: RowTicks, keys: Ticks | None, halvings: int) -> tuple[Ticks, Ticks, Ticks]:
    """The rows that decide, one of ``2**halvings``: where they must be present, and their keys."""
    rows = np.empty(ticks.low.size, np.int32)
    starts, ends, low, high = map(sealed, ticks)
    told = NOTHING if keys is None else sealed(keys)
    rows = rows[: deciding_rows((starts, ends, low, high), told, 1 << halvings, rows)]
    return ticks.low[rows], ticks.high[rows], np.zeros(rows.size, np.int64) if keys is None else keys[rows]
