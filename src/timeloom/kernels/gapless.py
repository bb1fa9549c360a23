"""The gapless hash map: a hash table whose elements lie side by side (sweeping paper, section 7.4).

Elements are appended at the tail, and the last element moves into the place of a removed one, so that a scan
reads one contiguous stretch of memory. What a scan needs (the key and the window of its selection) lies in
arrays of its own, apart from the chains that hold the buckets together.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks

NONE = np.int32(-1)


class GaplessMap(NamedTuple):
    """Elements 0..tail[0]: a key and a window each, chained by bucket.

    ``heads[b]`` is the first element of bucket b. ``before[e]`` is the element in front of e in its chain, or
    ``-1 - b`` for the first element of bucket b: whichever holds the forward pointer to e.
    """

    keys: Positions
    low: Ticks
    high: Ticks
    after: Positions
    before: Positions
    heads: Positions
    tail: NDArray[np.int64]


@compiled
def empty_map(capacity: int) -> GaplessMap:
    """Make a map with room for this many elements (rounded up to a power of two); it grows when full."""
    size = 1
    while size < capacity:
        size *= 2
    return GaplessMap(
        np.empty(size, np.int32),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int32),
        np.empty(size, np.int32),
        np.full(size, NONE, np.int32),
        np.zeros(1, np.int64),
    )


@compiled
def find(active: GaplessMap, key: int) -> int:
    """The element with this key, or -1."""
    element: int = active.heads[key & (active.heads.size - 1)]
    while element >= 0 and active.keys[element] != key:
        element = active.after[element]
    return element


@compiled
def insert(active: GaplessMap, key: int, low: int, high: int) -> GaplessMap:
    """Append an element (its key must be absent). Answer the map to go on with: a larger copy when full."""
    if active.tail[0] == active.keys.size:
        larger = empty_map(2 * active.keys.size)
        for element in range(active.tail[0]):
            append(larger, active.keys[element], active.low[element], active.high[element])
        active = larger
    append(active, key, low, high)
    return active


@compiled
def append(active: GaplessMap, key: int, low: int, high: int) -> None:
    """Append an element where there is room."""
    bucket = key & (active.heads.size - 1)
    element = active.tail[0]
    head = active.heads[bucket]
    active.keys[element] = key
    active.low[element] = low
    active.high[element] = high
    active.after[element] = head
    active.before[element] = -1 - bucket
    if head >= 0:
        active.before[head] = element
    active.heads[bucket] = element
    active.tail[0] = element + 1


@compiled
def point_to(active: GaplessMap, before: int, element: int) -> None:
    """Let whatever held a forward pointer (an element or a bucket) point to this element, or to none."""
    if before >= 0:
        active.after[before] = element
    else:
        active.heads[-1 - before] = element


@compiled
def remove_element(active: GaplessMap, element: int) -> None:
    """Unlink an element and move the last one into its place."""
    before, after = active.before[element], active.after[element]
    point_to(active, before, after)
    if after >= 0:
        active.before[after] = before
    last = active.tail[0] - 1
    active.tail[0] = last
    if element == last:
        return
    active.keys[element] = active.keys[last]
    active.low[element] = active.low[last]
    active.high[element] = active.high[last]
    before, after = active.before[last], active.after[last]
    active.before[element] = before
    active.after[element] = after
    point_to(active, before, element)
    if after >= 0:
        active.before[after] = element


@compiled
def remove(active: GaplessMap, key: int) -> bool:
    """Remove the element with this key; tell whether there was one."""
    element = find(active, key)
    if element < 0:
        return False
    remove_element(active, element)
    return True
