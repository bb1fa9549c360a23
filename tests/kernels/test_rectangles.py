"""Ranges of points from bounds on differences, against Python integers, at the ends of the axis, too."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeloom.kernels.rectangles import overflows, point_ranges, shifted
from timeloom.model.ticks import MAX_TICK as MAX
from timeloom.model.ticks import MIN_TICK as MIN

NEAR = st.integers(-6, 6)
FAR = st.one_of(NEAR, st.integers(MIN, MIN + 6), st.integers(MAX - 6, MAX))


@given(FAR, FAR)
def test_sums_stay_on_the_axis(value, by):
    unbounded = by in (MIN, MAX)
    assert shifted(value, by) == (by if unbounded else min(max(value + by, MIN), MAX))
    assert overflows(value, by) == (0 if unbounded else (value + by > MAX) - (value + by < MIN))


def expected(start, end, limits, tick):
    """Whether a point is in relation with a row; MIN below and MAX above mean no bound."""
    start_lo, start_hi, end_lo, end_hi = limits
    return all(
        (low == MIN or tick - at >= low) and (high == MAX or tick - at <= high)
        for at, low, high in ((start, start_lo, start_hi), (end, end_lo, end_hi))
    )


LOW, HIGH = st.one_of(st.just(MIN), NEAR), st.one_of(st.just(MAX), NEAR)


@pytest.mark.parametrize(("ticks", "near"), [(NEAR, True), (NEAR, False), (FAR, False)])
@given(data=st.data(), limits=st.tuples(LOW, HIGH, LOW, HIGH))
def test_a_point_is_in_the_range_if_all_bounds_hold(ticks, near, data, limits):
    rows = data.draw(st.lists(st.tuples(ticks, ticks), min_size=1, max_size=4))
    starts, ends = np.array(rows, np.int64).T.copy()
    low, high = np.empty_like(starts), np.empty_like(starts)
    point_ranges(starts, ends, limits, near, low, high)
    points = {*range(-13, 14), *range(MIN, MIN + 14), *range(MAX - 13, MAX + 1)}
    for row, (start, end) in enumerate(rows):
        found = {tick for tick in points if low[row] <= tick <= high[row]}
        assert found == {tick for tick in points if expected(start, end, limits, tick)}
