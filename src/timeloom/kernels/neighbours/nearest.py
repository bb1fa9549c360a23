"""The k nearest periods: one walk for each left row, outwards from it over three sorted orders.

Rows that share an instant come first, in the order of their starts: the running maximum of ends tells the first,
a tree of maxima each further one. Rows before and after lie next to the left row in the order of ends and of starts.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled, written_out
from timeloom.kernels.nearly_sorted import resort
from timeloom.kernels.neighbours.as_of import NO_ROW, distance
from timeloom.kernels.order import NOTHING, Order, Positions, Ticks, rank, sealed
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
def running_maximum(ends: Ticks, highest: Ticks) -> None:
    """Write the greatest end up to each position."""
    most = np.iinfo(np.int64).min
    for at in range(ends.size):
        most = max(most, ends[at])
        highest[at] = most


@compiled
def tree_of_maxima(ends: Ticks, tree: Ticks) -> None:
    """Write the maxima of twice as large stretches: leaves in the second half, node n stands over 2n and 2n + 1."""
    size = tree.size // 2
    tree[size : size + ends.size] = ends
    tree[size + ends.size :] = np.iinfo(np.int64).min
    for node in range(size - 1, 0, -1):
        tree[node] = max(tree[2 * node], tree[2 * node + 1])


@written_out
def first_above(highest: Ticks, last: int, limit: int) -> int:
    """The first position above the limit of a running maximum that is above it at ``last``: by steps that double."""
    high, low, step = last, last - 1, 1
    while low >= 0 and highest[low] > limit:
        high, step = low, 2 * step
        low = high - step
    low = max(low, -1)
    while high - low > 1:
        middle = (low + high) // 2
        if highest[middle] > limit:
            high = middle
        else:
            low = middle
    return high


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
def apart(ticks: Ticks, width: int, high: int, low: int) -> int:
    """How far two positions of a key are apart, in ticks."""
    if ticks.size:
        return distance(ticks[high % width - 1], ticks[low % width - 1])
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
    """Write the nearest right row of each of the left rows first..last, and how far it is.

    The first right row that ends after the left start shares an instant with the left row, or it is the first that
    starts after it. It stands where as many rows stand before it as have ended by then, unless one of them lasts
    longer. Which of the two candidates is nearer is anybody's guess, so both are read, and nothing is jumped over. Left
    rows that ascend by start find all that they read in the cache. Arrays are taken out of the tuple before: within
    the loop their users would be counted for each row.
    """
    starts, start_rows, highest = right.starts, right.start_rows, right.highest
    ends, end_rows, end_offsets, end_base = right.ends, right.end_rows, right.end_offsets, right.end_base
    end_shift, start_offsets, base, shift = right.end_shift, right.start_offsets, right.base, right.shift
    ticks, size, width, low, top = right.ticks, starts.size, right.width, np.iinfo(np.int64).min, MAX_TICK
    sharing, backward, forward = kinds & SHARING != 0, kinds & BACKWARD != 0, kinds & FORWARD != 0
    for number in range(first, last):
        start, end, row = left_starts[number], left_ends[number], left_rows[number]
        if not size or (width and start < 0):
            out_rows[row], out_distances[row] = NO_ROW, 0
            continue
        if width:
            low = start - start % width
            top = low + width
        before = rank(ends, end_offsets, end_base, end_shift, start + 1)
        ahead = before
        if not sharing:
            ahead = rank(starts, start_offsets, base, shift, end)
        elif before > 0 and highest[before - 1] > start:
            ahead = first_above(highest, before - 1, start)
        after, back = min(ahead, size - 1), max(before - 1, 0)
        next_start, next_row, last_end, last_row = starts[after], start_rows[after], ends[back], end_rows[back]
        if back > 0 and ends[back - 1] == last_end:
            last_row = end_rows[rank(ends, end_offsets, end_base, end_shift, last_end)]
        follows = (ahead < size) & (next_start < top)
        shares = sharing & follows & (next_start < end)
        has_back, has_ahead = backward & (before > 0) & (last_end >= low), forward & follows
        if ticks.size:
            back_far = apart(ticks, width, start, last_end) if has_back else 0
            ahead_far = apart(ticks, width, next_start, end) if has_ahead and not shares else 0
        else:
            back_far, ahead_far = distance(start, last_end), distance(next_start, end)
        goes_on = shares | (has_ahead & ((not has_back) | (ahead_far < back_far)))
        far = ahead_far if goes_on else back_far
        far = 0 if shares else far
        known = (goes_on | has_back) & (far <= furthest)
        found = next_row if goes_on else last_row
        out_rows[row] = found if known else NO_ROW
        out_distances[row] = far if known else 0


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
                back_far = apart(right.ticks, right.width, start, right.ends[back - 1])
            if has_ahead:
                ahead_far = apart(right.ticks, right.width, right.starts[ahead], end)
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


def order_of(by_start: Order, width: int, ticks: Ticks | None, threads: int, *, several: bool) -> Walk:
    """Prepare the right rows from their order by start, in which ties are settled, and which carries the ends.

    Sorted from there, rows of one end keep the order of their starts, and hardly move. Only ``several`` neighbours
    need the tree. Room comes from NumPy, which asks for huge pages.
    """
    ends = by_start.beside
    by_end = resort(ends, by_start.ids, threads)
    highest = np.empty(ends.size, np.int64)
    running_maximum(ends, highest)
    tree = np.empty(2 << max(0, ends.size - 1).bit_length() if several else 0, np.int64)
    if several:
        tree_of_maxima(ends, tree)
    return Walk(
        by_start.values,
        by_start.ids,
        by_start.offsets,
        by_start.base,
        by_start.shift,
        highest,
        tree,
        by_end.values,
        by_end.ids,
        by_end.offsets,
        by_end.base,
        by_end.shift,
        width,
        sealed(NOTHING if ticks is None else ticks),
    )
