"""Sorted order of an int64 column, with ranks in constant time on average.

A bucketed counting sort: the value range (its bulk, by a sample) is cut into about n equal buckets, rows are scattered
into them in one pass, and each bucket is sorted by itself. The bucket offsets stay, so the rank of any value is one
look-up and a search inside one bucket. Outliers share the two edge buckets and cannot stretch the others.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled

Ticks = NDArray[np.int64]
Positions = NDArray[np.int32]

SAMPLE = 4096
MAX_ROWS = 2**31 - 1
LARGE = 2**21
"""From so many rows on, scattering takes two rounds, each of which stays within the cache."""

COARSE = 9
"""The first round has 2**COARSE buckets."""

_WIDEST = 2**62  # distances on the grid must fit into int64


class Order(NamedTuple):
    """A column in ascending order: ``values[k]`` stood at row ``ids[k]``; equal values keep their row order."""

    values: Ticks
    ids: Positions
    offsets: Positions
    base: int
    shift: int


def sort(column: Ticks) -> Order:
    """Sort a column of ticks."""
    if column.size > MAX_ROWS:
        raise OverflowError(f"{column.size} rows; at most {MAX_ROWS} fit into one sorted column")
    base, shift, buckets = _grid(column)
    if in_order(column):
        ids = np.arange(column.size, dtype=np.int32)
        return Order(column, ids, bucket_offsets(column, base, shift, buckets), base, shift)
    if column.size < LARGE:
        values, ids, offsets = scatter(column, base, shift, buckets)
    else:
        values, ids, offsets = scatter_twice(column, base, shift, buckets, max(0, (buckets - 1).bit_length() - COARSE))
    sort_buckets(values, ids, offsets, shift)
    return Order(values, ids, offsets, base, shift)


def _grid(column: Ticks) -> tuple[int, int, int]:
    """Choose the first tick, the width (as a power of two) and the number of buckets."""
    if not column.size:
        return 0, 0, 1
    sample = np.sort(column[:: max(1, column.size // SAMPLE)])
    edge = sample.size // 256
    low, high = int(sample[edge]), int(sample[-1 - edge])
    margin = (high - low) // 64
    low, high = max(int(column.min()), low - margin), min(int(column.max()), high + margin)
    high = min(high, low + _WIDEST)
    wanted = min(max(column.size.bit_length(), 4), 26)
    shift = max(0, (high - low).bit_length() - wanted)
    return low, shift, ((high - low) >> shift) + 1


@compiled
def bucket(value: int, base: int, shift: int, buckets: int) -> int:
    """The bucket of a value; values beyond the grid belong to its edge buckets."""
    if value <= base:
        return 0
    if value >= base + ((buckets - 1) << shift):
        return buckets - 1
    return (value - base) >> shift


def scatter(column: Ticks, base: int, shift: int, buckets: int) -> tuple[Ticks, Positions, Positions]:
    """Distribute rows to buckets, in row order; ``offsets[b]`` is where bucket b begins."""
    values, ids, offsets = _room_for(column.size, buckets)
    fill_buckets(column, base, shift, values, ids, offsets)
    return values, ids, offsets


def scatter_twice(column: Ticks, base: int, shift: int, buckets: int, fine: int) -> tuple[Ticks, Positions, Positions]:
    """The same as `scatter`, by way of coarse buckets of 2**fine buckets each."""
    rough_values, rough_ids, heads = scatter(column, base, shift + fine, ((buckets - 1) >> fine) + 1)
    values, ids, offsets = _room_for(column.size, buckets)
    refine(rough_values, rough_ids, heads, base, shift, fine, values, ids, offsets)
    return values, ids, offsets


def _room_for(rows: int, buckets: int) -> tuple[Ticks, Positions, Positions]:
    """Arrays from NumPy, which asks for huge pages; those that a kernel makes cost a page fault every 4 KiB."""
    return np.empty(rows, np.int64), np.empty(rows, np.int32), np.zeros(buckets + 1, np.int32)


@compiled
def fill_buckets(column: Ticks, base: int, shift: int, values: Ticks, ids: Positions, offsets: Positions) -> None:
    """Count the rows of each bucket, then move them; offsets are 0 at first."""
    buckets = offsets.size - 1
    for row in range(column.size):
        offsets[bucket(column[row], base, shift, buckets) + 1] += 1
    for number in range(buckets):
        offsets[number + 1] += offsets[number]
    places = offsets.copy()
    for row in range(column.size):
        value = column[row]
        number = bucket(value, base, shift, buckets)
        at = places[number]
        places[number] = at + 1
        values[at] = value
        ids[at] = row


@compiled
def refine(
    rough_values: Ticks,
    rough_ids: Positions,
    heads: Positions,
    base: int,
    shift: int,
    fine: int,
    values: Ticks,
    ids: Positions,
    offsets: Positions,
) -> None:
    """Distribute each coarse bucket to its fine ones; its rows and its part of the result fit into a cache."""
    buckets = offsets.size - 1
    offsets[buckets] = values.size
    next_place = np.empty((1 << fine) + 1, np.int32)
    for number in range(heads.size - 1):
        first, last, lowest = heads[number], heads[number + 1], number << fine
        next_place[:] = 0
        for at in range(first, last):
            next_place[bucket(rough_values[at], base, shift, buckets) - lowest + 1] += 1
        next_place[0] = first
        for within in range(min(1 << fine, buckets - lowest)):
            next_place[within + 1] += next_place[within]
            offsets[lowest + within] = next_place[within]
        for at in range(first, last):
            value = rough_values[at]
            within = bucket(value, base, shift, buckets) - lowest
            place = next_place[within]
            next_place[within] = place + 1
            values[place] = value
            ids[place] = rough_ids[at]


@compiled
def in_order(column: Ticks) -> bool:
    """Tell whether a column is ascending already."""
    for row in range(1, column.size):
        if column[row] < column[row - 1]:
            return False
    return True


@compiled
def bucket_offsets(column: Ticks, base: int, shift: int, buckets: int) -> Positions:
    """Where each bucket begins in a column that is in order."""
    offsets = np.zeros(buckets + 1, np.int32)
    for row in range(column.size):
        offsets[bucket(column[row], base, shift, buckets) + 1] += 1
    for number in range(buckets):
        offsets[number + 1] += offsets[number]
    return offsets


@compiled
def sort_buckets(values: Ticks, ids: Positions, offsets: Positions, shift: int) -> None:
    """Sort each bucket in place: short ones by insertion, long ones by merging; both keep the order of equals."""
    buckets = offsets.size - 1
    for number in range(buckets):
        first, last = offsets[number], offsets[number + 1]
        if last - first < 2 or (shift == 0 and 0 < number < buckets - 1):
            continue
        if last - first > 48:
            if not in_order(values[first:last]):
                order = np.argsort(values[first:last], kind="mergesort")
                values[first:last] = values[first:last][order]
                ids[first:last] = ids[first:last][order]
            continue
        for at in range(first + 1, last):
            value, row, gap = values[at], ids[at], at
            while gap > first and values[gap - 1] > value:
                values[gap] = values[gap - 1]
                ids[gap] = ids[gap - 1]
                gap -= 1
            values[gap] = value
            ids[gap] = row


@compiled
def rank(values: Ticks, offsets: Positions, base: int, shift: int, value: int) -> int:
    """Count the sorted values below this one."""
    number = bucket(value, base, shift, offsets.size - 1)
    low, high = offsets[number], offsets[number + 1]
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return int(low)


@compiled
def ranks(values: Ticks, offsets: Positions, base: int, shift: int, wanted: Ticks) -> Positions:
    """Count, for each wanted value, the sorted values below it."""
    below = np.empty(wanted.size, np.int32)
    for row in range(wanted.size):
        below[row] = rank(values, offsets, base, shift, wanted[row])
    return below
