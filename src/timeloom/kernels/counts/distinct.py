"""Different values among points in rectangles that are open on one side; no point is listed.

The points come in the order of the open side, and a rectangle asks when all of its points have come and none beyond its
fourth side. Of the points of one value that are there, each knows the one before it by x. A value is in the range
``[low, high)`` of x as often as it has a point there whose predecessor lies before ``low``: once, if at all. A new
point takes the place before its successor, so each point makes three changes, and a rectangle is a sum of changes that
came in time, lie left of ``high``, and have a predecessor left of ``low``. Changes and questions are merged by x, level
by level, from the order of time; within a merge a tree of sums tells what lies below a predecessor.
"""

from typing import NamedTuple

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks


class Asked(NamedTuple):
    """For each rectangle: its range of positions by x, and how many points, in the order of arrival, it sees."""

    low: Ticks
    high: Ticks
    seen: Ticks


def distinct_in_ranges(codes: Ticks, arrival: Positions, asked: Asked) -> Ticks:
    """Count different codes in each rectangle; ``codes`` are by position, ``arrival`` are positions as they come."""
    changes = changes_of(codes, arrival, int(codes.max(initial=-1)) + 1)
    rows = asked.low.size
    # A question comes after the points that it sees and before the next one.
    times = np.concatenate([2 * changes[0] + 1, 2 * asked.seen, 2 * asked.seen])
    x = np.concatenate([changes[1], asked.high, asked.low])
    below = np.concatenate([changes[2], asked.low, asked.low])
    weights = np.concatenate([changes[3], np.zeros(2 * rows, np.int64)])
    order = np.argsort(times, kind="stable")
    sums = np.zeros(times.size, np.int64)
    add_up(order, x, below, weights, changes[0].size, codes.size + 2, sums)
    found = sums[changes[0].size :]
    return found[:rows] - found[rows:]


@compiled
def changes_of(codes: Ticks, arrival: Positions, number: int) -> tuple[Ticks, Ticks, Ticks, Ticks]:
    """The changes of all points: when, at which position, after which predecessor (from 1; 0 is none), and by how much.

    Neighbours at arrival are found by taking the points out again, the last one first.
    """
    size = codes.size
    before, after, last = np.full(size, -1), np.full(size, -1), np.full(number, -1)
    for position in range(size):
        before[position] = last[codes[position]]
        if before[position] >= 0:
            after[before[position]] = position
        last[codes[position]] = position
    for turn in range(size - 1, -1, -1):
        position = arrival[turn]
        if before[position] >= 0:
            after[before[position]] = after[position]
        if after[position] >= 0:
            before[after[position]] = before[position]
    times, x = np.empty(3 * size, np.int64), np.empty(3 * size, np.int64)
    below, weights = np.empty(3 * size, np.int64), np.empty(3 * size, np.int64)
    made = 0
    for turn in range(size):
        position = arrival[turn]
        one, other = before[position], after[position]
        times[made], x[made], below[made], weights[made] = turn, position, one + 1, 1
        made += 1
        if other >= 0:
            times[made], x[made], below[made], weights[made] = turn, other, one + 1, -1
            times[made + 1], x[made + 1], below[made + 1], weights[made + 1] = turn, other, position + 1, 1
            made += 2
    return times[:made].copy(), x[:made].copy(), below[:made].copy(), weights[:made].copy()


@compiled
def add_up(order: Ticks, x: Ticks, below: Ticks, weights: Ticks, changes: int, size: int, sums: Ticks) -> None:
    """For each question the sum of earlier changes with a smaller x and a predecessor before its low position.

    ``order`` is by time; numbers below ``changes`` are changes. Blocks that are in order of x are merged pairwise:
    changes of the first go into the tree before questions of the second with a larger x read it.
    """
    items, merged, tree = order.copy(), np.empty_like(order), np.zeros(size + 1, np.int64)
    width = 1
    while width < items.size:
        for begin in range(0, items.size, 2 * width):
            middle, stop = min(begin + width, items.size), min(begin + 2 * width, items.size)
            i, j, out = begin, middle, begin
            while i < middle or j < stop:
                if j == stop or (i < middle and x[items[i]] < x[items[j]]):
                    item = items[i]
                    if item < changes:
                        at = below[item] + 1
                        while at <= size:
                            tree[at] += weights[item]
                            at += at & -at
                    i += 1
                else:
                    item = items[j]
                    if item >= changes:
                        at = below[item] + 1
                        while at > 0:
                            sums[item] += tree[at]
                            at -= at & -at
                    j += 1
                merged[out] = item
                out += 1
            for position in range(begin, middle):
                item = items[position]
                if item < changes:
                    at = below[item] + 1
                    while at <= size:
                        tree[at] = 0
                        at += at & -at
        items, merged = merged, items
        width *= 2
