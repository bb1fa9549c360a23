"""The general BEFORE join as one function, written out by hand: no iterators, no columns with shifts, no selection."""

import numpy as np

from benchmarks.peers.leung_muntz import PAGE
from timeloom.kernels.jit import compiled
from timeloom.kernels.order import sort

BUFFER = 32


def inlined_before(left: tuple, right: tuple, delta: int, *, active_set: bool = True) -> tuple[int, int]:
    """Right rows that start within delta after the left end: how many pairs, and the sum of their left starts.

    Left rows are active from their end to delta after it, in a gapless set as the framework has it. Without the set it
    is used that rows of this relation come and go in one order, so that active ones are a stretch of the sorted ends.
    """
    ended, fired = sort(left[1]), sort(right[0])
    page = np.empty((2, PAGE), np.int32)
    columns = left[0], ended.values, ended.ids, fired.values, fired.ids, delta
    if not active_set:
        stretch: tuple[int, int] = _stretches(*columns, page[0], page[1])
        return stretch
    slots, rows = np.empty((2, left[0].size), np.int32)
    found: tuple[int, int] = _join(*columns, slots, rows, page[0], page[1])
    return found


@compiled
def _join(starts, ended, ended_ids, fired, fired_ids, delta, slots, rows, out_r, out_s):
    begun = over = tail = at = pairs = place = total = 0
    while at < fired.size:
        while begun < ended.size and ended[begun] <= fired[at]:
            rows[tail], slots[ended_ids[begun]] = ended_ids[begun], tail
            begun, tail = begun + 1, tail + 1
        while over < begun and ended[over] + delta < fired[at]:
            tail -= 1
            slot, moved = slots[ended_ids[over]], rows[tail]
            rows[slot], slots[moved] = moved, slot
            over += 1
        stop = same_rows(ended, begun, over, fired, at, delta)
        place, more = emit(starts, rows[:tail], fired_ids[at:stop], place, out_r, out_s)
        at, pairs, total = stop, pairs + tail * (stop - at), total + more
    return pairs, total


@compiled
def _stretches(starts, ended, ended_ids, fired, fired_ids, delta, out_r, out_s):
    first = last = at = pairs = place = total = 0
    while at < fired.size:
        while last < ended.size and ended[last] <= fired[at]:
            last += 1
        while first < last and ended[first] + delta < fired[at]:
            first += 1
        stop = same_rows(ended, last, first, fired, at, delta)
        place, more = emit(starts, ended_ids[first:last], fired_ids[at:stop], place, out_r, out_s)
        at, pairs, total = stop, pairs + (last - first) * (stop - at), total + more
    return pairs, total


@compiled
def same_rows(ended, begun, over, fired, at, delta):
    """Where the points end that meet the same active rows as the one at a position, and fit into the buffer."""
    stop, until = at + 1, min(fired.size, at + BUFFER)
    following = ended[begun] if begun < ended.size else fired[-1] + 1
    leaving = ended[over] + delta if over < begun else fired[-1] + 1
    while stop < until and fired[stop] < following and fired[stop] <= leaving:
        stop += 1
    return stop


@compiled
def emit(starts, rows, points, place, out_r, out_s):
    """Write active rows with points into a page that is used again; where it goes on, and the sum of starts."""
    total = 0
    for row in rows:
        for point in points:
            out_r[place], out_s[place] = row, point
            total += starts[row]
            place += 1
            if place == out_r.size:
                place = 0
    return place, total
