"""The gapless hash map: a hash table whose elements lie side by side (sweeping paper, section 7.4).

Elements are appended at the tail, and the last element moves into the place of a removed one, so that a scan
reads contiguous memory. What a scan needs (the tuple: its period, its name, a mark) lies in rows of its own, apart
from the chains that hold the buckets together.

A block holds several maps of one capacity; ``which`` says which of them is meant. Kernels take the three arrays of
a block one by one, because unpacking them on each call would cost more than the call.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled

Cells = NDArray[np.int64]

KEY, START, END, NAME, MARK, AFTER, BEFORE = range(7)
"""The rows of a map. ``BEFORE`` is the element in front of one in its chain, or ``-1 - b`` for the first element
of bucket b: whichever holds the forward pointer to it. ``AFTER`` is the next one in the chain, or -1."""


class GaplessMaps(NamedTuple):
    """A block of maps: their cells, the first element of each bucket (or -1), and their numbers of elements."""

    cells: Cells
    heads: Cells
    tails: Cells


def empty_maps(count: int, capacity: int) -> GaplessMaps:
    """Make maps with room for this many elements each, rounded up to a power of two."""
    size = 1 << max(0, capacity - 1).bit_length()
    return GaplessMaps(np.empty((count, 7, size), np.int64), np.full((count, size), -1), np.zeros(count, np.int64))


def with_room(maps: GaplessMaps, more: int) -> GaplessMaps:
    """The same block, or a larger copy if one of its maps has no room for this many more elements."""
    needed = int(maps.tails.max()) + more
    if needed <= maps.cells.shape[2]:
        return maps
    larger = empty_maps(maps.tails.size, max(2 * maps.cells.shape[2], needed))
    for which in range(maps.tails.size):
        fill(*larger, which, contents(maps, which))
    return larger


@compiled
def find(cells: Cells, heads: Cells, which: int, key: int) -> int:
    """The element with this key, or -1."""
    element: int = heads[which, key & (heads.shape[1] - 1)]
    while element >= 0 and cells[which, KEY, element] != key:
        element = cells[which, AFTER, element]
    return element


@compiled
def append(cells: Cells, heads: Cells, tails: Cells, which: int, key: int, start: int, end: int, name: int) -> None:
    """Append an element; its key must be absent, and there must be room."""
    bucket = key & (heads.shape[1] - 1)
    element = tails[which]
    head = heads[which, bucket]
    cells[which, KEY, element] = key
    cells[which, START, element] = start
    cells[which, END, element] = end
    cells[which, NAME, element] = name
    cells[which, MARK, element] = 0
    cells[which, AFTER, element] = head
    cells[which, BEFORE, element] = -1 - bucket
    if head >= 0:
        cells[which, BEFORE, head] = element
    heads[which, bucket] = element
    tails[which] = element + 1


@compiled
def point_to(cells: Cells, heads: Cells, which: int, before: int, element: int) -> None:
    """Let whatever held a forward pointer (an element or a bucket) point to this element, or to none."""
    if before >= 0:
        cells[which, AFTER, before] = element
    else:
        heads[which, -1 - before] = element


@compiled
def remove_element(cells: Cells, heads: Cells, tails: Cells, which: int, element: int) -> None:
    """Unlink an element and move the last one into its place."""
    before, after = cells[which, BEFORE, element], cells[which, AFTER, element]
    point_to(cells, heads, which, before, after)
    if after >= 0:
        cells[which, BEFORE, after] = before
    last = tails[which] - 1
    tails[which] = last
    if element == last:
        return
    for row in range(cells.shape[1]):
        cells[which, row, element] = cells[which, row, last]
    before, after = cells[which, BEFORE, element], cells[which, AFTER, element]
    point_to(cells, heads, which, before, element)
    if after >= 0:
        cells[which, BEFORE, after] = element


def contents(maps: GaplessMaps, which: int) -> Cells:
    """The tuples of one map, without its chains."""
    tuples: Cells = maps.cells[which, :AFTER, : maps.tails[which]].copy()
    return tuples


def filled(*tuples: Cells) -> GaplessMaps:
    """Maps with these contents."""
    maps = empty_maps(len(tuples), max(64, *(some.shape[1] for some in tuples)))
    for which, some in enumerate(tuples):
        fill(maps.cells, maps.heads, maps.tails, which, some)
    return maps


@compiled
def fill(cells: Cells, heads: Cells, tails: Cells, which: int, tuples: Cells) -> None:
    """Append tuples to a map."""
    for at in range(tuples.shape[1]):
        append(cells, heads, tails, which, tuples[KEY, at], tuples[START, at], tuples[END, at], tuples[NAME, at])
        cells[which, MARK, tails[which] - 1] = tuples[MARK, at]
