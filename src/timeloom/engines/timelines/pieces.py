"""Periods cut at the lines of a grid."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.tables.grid_lines import MOST, Lines
from timeloom.engines.tables.ticks import Ticks
from timeloom.errors import UsageError


class Cut(NamedTuple):
    """Pieces of rows: the row of each, its cell of the grid, and its ticks; row by row, ascending within a row."""

    rows: NDArray[np.int64]
    cells: Ticks
    starts: Ticks
    ends: Ticks


def cut(starts: Ticks, ends: Ticks, lines: Lines) -> Cut:
    """Cut non-empty periods at the lines within them."""
    first, last = lines.cells(starts), lines.cells(ends - 1)
    counts = last - first + 1
    total = float(counts.sum(dtype=np.float64))
    if total > MOST:
        raise UsageError(f"the rows would be cut into about {total:,.0f} pieces; give a wider grid, or less time")
    rows = np.repeat(np.arange(starts.size, dtype=np.int64), counts)
    within = np.arange(rows.size, dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
    cells = first[rows] + within
    begins = np.where(within == 0, starts[rows], lines.edges(cells))
    inner = cells < last[rows]
    stops = np.where(inner, lines.edges(np.where(inner, cells + 1, first[rows])), ends[rows])
    return Cut(rows, cells, begins, stops)
