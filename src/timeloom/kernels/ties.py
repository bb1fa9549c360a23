"""Rows of equal value in a sorted column, brought into the order of another one."""

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks


@compiled
def settle_ties(values: Ticks, rows: Positions, beside: Ticks) -> None:
    """Bring rows of equal value into the order of the other column; rows level in both stay as they come."""
    first = 0
    while first < values.size:
        last = first + 1
        while last < values.size and values[last] == values[first]:
            last += 1
        if last - first > 1:
            order = np.argsort(beside[first:last], kind="mergesort")
            beside[first:last] = beside[first:last][order]
            rows[first:last] = rows[first:last][order]
        first = last
