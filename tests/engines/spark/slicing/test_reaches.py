"""Right rows reach every slice from which they may be found, whatever part of the rows is known."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timeloom.engines.spark.slicing.reaches import ALL_ROWS, PointRange, Reach, following
from timeloom.model.ticks import MAX_TICK, MIN_TICK

ticks = st.integers(0, 9) | st.sampled_from([MIN_TICK, MIN_TICK + 1, MAX_TICK])
rows = st.lists(st.tuples(ticks, st.integers(0, 1)), max_size=9)


def columns(drawn):
    return (np.array([row[at] for row in drawn], np.int64) for at in (0, 1))


@given(rows, st.integers(1, 3))
def test_the_kth_row_at_a_later_tick(drawn, k):
    at, keys = columns(drawn)
    later = [sorted(other for other, its in drawn if its == key and other > tick) for tick, key in drawn]
    assert following(at, keys, k).tolist() == [found[k - 1] if len(found) >= k else MAX_TICK for found in later]


@given(rows, st.integers(1, 3), st.integers(0, 4), st.integers(0, 9))
def test_rows_are_present_wherever_they_are_among_the_next(drawn, k, span, asked):
    at, keys = columns(drawn)
    low, high = Reach(k, k, span, span).of(at, at, keys)
    for (tick, key), first, last in zip(drawn, low, high, strict=True):
        between = [other for other, its in drawn if its == key and (tick < other <= asked or asked <= other < tick)]
        if len(between) < k and abs(asked - tick) <= span:
            assert first <= asked <= last


def test_rows_that_all_must_find_reach_everywhere_and_the_others_stay():
    at = np.array([5, 7])
    assert [side.tolist() for side in Reach(earlier=ALL_ROWS).of(at, at, None)] == [[MIN_TICK, MIN_TICK], [5, 7]]
    starts, ends = np.array([1]), np.array([4])
    assert [side.tolist() for side in PointRange(from_end=False, to_end=True).of(starts, ends)] == [[1], [4]]
