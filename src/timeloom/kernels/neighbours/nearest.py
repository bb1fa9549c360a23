"""The k nearest periods: one walk for each left row, outwards from it over three sorted orders.

Rows that share an instant come first, in the order of their starts: the running maximum of ends tells the first,
a tree of maxima each further one. Rows before and after lie next to the left row in the order of ends and of starts.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled, written_out
from timeloom.kernels.neighbours.as_of import NO_ROW, distance
from timeloom.kernels.order import NOTHING, Order, Positions, Ticks, rank, sealed, sort
from timeloom.model.ticks import MAX_TICK

Counts = NDArray[np.int64]

SHARING, BACKWARD, FORWARD = 1, 2, 4
"""Which right rows take part, as bits."""


class Walk(NamedTuple):
    """The right rows in order of starts and of ends, ties settled by the other end.

    ``starts`` and ``ends`` are positions on the axis on which keys have stretches of ``width`` (0 without keys).
    ``highest`` is the running maximum of ends in order of starts, ``tree`` the maxima of twice as large stretches.
    ``ticks`` are the ticks that positions stand for, if they are not as far apart as those; empty if they are.
    """

    starts: Ticks
    start_rows: Positions
    start_offsets: Positions
    base: int
    shift: int
    highest: Ticks
    tree: Ticks
    ends: Ticks
    end_rows: Positions
    end_offsets: Positions
    end_base: int
    end_shift: int
    width: int
    ticks: Ticks


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


@written_out
def apart(right: Walk, high: int, low: int) -> int:
    """How far two positions of a key are apart, in ticks."""
    if right.ticks.size:
        return distance(right.ticks[high % right.width - 1], right.ticks[low % right.width - 1])
    return distance(high, low)


@written_out
def first_of_level(right: Walk, back: int) -> int:
    """Of the right rows that end with the one before ``back``, the first."""
    if back < 2 or right.ends[back - 2] != right.ends[back - 1]:
        return back - 1
    return rank(right.ends, right.end_offsets, right.end_base, right.end_shift, right.ends[back - 1])


@compiled
def closest(
    right: Walk,
    left_starts: Ticks,
    left_ends: Ticks,
    left_rows: Positions,
    first: int,
    last: int,
    furthest: int,
    kinds: int,
    out_rows: Positions,
    out_distances: Ticks,
) -> None:
    """Write the nearest right row of each of the left rows first..last, which ascend by start, and how far it is.

    A merge: of three sorted columns each has a pointer that only ever advances. The first right row that ends after the
    left start shares an instant with the left row, or it is the first that starts after it.
    """
    size, share, before, low = right.starts.size, 0, 0, 0
    for number in range(first, last):
        start, end = left_starts[number], left_ends[number]
        found, far = NO_ROW, 0
        if right.width and start >= low + right.width:
            low = start - start % right.width
        if start >= low or not right.width:
            while share < size and right.highest[share] <= start:
                share += 1
            while before < size and right.ends[before] <= start:
                before += 1
            ahead = share
            if kinds & SHARING and share < size and right.starts[share] < end:
                found = right.start_rows[share]
            elif kinds & FORWARD and not kinds & SHARING:
                ahead = rank(right.starts, right.start_offsets, right.base, right.shift, end)
            if found == NO_ROW:
                has_back = kinds & BACKWARD and before > 0 and (not right.width or right.ends[before - 1] >= low)
                has_ahead = kinds & FORWARD and ahead < size
                has_ahead = has_ahead and (not right.width or right.starts[ahead] < low + right.width)
                far = MAX_TICK
                if has_back:
                    far = apart(right, start, right.ends[before - 1])
                    found = right.end_rows[first_of_level(right, before)]
                if has_ahead and (not has_back or apart(right, right.starts[ahead], end) < far):
                    far = apart(right, right.starts[ahead], end)
                    found = right.start_rows[ahead]
                if far > furthest or found == NO_ROW:
                    found, far = NO_ROW, 0
        row = left_rows[number]
        out_rows[row] = found
        out_distances[row] = far


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
    counts: Counts,
    offsets: Counts,
    out_rows: Positions,
    out_distances: Ticks,
) -> None:
    """Find the neighbours of left rows first..last, which ascend by start; their positions are below 0 without a key.

    Writes how many there are, and, where ``out_rows`` has room, from ``offsets`` on which they are, nearest first.
    """
    writing = out_rows.size > 0
    size, share, before, low = right.starts.size, 0, 0, 0
    for number in range(first, last):
        row = left_rows[number]
        start, end = left_starts[number], left_ends[number]
        count, at, reached = 0, offsets[row], -1
        counts[row] = 0
        if right.width and start >= low + right.width:
            low = start - start % right.width
        if start < low and right.width:
            continue
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
        while True:
            back_far, ahead_far = MAX_TICK, MAX_TICK
            has_back = back > 0 and (right.width == 0 or right.ends[back - 1] >= low)
            has_ahead = ahead < size and (right.width == 0 or right.starts[ahead] < low + right.width)
            if has_back:
                back_far = apart(right, start, right.ends[back - 1])
            if has_ahead:
                ahead_far = apart(right, right.starts[ahead], end)
            if not has_back and not has_ahead:
                break
            backwards = has_back and (not has_ahead or back_far <= ahead_far)
            far = back_far if backwards else ahead_far
            if far > furthest or (count >= k and (not all_ties or far != reached)):
                break
            reached = far
            if backwards:
                group = first_of_level(right, back)
                stop = back if all_ties else min(back, group + k - count)
                for position in range(group, stop):
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


def order_of(by_start: Order, width: int, ticks: Ticks | None, threads: int) -> Walk:
    """Prepare the right rows from their order by start, in which ties are settled, and which carries the ends.

    Sorted from there, rows of one end keep the order of their starts, and hardly move.
    """
    by_end = sort(by_start.beside, threads)
    highest, tree = maxima(by_start.beside)
    return Walk(
        by_start.values,
        by_start.ids,
        by_start.offsets,
        by_start.base,
        by_start.shift,
        highest,
        tree,
        by_end.values,
        by_start.ids[by_end.ids],
        by_end.offsets,
        by_end.base,
        by_end.shift,
        width,
        sealed(NOTHING if ticks is None else ticks),
    )
