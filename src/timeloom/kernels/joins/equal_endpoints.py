"""Pairs of rows where one row's endpoint is a fixed distance from the other's: a hash join, bucket by bucket.

Neither side is sorted. Both are distributed to the same coarse buckets of the axis, each of which fits into a
processor's cache; there the indexed rows are hashed by their endpoint, and the probe rows look theirs up.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import COARSE, Positions, Rows, Ticks, grid, scatter_by_rows
from timeloom.kernels.rectangles import near_range

Limits = tuple[int, int, int, int]

SPREAD = 0x1E3779B97F4A7C15


class Buckets(NamedTuple):
    """Rows by coarse buckets of the axis; bucket b has the rows from ``heads[b]`` to ``heads[b + 1]``."""

    rows: Rows
    heads: Positions


def distribute(
    points: tuple[Ticks, Ticks], looking: tuple[Ticks, Ticks], distance: int, threads: int
) -> tuple[Buckets, Buckets]:
    """Distribute indexed rows by their endpoint, and probe rows by the endpoint that they look for.

    Either side is given by the endpoint that counts and the other one. Probe rows look for theirs plus a distance.
    """
    base, shift, buckets = grid(points[0])
    fine = max(0, (buckets - 1).bit_length() - COARSE)
    wide = ((buckets - 1) >> fine) + 1
    indexed = scatter_by_rows(*points, base, shift + fine, wide, threads)
    return Buckets(*indexed), Buckets(*scatter_by_rows(*looking, base - distance, shift + fine, wide, threads))


@compiled
def slot(value: int, mask: int) -> int:
    """Where a value belongs in a hash table."""
    return ((int(value) * SPREAD) >> 20) & mask


@compiled
def hash_rows(values: Ticks, first: int, last: int, table: Positions, following: Positions) -> int:
    """Hash the rows first..last: the first row of each slot and the next one of each row, or -1. Tells the mask."""
    size = 8
    while size < last - first:
        size *= 2
    table[:size] = -1
    for row in range(last - 1, first - 1, -1):
        at = slot(values[row], size - 1)
        following[row - first] = table[at]
        table[at] = row
    return size - 1


@compiled
def look_up(
    indexed: Buckets,
    probe: Buckets,
    distance: int,
    by_end: bool,
    point: Limits,
    rest: Limits,
    position: tuple[int, int, int],
    last: int,
    table: Positions,
    following: Positions,
    out_driving: NDArray[np.int32],
    out_driven: NDArray[np.int32],
) -> tuple[int, int, int, int]:
    """Write the pairs of the buckets up to ``last``, from a position on, until all are done or the output is full.

    ``by_end`` says that the probe rows are given by end and start, else by start and end. ``point`` and ``rest`` are
    what the relation demands of the indexed row's endpoints. A position is a bucket, a probe row, an indexed row, or -1
    for the first one. Tells the position to go on with, and how many pairs were written.
    """
    values, ids, beside = indexed.rows
    anchors, owners, others = probe.rows
    bucket, row, at = position
    found = 0
    while bucket < last:
        begin = indexed.heads[bucket]
        mask = hash_rows(values, begin, indexed.heads[bucket + 1], table, following)
        while row < probe.heads[bucket + 1]:
            start, end = (others[row], anchors[row]) if by_end else (anchors[row], others[row])
            wanted = anchors[row] + distance
            low, high = near_range(start, end, point)
            least, most = near_range(start, end, rest)
            if at < 0 and low <= wanted <= high:
                at = table[slot(wanted, mask)]
            while at >= 0:
                if values[at] == wanted and least <= beside[at] <= most:
                    if found == out_driven.size:
                        return bucket, row, at, found
                    out_driving[found] = owners[row]
                    out_driven[found] = ids[at]
                    found += 1
                at = following[at - begin]
            row += 1
        bucket += 1
    return bucket, row, -1, found
