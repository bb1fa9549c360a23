"""Counts, sums and minima over rectangles against brute force."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.counting import in_rectangle
from timeloom.kernels.counts.dominance import count_ranked, sum_ranked, weights_of
from timeloom.kernels.counts.dominance_ranks import Points, Rectangles, end_slots, rank_rectangles
from timeloom.kernels.order import sort
from timeloom.model.ticks import MAX_TICK as MAX
from timeloom.model.ticks import MIN_TICK as MIN

ticks = st.integers(0, 12)
periods = st.tuples(ticks, ticks).filter(lambda p: p[0] < p[1]) | st.tuples(ticks, st.just(int(MAX)))
bound = ticks | st.sampled_from([int(MIN), int(MAX), int(MAX) - 1, int(MIN) + 1])
rectangle = st.tuples(bound, bound, bound, bound)


def points_of(starts, ends):
    return Points(sort(starts), sort(ends))


def count_rectangles(points, rectangles):
    return count_ranked(points, end_slots(points), rank_rectangles(points, rectangles))


def sum_rectangles(points, rectangles, weights):
    return sum_ranked(points, end_slots(points), rank_rectangles(points, rectangles), weights_of(points, weights))


def columns(rows, width):
    return tuple(np.array(column, np.int64) for column in zip(*rows, strict=True)) or (np.zeros(0, np.int64),) * width


@settings(max_examples=300, deadline=None)
@given(st.lists(periods, max_size=20), st.lists(rectangle, max_size=12))
def test_counts_any_rectangle(points, rectangles):
    counted = count_rectangles(points_of(*columns(points, 2)), Rectangles(*columns(rectangles, 4)))
    assert counted.tolist() == [sum(in_rectangle(s, bounds) for s in points) for bounds in rectangles]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(periods, st.integers(-5, 5)), max_size=20), st.lists(rectangle, max_size=12))
def test_sums_any_rectangle(weighted, rectangles):
    points = [s for s, _ in weighted]
    weights = np.array([w for _, w in weighted], np.int64)
    totals = sum_rectangles(points_of(*columns(points, 2)), Rectangles(*columns(rectangles, 4)), weights)
    assert totals.tolist() == [sum(w for s, w in weighted if in_rectangle(s, bounds)) for bounds in rectangles]


def test_counts_many_points_across_words():
    rng = np.random.default_rng(4)
    starts = rng.integers(0, 3000, 5000)
    ends = starts + rng.integers(1, 900, 5000)
    bounds = [np.sort(rng.integers(-10, 4000, (200, 2)), axis=1) for _ in "se"]
    rectangles = Rectangles(bounds[0][:, 0], bounds[0][:, 1], bounds[1][:, 0], bounds[1][:, 1])
    expected = [
        int(((starts >= a) & (starts <= b) & (ends >= c) & (ends <= d)).sum())
        for a, b, c, d in zip(*rectangles, strict=True)
    ]
    assert count_rectangles(points_of(starts, ends), rectangles).tolist() == expected
