"""Candidates as runs: for each driving row, a contiguous run of the driven side's sorted order.

A join whose relation bounds one endpoint of the driven side needs nothing else: its result is the runs, written out.
Where the other endpoint is bounded, too, the runs are scanned and filtered. All kernels work on a range of rows or of
candidate numbers, so that threads and batches can share the work.
"""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks, rank
from timeloom.model.ticks import MAX_TICK

Offsets = NDArray[np.int64]


@compiled
def measure(
    values: Ticks,
    offsets: Positions,
    base: int,
    shift: int,
    low: Ticks,
    high: Ticks,
    first: int,
    last: int,
    begins: Positions,
    lengths: Offsets,
) -> None:
    """Find the run of sorted values in [low, high] for rows first..last: where it begins and how long it is."""
    for row in range(first, last):
        begin = rank(values, offsets, base, shift, low[row])
        end = values.size if high[row] == MAX_TICK else rank(values, offsets, base, shift, high[row] + 1)
        begins[row] = begin
        lengths[row] = max(0, end - begin)


@compiled
def expand(
    owners: NDArray[np.generic],
    begins: Positions,
    bounds: Offsets,
    driven: NDArray[np.generic],
    first: int,
    last: int,
    out_owner: NDArray[np.generic],
    out_driven: NDArray[np.generic],
) -> None:
    """Write candidates first..last: the owner's value, and the driven values of its run.

    ``bounds`` are the running totals of the run lengths, starting at 0. The values may be positions or the very
    column values that the caller wants, as long as the driven ones are in sorted order.
    """
    row = np.searchsorted(bounds, first, side="right") - 1
    at = first
    while at < last:
        stop = min(bounds[row + 1], last)
        owner = owners[row]
        shift = begins[row] - bounds[row]
        for number in range(at, stop):
            out_owner[number - first] = owner
            out_driven[number - first] = driven[number + shift]
        at = max(at, stop)
        row += 1


@compiled
def count_filtered(
    begins: Positions, bounds: Offsets, other: Ticks, low: Ticks, high: Ticks, first: int, last: int
) -> int:
    """Count the candidates first..last whose other endpoint lies in the row's [low, high]."""
    row = np.searchsorted(bounds, first, side="right") - 1
    at, found = first, 0
    while at < last:
        stop = min(bounds[row + 1], last)
        least, most, shift = low[row], high[row], begins[row] - bounds[row]
        for number in range(at, stop):
            value = other[number + shift]
            found += (value >= least) & (value <= most)
        at = max(at, stop)
        row += 1
    return found


@compiled
def expand_filtered(
    owners: NDArray[np.generic],
    begins: Positions,
    bounds: Offsets,
    driven: NDArray[np.generic],
    other: Ticks,
    low: Ticks,
    high: Ticks,
    first: int,
    last: int,
    out_owner: NDArray[np.generic],
    out_driven: NDArray[np.generic],
) -> int:
    """Write those of the candidates first..last whose other endpoint lies in the row's [low, high]; count them.

    Each candidate is written before it is judged; once the output is full, no later candidate can be a result.
    """
    row = np.searchsorted(bounds, first, side="right") - 1
    at, found = first, 0
    while at < last:
        stop = min(bounds[row + 1], last)
        owner, least, most, shift = owners[row], low[row], high[row], begins[row] - bounds[row]
        for number in range(at, stop):
            if found == out_owner.size:
                return found
            value = other[number + shift]
            out_owner[found] = owner
            out_driven[found] = driven[number + shift]
            found += (value >= least) & (value <= most)
        at = max(at, stop)
        row += 1
    return found
