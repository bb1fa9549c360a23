"""The gapless hash map: a hash table whose elements lie side by side (sweeping paper, section 7.4).

Elements are appended at the tail, and the last element moves into the place of a removed one, so that a scan
reads contiguous memory. What a scan needs (the tuple: its period, its name, a mark) lies in rows of its own, apart
from the chains that hold the buckets together.

A block is one array that holds several maps of one capacity: a plane per map, a row per attribute, a column per
element. ``which`` says which map is meant.
"""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.model.ticks import MIN_TICK

Cells = NDArray[np.int64]

KEY, START, END, NAME, MARK, FIRED, AFTER, BEFORE, HEAD, COUNT = range(10)
"""The rows of a map. ``FIRED`` is the last instant at which an element looked for partners. ``BEFORE`` is the element
in front of one in its chain, or ``-1 - b`` for the first element of bucket b: whichever holds the forward pointer to
it. ``AFTER`` is the next one in the chain, or -1. ``HEAD`` is, for each bucket, its first element, or -1. The first
cell of ``COUNT`` is the number of elements."""

NEXT_ALIKE, LAST_ALIKE, FIRST_ALIKE = range(COUNT + 1, COUNT + 4)
"""Further rows of maps that are chained by start or by end as well: what ``AFTER``, ``BEFORE`` and ``HEAD`` are for
keys. The second cell of ``COUNT`` says by which row that is, ``START`` or ``END``, or 0."""

ENTRY, WATCHED = range(FIRST_ALIKE + 1, FIRST_ALIKE + 3)
"""Further rows of maps whose elements may wait for each other: what stands for one among the waiting ones, or -1, and
for the first of those that wait for it."""

BY = 1
"""Where ``COUNT`` says by what a map is chained."""


def empty_maps(count: int, capacity: int, *, by: int = 0, waiting: bool = False) -> Cells:
    """Make maps with room for this many elements each, rounded up to a power of two.

    They are chained ``by`` start or end too, or not, and have rows for elements that wait, or not.
    """
    rows = WATCHED + 1 if waiting else FIRST_ALIKE + 1 if by else COUNT + 1
    maps = np.empty((count, rows, 1 << max(1, capacity - 1).bit_length()), np.int64)
    maps[:, HEAD] = -1
    maps[:, COUNT] = 0
    maps[:, COUNT, BY] = by
    maps[:, FIRST_ALIKE:] = -1
    return maps


@compiled
def find(maps: Cells, which: int, key: int) -> int:
    """The element with this key, or -1."""
    element: int = maps[which, HEAD, key & (maps.shape[2] - 1)]
    while element >= 0 and maps[which, KEY, element] != key:
        element = maps[which, AFTER, element]
    return element


@compiled
def append(maps: Cells, which: int, key: int, start: int, end: int, name: int) -> None:
    """Append an element; its key must be absent, and there must be room."""
    bucket = key & (maps.shape[2] - 1)
    element = maps[which, COUNT, 0]
    head = maps[which, HEAD, bucket]
    maps[which, KEY, element] = key
    maps[which, START, element] = start
    maps[which, END, element] = end
    maps[which, NAME, element] = name
    maps[which, MARK, element] = 0
    maps[which, FIRED, element] = MIN_TICK
    maps[which, AFTER, element] = head
    maps[which, BEFORE, element] = -1 - bucket
    if head >= 0:
        maps[which, BEFORE, head] = element
    maps[which, HEAD, bucket] = element
    maps[which, COUNT, 0] = element + 1


@compiled
def point_to(maps: Cells, which: int, before: int, element: int) -> None:
    """Let whatever held a forward pointer (an element or a bucket) point to this element, or to none."""
    if before >= 0:
        maps[which, AFTER, before] = element
    else:
        maps[which, HEAD, -1 - before] = element


@compiled
def remove_element(maps: Cells, which: int, element: int) -> None:
    """Unlink an element and move the last one into its place."""
    before, after = maps[which, BEFORE, element], maps[which, AFTER, element]
    point_to(maps, which, before, after)
    if after >= 0:
        maps[which, BEFORE, after] = before
    last = maps[which, COUNT, 0] - 1
    if element != last:
        for row in range(HEAD):
            maps[which, row, element] = maps[which, row, last]
        before, after = maps[which, BEFORE, element], maps[which, AFTER, element]
        point_to(maps, which, before, element)
        if after >= 0:
            maps[which, BEFORE, after] = element
    maps[which, COUNT, 0] = last


@compiled
def bucket_of(start: int, mask: int) -> int:
    """The bucket of a start. Its higher bits count too: starts are often whole seconds, or days, in small ticks."""
    return (start ^ (start >> 7) ^ (start >> 15) ^ (start >> 32)) & mask


