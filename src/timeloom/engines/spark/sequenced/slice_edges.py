"""Results that time slices have cut: each task finishes what lies inside its slices, and the rest is joined afterwards.

A task writes its results in few large blocks, so the second shuffle moves bytes, not rows. What a slice cannot finish
alone, at most two periods a slice and group, goes to the task that has the first slice of its group.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.versions import sent_by_number
from timeloom.engines.spark.cluster.workers import InTurn, Piped, mapped
from timeloom.engines.spark.exchange.blocks import BLOCKS, TASK, Destination, block_row, received
from timeloom.engines.spark.sequenced.rows import SLICE, Delivery, Received, Writer
from timeloom.engines.spark.sequenced.tick_columns import END, START, numbers
from timeloom.engines.tables.arrays import from_numpy
from timeloom.engines.tables.ticks import Ticks
from timeloom.kernels.order import distinct

FINISHED, OPEN = range(2)
"""Where a block of results comes from: what is finished, and what other slices may change."""

_BLOCK_ROWS = 1 << 19


@dataclass(frozen=True)
class Found:
    """Periods with their groups, and which of them another slice may change."""

    table: pa.Table
    starts: Ticks
    ends: Ticks
    open: NDArray[np.bool_]


@dataclass(frozen=True)
class SliceTask:
    """Works on the slices of one partition. ``find`` takes the received rows, whose groups include the slice."""

    delivery: Delivery
    find: Callable[[Received], Found]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Find the periods of one partition, and write them for their next tasks."""
        rows = self.delivery.read(batches)
        if rows is None:
            return
        found = self.find(rows)
        table = found.table.append_column(START, from_numpy(found.starts)).append_column(END, from_numpy(found.ends))
        firsts = (rows.task - np.maximum(numbers(table, SLICE) - 1, 0)) % self.delivery.tasks
        table = table.drop_columns(SLICE)
        yield from _blocks(table.filter(from_numpy(~found.open)), rows.task, FINISHED)
        for task in distinct(firsts[found.open]).tolist():
            yield from _blocks(table.filter(from_numpy(found.open & (firsts == task))), task, OPEN)


@dataclass(frozen=True)
class EdgeTask:
    """Writes what is finished, and joins what slices have cut of the groups whose first slices are here."""

    join: Callable[[pa.Table, Ticks, Ticks], tuple[pa.Table, Ticks, Ticks]]
    writer: Writer

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Finish one partition."""
        cut = []
        for block in received(batches):
            if block.source == OPEN:
                cut.append(block.rows)
            else:
                yield from self.writer.write(*_with_ticks(block.rows))
        if cut:
            yield from self.writer.write(*self.join(*_with_ticks(pa.concat_tables(cut))))


def joined(rows: DataFrame | Piped, task: SliceTask, edges: EdgeTask, schema: T.StructType) -> DataFrame:
    """The plan of both steps. Where one task has all rows, it takes both."""
    if isinstance(rows, Piped):
        return mapped(Piped(rows.frame, InTurn(rows.task, task)), edges, schema)
    blocks = mapped(rows, task, BLOCKS)
    return mapped(sent_by_number(blocks, task.delivery.tasks, TASK), edges, schema)


def _blocks(table: pa.Table, task: int, source: int) -> Iterator[pa.RecordBatch]:
    for first in range(0, table.num_rows, _BLOCK_ROWS):
        yield block_row(table.slice(first, _BLOCK_ROWS), source, Destination(task))


def _with_ticks(table: pa.Table) -> tuple[pa.Table, Ticks, Ticks]:
    return table, numbers(table, START), numbers(table, END)
