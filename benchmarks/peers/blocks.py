"""A disk seen from an algorithm: blocks that are fetched through a pool which keeps those used last."""

from typing import NamedTuple

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.sequenced.dip import Partitions

FETCHED, WRITTEN, HELD, ROOM, JUMPED = 0, 1, 2, 3, 4
ROWS = 100
"""Rows of a block: 8 KiB of rows of 80 bytes."""

JUMP = 7
"""What a block costs that does not follow one in memory: a disk as the paper's reads 540 MB/s in order, and fetches
about 10,000 single blocks a second."""


class Pool(NamedTuple):
    """Blocks in the order of their last use, as a ring of neighbours; the last number stands for the ring's seam."""

    older: np.ndarray
    newer: np.ndarray
    resident: np.ndarray
    counts: np.ndarray


def pool_of(blocks: int, room: int) -> Pool:
    """A pool that holds so many of all blocks."""
    counts = np.zeros(5, np.int64)
    counts[ROOM] = room
    older, newer = np.full(blocks + 1, blocks), np.full(blocks + 1, blocks)
    return Pool(older, newer, np.zeros(blocks, np.bool_), counts)


def cost(pool: Pool) -> int:
    """All that was fetched and written, in blocks read in order; what is written goes where the disk is not."""
    counts = pool.counts
    return int(counts[FETCHED] + (JUMP - 1) * counts[JUMPED] + JUMP * counts[WRITTEN])


def blocks_of(rows: int) -> int:
    return -(-rows // ROWS)


@compiled
def touch(pool, block):
    """Use a block: it is fetched unless the pool holds it; the block not used for the longest time makes room."""
    older, newer, resident, counts = pool
    seam = resident.size
    if resident[block]:
        if newer[seam] == block:
            return
        newer[older[block]], older[newer[block]] = newer[block], older[block]
    else:
        counts[FETCHED] += 1
        counts[JUMPED] += block == 0 or not resident[block - 1]
        resident[block] = True
        if counts[HELD] == counts[ROOM]:
            oldest = older[seam]
            resident[oldest] = False
            newer[older[oldest]], older[newer[oldest]] = newer[oldest], older[oldest]
        else:
            counts[HELD] += 1
    first = newer[seam]
    newer[seam], older[block], newer[block], older[first] = block, seam, first, block


@compiled
def touch_all(pool, begin, stop):
    """Use the blocks of a range of rows."""
    if begin < stop:
        for block in range(begin // ROWS, (stop - 1) // ROWS + 1):
            touch(pool, block)


def merged_partitions(outer: Partitions, inner: Partitions, m: int, room: int, *, whole_inner: bool = False) -> int:
    """What DIP fetches: each group of m outer partitions is scanned with each inner one, or with all in one."""
    first = blocks_of(outer.starts.size) * ROWS
    pool = pool_of(blocks_of(outer.starts.size) + blocks_of(inner.starts.size), room)
    offsets = np.array([0, inner.starts.size]) if whole_inner else np.asarray(inner.offsets, np.int64)
    _merge_blocks(np.asarray(outer.offsets, np.int64), offsets, m, first, pool)
    return cost(pool)


@compiled
def _merge_blocks(outer, inner, m, first, pool):
    """Merges go through their lists side by side, each from front to back."""
    for group in range(0, outer.size - 1, m):
        begin, stop = outer[group], outer[min(group + m, outer.size - 1)]
        for number in range(inner.size - 1):
            low, high = inner[number], inner[number + 1]
            steps = max(1, max(stop - begin, high - low) // ROWS + 1)
            for step in range(steps):
                touch_all(pool, begin + (stop - begin) * step // steps, begin + (stop - begin) * (step + 1) // steps)
                touch_all(
                    pool, first + low + (high - low) * step // steps, first + low + (high - low) * (step + 1) // steps
                )
