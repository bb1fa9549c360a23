"""Rectangle reporting against nested loops: tiny and tie-rich, and large enough to use every level."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timeloom.kernels.joins.range_tree import SCANNED, build, count, report, windows
from timeloom.kernels.order import sort
from timeloom.model.ticks import FOREVER, MIN_TICK

ticks = st.integers(0, 12) | st.sampled_from([MIN_TICK, FOREVER])


def reported(points: np.ndarray, rectangles: np.ndarray, parts: int = 1) -> list[list[int]]:
    """The rows in each rectangle, as the tree reports them, with the queries cut into parts."""
    by_x, by_y = sort(points[:, 0].copy()), sort(points[:, 1].copy())
    tree = build(by_x, by_y)
    columns = [rectangles[:, column].copy() for column in range(4)]
    queries = windows(by_x, by_y, (columns[0], columns[1]), (columns[2], columns[3]))
    cuts = np.linspace(0, len(rectangles), parts + 1).astype(int).tolist()
    counts = np.full(len(rectangles), -1, np.int64)
    for first, last in pairwise(cuts):
        count(tree, queries, first, last, counts)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    out_queries, out_rows = np.full(offsets[-1], -1, np.int32), np.full(offsets[-1], -1, np.int32)
    for first, last in pairwise(cuts):
        report(tree, queries, first, last, offsets, out_queries, out_rows)
    assert out_queries.tolist() == np.repeat(np.arange(len(rectangles)), counts).tolist()
    return [sorted(out_rows[a:b].tolist()) for a, b in pairwise(offsets)]


def inside(points: np.ndarray, rectangles: np.ndarray) -> list[list[int]]:
    return [
        np.flatnonzero((points[:, 0] >= a) & (points[:, 0] <= b) & (points[:, 1] >= c) & (points[:, 1] <= d)).tolist()
        for a, b, c, d in rectangles
    ]


@settings(max_examples=120, deadline=None)
@given(
    points=st.lists(st.tuples(ticks, ticks), max_size=12),
    rectangles=st.lists(st.tuples(ticks, ticks, ticks, ticks), max_size=6),
    parts=st.integers(1, 3),
)
def test_small(points: list, rectangles: list, parts: int):
    """Reversed bounds are empty rectangles."""
    cloud = np.array(points, np.int64).reshape(-1, 2)
    queries = np.array(rectangles, np.int64).reshape(-1, 4)
    assert reported(cloud, queries, parts) == inside(cloud, queries)


@pytest.mark.parametrize("size", [SCANNED, 2 * SCANNED, 2 * SCANNED + 1, 1023, 1024, 1500])
@pytest.mark.parametrize("domain", [5, 60, 10**6])
def test_every_level(size: int, domain: int):
    random = np.random.default_rng(size * domain)
    cloud = random.integers(0, domain, (size, 2))
    corners = np.sort(random.integers(-1, domain + 1, (150, 2, 2)), axis=2).reshape(150, 4)
    assert reported(cloud, corners, parts=2) == inside(cloud, corners)


@pytest.mark.parametrize("open_sides", [(0,), (1,), (2,), (3,), (0, 2), (1, 3), (0, 1), (2, 3), (0, 1, 2, 3)])
def test_open_sides(open_sides: tuple[int, ...]):
    random = np.random.default_rng(7)
    cloud = random.integers(0, 400, (900, 2))
    corners = np.sort(random.integers(0, 400, (60, 2, 2)), axis=2).reshape(60, 4)
    for side in open_sides:
        corners[:, side] = FOREVER if side % 2 else MIN_TICK
    assert reported(cloud, corners) == inside(cloud, corners)


def test_no_points():
    assert reported(np.empty((0, 2), np.int64), np.array([[0, 1, 0, 1]])) == [[]]
