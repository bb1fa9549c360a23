"""Candidates as runs: for each probe row, a contiguous run of the indexed side's sorted order.

A join whose relation bounds one endpoint of the indexed side needs nothing else: its result is the runs, written out.
Where the other endpoint is bounded, too, the runs are scanned and filtered. All kernels work on a block of rows, so
that threads and batches can share the work, and what a block needs besides stays in the cache.
"""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks, rank
from timeloom.model.ticks import MAX_TICK

Offsets = NDArray[np.int64]

SHORT = 4
"""Runs up to this length are found by looking at their values, longer ones by a second rank."""


@compiled
def measure(
    values: Ticks,
    offsets: Positions,
    base: int,
    shift: int,
    low: Ticks,
    high: Ticks,
    begins: Positions,
    bounds: Offsets,
) -> int:
    """Find each row's run of sorted values in [low, high]: where it begins, and the running total of the lengths."""
    total = 0
    for row in range(low.size):
        begin = rank(values, offsets, base, shift, low[row])
        end, most = begin, high[row]
        while end < values.size and values[end] <= most:
            end += 1
            if end - begin == SHORT:
                end = values.size if most == MAX_TICK else rank(values, offsets, base, shift, most + 1)
                break
        begins[row] = begin
        bounds[row] = total
        total += end - begin
    bounds[low.size] = total
    return total


@compiled
def expand(
    owners: NDArray[np.generic],
    begins: Positions,
    bounds: Offsets,
    indexed: NDArray[np.generic],
    first: int,
    last: int,
    out_owner: NDArray[np.generic],
    out_driven: NDArray[np.generic],
) -> None:
    """Write candidates first..last: the owner's value, and the indexed values of its run.

    ``bounds`` are the running totals of the run lengths, starting at 0. The values may be positions or the very
    column values that the caller wants, as long as the indexed ones are in sorted order.
    """
    row = np.searchsorted(bounds, first, side="right") - 1
    at = first
    while at < last:
        stop = min(bounds[row + 1], last)
        owner = owners[row]
        shift = begins[row] - bounds[row]
        for number in range(at, stop):
            out_owner[number - first] = owner
            out_driven[number - first] = indexed[number + shift]
        at = max(at, stop)
        row += 1


@compiled
def probe(
    values: Ticks,
    offsets: Positions,
    base: int,
    shift: int,
    other: Ticks,
    indexed: NDArray[np.generic],
    owners: NDArray[np.generic],
    point: tuple[Ticks, Ticks],
    rest: tuple[Ticks, Ticks],
    row: int,
    at: int,
    out_owner: NDArray[np.generic],
    out_driven: NDArray[np.generic],
) -> tuple[int, int, int]:
    """Write the pairs of the rows from ``row`` on, until all are done or the output is full.

    A row's candidates are the sorted values in its range ``point``; results are those whose other endpoint lies in its
    range ``rest``. ``at`` is the candidate to go on with, or -1 for the row's first one. Tells the row and the
    candidate to go on with, and how many pairs were written.
    """
    found, room = 0, out_owner.size
    while row < owners.size:
        high, least, most, owner = point[1][row], rest[0][row], rest[1][row], owners[row]
        if at < 0:
            at = rank(values, offsets, base, shift, point[0][row])
        while at < values.size and values[at] <= high:
            if found == room:
                return row, at, found
            end = other[at]
            out_owner[found] = owner
            out_driven[found] = indexed[at]
            found += (end >= least) & (end <= most)
            at += 1
        row, at = row + 1, -1
    return row, at, found
