"""The merged list of endpoints that the sweeps walk along.

Four sorted columns become one list of events. Periods are half-open, so at equal ticks all ends come before all starts;
which side comes first among them does not matter.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks, sort

LEFT_END, RIGHT_END, LEFT_START, RIGHT_START = 0, 1, 2, 3


class Endpoints(NamedTuple):
    """Events in time order: what happens (one of the four kinds), and to which row of its side."""

    kinds: NDArray[np.int8]
    rows: Positions


def merge_endpoints(starts: Ticks, ends: Ticks, of_starts: Ticks, of_ends: Ticks) -> Endpoints:
    """Sort the endpoints of both sides into one list."""
    orders = [sort(column) for column in (ends, of_ends, starts, of_starts)]
    endings = _merged(orders[0].values, orders[0].ids, LEFT_END, orders[1].values, orders[1].ids, RIGHT_END)
    beginnings = _merged(orders[2].values, orders[2].ids, LEFT_START, orders[3].values, orders[3].ids, RIGHT_START)
    return Endpoints(*interleave(*endings, *beginnings))


@compiled
def _merged(
    ticks: Ticks, rows: Positions, kind: int, other_ticks: Ticks, other_rows: Positions, other_kind: int
) -> tuple[Ticks, NDArray[np.int8], Positions]:
    """Merge two sorted columns; at equal ticks the first goes first."""
    total = ticks.size + other_ticks.size
    merged = np.empty(total, np.int64)
    kinds = np.empty(total, np.int8)
    ids = np.empty(total, np.int32)
    at, other = 0, 0
    for place in range(total):
        if other == other_ticks.size or (at < ticks.size and ticks[at] <= other_ticks[other]):
            merged[place], kinds[place], ids[place] = ticks[at], kind, rows[at]
            at += 1
        else:
            merged[place], kinds[place], ids[place] = other_ticks[other], other_kind, other_rows[other]
            other += 1
    return merged, kinds, ids


@compiled
def interleave(
    end_ticks: Ticks,
    end_kinds: NDArray[np.int8],
    end_rows: Positions,
    start_ticks: Ticks,
    start_kinds: NDArray[np.int8],
    start_rows: Positions,
) -> tuple[NDArray[np.int8], Positions]:
    """Merge all ends with all starts; at equal ticks the ends go first."""
    total = end_ticks.size + start_ticks.size
    kinds = np.empty(total, np.int8)
    rows = np.empty(total, np.int32)
    end, start = 0, 0
    for place in range(total):
        if start == start_ticks.size or (end < end_ticks.size and end_ticks[end] <= start_ticks[start]):
            kinds[place], rows[place] = end_kinds[end], end_rows[end]
            end += 1
        else:
            kinds[place], rows[place] = start_kinds[start], start_rows[start]
            start += 1
    return kinds, rows
