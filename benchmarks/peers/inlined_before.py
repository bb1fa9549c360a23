"""The general BEFORE join as one function, written out by hand: no iterators, no columns with shifts, no selection."""

import numpy as np

from benchmarks.peers.leung_muntz import PAGE
from timeloom.kernels.jit import compiled
from timeloom.kernels.order import sort

BUFFER = 32


def inlined_before(left: tuple, right: tuple, delta: int) -> tuple[int, int]:
    """Right rows that start within delta after the left end: how many pairs, and the sum of their left starts."""
    ended, fired = sort(left[1]), sort(right[0])
    page = np.empty((2, PAGE), np.int32)
    found: tuple[int, int] = _join(left[0], ended.values, ended.ids, fired.values, fired.ids, delta, page[0], page[1])
    return found


@compiled
def _join(starts, ended, ended_ids, fired, fired_ids, delta, out_r, out_s):
    """Left rows are active from their end to delta after it: they come and go in one order, so the set is a stretch."""
    first = last = at = pairs = place = total = 0
    while at < fired.size:
        while last < ended.size and ended[last] <= fired[at]:
            last += 1
        while first < last and ended[first] + delta < fired[at]:
            first += 1
        stop = at + 1
        until = min(fired.size, at + BUFFER)
        following = ended[last] if last < ended.size else fired[-1] + 1
        leaving = ended[first] + delta if first < last else fired[-1] + 1
        while stop < until and fired[stop] < following and fired[stop] <= leaving:
            stop += 1
        for active in range(first, last):
            row = ended_ids[active]
            for point in range(at, stop):
                out_r[place], out_s[place] = row, fired_ids[point]
                total += starts[row]
                pairs, place = pairs + 1, place + 1
                if place == out_r.size:
                    place = 0
        at = stop
    return pairs, total
