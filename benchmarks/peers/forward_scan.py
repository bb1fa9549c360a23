"""bgFS: the forward scan of Bouros and Mamoulis with groups and a bucket index, for rows that share an instant."""

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import sort

Pairs = tuple[np.ndarray, np.ndarray]


def before_join(left: tuple, right: tuple, delta: int, room: int) -> Pairs:
    """Right rows that start within delta after the left end: shifted copies are made, sorted, and joined."""
    moved = left[1], left[1] + delta + 1
    points = right[0], right[0] + 1
    return forward_scan(moved, points, room)


def forward_scan(left: tuple, right: tuple, room: int) -> Pairs:
    """All pairs of positions that share an instant; there must be room for them."""
    orders = [sort(side[0], 1, side[1]) for side in (left, right)]
    lefts, rights = [(by.values, by.beside) for by in orders]
    out = np.empty((2, room), np.int32)
    low = min(lefts[0][0], rights[0][0])
    high = max(lefts[0][-1], rights[0][-1])
    buckets = max(1, (lefts[0].size + rights[0].size) // 8)
    width = (high - low) // buckets + 1
    found = _scan(*lefts, *rights, low, width, _index(lefts[0], low, width), _index(rights[0], low, width), out)
    return orders[0].ids[out[0, :found]], orders[1].ids[out[1, :found]]


def _index(starts: np.ndarray, low: int, width: int) -> np.ndarray:
    """For each bucket of the domain, the first row that starts in it or later."""
    buckets = (starts[-1] - low) // width + 2
    return np.searchsorted(starts, low + np.arange(buckets) * width)


@compiled
def _scan(r_start, r_end, s_start, s_end, low, width, r_index, s_index, out):
    r, s, found = 0, 0, 0
    while r < r_start.size and s < s_start.size:
        if r_start[r] < s_start[s]:
            stop = r
            while stop < r_start.size and r_start[stop] < s_start[s]:
                stop += 1
            found = _group(r, stop, r_end, s, s_start, low, width, s_index, out[0], out[1], found)
            r = stop
        else:
            stop = s
            while stop < s_start.size and s_start[stop] <= r_start[r]:
                stop += 1
            found = _group(s, stop, s_end, r, r_start, low, width, r_index, out[1], out[0], found)
            s = stop
    return found


@compiled
def _group(begin, stop, ends, at, starts, low, width, index, out_group, out_other, found):
    """Rows of a group by their ends: whoever starts before one ends meets it and all that end later."""
    order = begin + np.argsort(ends[begin:stop])
    for number in range(order.size):
        end = ends[order[number]]
        bucket = (end - low) // width
        sure = starts.size if bucket >= index.size else index[bucket]
        while at < starts.size and (at < sure or starts[at] < end):
            for other in range(number, order.size):
                out_group[found], out_other[found] = order[other], at
                found += 1
            at += 1
    return found
