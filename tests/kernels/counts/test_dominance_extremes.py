"""The least value in rectangles of every shape against brute force."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.counting import in_rectangle
from timeloom.kernels.counts.dominance_extremes import NONE, least_ranked
from timeloom.kernels.counts.dominance_ranks import Points, Rectangles, end_slots, rank_rectangles
from timeloom.kernels.order import sort
from timeloom.model.ticks import MAX_TICK as MAX
from timeloom.model.ticks import MIN_TICK as MIN

ticks = st.integers(0, 12)
periods = st.tuples(ticks, ticks).filter(lambda p: p[0] < p[1]) | st.tuples(ticks, st.just(int(MAX)))
bound = ticks | st.sampled_from([int(MIN), int(MAX)])


def points_of(starts, ends):
    return Points(sort(starts), sort(ends))


def least_in_rectangles(points, rectangles, values):
    return least_ranked(points, end_slots(points), rank_rectangles(points, rectangles), values)


def columns(rows, width):
    return tuple(np.array(column, np.int64) for column in zip(*rows, strict=True)) or (np.zeros(0, np.int64),) * width


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(periods, st.integers(-9, 9)), max_size=30),
    st.lists(st.tuples(bound, bound, bound, bound), max_size=12),
)
def test_least_value_of_any_rectangle(valued, rectangles):
    points = points_of(*columns([s for s, _ in valued], 2))
    found = least_in_rectangles(points, Rectangles(*columns(rectangles, 4)), np.array([v for _, v in valued], np.int64))
    expected = [min((v for s, v in valued if in_rectangle(s, bounds)), default=int(NONE)) for bounds in rectangles]
    assert found.tolist() == expected


def test_four_sided_rectangles_of_every_width():
    rng = np.random.default_rng(9)
    starts = rng.integers(0, 1000, 700)
    ends = starts + rng.integers(1, 1000, 700)
    values = rng.integers(0, 500, 700)
    low_start = rng.integers(0, 1000, 400)
    high_start = low_start + rng.integers(0, 2, 400) * rng.integers(0, 1000, 400)
    low_end = low_start + rng.integers(0, 900, 400)
    high_end = low_end + rng.integers(0, 900, 400)
    found = least_in_rectangles(points_of(starts, ends), Rectangles(low_start, high_start, low_end, high_end), values)
    for row, (a, b, c, d) in enumerate(zip(low_start, high_start, low_end, high_end, strict=True)):
        inside = values[(starts >= a) & (starts <= b) & (ends >= c) & (ends <= d)]
        assert found[row] == inside.min(initial=NONE)
