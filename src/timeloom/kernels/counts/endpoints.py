"""The merged list of endpoints that the sweeps walk along.

Four sorted columns become one list of events. Periods are half-open, so at equal ticks all ends come before all starts;
which side comes first among them does not matter.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Order, Positions, Ticks, sort
from timeloom.model.ticks import MAX_TICK

LEFT_END, RIGHT_END, LEFT_START, RIGHT_START = 0, 1, 2, 3
LAST = np.int64(MAX_TICK)


class Endpoints(NamedTuple):
    """Events in time order: what happens (one of the four kinds), and to which row of its side."""

    kinds: NDArray[np.int8]
    rows: Positions


def merge_endpoints(starts: Ticks, ends: Ticks, of_starts: Ticks, of_ends: Ticks) -> Endpoints:
    """Sort the endpoints of both sides into one list."""
    left_ends, right_ends, left_starts, right_starts = (sort(column) for column in (ends, of_ends, starts, of_starts))
    total = 2 * (starts.size + of_starts.size)
    merged = Endpoints(np.empty(total, np.int8), np.empty(total, np.int32))
    merge(left_ends, right_ends, left_starts, right_starts, merged)
    return merged


@compiled
def merge(left_ends: Order, right_ends: Order, left_starts: Order, right_starts: Order, merged: Endpoints) -> None:
    """Merge four sorted columns, tick by tick; at each tick the columns come in the order of the kinds."""
    kinds, rows = merged
    left_end, left_end_rows = left_ends.values, left_ends.ids
    right_end, right_end_rows = right_ends.values, right_ends.ids
    left_start, left_start_rows = left_starts.values, left_starts.ids
    right_start, right_start_rows = right_starts.values, right_starts.ids
    a, b, c, d, position = 0, 0, 0, 0, 0
    while position < kinds.size:
        tick = LAST
        if a < left_end.size:
            tick = left_end[a]
        if b < right_end.size:
            tick = min(tick, right_end[b])
        if c < left_start.size:
            tick = min(tick, left_start[c])
        if d < right_start.size:
            tick = min(tick, right_start[d])
        while a < left_end.size and left_end[a] == tick:
            kinds[position], rows[position] = LEFT_END, left_end_rows[a]
            a, position = a + 1, position + 1
        while b < right_end.size and right_end[b] == tick:
            kinds[position], rows[position] = RIGHT_END, right_end_rows[b]
            b, position = b + 1, position + 1
        while c < left_start.size and left_start[c] == tick:
            kinds[position], rows[position] = LEFT_START, left_start_rows[c]
            c, position = c + 1, position + 1
        while d < right_start.size and right_start[d] == tick:
            kinds[position], rows[position] = RIGHT_START, right_start_rows[d]
            d, position = d + 1, position + 1
