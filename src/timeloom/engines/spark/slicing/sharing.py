"""Slices that several tasks share: where so many rows have their points at one tick that no boundary helps.

The rows of each side in such a slice are dealt into groups, and each group of one side meets each group of the other in
a task of its own. So every pair still meets once, and a row is copied to as many tasks as the other side has groups.
"""

import math
from typing import NamedTuple
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.engines.spark.slicing.boundaries import COPIES, copies
from timeloom.engines.tables.arrays import to_numpy
from timeloom.engines.tables.ticks import Ticks

_MIX = np.uint64(0x9E3779B97F4A7C15)


class Grid(NamedTuple):
    """Into how many groups the rows of each side are dealt."""

    left: int
    right: int

    @property
    def tasks(self) -> int:
        """How many tasks share the slice."""
        return self.left * self.right

    def of(self, source: int) -> tuple[int, int]:
        """How many groups the rows of a side have, and how many those of the other."""
        return (self.left, self.right) if source == 0 else (self.right, self.left)

    def task(self, source: int, own: int, other: int) -> int:
        """Which of the tasks has a group of a side and a group of the other."""
        return own * self.right + other if source == 0 else other * self.right + own


class Present(NamedTuple):
    """Sampled rows of one bucket: where they must be present, how many rows each stands for, and of which source."""

    low: Ticks
    high: Ticks
    counts: NDArray[np.float64]
    sources: Ticks

    def in_order(self) -> "Present":
        """The same by their first ticks."""
        order = np.argsort(self.low)
        return Present(self.low[order], self.high[order], self.counts[order], self.sources[order])


def grids(bounds: Ticks, heavy: dict[int, float], rows: Present) -> dict[int, Grid]:
    """How the slices that weigh as many others are shared; fewer tasks share them if rows were copied too often."""
    first, last = (np.searchsorted(bounds, ticks, side="right") for ticks in (rows.low, rows.high))
    sizes = {}
    for at in heavy:
        here = (first <= at) & (at <= last)
        sizes[at] = [float(rows.counts[here & (rows.sources == source)].sum()) for source in (0, 1)]
    usual = copies(bounds, rows.low, rows.high, rows.counts)
    total, part = max(1.0, float(rows.counts.sum())), 1.0
    while True:
        found = {at: _grid(part * shares, *sizes[at]) for at, shares in heavy.items()}
        more = sum(sizes[at][0] * (grid.right - 1) + sizes[at][1] * (grid.left - 1) for at, grid in found.items())
        if usual + more / total <= COPIES or all(grid.tasks == 1 for grid in found.values()):
            return {at: grid for at, grid in found.items() if grid.tasks > 1}
        part *= 0.75


def _grid(tasks: float, left: float, right: float) -> Grid:
    """About so many tasks, each with as few rows of both sides as can be."""
    most = max(1, math.floor(tasks))
    rows = round(math.sqrt(most * left / right)) if right else most
    rows = min(most, max(1, rows))
    return Grid(rows, most // rows)


def content(rows: pa.Table) -> NDArray[np.uint64]:
    """A number for each row that depends on its values alone: a task that runs again deals its rows as before.

    Values of types that are not read here count for nothing; rows that differ in these only stay together.
    """
    found = np.zeros(rows.num_rows, np.uint64)
    for column in rows.columns:
        found = mixed(found ^ _numbers(column))
    return found


def mixed(numbers: NDArray[np.integer]) -> NDArray[np.uint64]:
    """Numbers in which every bit depends on all of those that are given."""
    found = numbers.astype(np.uint64) * _MIX
    return found ^ (found >> np.uint64(32))


def _numbers(column: pa.ChunkedArray) -> NDArray[np.uint64]:
    kind = column.type
    if pa.types.is_integer(kind):
        known = pc.fill_null(column, 0) if column.null_count else column
        return to_numpy(known).astype(np.int64, copy=False).view(np.uint64)
    if pa.types.is_temporal(kind) and kind.bit_width in (32, 64) and not pa.types.is_interval(kind):
        return _numbers(column.cast(pa.int64() if kind.bit_width == 64 else pa.int32()))
    if pa.types.is_floating(kind):
        return np.asarray(pc.fill_null(column.cast(pa.float64()), 0.0)).view(np.uint64)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _texts(column)
    return np.zeros(len(column), np.uint64)


def _texts(column: pa.ChunkedArray) -> NDArray[np.uint64]:
    """The same for texts: each one that occurs is read once."""
    coded = column.cast(pa.binary()).combine_chunks().dictionary_encode()
    values = np.array([*(crc32(value) + 1 for value in coded.dictionary.to_pylist()), 0], np.uint64)
    found: NDArray[np.uint64] = values[np.asarray(pc.fill_null(coded.indices, values.size - 1))]
    return found
