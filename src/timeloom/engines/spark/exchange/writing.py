"""What a Spark task does with rows that are to be joined elsewhere: they are sealed in parcels, by key and time.

The shuffle then moves a few large values instead of many rows. A task does not know where time is cut for all, so it
seals together what lies together in its own rows, and says from when to when a parcel must be present; whoever deals
out the parcels sends each to the slices that it touches.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.spark.exchange.blocks import SideLayout, admitted
from timeloom.engines.spark.exchange.dispatch import sealed_column
from timeloom.engines.spark.slicing.join_parts import Piece
from timeloom.engines.spark.slicing.packed_ranges import Spans, spans
from timeloom.kernels.slicing.tick_ranges import number_cells
from timeloom.model.policy import Policy

KEY = "key"
"""The column with the hash of a row's key, if rows are sent by key."""

SEALED = "home int, low bigint, high bigint, parcel binary"
"""A parcel: the number that its keys share, and the ticks between which it must be present; null if nowhere."""

CHUNK_BYTES = 64 << 20
"""How much is sorted at a time."""

CELLS_PER_SLICE = 8
"""A task cuts its rows into so many cells of time for each slice that there may be."""

PARCEL_ROWS = 2048
"""A parcel of less than about so many rows is not worth its while."""

MOST_CELLS = 4096


class Groups(NamedTuple):
    """To which parcel each row goes: its home times ``width``, and a number below it; the last one is for absence."""

    numbers: NDArray[np.signedinteger]
    width: int


@dataclass(frozen=True)
class Sealing:
    """Turns the rows of one side into parcels; ``homes`` is one unless rows are sent by key.

    Rows that are to be dropped are dropped here, and told of once. Those that must be refused are sent on: they meet in
    one task, which tells of all.
    """

    layout: SideLayout
    pieces: tuple[Piece, ...]
    policy: Policy
    homes: int
    slices: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Seal the rows of one partition."""
        for table in large(batches):
            if self.policy.on_invalid == "drop":
                table = table.take(pa.array(admitted(table, self.layout, self.policy)[0]))
            homes = np.zeros(table.num_rows, np.int64)
            if KEY in table.column_names:
                homes = np.asarray(table[KEY].combine_chunks()) % self.homes
                table = table.drop_columns([KEY])
            if table.num_rows:
                yield from self._sealed(table, homes)

    def _sealed(self, table: pa.Table, homes: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
        found = spans(table, self.layout, self.pieces, self.policy)
        groups = grouped(found, homes, self.homes, self.slices)
        order = np.argsort(groups.numbers, kind="stable")
        numbers = groups.numbers[order]
        first = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))
        last = np.append(first[1:], numbers.size)
        lows, highs = np.minimum.reduceat(found.low[order], first), np.maximum.reduceat(found.high[order], first)
        arranged = table.take(pa.array(order))
        for begin, end, low, high in zip(first.tolist(), last.tolist(), lows.tolist(), highs.tolist(), strict=True):
            home, at = divmod(int(numbers[begin]), groups.width)
            extent = (None, None) if at == groups.width - 1 else (low, high)
            yield _parcel(arranged.slice(begin, end - begin), home, *extent)


def grouped(found: Spans, homes: NDArray[np.int64], count: int, slices: int) -> Groups:
    """Group rows by home and cell of time: rows that touch many cells by fewer and larger ones.

    So a parcel is little longer than its rows. Cells are quantiles of the rows themselves.
    """
    if slices == 1 or not found.present.any():
        return Groups(homes, 1)
    wanted = max(1, min(CELLS_PER_SLICE * slices, homes.size // PARCEL_ROWS, MOST_CELLS))
    cells = 1 << (wanted - 1).bit_length()
    starts = found.low[found.present] if not found.present.all() else found.low
    starts = np.sort(starts[:: max(1, starts.size // (16 * cells))])
    bounds = starts[np.arange(1, cells) * starts.size // cells]
    small = count * 2 * cells < 2**15
    numbers: NDArray[np.signedinteger] = np.empty(homes.size, np.dtype(np.int16 if small else np.int64))
    number_cells(found.low, found.high, found.present, homes, _least(homes, count, cells), bounds, numbers)
    return Groups(numbers, 2 * cells)


def _least(homes: NDArray[np.int64], count: int, cells: int) -> NDArray[np.int64]:
    """How often cells must double at least in each home, so that its parcels are not too small."""
    wanted = np.clip(np.bincount(homes, minlength=count) // PARCEL_ROWS, 1, cells)
    return np.log2(cells / wanted).astype(np.int64)


def _parcel(table: pa.Table, home: int, low: int | None, high: int | None) -> pa.RecordBatch:
    columns = [
        pa.array([home], pa.int32()),
        pa.array([low], pa.int64()),
        pa.array([high], pa.int64()),
        sealed_column(table),
    ]
    return pa.RecordBatch.from_arrays(columns, names=["home", "low", "high", "parcel"])


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
