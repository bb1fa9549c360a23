"""Other ways to aggregate over time: aggregation tree, timeline index, sort-aggregate with backtracking.

All give, for each maximal period without a change, its begin, how many rows hold and the sum of their values.
"""

import numpy as np

from benchmarks.peers.blocks import ROWS, Pool, touch
from benchmarks.peers.interval_joins import events
from timeloom.kernels.jit import compiled
from timeloom.kernels.order import distinct

Steps = tuple[np.ndarray, np.ndarray, np.ndarray]


def aggregation_tree(starts: np.ndarray, ends: np.ndarray, values: np.ndarray, pool: Pool | None = None) -> Steps:
    """Each endpoint splits a leaf; a row adds itself to the highest nodes that lie within it; no balance is kept."""
    points, counts, sums = _aggregation_tree(starts, ends, values, pool)
    return _steps(points, counts, sums)


@compiled
def _aggregation_tree(starts, ends, values, pool):
    room = nodes_of(starts.size)
    point, left, right = np.zeros(room, np.int64), np.full(room, -1), np.full(room, -1)
    count, total = np.zeros(room, np.int64), np.zeros(room, np.int64)
    size = 1
    for row in range(starts.size):
        size = _split(starts[row], point, left, right, size, pool)
        size = _split(ends[row], point, left, right, size, pool)
        _add(starts[row], ends[row], values[row], point, left, right, count, total, pool)
    return _leaves(point, left, right, count, total, size)


@compiled
def nodes_of(rows):
    """Room for the tree of so many rows: each endpoint splits a leaf in two."""
    return 4 * rows + 3


@compiled
def _split(at, point, left, right, size, pool):
    node = 0
    while left[node] >= 0:
        if pool is not None:
            touch(pool, node // ROWS)
        if at == point[node]:
            return size
        node = left[node] if at < point[node] else right[node]
    point[node], left[node], right[node] = at, size, size + 1
    return size + 2


@compiled
def _add(start, end, value, point, left, right, count, total, pool):
    """Both endpoints are split points: below the node where their ways part, every other subtree lies within."""
    node = 0
    while point[node] < start or point[node] > end:
        node = right[node] if point[node] < start else left[node]
    top = node
    if point[top] != start:
        node = left[top]
        while point[node] != start:
            if point[node] < start:
                node = right[node]
            else:
                _credit(right[node], value, count, total, pool)
                node = left[node]
        _credit(right[node], value, count, total, pool)
    if point[top] != end:
        node = right[top]
        while point[node] != end:
            if point[node] > end:
                node = left[node]
            else:
                _credit(left[node], value, count, total, pool)
                node = right[node]
        _credit(left[node], value, count, total, pool)


@compiled
def _credit(node, value, count, total, pool):
    """Add a row to a node; on disk its block is used, those on the way to it have been used by the split."""
    if pool is not None:
        touch(pool, node // ROWS)
    count[node] += 1
    total[node] += value


@compiled
def _leaves(point, left, right, count, total, size):
    """All leaves from left to right, with what stands above them added; each but the first begins at a split point."""
    points, counts, sums = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    node, found = np.empty(size, np.int64), 0
    n, t, begin = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    node[0], n[0], t[0], begin[0], depth = 0, 0, 0, np.iinfo(np.int64).min, 1
    while depth:
        depth -= 1
        at, above, sum_above, low = (
            node[depth],
            n[depth] + count[node[depth]],
            t[depth] + total[node[depth]],
            begin[depth],
        )
        if left[at] < 0:
            points[found], counts[found], sums[found] = low, above, sum_above
            found += 1
            continue
        node[depth], n[depth], t[depth], begin[depth] = right[at], above, sum_above, point[at]
        node[depth + 1], n[depth + 1], t[depth + 1], begin[depth + 1] = left[at], above, sum_above, low
        depth += 2
    return points[:found], counts[:found], sums[:found]


def timeline_aggregate(starts: np.ndarray, ends: np.ndarray, values: np.ndarray, pool: Pool | None = None) -> Steps:
    """One pass over the sorted events; the value of each is looked up in the table by its row number."""
    times, rows, begins = events(starts, ends)
    return _steps(*_timeline_aggregate(times, rows, begins, values, pool))


@compiled
def _timeline_aggregate(times, rows, begins, values, pool):
    points, counts, sums = (
        np.empty(times.size, np.int64),
        np.empty(times.size, np.int64),
        np.empty(times.size, np.int64),
    )
    found, count, total = 0, 0, 0
    for at in range(times.size):
        if pool is not None:
            touch(pool, rows[at] // ROWS)
        if begins[at]:
            count, total = count + 1, total + values[rows[at]]
        else:
            count, total = count - 1, total - values[rows[at]]
        if at + 1 == times.size or times[at + 1] != times[at]:
            points[found], counts[found], sums[found] = times[at], count, total
            found += 1
    return points[:found], counts[:found], sums[:found]


def sort_aggregate(starts: np.ndarray, ends: np.ndarray, values: np.ndarray, pool: Pool | None = None) -> Steps:
    """Rows by start; for each period all rows are fetched again from the first that still holds."""
    order = np.argsort(starts, kind="stable")
    points = distinct(np.concatenate([starts, ends]))
    return _steps(points, *_sort_aggregate(starts[order], ends[order], values[order], points, pool))


@compiled
def _sort_aggregate(starts, ends, values, points, pool):
    counts, sums, mark = np.zeros(points.size, np.int64), np.zeros(points.size, np.int64), 0
    for at in range(points.size):
        row, first = mark, -1
        while row < starts.size and starts[row] <= points[at]:
            if pool is not None and (row == mark or row % ROWS == 0):
                touch(pool, row // ROWS)
            if ends[row] > points[at]:
                counts[at] += 1
                sums[at] += values[row]
                if first < 0:
                    first = row
            row += 1
        mark = first if first >= 0 else row
    return counts, sums


def _steps(points: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> Steps:
    """Periods in which no row holds are left out."""
    kept = counts > 0
    return points[kept], counts[kept], sums[kept]
