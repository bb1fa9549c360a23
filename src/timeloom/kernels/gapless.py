"""The gapless hash map: a hash table whose elements lie side by side (sweeping paper, section 7.4).

Elements are appended at the tail, and the last element moves into the place of a removed one, so that a scan
reads one contiguous stretch of memory. What a scan needs (the tuple: its period, its name, a mark) lies in
arrays of its own, apart from the chains that hold the buckets together.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks

NONE = np.int32(-1)


class GaplessMap(NamedTuple):
    """Elements 0..tail[0]: a key and a tuple each, chained by bucket.

    ``heads[b]`` is the first element of bucket b. ``before[e]`` is the element in front of e in its chain, or
    ``-1 - b`` for the first element of bucket b: whichever holds the forward pointer to e.
    """

    keys: NDArray[np.int64]
    starts: Ticks
    ends: Ticks
    names: NDArray[np.int64]
    marks: NDArray[np.int8]
    after: Positions
    before: Positions
    heads: Positions
    tail: NDArray[np.int64]


@compiled
def empty_map(capacity: int) -> GaplessMap:
    """Make a map with room for this many elements, rounded up to a power of two."""
    size = 1
    while size < capacity:
        size *= 2
    return GaplessMap(
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int8),
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
def with_room(active: GaplessMap, more: int) -> GaplessMap:
    """The same map, or a larger copy if it has no room for this many more elements."""
    if active.tail[0] + more <= active.keys.size:
        return active
    larger = empty_map(max(2 * active.keys.size, active.tail[0] + more))
    for element in range(active.tail[0]):
        append(larger, active.keys[element], active.starts[element], active.ends[element], active.names[element])
        larger.marks[element] = active.marks[element]
    return larger


@compiled
def append(active: GaplessMap, key: int, start: int, end: int, name: int) -> None:
    """Append an element; its key must be absent, and there must be room."""
    bucket = key & (active.heads.size - 1)
    element = active.tail[0]
    head = active.heads[bucket]
    active.keys[element] = key
    active.starts[element] = start
    active.ends[element] = end
    active.names[element] = name
    active.marks[element] = 0
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
    active.starts[element] = active.starts[last]
    active.ends[element] = active.ends[last]
    active.names[element] = active.names[last]
    active.marks[element] = active.marks[last]
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
