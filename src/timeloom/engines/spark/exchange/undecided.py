"""Rows of a side that no task alone can decide about: those that are in several tasks, or in all."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import types as T

from timeloom.engines.spark.columns.packing import Packing
from timeloom.engines.spark.columns.validity import JudgedFrame
from timeloom.engines.spark.exchange.packed_rows import RIGHT, Reader, SideLayout, admitted
from timeloom.engines.tables.arrays import from_numpy
from timeloom.kernels.slicing.copies import FIRST, SOLE
from timeloom.model.policy import Policy


@dataclass(frozen=True)
class FirstCopies:
    """Of the rows of a side that are in several tasks, those whose first copy is here: their ticks, and columns."""

    reader: Reader
    layout: SideLayout
    policy: Policy
    names: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Choose the rows of one partition."""
        side = RIGHT if self.layout.name == "right" else 0
        for packed in self.reader.read(batches):
            chosen = np.flatnonzero((packed.bits & (RIGHT | SOLE | FIRST)) == (side | FIRST))
            table = packed.table.select(list(dict.fromkeys([self.layout.start, self.layout.end, *self.names])))
            yield from _ticked(table.take(from_numpy(chosen)), self.layout, self.policy, self.names)


@dataclass(frozen=True)
class ValidRows:
    """All valid rows of a side: their ticks, and columns."""

    layout: SideLayout
    policy: Policy
    names: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Choose the rows of one partition."""
        received = [batch for batch in batches if batch.num_rows]
        if received:
            yield from _ticked(pa.Table.from_batches(received), self.layout, self.policy, self.names)


def undecided_schema(side: JudgedFrame, packing: Packing) -> T.StructType:
    """The ticks of rows, and the columns of their side."""
    ticks = [T.StructField(name, T.LongType()) for name in ("start", "end")]
    own = (T.StructField(f"p{at}", packing.types[at]) for at in packing.positions(side).values())
    return T.StructType([*ticks, *own])


def _ticked(rows: pa.Table, layout: SideLayout, policy: Policy, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """The valid rows with their ticks."""
    kept, starts, ends, _ = admitted(rows, layout, policy)
    valid = rows if kept.size == rows.num_rows else rows.take(from_numpy(kept))
    columns = [from_numpy(starts), from_numpy(ends), *(valid[name] for name in names)]
    yield from pa.table(columns, ["start", "end", *names]).to_batches()
