"""Points in rectangles, in time that depends on the answer: a range tree in rank space.

Points are numbered by x, and the root lists these numbers by y. Each level parts its lists, in order, into
the lower and the upper half of their numbers, and remembers for each position how many went to the lower half.
So the stretch of a list that lies in a range of y maps to a stretch of either half by two look-ups
(fractional cascading), and a half that lies in the range of x is reported by copying its stretch. Short
stretches are scanned instead of parted further.

A query is a window: a stretch of the points sorted by x, and one of those sorted by y. All kernels work on a
range of queries, so that threads can share the work; reporting takes two passes, one to count and one to
write.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.joins.runs import Offsets, measure
from timeloom.kernels.order import Order, Positions, Ticks

SCANNED = 64
"""A stretch of up to this many points is scanned; it is also the size of the leaves."""

DEPTH = 80
"""Room for pending nodes: at most two per level remain to be visited."""


class RangeTree(NamedTuple):
    """Points by x (their rows, their positions in the order of y) and, per level, the lists of all nodes side by
    side.

    The nodes of level k hold 2**(bits - k) consecutive numbers each. ``lower[k, p]`` counts the entries among
    the first p of that level that go to lower halves.
    """

    rows: Positions
    positions: Positions
    lists: NDArray[np.int32]
    lower: NDArray[np.int32]
    bits: int


class Windows(NamedTuple):
    """For each query the stretch of points in its range of x, and that of points in its range of y."""

    x_begins: Positions
    x_lengths: Offsets
    y_begins: Positions
    y_lengths: Offsets


def build(by_x: Order, by_y: Order) -> RangeTree:
    """Build the tree of points whose coordinates are sorted already."""
    size = by_x.ids.size
    bits = max(1, (size - 1).bit_length())
    levels = max(1, bits - SCANNED.bit_length() + 2)
    numbers = np.empty(size, np.int32)
    numbers[by_x.ids] = np.arange(size, dtype=np.int32)
    lists = np.empty((levels, size), np.int32)
    lists[0] = numbers[by_y.ids]
    positions = np.empty(size, np.int32)
    positions[lists[0]] = np.arange(size, dtype=np.int32)
    lower = np.empty((levels, size + 1), np.int32)
    part(lists, lower, bits)
    return RangeTree(by_x.ids, positions, lists, lower, bits)


def windows(by_x: Order, by_y: Order, x_range: tuple[Ticks, Ticks], y_range: tuple[Ticks, Ticks]) -> Windows:
    """Turn inclusive ranges of x and y, one of each per query, into stretches of the sorted points."""
    queries = x_range[0].size
    found = Windows(
        np.empty(queries, np.int32),
        np.empty(queries, np.int64),
        np.empty(queries, np.int32),
        np.empty(queries, np.int64),
    )
    for order, (low, high), begins, lengths in (
        (by_x, x_range, found.x_begins, found.x_lengths),
        (by_y, y_range, found.y_begins, found.y_lengths),
    ):
        bounds = np.empty(queries + 1, np.int64)
        measure(order.values, order.offsets, order.base, order.shift, low, high, begins, bounds)
        np.subtract(bounds[1:], bounds[:-1], out=lengths)
    return found


@compiled
def part(lists: NDArray[np.int32], lower: NDArray[np.int32], bits: int) -> None:
    """Fill all levels below the root, and the counts of each."""
    levels, size = lists.shape
    for level in range(levels):
        half = 1 << (bits - level - 1)
        count = 0
        for position in range(size):
            number = lists[level, position]
            lower[level, position] = count
            into_upper = number & half
            if level + 1 < levels:
                node = number & ~(2 * half - 1)
                below = count - (node >> 1)
                target = node + half + (position - node - below) if into_upper else node + below
                lists[level + 1, target] = number
            count += into_upper == 0
        lower[level, size] = count


@compiled
def scan(
    numbers: Positions, first: int, last: int, low: int, high: int, rows: Positions, written: int, out: Positions
) -> int:
    """Report those numbers at positions first..last that lie in low..high; without output only count them."""
    if out.size == 0:
        for position in range(first, last):
            written += (numbers[position] >= low) & (numbers[position] < high)
        return written
    for position in range(first, last):
        number = numbers[position]
        if low <= number < high:
            out[written] = rows[number]
            written += 1
    return written


@compiled
def visit(
    tree: RangeTree,
    x_first: int,
    x_last: int,
    y_first: int,
    y_last: int,
    pending: NDArray[np.int64],
    written: int,
    out: Positions,
) -> int:
    """Report the points of one window from position ``written`` on; without output only count them.

    ``pending`` holds the nodes still to be visited: level, first number, and stretch of its list.
    """
    rows, _, lists, lower, bits = tree
    size = rows.size
    pending[0, 0], pending[0, 1], pending[0, 2], pending[0, 3] = 0, 0, y_first, y_last
    waiting = 1
    while waiting:
        waiting -= 1
        level, node = pending[waiting, 0], pending[waiting, 1]
        first, last = pending[waiting, 2], pending[waiting, 3]
        if first == last:
            continue
        width = 1 << (bits - level)
        if x_first <= node and min(node + width, size) <= x_last:
            if out.size:
                for position in range(first, last):
                    out[written + position - first] = rows[lists[level, position]]
            written += last - first
            continue
        if last - first <= SCANNED or level + 1 == lists.shape[0]:
            written = scan(lists[level], first, last, x_first, x_last, rows, written, out)
            continue
        half = width >> 1
        below_first = lower[level, first] - (node >> 1)
        below_last = lower[level, last] - (node >> 1)
        if x_last > node + half:
            upper = pending[waiting]
            upper[0], upper[1] = level + 1, node + half
            upper[2], upper[3] = first + half - below_first, last + half - below_last
            waiting += 1
        if x_first < node + half:
            left = pending[waiting]
            left[0], left[1], left[2], left[3] = level + 1, node, node + below_first, node + below_last
            waiting += 1
    return written


@compiled
def count(tree: RangeTree, queries: Windows, first: int, last: int, counts: Offsets) -> None:
    """Count the points in the windows of queries first..last."""
    pending = np.empty((DEPTH, 4), np.int64)
    nothing = np.empty(0, np.int32)
    for query in range(first, last):
        counts[query] = answer(tree, queries, query, pending, 0, nothing)


@compiled
def report(
    tree: RangeTree,
    queries: Windows,
    first: int,
    last: int,
    offsets: Offsets,
    out_queries: Positions,
    out_rows: Positions,
) -> None:
    """Write query and row of each point in the windows of queries first..last, from ``offsets[query]`` on."""
    pending = np.empty((DEPTH, 4), np.int64)
    for query in range(first, last):
        begin = offsets[query]
        end = offsets[query + 1]
        if begin < end:
            answer(tree, queries, query, pending, begin, out_rows)
            out_queries[begin:end] = query


@compiled
def answer(
    tree: RangeTree, queries: Windows, query: int, pending: NDArray[np.int64], written: int, out: Positions
) -> int:
    """Report one query by the cheapest means: along x, along y, or down the tree."""
    x_first, y_first = queries.x_begins[query], queries.y_begins[query]
    x_length, y_length = queries.x_lengths[query], queries.y_lengths[query]
    x_last, y_last = x_first + x_length, y_first + y_length
    if x_length <= SCANNED and x_length <= y_length:
        return along_x(tree, x_first, x_last, y_first, y_last, written, out)
    if y_length <= SCANNED:
        return scan(tree.lists[0], y_first, y_last, x_first, x_last, tree.rows, written, out)
    return visit(tree, x_first, x_last, y_first, y_last, pending, written, out)


@compiled
def along_x(tree: RangeTree, x_first: int, x_last: int, y_first: int, y_last: int, written: int, out: Positions) -> int:
    """Report the points of a short range of x whose position in the order of y fits; or only count them."""
    for number in range(x_first, x_last):
        if y_first <= tree.positions[number] < y_last:
            if out.size:
                out[written] = tree.rows[number]
            written += 1
    return written