@compiled
def chain(maps: Cells, which: int) -> None:
    """Chain the element that was appended last to those with its start, or end."""
    chain_element(maps, which, maps[which, COUNT, 0] - 1)


@compiled
def chain_element(maps: Cells, which: int, element: int) -> None:
    """Chain an element that is in no chain to those with its start, or end."""
    bucket = bucket_of(maps[which, maps[which, COUNT, BY], element], maps.shape[2] - 1)
    head = maps[which, FIRST_ALIKE, bucket]
    maps[which, NEXT_ALIKE, element] = head
    maps[which, LAST_ALIKE, element] = -1 - bucket
    if head >= 0:
        maps[which, LAST_ALIKE, head] = element
    maps[which, FIRST_ALIKE, bucket] = element


@compiled
def point_alike(maps: Cells, which: int, before: int, element: int, after: int) -> None:
    """Let the neighbours in a chain point to this element, or to each other if it is none."""
    if before >= 0:
        maps[which, NEXT_ALIKE, before] = element if element >= 0 else after
    else:
        maps[which, FIRST_ALIKE, -1 - before] = element if element >= 0 else after
    if after >= 0:
        maps[which, LAST_ALIKE, after] = element if element >= 0 else before


@compiled
def end_at(maps: Cells, which: int, element: int, end: int) -> None:
    """Let an element have this end, and be chained by it if elements are."""
    by_end = maps[which, COUNT, BY] == END
    if by_end:
        point_alike(maps, which, maps[which, LAST_ALIKE, element], -1, maps[which, NEXT_ALIKE, element])
    maps[which, END, element] = end
    if by_end:
        chain_element(maps, which, element)


@compiled
def unchain(maps: Cells, which: int, element: int) -> None:
    """Take an element out of its chain, before it is removed; the last one takes over its place."""
    point_alike(maps, which, maps[which, LAST_ALIKE, element], -1, maps[which, NEXT_ALIKE, element])
    last = maps[which, COUNT, 0] - 1
    if element != last:
        before, after = maps[which, LAST_ALIKE, last], maps[which, NEXT_ALIKE, last]
        maps[which, LAST_ALIKE, element], maps[which, NEXT_ALIKE, element] = before, after
        point_alike(maps, which, before, element, after)


def contents(maps: Cells, which: int) -> Cells:
    """The tuples of one map, without its chains."""
    tuples: Cells = maps[which, :AFTER, : maps[which, COUNT, 0]].copy()
    return tuples


def filled(*tuples: Cells, by: int = 0, waiting: bool = False) -> Cells:
    """Maps with these contents."""
    maps = empty_maps(len(tuples), max(64, *(some.shape[1] for some in tuples)), by=by, waiting=waiting)
    for which, some in enumerate(tuples):
        fill(maps, which, some)
    return maps


@compiled
def fill(maps: Cells, which: int, tuples: Cells) -> None:
    """Append tuples to a map."""
    for at in range(tuples.shape[1]):
        append(maps, which, tuples[KEY, at], tuples[START, at], tuples[END, at], tuples[NAME, at])
        element = maps[which, COUNT, 0] - 1
        maps[which, MARK, element], maps[which, FIRED, element] = tuples[MARK, at], tuples[FIRED, at]
        if maps[which, COUNT, BY]:
            chain(maps, which)
        if maps.shape[1] > WATCHED:
            known = tuples.shape[0] > WATCHED
            maps[which, ENTRY, element] = tuples[ENTRY, at] if known else -1
            maps[which, WATCHED, element] = tuples[WATCHED, at] if known else -1


@compiled
def has_room(maps: Cells, more: int) -> bool:
    """Tell whether each map has room for this many more elements."""
    for which in range(maps.shape[0]):
        if maps[which, COUNT, 0] + more > maps.shape[2]:
            return False
    return True


@compiled
def grown(maps: Cells) -> Cells:
    """A copy with twice the room."""
    larger = np.empty((maps.shape[0], maps.shape[1], 2 * maps.shape[2]), np.int64)
    larger[:, HEAD] = -1
    larger[:, COUNT] = 0
    larger[:, COUNT, BY] = maps[0, COUNT, BY]
    larger[:, FIRST_ALIKE:] = -1
    for which in range(maps.shape[0]):
        fill(larger, which, maps[which, :, : maps[which, COUNT, 0]])
    return larger


def with_room(maps: Cells, more: int) -> Cells:
    """The same block, or a larger copy if one of its maps has no room for this many more elements."""
    while not has_room(maps, more):
        maps = grown(maps)
    return maps
