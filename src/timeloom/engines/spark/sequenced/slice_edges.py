"""Results that time slices have cut: each task finishes what lies inside its slices, and the rest is joined afterwards.

A task seals its rows into few large parcels, so the second shuffle moves bytes, not rows. What a slice cannot finish
alone, at most two periods a slice and group, goes to the task that has all of its group.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.exchange.dispatch import END, SLICE, START, parcel, unsealed
from timeloom.engines.spark.sequenced.rows import Delivery, Received, Writer
from timeloom.engines.tables.ticks import Ticks

SEALED = "place int, seam boolean, parcel binary"

_PARCEL_ROWS = 1 << 19


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
        """Find the periods of one partition, and seal them for their next places."""
        rows = self.delivery.read(batches)
        if rows is None:
            return
        found = self.find(rows)
        table = found.table.append_column(START, pa.array(found.starts)).append_column(END, pa.array(found.ends))
        slices = np.asarray(table[SLICE].combine_chunks())
        homes = (rows.place - np.maximum(slices - 1, 0)) % self.delivery.partitions
        table = table.drop_columns(SLICE)
        yield from _sealed(table.filter(pa.array(~found.open)), rows.place, seam=False)
        for home in np.unique(homes[found.open]).tolist():
            yield from _sealed(table.filter(pa.array(found.open & (homes == home))), home, seam=True)


@dataclass(frozen=True)
class SeamTask:
    """Writes what is finished, and joins the seams of the groups that have their home here."""

    join: Callable[[pa.Table, Ticks, Ticks], tuple[pa.Table, Ticks, Ticks]]
    writer: Writer

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Finish one partition."""
        seams = []
        for batch in batches:
            for seam, sealed in zip(batch.column("seam"), batch.column("parcel"), strict=True):
                table = unsealed(sealed)
                if seam.as_py():
                    seams.append(table)
                else:
                    yield from self.writer.write(*_parts(table))
        if seams:
            yield from self.writer.write(*self.join(*_parts(pa.concat_tables(seams))))


def joined(rows: DataFrame, task: SliceTask, seams: SeamTask, schema: T.StructType) -> DataFrame:
    """The plan of both steps."""
    sealed = mapped(rows, task, SEALED)
    return mapped(sealed.repartitionById(task.delivery.partitions, F.col("place")), seams, schema)


def _sealed(table: pa.Table, place: int, *, seam: bool) -> Iterator[pa.RecordBatch]:
    for first in range(0, table.num_rows, _PARCEL_ROWS):
        yield parcel(table.slice(first, _PARCEL_ROWS), place, seam=seam)


def _parts(table: pa.Table) -> tuple[pa.Table, Ticks, Ticks]:
    return table, np.asarray(table[START].combine_chunks()), np.asarray(table[END].combine_chunks())
