"""Periods cut at the lines of a grid."""

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.resources.threads import chunks, in_parallel
from timeloom.engines.tables.grid_lines import MOST, Lines
from timeloom.engines.tables.ticks import Ticks
from timeloom.errors import UsageError
from timeloom.kernels.order import sealed
from timeloom.kernels.sequenced import grid as kernel


class Cut(NamedTuple):
    """Pieces of rows: the row of each, its cell of the grid, and its ticks; row by row, ascending within a row."""

    rows: NDArray[np.int32]
    cells: Ticks
    starts: Ticks
    ends: Ticks


def cut(starts: Ticks, ends: Ticks, lines: Lines, threads: int = 1) -> Cut:
    """Cut non-empty periods at the lines within them."""
    periods = sealed(starts), sealed(ends), lines.step, lines.origin, sealed(lines.known)
    firsts, counts = np.empty(starts.size, np.int64), np.empty(starts.size, np.int64)
    parts = chunks(starts.size, threads)
    in_parallel([partial(kernel.count_cells, *periods, *part, firsts, counts) for part in parts], threads)
    total = float(counts.sum(dtype=np.float64))
    if total > MOST:
        raise UsageError(f"the rows would be cut into about {total:,.0f} pieces; give a wider grid, or less time")
    found = Cut(np.empty(int(total), np.int32), *(np.empty(int(total), np.int64) for _ in range(3)))
    write = partial(kernel.write_pieces, *periods, firsts, counts, np.cumsum(counts) - counts)
    in_parallel([partial(write, *part, *found) for part in parts], threads)
    return found
