"""The k nearest periods: one walk for each left row, outwards from it over three sorted orders.

Rows that share an instant come first, in the order of their starts: the running maximum of ends tells the first,
a tree of maxima each further one. Rows before and after lie next to the left row in the order of ends and of starts.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.neighbours.as_of import distance
from timeloom.kernels.order import Order, Positions, Ticks, rank
from timeloom.model.ticks import MAX_TICK

Counts = NDArray[np.int64]

SHARING, BACKWARD, FORWARD = 1, 2, 4
"""Which right rows take part, as bits."""


class Walk(NamedTuple):
    """The right rows in order of starts and of ends (ties settled by the other end, then by row), and the left rows.

    ``starts`` and ``ends`` are positions on the axis on which keys have stretches of ``width`` (0 without keys).
    ``highest`` is the running maximum of ends in order of starts, ``tree`` the maxima of twice as large stretches.
    """

    starts: Ticks
    start_rows: Positions
    start_offsets: Positions
    base: int
    shift: int
    ends_by_start: Ticks
    highest: Ticks
    tree: Ticks
    ends: Ticks
    end_rows: Positions
    width: int


@compiled
def settle_ties(values: Ticks, rows: Positions, beside: Ticks) -> None:
    """Bring rows of equal value into the order of the other column, and of their numbers."""
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


@compiled
def maxima(ends: Ticks) -> tuple[Ticks, Ticks]:
    """The running maximum, and a tree of maxima: the leaves are its second half, node n stands over 2n and 2n + 1."""
    size = 1
    while size < ends.size:
        size *= 2
    highest = np.empty(ends.size, np.int64)
    tree = np.full(2 * size, np.iinfo(np.int64).min, np.int64)
    most = np.iinfo(np.int64).min
    for at in range(ends.size):
        most = max(most, ends[at])
        highest[at] = most
        tree[size + at] = ends[at]
    for node in range(size - 1, 0, -1):
        tree[node] = max(tree[2 * node], tree[2 * node + 1])
    return highest, tree


@compiled
def next_above(tree: Ticks, first: int, limit: int) -> int:
    """The first position from ``first`` on whose value is above the limit; the number of leaves if there is none."""
    size = tree.size // 2
    if first >= size:
        return size
    node = first + size
    while tree[node] <= limit:
        while node & 1:  # a right child: what follows lies beside an ancestor
            node >>= 1
            if node <= 1:
                return size
        if node <= 1:
            return size
        node += 1
    while node < size:
        node *= 2
        if tree[node] <= limit:
            node += 1
    return node - size


@compiled
def walk(
    right: Walk,
    left_starts: Ticks,
    left_ends: Ticks,
    left_rows: Positions,
    first: int,
    last: int,
    k: int,
    furthest: int,
    kinds: int,
    all_ties: bool,
    ticks: tuple[Ticks, Ticks, Ticks, Ticks],
    counts: Counts,
    offsets: Counts,
    out_rows: Positions,
    out_distances: Ticks,
) -> None:
    """Find the neighbours of left rows first..last, which ascend by start; their positions are below 0 without a key.

    Writes how many there are, and, where ``out_rows`` has room, from ``offsets`` on which they are, nearest first.
    ``ticks`` are starts and ends of the left and of the right rows, by row, from which distances are told.
    """
    writing = out_rows.size > 0
    size, share, before = right.starts.size, 0, 0
    for number in range(first, last):
        row = left_rows[number]
        start, end = left_starts[number], left_ends[number]
        count, at, reached = 0, offsets[row], -1
        counts[row] = 0
        if start < 0 and right.width:
            continue
        low_position = start - start % right.width if right.width else 0
        if kinds & SHARING:
            while share < size and right.highest[share] <= start:
                share += 1
            position = share
            while position < size and right.starts[position] < end and (count < k or all_ties):
                if writing:
                    out_rows[at + count] = right.start_rows[position]
                    out_distances[at + count] = 0
                count += 1
                position = next_above(right.tree, position + 1, start) if count < k or all_ties else size
        if count >= k:
            counts[row] = count
            continue
        while before < size and right.ends[before] <= start:
            before += 1
        back = before if kinds & BACKWARD else 0
        ahead = rank(right.starts, right.start_offsets, right.base, right.shift, end) if kinds & FORWARD else size
        left_start, left_end = ticks[0][row], ticks[1][row]
        while True:
            back_far, ahead_far = MAX_TICK, MAX_TICK
            has_back = back > 0 and (right.width == 0 or right.ends[back - 1] >= low_position)
            has_ahead = ahead < size and (right.width == 0 or right.starts[ahead] < low_position + right.width)
            if has_back:
                back_far = distance(left_start, ticks[3][right.end_rows[back - 1]])
            if has_ahead:
                ahead_far = distance(ticks[2][right.start_rows[ahead]], left_end)
            if not has_back and not has_ahead:
                break
            backwards = has_back and (not has_ahead or back_far <= ahead_far)
            far = back_far if backwards else ahead_far
            if far > furthest or (count >= k and (not all_ties or far != reached)):
                break
            reached = far
            if backwards:
                group = back - 1
                while group > 0 and right.ends[group - 1] == right.ends[back - 1]:
                    group -= 1
                for position in range(group, back):
                    if count < k or all_ties:
                        if writing:
                            out_rows[at + count] = right.end_rows[position]
                            out_distances[at + count] = far
                        count += 1
                back = group
            else:
                if writing:
                    out_rows[at + count] = right.start_rows[ahead]
                    out_distances[at + count] = far
                count += 1
                ahead += 1
        counts[row] = count


def order_of(by_start: Order, by_end: Order, width: int) -> Walk:
    """Prepare the right rows from their two orders, each of which carries the other end."""
    start_ends, end_starts = by_start.beside.copy(), by_end.beside.copy()
    start_rows, end_rows = by_start.ids.copy(), by_end.ids.copy()
    settle_ties(by_start.values, start_rows, start_ends)
    settle_ties(by_end.values, end_rows, end_starts)
    highest, tree = maxima(start_ends)
    return Walk(
        by_start.values,
        start_rows,
        by_start.offsets,
        by_start.base,
        by_start.shift,
        start_ends,
        highest,
        tree,
        by_end.values,
        end_rows,
        width,
    )
