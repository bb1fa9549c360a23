"""The endpoint index, and the iterators that change what a sweep sees of it.

An index lists the 2n endpoints of n periods by time, ends before starts at equal times. The iterators
(sweeping paper, section 5 and appendix A) are functions from one stream of endpoints to another: the building
blocks by name. The join in `sweep` fuses them, so that no stream is ever written down.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks, sort
from timeloom.kernels.rectangles import shifted

END, START = 0, 1
"""The two kinds, numbered in the order in which they are met at equal times."""


class Endpoints(NamedTuple):
    """A stream of endpoints in ascending order of time and kind."""

    times: Ticks
    kinds: NDArray[np.int8]
    ids: Positions


def endpoint_index(starts: Ticks, ends: Ticks) -> Endpoints:
    """Build the index of these periods; ids are row positions."""
    by_start, by_end = sort(starts), sort(ends)
    return merging(
        Endpoints(by_start.values, np.full(starts.size, START, np.int8), by_start.ids),
        Endpoints(by_end.values, np.full(ends.size, END, np.int8), by_end.ids),
    )


def filtering(source: Endpoints, kind: int) -> Endpoints:
    """Pass only endpoints of one kind."""
    kept = source.kinds == kind
    return Endpoints(source.times[kept], source.kinds[kept], source.ids[kept])


@compiled
def shifting(source: Endpoints, distance: int, kind: int) -> Endpoints:
    """Move all endpoints by the same distance and make them of one kind. Saturation keeps their order."""
    times = np.empty(source.times.size, np.int64)
    for at in range(times.size):
        times[at] = shifted(source.times[at], distance)
    return Endpoints(times, np.full(times.size, kind, np.int8), source.ids)


@compiled
def merging(first: Endpoints, second: Endpoints) -> Endpoints:
    """Interleave two streams; among equal endpoints those of the second come first, as in the paper."""
    size = first.times.size + second.times.size
    merged = Endpoints(np.empty(size, np.int64), np.empty(size, np.int8), np.empty(size, np.int32))
    a = b = 0
    for at in range(size):
        take_first = b == second.times.size or (
            a < first.times.size
            and (
                first.times[a] < second.times[b]
                or (first.times[a] == second.times[b] and first.kinds[a] < second.kinds[b])
            )
        )
        if take_first:
            merged.times[at], merged.kinds[at], merged.ids[at] = first.times[a], first.kinds[a], first.ids[a]
            a += 1
        else:
            merged.times[at], merged.kinds[at], merged.ids[at] = (
                second.times[b],
                second.kinds[b],
                second.ids[b],
            )
            b += 1
    return merged


@compiled
def every_other(source: Endpoints, kind: int, passes_first: bool, rows: int) -> Endpoints:
    """Of the endpoints of this kind pass each row's first and drop its second, or the other way round."""
    seen = np.zeros(rows, np.bool_)
    kept = np.ones(source.times.size, np.bool_)
    for at in range(source.times.size):
        if source.kinds[at] == kind:
            row = source.ids[at]
            kept[at] = seen[row] != passes_first
            seen[row] = not seen[row]
    return Endpoints(source.times[kept], source.kinds[kept], source.ids[kept])


def first_end(source: Endpoints, rows: int) -> Endpoints:
    """Where each row has two ends, drop the later one: the row ends at their minimum. Starts pass."""
    return every_other(source, END, True, rows)


def second_start(source: Endpoints, rows: int) -> Endpoints:
    """Where each row has two starts, drop the earlier one: the row starts at their maximum. Ends pass."""
    return every_other(source, START, False, rows)
