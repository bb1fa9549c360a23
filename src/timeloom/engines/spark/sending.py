"""What a Spark task does with rows that are to be joined elsewhere: they are sorted by place and sealed in parcels.

A row goes to each slice that it touches. The shuffle then moves a few large values instead of many rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.admission import EMPTY, VALID, judge
from timeloom.engines.spark.cuts import CUTS, Cuts
from timeloom.engines.spark.parcels import END_HOME, FIRST, RIGHT, SOLE, START_HOME, SideLayout
from timeloom.engines.spark.pieces import Piece
from timeloom.engines.spark.reach import reach
from timeloom.engines.spark.sequenced_dispatch import parcel
from timeloom.engines.ticks import Ticks, read_period
from timeloom.model.policy import Policy

KEY, SLICE, BITS = "key", "slice", "bits"

CHUNK_BYTES = 64 << 20
"""How much is sorted at a time."""


class Placed(NamedTuple):
    """The ticks of rows, and the first and the last slice that each goes to."""

    starts: Ticks
    ends: Ticks
    first: Ticks
    last: Ticks


@dataclass(frozen=True)
class Sender:
    """Finds the slices of one side's rows. The first row of a partition may carry the cuts."""

    layout: SideLayout
    pieces: tuple[Piece, ...]
    policy: Policy
    partitions: int
    by_key: bool

    def chunks(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[pa.Table, Placed, Cuts]]:
        """All rows of a partition, so many at a time, and where they go."""
        cuts: Cuts | None = None
        for table in large(batches):
            cuts = cuts or Cuts.of(table, by_key=self.by_key)
            rows = table.drop_columns([CUTS]) if CUTS in table.column_names else table
            yield rows, self.placed(rows, cuts), cuts

    def placed(self, table: pa.Table, cuts: Cuts) -> Placed:
        """Find the slices of rows; invalid ones and those that meet nobody go to the first."""
        layout = self.layout
        columns = [table[layout.start], table[layout.end]]
        period = read_period(pa.table(columns, [layout.period.start, layout.period.end]), layout.period, layout.name)
        starts, ends, verdict = period.starts, period.ends, judge(period)
        if self.policy.empty == "point":
            ends = np.where(verdict == EMPTY, starts + 1, ends)
            verdict[verdict == EMPTY] = VALID
        none = np.zeros(starts.size, np.int64)
        if not cuts.bounds.size:
            return Placed(starts, ends, none, none)
        low, high = reach(layout.name, self.pieces, starts, ends)
        cut = (verdict == VALID) & (low <= high)
        if cuts.hot is not None:
            cut &= np.isin(np.asarray(table[KEY].combine_chunks()), cuts.hot)
        first, last = cuts.slices(low), cuts.slices(high)
        return Placed(
            starts, ends, *((first, last) if cut.all() else (np.where(cut, first, 0), np.where(cut, last, 0)))
        )


@dataclass(frozen=True)
class Sealing:
    """Turns rows into parcels."""

    sender: Sender

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Seal the rows of one partition."""
        for table, placed, cuts in self.sender.chunks(batches):
            yield from self._sealed(table, placed, cuts)

    def _sealed(self, table: pa.Table, placed: Placed, cuts: Cuts) -> Iterator[pa.RecordBatch]:
        count = self.sender.partitions
        rows, slices, bits = copies(placed, cuts)
        places = slices
        if KEY in table.column_names:
            places = (np.asarray(table[KEY].combine_chunks()) % count)[rows] + slices
            table = table.drop_columns([KEY])
        places = (places % count).astype(np.int16 if count < 2**15 else np.int64)
        order = np.argsort(places, kind="stable")
        side = RIGHT if self.sender.layout.name == "right" else 0
        arranged = table.take(pa.array(rows[order]))
        arranged = arranged.append_column(SLICE, pa.array(slices[order].astype(np.int32)))
        arranged = arranged.append_column(BITS, pa.array(bits[order] | np.int8(side)))
        edges = np.searchsorted(places[order], np.arange(count + 1))
        for place in range(count):
            first, last = int(edges[place]), int(edges[place + 1])
            if first < last:
                yield parcel(arranged.slice(first, last - first), place)


def large(batches: Iterator[pa.RecordBatch], size: int = CHUNK_BYTES) -> Iterator[pa.Table]:
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


def copies(placed: Placed, cuts: Cuts) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:
    """The copies of rows: positions, slices and bits.

    A row that goes to one slice has there whatever point of it is asked for.
    """
    touched = placed.last - placed.first + 1
    rows = np.arange(touched.size)
    if touched.size and touched.max() > 1:
        rows = np.repeat(rows, touched)
    slices = placed.first[rows]
    bits = np.full(rows.size, SOLE | START_HOME | END_HOME, np.int8)
    several = np.flatnonzero(touched[rows] > 1)
    if several.size:
        begins = np.cumsum(touched) - touched
        slices[several] += several - begins[rows[several]]
        starts, ends = cuts.slices(placed.starts[rows[several]]), cuts.slices(placed.ends[rows[several]])
        at = slices[several]
        first = placed.first[rows[several]] == at
        bits[several] = (starts == at) * START_HOME | (ends == at) * END_HOME | first * FIRST
    return rows, slices, bits
