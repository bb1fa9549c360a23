"""Periods cut at the lines of a grid: which cells each touches, and its pieces.

Lines lie ``step`` ticks apart from ``origin`` on; with a step of 0 they are known, and cells are numbered by them.
"""

from timeloom.kernels.jit import compiled, written_out
from timeloom.kernels.order import Positions, Ticks
from timeloom.model.ticks import MAX_TICK


@written_out
def cell_of(tick: int, step: int, origin: int, known: Ticks) -> int:
    """The number of the cell that holds a tick."""
    if step:
        return (tick - origin) // step
    low, high = 0, known.size
    while low < high:
        middle = (low + high) >> 1
        if known[middle] <= tick:
            low = middle + 1
        else:
            high = middle
    return low - 1


@written_out
def edge_of(cell: int, step: int, origin: int, known: Ticks) -> int:
    """Where a cell begins."""
    return cell * step + origin if step else known[cell]


@compiled
def count_cells(
    starts: Ticks,
    ends: Ticks,
    step: int,
    origin: int,
    known: Ticks,
    begin: int,
    stop: int,
    firsts: Ticks,
    counts: Ticks,
) -> None:
    """Write the first cell of each of the rows ``begin:stop``, which are not empty, and how many it touches.

    More cells than ticks can count are as many as they can.
    """
    for row in range(begin, stop):
        first, last = cell_of(starts[row], step, origin, known), cell_of(ends[row] - 1, step, origin, known)
        firsts[row] = first
        if first < 0 and last >= MAX_TICK + first:  # asked before the difference is taken, which would wrap
            counts[row] = MAX_TICK
        else:
            counts[row] = last - first + 1


@compiled
def write_pieces(
    starts: Ticks,
    ends: Ticks,
    step: int,
    origin: int,
    known: Ticks,
    firsts: Ticks,
    counts: Ticks,
    offsets: Ticks,
    begin: int,
    stop: int,
    rows: Positions,
    cells: Ticks,
    piece_starts: Ticks,
    piece_ends: Ticks,
) -> None:
    """Write the pieces of the rows ``begin:stop`` from their offsets on."""
    for row in range(begin, stop):
        at, cell, edge = offsets[row], firsts[row], starts[row]
        for _ in range(counts[row] - 1):
            rows[at], cells[at], piece_starts[at] = row, cell, edge
            cell += 1
            edge = edge_of(cell, step, origin, known)
            piece_ends[at] = edge
            at += 1
        rows[at], cells[at], piece_starts[at], piece_ends[at] = row, cell, edge, ends[row]
