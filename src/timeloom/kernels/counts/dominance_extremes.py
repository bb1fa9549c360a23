"""The least value among the points in each rectangle, without listing the points.

Minima cannot be subtracted, so a rectangle is answered whole. One bound that is open (or follows from the others) makes
it three-sided: points enter a tree in the order of one axis, and a row asks for its range of the other axis once the
right points are in. A rectangle with four real bounds is cut in two three-sided ones at the highest power-of-two
boundary between its first and last position; all rectangles that are cut at the same level share one pass.
"""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.counts.dominance_ranks import Points, Ranks, positions_in
from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, sort
from timeloom.model.ticks import MAX_TICK

Values = NDArray[np.int64]

NONE = np.int64(MAX_TICK)
"""What stands for "no point"; values must be smaller."""

EMPTY, STARTS_UP, STARTS_DOWN, ENDS_UP, ENDS_DOWN, FOUR_SIDED = 0, 1, 2, 3, 4, 5


def least_ranked(points: Points, slots: Positions, ranked: Ranks, values: Values) -> Values:
    """Find the least value of the points in each rectangle, or ``NONE``."""
    least = np.full(ranked.first.size, NONE, np.int64)
    size = points.size
    if not size or not least.size:
        return least
    shapes = classify(ranked, size)
    positions = positions_in(points.by_end.ids, points.by_start.ids)
    starting, ending = values[points.by_start.ids], values[points.by_end.ids]
    first, last, low, high = ranked[:4]
    sweeps = (
        (STARTS_UP, slots, starting, last, low, high),
        (STARTS_DOWN, slots[::-1].copy(), starting[::-1].copy(), size - first, low, high),
        (ENDS_UP, positions, ending, high, first, last),
        (ENDS_DOWN, positions[::-1].copy(), ending[::-1].copy(), size - low, first, last),
    )
    for shape, sequence, entering, taken, begin, end in sweeps:
        rows = np.flatnonzero(shapes == shape).astype(np.int32)
        if rows.size:
            rows = rows[sort(taken[rows].astype(np.int64)).ids]
            sweep_least(sequence, entering, rows, taken, begin, end, least)
    rows = np.flatnonzero(shapes == FOUR_SIDED).astype(np.int32)
    if rows.size:
        _split_four_sided(slots, starting, rows, ranked, least)
    return least


@compiled
def classify(ranked: Ranks, size: int) -> NDArray[np.int8]:
    """Choose the sweep for each row by the bound that is open."""
    shapes = np.zeros(ranked.first.size, np.int8)
    for row in range(shapes.size):
        if ranked.last[row] == 0:
            shapes[row] = EMPTY
        elif ranked.first[row] == 0:
            shapes[row] = STARTS_UP
        elif ranked.last[row] == size:
            shapes[row] = STARTS_DOWN
        elif ranked.low[row] == 0:
            shapes[row] = ENDS_UP
        elif ranked.high[row] == size:
            shapes[row] = ENDS_DOWN
        else:
            shapes[row] = FOUR_SIDED
    return shapes


@compiled
def sweep_least(
    sequence: Positions,
    entering: Values,
    rows: Positions,
    taken: Positions,
    begin: Positions,
    end: Positions,
    least: Values,
) -> None:
    """Lower each row's least value to that of its first ``taken`` points of the sequence at leaves in [begin, end)."""
    leaves = sequence.size
    tree = np.full(2 * leaves, NONE, np.int64)
    entered = 0
    for row in rows:
        while entered < taken[row]:
            lower_leaf(tree, leaves + sequence[entered], entering[entered])
            entered += 1
        least[row] = min(least[row], least_between(tree, leaves, begin[row], end[row]))


@compiled
def lower_leaf(tree: Values, node: int, value: int) -> None:
    """Enter a value at a leaf; all its ancestors hold the least value below them."""
    while node > 0 and tree[node] > value:
        tree[node] = value
        node >>= 1


@compiled
def least_between(tree: Values, leaves: int, begin: int, end: int) -> np.int64:
    """The least value at leaves begin..end."""
    found = NONE
    left, right = np.int64(begin + leaves), np.int64(end + leaves)
    while left < right:
        if left & 1:
            found = min(found, tree[left])
            left += 1
        if right & 1:
            right -= 1
            found = min(found, tree[right])
        left >>= 1
        right >>= 1
    return found


def _split_four_sided(slots: Positions, starting: Values, rows: Positions, ranked: Ranks, least: Values) -> None:
    """Cut each rectangle between its first and last position; two passes for each level, one to either side."""
    first, last = ranked.first[rows].astype(np.int64), ranked.last[rows].astype(np.int64)
    levels = np.maximum(np.frexp((first ^ (last - 1)).astype(np.float64))[1] - 1, 0)
    for level in np.flatnonzero(np.bincount(levels)):
        cut = levels == level
        middle = ((last[cut] - 1) >> level) << level
        for forward, reach in ((True, last[cut] - middle), (False, middle - first[cut])):
            order = np.lexsort((reach, middle))
            chosen = (rows[cut][order], middle[order], reach[order])
            sweep_blocks(slots, starting, *chosen, forward, ranked.low, ranked.high, least)


@compiled
def sweep_blocks(
    slots: Positions,
    starting: Values,
    rows: Positions,
    middles: NDArray[np.int64],
    reach: NDArray[np.int64],
    forward: bool,
    low: Positions,
    high: Positions,
    least: Values,
) -> None:
    """For each cut in turn, enter points outwards from it; when the cut changes, take them out again.

    Entries come by cut, and within a cut by reach.
    """
    leaves = slots.size
    tree = np.full(2 * leaves, NONE, np.int64)
    entered, middle = 0, np.int64(-1)
    for entry in range(rows.size):
        if middles[entry] != middle:
            for step in range(entered):
                clear_leaf(tree, leaves + slots[middle + step if forward else middle - 1 - step])
            entered, middle = 0, middles[entry]
        while entered < reach[entry]:
            at = middle + entered if forward else middle - 1 - entered
            lower_leaf(tree, leaves + slots[at], starting[at])
            entered += 1
        row = rows[entry]
        least[row] = min(least[row], least_between(tree, leaves, low[row], high[row]))


@compiled
def clear_leaf(tree: Values, node: int) -> None:
    """Take everything off the path to a leaf; used only when the whole tree is to become empty."""
    while node > 0 and tree[node] != NONE:
        tree[node] = NONE
        node >>= 1
