"""Runs of steps: each row is inside for one contiguous run, wherever the bounds move."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reference.bitemporal import MEANINGS, is_inside, window_sequence
from timeloom.kernels.bitemporal import windows as bisw
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK

CODES = {"snapshot": bisw.SNAPSHOT, "visible": bisw.VISIBLE, "began": bisw.BEGAN}
TIMES = st.integers(0, 12)
PACES = st.integers(-2, 2)
AXES = st.tuples(st.integers(-2, 12), st.integers(10, 14), PACES, PACES)
ROWS = st.tuples(TIMES, st.integers(1, 6), TIMES, st.integers(1, 6))


@given(
    st.lists(ROWS, max_size=8),
    AXES,
    AXES,
    st.sampled_from([(1, 0), (0, 1), (1, 1), (2, 3)]),
    st.sampled_from(MEANINGS),
)
@settings(max_examples=300, deadline=None)
def test_runs_equal_brute_force(rows, sys, app, ratio, meaning):
    rows = [(a, a + length, s, s + life) for a, length, s, life in rows]
    track = {name: bisw.Track(s, s + r, first, last) for name, (s, r, last, first) in (("sys", sys), ("app", app))}
    steps = bisw.windows(track["sys"], track["app"], ratio, 5)
    assume((steps.sys_first <= steps.sys_last).all() and (steps.app_first <= steps.app_last).all())
    each = (meaning, meaning) if isinstance(meaning, str) else meaning
    bounds = bisw.bounds_of(steps, (CODES[each[0]], CODES[each[1]]))
    columns = [np.array([row[k] for row in rows], np.int64) for k in (2, 3, 0, 1)]
    for axis in (0, 1):
        if each[axis] == "began":
            columns[2 * axis + 1] = columns[2 * axis]
    enter, leave = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    bisw.runs(bounds, bisw.rising(bounds), *columns, enter, leave, 0, len(rows))
    sequence = window_sequence(sys, app, ratio, 5)
    for number, row in enumerate(rows):
        expected = [k for k, window in enumerate(sequence) if is_inside(row, *window, meaning)]
        assert list(range(enter[number], leave[number])) == expected
    some = np.arange(len(rows))[::2]
    again = bisw.runs_of(some, bounds, bisw.rising(bounds), *columns)
    np.testing.assert_array_equal(again[0], enter[::2])
    np.testing.assert_array_equal(again[1], leave[::2])


def test_positions_saturate():
    slides = np.arange(4)
    assert bisw.positions(MAX_TICK - 5, 3, slides).tolist() == [MAX_TICK - 5, MAX_TICK - 2, MAX_TICK, MAX_TICK]
    assert bisw.positions(MIN_TICK + 1, -(2**62), slides).tolist() == [MIN_TICK + 1, MIN_TICK, MIN_TICK, MIN_TICK]
    assert bisw.before(np.array([MIN_TICK, 0])).tolist() == [MIN_TICK, -1]


def test_upper_bounds_stay_below_forever():
    far = bisw.Track(MAX_TICK - 1, MAX_TICK, 1, 1)
    bounds = bisw.bounds_of(bisw.windows(far, far, (1, 1), 4), bisw.SNAPSHOT)
    assert bounds.max() == FOREVER - 1


@pytest.mark.parametrize(("ratio", "sys"), [((1, 2), [0, 1, 1, 1, 2, 2, 2]), ((2, 1), [0, 1, 2, 2, 3, 4, 4])])
def test_slides_take_turns(ratio, sys):
    sys_slides, app_slides = bisw.slide_counts(ratio, 6)
    assert sys_slides.tolist() == sys
    assert (sys_slides + app_slides).tolist() == list(range(7))


def test_rows_are_grouped_by_step():
    rows, offsets = bisw.by_step(np.array([7, 8, 9, 6]), np.array([2, 0, 1, 2]), 1, 2)
    assert (rows.tolist(), offsets.tolist()) == ([9, 7, 6], [0, 1, 3])
