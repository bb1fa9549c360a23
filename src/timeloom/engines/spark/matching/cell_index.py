"""A small side made ready to be searched in SQL: which of its rows touch which cells of time.

Time is cut into cells of equal width; what lies far from most rows belongs to the outermost ones. If rows crowd in some
cells, because they come in bursts, each cell is cut into parts, the more the more rows begin in it. A row is entered in
every cell that it touches. If that were too many entries, cells get wider: then a search finds little more than it
must, since long rows do match.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from timeloom.engines.joins.few_rows import stretches
from timeloom.engines.spark.exchange.packed_rows import SideLayout, admitted
from timeloom.engines.spark.matching.runs import Numbers
from timeloom.engines.spark.slicing.join_parts import JoinPart
from timeloom.engines.spark.slicing.tick_ranges import tick_range
from timeloom.engines.tables.ticks import Ticks
from timeloom.model.policy import Policy

CELLS_PER_ROW = 8
ENTRIES_PER_ROW = 16

CROWD = 4.0
"""If more rows than this begin in the cell of a row, on average, cells are cut into parts."""

INDEX = {
    "base": pa.int64(),
    "top": pa.int64(),
    "shift": pa.int32(),
    "before": pa.list_(pa.int32()),
    "parts": pa.list_(pa.int32()),
    "froms": pa.list_(pa.int64()),
    "widths": pa.list_(pa.int32()),
    "offsets": pa.list_(pa.int32()),
    "entries": pa.list_(pa.int32()),
}
"""The columns of an index: ``before`` has the offsets of cells. The next four are null if cells have no parts."""

REACHES = "reaches"
"""The column that says where each part wants each row to be: the first tick and the last, part by part."""


class Parts(NamedTuple):
    """The parts of each cell: the number of the first, where it begins, and their width, a power of two."""

    firsts: Numbers
    froms: Ticks
    widths: Numbers


@dataclass(frozen=True)
class Grid:
    """So many cells of ``2**shift`` ticks, from tick 0 on, or so many parts of such cells."""

    size: int
    shift: int
    parts: Parts | None = None

    @classmethod
    def of(cls, begins: Ticks, span: int, cells: int) -> "Grid":
        """A grid of about so many cells for rows that begin at these ticks, from 0 to ``span``."""
        shift = (span // max(1, cells)).bit_length()
        at, size = begins >> shift, (span >> shift) + 1
        begun = np.bincount(at, minlength=size)
        if (begun * begun).sum() <= CROWD * max(1.0, begins.size / max(1, cells)) * begins.size:
            return cls(size, shift)
        bits = np.log2(np.maximum(1, begun * cells // begins.size)).astype(np.int64)
        lows, highs = np.full(size, span), np.zeros(size, np.int64)
        np.minimum.at(lows, at, begins)
        np.maximum.at(highs, at, begins)
        ranges = np.frexp(np.maximum(0, highs - lows).astype(np.float64))[1]
        firsts = np.concatenate([[0], np.cumsum(np.left_shift(1, bits))])
        return cls(int(firsts[-1]), shift, Parts(firsts, lows, np.maximum(0, ranges - bits)))

    def cell(self, ticks: Ticks) -> Numbers:
        """The number of each tick's cell, or of its part."""
        at = ticks >> self.shift
        if self.parts is None:
            return at
        firsts, froms, widths = self.parts
        found: Numbers = firsts[at] + np.clip((ticks - froms[at]) >> widths[at], 0, firsts[at + 1] - firsts[at] - 1)
        return found


@dataclass(frozen=True)
class CellIndex:
    """Rows by the cells, or parts of cells, that they touch; outside of ``base`` to ``top`` are the outermost ones.

    Number k has the entries from ``offsets[k]`` to ``offsets[k + 1]``: twice the number of a row, and one more if it
    begins there.
    """

    base: int
    top: int
    grid: Grid
    offsets: Numbers
    entries: Numbers

    @classmethod
    def of(cls, starts: Ticks, low: Ticks, high: Ticks) -> "CellIndex":
        """An index of rows that must be present from ``low`` to ``high``."""
        base, top = _most(starts)
        begins, ends = (np.clip(ticks, base, top) - base for ticks in (low, high))
        cells = CELLS_PER_ROW * starts.size
        while True:
            grid = Grid.of(begins, top - base, cells)
            first, last = grid.cell(begins), grid.cell(ends)
            touched = last - first + 1
            if touched.sum() <= ENTRIES_PER_ROW * starts.size:
                break
            cells //= 2
        rows, at = np.repeat(np.arange(starts.size), touched), stretches(first, last + 1)
        entries = (2 * rows + (at == np.repeat(first, touched)))[np.argsort(at, kind="stable")]
        return cls(base, top, grid, np.concatenate([[0], np.cumsum(np.bincount(at, minlength=grid.size))]), entries)

    @property
    def row(self) -> list[pa.Array]:
        """The index as one row."""
        parts: tuple[Numbers | None, ...] = (None, None, None, None)
        before = self.offsets
        if self.grid.parts is not None:
            before, parts = self.offsets[self.grid.parts.firsts], (*self.grid.parts, self.offsets)
        values = [self.base, self.top, self.grid.shift, before, *parts, self.entries]
        return [pa.array([value], kind) for value, kind in zip(values, INDEX.values(), strict=True)]


def _most(starts: Ticks) -> tuple[int, int]:
    """Between which ticks most rows start, and some time around them."""
    ordered = np.sort(starts)
    low, high = int(ordered[starts.size // 100]), int(ordered[-1 - starts.size // 100])
    base = max(int(ordered[0]), 2 * low - high)
    return base, min(int(ordered[-1]), 2 * high - low, base + 2**62)


@dataclass(frozen=True)
class IndexedSide:
    """Turns all rows of a side into one: an index, where each part wants each row to be, and some columns."""

    layout: SideLayout
    parts: tuple[JoinPart, ...]
    policy: Policy
    columns: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Make the row; none if no row can match anything."""
        received = [batch for batch in batches if batch.num_rows]
        if received:
            yield from self._row(pa.Table.from_batches(received))

    def _row(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        rows, starts, ends, _ = admitted(table, self.layout, self.policy)
        low, high = tick_range(self.layout.name, self.parts, starts, ends)
        some = np.flatnonzero(low <= high)
        if not some.size:
            return
        starts, ends, table = starts[some], ends[some], table.take(pa.array(rows[some]))
        reaches = [ticks for part in self.parts for ticks in tick_range(self.layout.name, [part], starts, ends)]
        columns = CellIndex.of(starts, low[some], high[some]).row
        columns += [_alone(values) for values in (pa.array(np.stack(reaches, axis=1).ravel()), *self._values(table))]
        yield pa.RecordBatch.from_arrays(columns, names=[*INDEX, REACHES, *value_names(len(self.columns))])

    def _values(self, table: pa.Table) -> list[pa.Array]:
        return [table[name].combine_chunks() for name in self.columns]


def value_names(columns: int) -> list[str]:
    """The columns with the values of the rows."""
    return [f"v{number}" for number in range(columns)]


def _alone(values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)
