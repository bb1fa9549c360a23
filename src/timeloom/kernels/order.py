"""Sorted order of an int64 column, with ranks in constant time on average.

A bucketed counting sort: the value range (its bulk, by a sample) is cut into about n equal buckets, rows are scattered
into them in one pass, and each bucket is sorted by itself. The bucket offsets stay, so the rank of any value is one
look-up and a search inside one bucket. Outliers share the two edge buckets and cannot stretch the others.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled, written_out

Ticks = NDArray[np.int64]
Positions = NDArray[np.int32]
Whole = TypeVar("Whole", bound=np.integer)

SAMPLE = 4096
MAX_ROWS = 2**31 - 1
SMALL = 2**18
"""From so many rows on, scattering takes two rounds, each of which stays within the cache."""

COARSE = 9
"""The first round has 2**COARSE buckets."""

ROUGH = 14
"""What is looked up is brought into 2**ROUGH stretches: so short that they stay in the first cache."""

LONG = 48
"""Buckets of more rows are sorted by merging."""

HUGE = 1 << 22
"""From so many bytes on NumPy asks for huge pages."""

FEW = 4
"""So many values are compared with another one, whether they need be or not."""

NOTHING: Ticks = np.zeros(0, np.int64)
NOTHING.flags.writeable = False

_WIDEST = 2**62  # distances on the grid must fit into int64


class Order(NamedTuple):
    """A column in ascending order: ``values[k]`` stood at row ``ids[k]``; equal values keep their row order.

    ``beside[k]`` is the same row's value of a column that was carried along, if any.
    """

    values: Ticks
    ids: Positions
    offsets: Positions
    base: int
    shift: int
    beside: Ticks


def sort(column: Ticks, threads: int = 1, beside: Ticks | None = None) -> Order:
    """Sort a column of ticks, and another one along with it, with several threads if it is worth them.

    Carrying a column along costs less than gathering it afterwards, when every access would miss the cache.
    """
    if column.size > MAX_ROWS:
        raise OverflowError(f"{column.size} rows; at most {MAX_ROWS} fit into one sorted column")
    column, carried = sealed(column), NOTHING if beside is None else sealed(beside)
    base, shift, buckets = grid(column)
    if in_order(column):
        ids = np.arange(column.size, dtype=np.int32)
        return Order(column, ids, bucket_offsets(column, base, shift, buckets), base, shift, carried)
    fine = max(0, (buckets - 1).bit_length() - COARSE)
    if column.size < SMALL or not fine:
        rows, offsets = scatter(column, carried, base, shift, buckets)
        sort_long(*rows, 0, offsets[1:])
        settle(*rows, 0, column.size)
    else:
        rows, offsets = scatter_twice(column, carried, base, shift, buckets, fine, threads)
    return Order(sealed(rows.values), rows.ids, offsets, base, shift, sealed(rows.beside))


def sealed(column: Ticks) -> Ticks:
    """The same column in one stretch, which nobody can write through what is returned.

    Numba compiles anew for each mixture of columns that may be written and that may not. Columns of Arrow tables may
    not, others may, and one that is in order already is kept as it came; so all are made alike.
    """
    view = np.ascontiguousarray(column).view()
    view.flags.writeable = False
    return view


class Rows(NamedTuple):
    """Rows on their way to their positions."""

    values: Ticks
    ids: Positions
    beside: Ticks

    @classmethod
    def like(cls, column: Ticks, beside: Ticks) -> "Rows":
        """Room for as many rows."""
        return cls(room(column.size, np.int64), room(column.size, np.int32), room(beside.size, np.int64))


def room(size: int, kind: "type[Whole]") -> "NDArray[Whole]":
    """An array that NumPy asks huge pages for, from half of HUGE bytes on: other memory faults at every 4 KiB of it."""
    least = HUGE // np.dtype(kind).itemsize
    return np.empty(max(size, least) if 2 * size >= least else size, kind)[:size]


def distinct(values: "NDArray[Whole]") -> "NDArray[Whole]":
    """Whole numbers in ascending order, each once.

    NumPy's own ``unique`` hashes them, which takes a hundred times as long as sorting them.
    """
    ordered = np.sort(values, axis=None)
    first = np.ones(ordered.size, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def grid(column: Ticks) -> tuple[int, int, int]:
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


@written_out
def bucket(value: int, base: int, shift: int, buckets: int) -> int:
    """The bucket of a value; values beyond the grid belong to its edge buckets."""
    if value <= base:
        return 0
    if value >= base + ((buckets - 1) << shift):
        return buckets - 1
    return (value - base) >> shift


def scatter(column: Ticks, beside: Ticks, base: int, shift: int, buckets: int) -> tuple[Rows, Positions]:
    """Distribute rows to buckets, in row order; ``offsets[b]`` is where bucket b begins."""
    rows, offsets = Rows.like(column, beside), np.zeros(buckets + 1, np.int32)
    count_buckets(column, base, shift, 0, column.size, offsets[1:])
    np.cumsum(offsets, out=offsets)
    fill_buckets(column, beside, base, shift, 0, column.size, offsets[:-1].copy(), *rows)
    return rows, offsets


def scatter_twice(
    column: Ticks, beside: Ticks, base: int, shift: int, buckets: int, fine: int, threads: int
) -> tuple[Rows, Positions]:
    """Distribute rows to coarse buckets of 2**fine buckets each, then within each, and sort the buckets.

    The second round goes by ranges of coarse buckets. Both rounds stay within a processor's cache.
    """
    wide = ((buckets - 1) >> fine) + 1
    rough, heads = scatter_by_rows(column, beside, base, shift + fine, wide, threads)
    rows, offsets = Rows.like(column, beside), room(buckets + 1, np.int32)
    offsets[buckets] = column.size
    inner = [column.size * part // threads for part in range(1, threads)]
    stretches = pairwise([0, *np.searchsorted(heads[1:-1], inner).tolist(), wide])
    settle = partial(refine, *rough, heads, base, shift, fine)
    _together([partial(settle, *stretch, *rows, offsets) for stretch in stretches])
    return rows, offsets


def roughly(column: Ticks, like: Order, threads: int) -> tuple[Ticks, Positions]:
    """A column in the order of stretches of another one's buckets, and its rows; empty for rows as they come.

    Who looks up values of a large column in this order stays within the cache, at less than half the cost of sorting.
    """
    buckets = like.offsets.size - 1
    fine = max(0, (buckets - 1).bit_length() - ROUGH)
    if column.size < SMALL or not fine:
        return sealed(column), np.zeros(0, np.int32)
    wide = ((buckets - 1) >> fine) + 1
    rows, _ = scatter_by_rows(sealed(column), NOTHING, like.base, like.shift + fine, wide, threads)
    return sealed(rows.values), rows.ids


def scatter_by_rows(
    column: Ticks, beside: Ticks, base: int, shift: int, buckets: int, threads: int
) -> tuple[Rows, Positions]:
    """The same as `scatter`, by ranges of rows: a thread's rows of a bucket come after those of the threads before."""
    parts = list(pairwise(column.size * part // threads for part in range(threads + 1)))
    counts = np.zeros((threads, buckets), np.int32)
    count = partial(count_buckets, column, base, shift)
    _together([partial(count, *part, counts[number]) for number, part in enumerate(parts)])
    heads = np.concatenate([[0], np.cumsum(counts.sum(axis=0))]).astype(np.int32)
    positions = (heads[:-1] + np.cumsum(counts, axis=0) - counts).astype(np.int32)
    rows = Rows.like(column, beside)
    spread = partial(fill_buckets, column, beside, base, shift)
    _together([partial(spread, *part, positions[number], *rows) for number, part in enumerate(parts)])
    return rows, heads


def _together(tasks: list[Callable[[], None]]) -> None:
    """Run tasks that release the interpreter lock, each in a thread of its own."""
    if len(tasks) == 1:
        return tasks[0]()
    with ThreadPoolExecutor(len(tasks)) as pool:
        for future in [pool.submit(task) for task in tasks]:
            future.result()
    return None


@compiled
def count_buckets(column: Ticks, base: int, shift: int, first: int, last: int, counts: Positions) -> None:
    """Count the rows first..last of each bucket."""
    for row in range(first, last):
        counts[bucket(column[row], base, shift, counts.size)] += 1


@compiled
def fill_buckets(
    column: Ticks,
    carried: Ticks,
    base: int,
    shift: int,
    first: int,
    last: int,
    positions: Positions,
    values: Ticks,
    ids: Positions,
    beside: Ticks,
) -> None:
    """Move the rows first..last to the next free positions of their buckets."""
    for row in range(first, last):
        value = column[row]
        number = bucket(value, base, shift, positions.size)
        at = positions[number]
        positions[number] = at + 1
        values[at] = value
        ids[at] = row
        if carried.size:
            beside[at] = carried[row]


@compiled
def refine(
    rough_values: Ticks,
    rough_ids: Positions,
    rough_beside: Ticks,
    heads: Positions,
    base: int,
    shift: int,
    fine: int,
    first_head: int,
    last_head: int,
    values: Ticks,
    ids: Positions,
    beside: Ticks,
    offsets: Positions,
) -> None:
    """Distribute each of these coarse buckets to its fine ones, and sort those."""
    buckets = offsets.size - 1
    next_position = np.empty((1 << fine) + 1, np.int32)
    for number in range(first_head, last_head):
        first, last, lowest = heads[number], heads[number + 1], number << fine
        inside = min(1 << fine, buckets - lowest)
        next_position[:] = 0
        for at in range(first, last):
            next_position[bucket(rough_values[at], base, shift, buckets) - lowest + 1] += 1
        next_position[0] = first
        for within in range(inside):
            next_position[within + 1] += next_position[within]
            offsets[lowest + within] = next_position[within]
        for at in range(first, last):
            value = rough_values[at]
            within = bucket(value, base, shift, buckets) - lowest
            position = next_position[within]
            next_position[within] = position + 1
            values[position] = value
            ids[position] = rough_ids[at]
            if beside.size:
                beside[position] = rough_beside[at]
        if shift > 0 or number == 0 or lowest + inside == buckets:
            sort_long(values, ids, beside, first, next_position[:inside])
            settle(values, ids, beside, first, last)


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
def sort_long(values: Ticks, ids: Positions, beside: Ticks, first: int, ends: Positions) -> None:
    """Sort the long ones of buckets that begin at ``first`` and end at ``ends``."""
    for end in ends:
        if end - first > LONG:
            merge_bucket(values[first:end], ids[first:end], beside[first:end])
        first = end


@compiled
def settle(values: Ticks, ids: Positions, beside: Ticks, first: int, last: int) -> None:
    """Sort rows whose buckets are in order, and long buckets in themselves; rows of equal value keep their order.

    First the greater one of each two neighbours is carried on, without a branch: in a bucket of two or three that is
    nearly all there is to do, and where nobody can tell the outcome a branch costs more than the exchange. So few rows
    are left to be inserted that the processor guesses right.
    """
    carry = beside.size > 0
    if last - first < 2:
        return
    high, row, carried = values[first], ids[first], beside[first] if carry else 0
    for at in range(first + 1, last):
        value, less = values[at], values[at] < high
        values[at - 1], high = (value, high) if less else (high, value)
        ids[at - 1], row = (ids[at], row) if less else (row, ids[at])
        if carry:
            beside[at - 1], carried = (beside[at], carried) if less else (carried, beside[at])
    values[last - 1], ids[last - 1] = high, row
    if carry:
        beside[last - 1] = carried
    for at in range(first + 1, last):
        value, row, gap = values[at], ids[at], at
        if values[at - 1] <= value:
            continue
        carried = beside[at] if carry else 0
        while gap > first and values[gap - 1] > value:
            values[gap], ids[gap] = values[gap - 1], ids[gap - 1]
            if carry:
                beside[gap] = beside[gap - 1]
            gap -= 1
        values[gap], ids[gap] = value, row
        if carry:
            beside[gap] = carried


@compiled
def merge_bucket(values: Ticks, ids: Positions, beside: Ticks) -> None:
    """Sort a long bucket in place, unless it is in order."""
    if in_order(values):
        return
    order = np.argsort(values, kind="mergesort")
    values[:] = values[order]
    ids[:] = ids[order]
    if beside.size:
        beside[:] = beside[order]


@written_out
def rank(values: Ticks, offsets: Positions, base: int, shift: int, value: int) -> int:
    """Count the sorted values below this one.

    Most buckets hold a few values, and which of them are below is anybody's guess. So the last few are compared all, as
    a wrong guess of the processor costs more than they do: those behind the bucket are not below, and change nothing.
    """
    number = bucket(value, base, shift, offsets.size - 1)
    low, high = offsets[number], offsets[number + 1]
    while high - low > FEW:
        middle = (low + high) >> 1
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    if low + FEW > values.size:
        while low < high and values[low] < value:
            low += 1
        return int(low)
    first, second, third, fourth = values[low], values[low + 1], values[low + 2], values[low + 3]
    return int(low + (first < value) + (second < value) + (third < value) + (fourth < value))


@compiled
def ranks(values: Ticks, offsets: Positions, base: int, shift: int, wanted: Ticks) -> Positions:
    """Count, for each wanted value, the sorted values below it."""
    below = np.empty(wanted.size, np.int32)
    for row in range(wanted.size):
        below[row] = rank(values, offsets, base, shift, wanted[row])
    return below
