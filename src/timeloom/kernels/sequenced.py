"""Sequenced difference on arrays: the union of one side's periods, and what it leaves of the other's."""

from typing import NamedTuple

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks, rank, sort


class Cover(NamedTuple):
    """The union of a set of periods: disjoint, ascending, never touching."""

    starts: Ticks
    ends: Ticks


class Pieces(NamedTuple):
    """Sub-periods of rows: row by row, ascending within a row."""

    rows: Positions
    starts: Ticks
    ends: Ticks


def cover(starts: Ticks, ends: Ticks) -> Cover:
    """Unite periods; overlapping and touching ones become one."""
    return Cover(*unite(sort(starts).values, sort(ends).values))


@compiled
def unite(starts: Ticks, ends: Ticks) -> tuple[Ticks, Ticks]:
    """Unite periods given as their starts and their ends, each sorted by itself.

    No period spans the time between the k-th end and the next start, in these orders, exactly if the one precedes the
    other: then k + 1 periods have begun before it and k + 1 have ended.
    """
    size = 0
    united_starts = np.empty(starts.size, np.int64)
    united_ends = np.empty(starts.size, np.int64)
    for k in range(starts.size):
        if k == 0 or starts[k] > ends[k - 1]:
            united_starts[size] = starts[k]
            size += 1
        united_ends[size - 1] = ends[k]
    return united_starts[:size].copy(), united_ends[:size].copy()


def subtract(starts: Ticks, ends: Ticks, covered: Cover) -> Pieces:
    """The maximal sub-periods of each row outside the cover."""
    by_end = sort(covered.ends)
    grid = by_end.values, by_end.offsets, by_end.base, by_end.shift
    offsets, first = np.zeros(starts.size + 1, np.int64), np.empty(starts.size, np.int32)
    count_pieces(*grid, starts, ends, first, *covered, 0, starts.size, offsets)
    np.cumsum(offsets, out=offsets)
    size = int(offsets[-1])
    pieces = Pieces(np.empty(size, np.int32), np.empty(size, np.int64), np.empty(size, np.int64))
    write_pieces(starts, ends, first, *covered, 0, starts.size, offsets, pieces.rows, pieces.starts, pieces.ends)
    return pieces


@compiled
def count_pieces(
    values: Ticks,
    offsets: Positions,
    base: int,
    shift: int,
    starts: Ticks,
    ends: Ticks,
    first: Positions,
    cover_starts: Ticks,
    cover_ends: Ticks,
    begin: int,
    stop: int,
    counts: Ticks,
) -> None:
    """Count the uncovered pieces of the rows ``begin:stop`` into ``counts[row + 1]``.

    Also note, for the writing, the first period of the cover that ends after each row starts; the first four arguments
    are the sorted order of the cover's ends.
    """
    for row in range(begin, stop):
        first[row] = rank(values, offsets, base, shift, starts[row] + 1)
        at, k, pieces = starts[row], first[row], 0
        while k < cover_starts.size and cover_starts[k] < ends[row]:
            pieces += cover_starts[k] > at
            at = cover_ends[k]
            k += 1
        counts[row + 1] = pieces + (at < ends[row])


@compiled
def write_pieces(
    starts: Ticks,
    ends: Ticks,
    first: Positions,
    cover_starts: Ticks,
    cover_ends: Ticks,
    begin: int,
    stop: int,
    offsets: Ticks,
    rows: Positions,
    piece_starts: Ticks,
    piece_ends: Ticks,
) -> None:
    """Write the uncovered pieces of the rows ``begin:stop``, each row's at its offset."""
    for row in range(begin, stop):
        at, k, out = starts[row], first[row], offsets[row]
        while k < cover_starts.size and cover_starts[k] < ends[row]:
            if cover_starts[k] > at:
                rows[out] = row
                piece_starts[out] = at
                piece_ends[out] = cover_starts[k]
                out += 1
            at = cover_ends[k]
            k += 1
        if at < ends[row]:
            rows[out] = row
            piece_starts[out] = at
            piece_ends[out] = ends[row]
