"""Sequenced difference on arrays: the union of one side's periods, and what it leaves of the other's."""

from typing import NamedTuple

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Order, Positions, Ticks, bucket, sort

BLOCK = 512
"""Rows that are looked up together: their memory accesses overlap instead of waiting for each other."""


class Pieces(NamedTuple):
    """Sub-periods of rows: row by row, ascending within a row."""

    rows: Positions
    starts: Ticks
    ends: Ticks

    @classmethod
    def room(cls, size: int) -> "Pieces":
        """Space for so many pieces."""
        return cls(np.empty(size, np.int32), np.empty(size, np.int64), np.empty(size, np.int64))


def cover(starts: Ticks, ends: Ticks, threads: int = 1) -> Order:
    """Unite periods; the union is the order of its edges, at which covered time alternately begins and ends."""
    by_start = sort(starts, threads, ends)
    return sort(unite(by_start.values, by_start.beside))


@compiled
def unite(starts: Ticks, ends: Ticks) -> Ticks:
    """The edges of a union of periods in the order of their starts; touching periods become one."""
    edges, size = np.empty(2 * starts.size, np.int64), 0
    for k in range(starts.size):
        end = ends[k]
        if size > 0 and starts[k] <= edges[size - 1]:
            edges[size - 1] = max(edges[size - 1], end)
        else:
            edges[size] = starts[k]
            edges[size + 1] = end
            size += 2
    return edges[:size].copy()


def subtract(starts: Ticks, ends: Ticks, covered: Order) -> Pieces:
    """The maximal sub-periods of each row outside the cover."""
    offsets, first = np.zeros(starts.size + 1, np.int64), np.empty(starts.size, np.int32)
    grid = covered.values, covered.offsets, covered.base, covered.shift
    count_pieces(*grid, starts, ends, 0, starts.size, first, offsets)
    np.cumsum(offsets, out=offsets)
    pieces = Pieces.room(int(offsets[-1]))
    out = pieces.rows, pieces.starts, pieces.ends
    write_pieces(covered.values, starts, ends, 0, starts.size, first, offsets, *out)
    return pieces


@compiled
def count_pieces(
    edges: Ticks,
    offsets: Positions,
    base: int,
    shift: int,
    starts: Ticks,
    ends: Ticks,
    begin: int,
    stop: int,
    first: Positions,
    counts: Ticks,
) -> None:
    """Count the uncovered pieces of the rows ``begin:stop`` into ``counts[row + 1]``.

    Also note the first edge after each row's start; its number is even exactly if the start is not covered. The first
    four arguments are the order of the cover's edges.
    """
    low, high, nearest = np.empty(BLOCK, np.int32), np.empty(BLOCK, np.int32), np.empty(BLOCK, np.int64)
    for block in range(begin, stop, BLOCK):
        size = min(BLOCK, stop - block)
        for k in range(size):
            number = bucket(starts[block + k] + 1, base, shift, offsets.size - 1)
            low[k], high[k] = offsets[number], offsets[number + 1]
        for k in range(size):
            nearest[k] = edges[low[k]] if low[k] < high[k] else 0
        for k in range(size):
            row, edge, last = block + k, low[k], high[k]
            if edge < last and nearest[k] <= starts[row]:
                edge += 1
                while edge < last:
                    middle = (edge + last) >> 1
                    if edges[middle] <= starts[row]:
                        edge = middle + 1
                    else:
                        last = middle
            first[row], pieces = edge, 0
            while edge < edges.size and edges[edge] < ends[row]:
                pieces += 1 - (edge & 1)
                edge += 1
            counts[row + 1] = pieces + 1 - (edge & 1)


@compiled
def write_pieces(
    edges: Ticks,
    starts: Ticks,
    ends: Ticks,
    begin: int,
    stop: int,
    first: Positions,
    offsets: Ticks,
    rows: Positions,
    piece_starts: Ticks,
    piece_ends: Ticks,
) -> None:
    """Write the uncovered pieces of the rows ``begin:stop``, each row's at its offset."""
    for row in range(begin, stop):
        out = offsets[row]
        if out == offsets[row + 1]:
            continue
        at, edge = starts[row], first[row]
        while edge < edges.size and edges[edge] < ends[row]:
            if edge & 1:
                at = edges[edge]
            else:
                rows[out] = row
                piece_starts[out] = at
                piece_ends[out] = edges[edge]
                out += 1
            edge += 1
        if edge & 1 == 0:
            rows[out] = row
            piece_starts[out] = at
            piece_ends[out] = ends[row]
