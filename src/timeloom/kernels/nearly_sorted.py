"""Sorting what is nearly in order: rows that are out of place are inserted, and if they are many, all are sorted."""

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import LONG, NOTHING, Order, Positions, Ticks, bucket_offsets, grid, sealed, sort

TRIED = 4096
"""So many rows tell whether a column is nearly in order."""

NEAR = 2
"""By so many rows, on average, rows of a column that is nearly in order may have to move."""


def resort(column: Ticks, ids: Positions, threads: int) -> Order:
    """Sort a column that may be nearly in order, as ends are in the order of starts; ``ids`` are its rows."""
    few, rows = column[:TRIED].copy(), ids[:TRIED].copy()
    if insert(few, rows):
        values, rows = column.copy(), ids.copy()
        if insert(values, rows):
            values = sealed(values)
            base, shift, buckets = grid(values)
            return Order(values, rows, bucket_offsets(values, base, shift, buckets), base, shift, NOTHING)
    made = sort(column, threads)
    return made._replace(ids=ids[made.ids])


@compiled
def insert(values: Ticks, ids: Positions) -> bool:
    """Sort rows that are nearly in order, equal values in their order; false, half-way, if too many must move."""
    moved = 0
    for at in range(1, values.size):
        value = values[at]
        if values[at - 1] <= value:
            continue
        row, gap = ids[at], at
        while gap > 0 and values[gap - 1] > value:
            values[gap], ids[gap] = values[gap - 1], ids[gap - 1]
            gap -= 1
        values[gap], ids[gap] = value, row
        moved += at - gap
        if moved > NEAR * (at + LONG):
            return False
    return True
