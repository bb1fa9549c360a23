"""Plain and lazy sweeping whose consumer takes each pair where it is found: nothing is written, only scans count."""

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import sort

BUFFER = 32


def shared_ends(left: tuple, right: tuple, *, lazy: bool) -> tuple[int, int]:
    """Pairs in which the left row is active when the right one starts: how many, and the sum of the earlier ends."""
    begun, ended, fired = sort(left[0]), sort(left[1]), sort(right[0], 1, right[1])
    held, rows, slots = np.empty(left[0].size, np.int64), *np.empty((2, left[0].size), np.int32)
    columns = begun.values, begun.ids, ended.values, ended.ids, left[1], fired.values, fired.beside
    found: tuple[int, int] = _sweep(*columns, BUFFER if lazy else 1, held, rows, slots)
    return found


@compiled
def _sweep(begun, begun_ids, ended, ended_ids, ends, fired, fired_ends, buffer, held, rows, slots):
    """The active set is gapless: ends of rows beside each other, the last one moved to where one leaves.

    Lazily, a scan serves four points at a time: one row is read for all of them.
    """
    i = j = tail = at = pairs = total = 0
    while at < fired.size:
        while i < begun.size and begun[i] <= fired[at]:
            row = begun_ids[i]
            held[tail], rows[tail], slots[row] = ends[row], row, tail
            i, tail = i + 1, tail + 1
        while j < ended.size and ended[j] <= fired[at]:
            tail -= 1
            slot, moved = slots[ended_ids[j]], rows[tail]
            held[slot], rows[slot], slots[moved] = held[tail], moved, slot
            j += 1
        stop, until = at + 1, min(fired.size, at + buffer)
        while (
            stop < until and (i == begun.size or fired[stop] < begun[i]) and (j == ended.size or fired[stop] < ended[j])
        ):
            stop += 1
        point = at
        while point + 4 <= stop:
            one, two = fired_ends[point], fired_ends[point + 1]
            three, four = fired_ends[point + 2], fired_ends[point + 3]
            for element in range(tail):
                end = held[element]
                total += min(end, one) + min(end, two) + min(end, three) + min(end, four)
            point += 4
        for left in range(point, stop):
            for element in range(tail):
                total += min(held[element], fired_ends[left])
        pairs, at = pairs + tail * (stop - at), stop
    return pairs, total
