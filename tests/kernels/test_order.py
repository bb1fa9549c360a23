import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeloom.kernels import order

EXTREMES = st.sampled_from([-(2**63), -(2**63) + 1, -1, 0, 1, 2**62, 2**63 - 2, 2**63 - 1])
COLUMNS = st.one_of(
    st.lists(st.integers(0, 12), max_size=60),
    st.lists(EXTREMES, max_size=20),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=60),
)


@given(COLUMNS)
def test_sorted_with_equal_values_in_row_order(rows):
    column = np.array(rows, np.int64)
    found = order.sort(column)
    assert found.ids.tolist() == sorted(range(len(rows)), key=lambda row: rows[row])
    assert found.values.tolist() == sorted(rows)


@given(COLUMNS, st.lists(st.one_of(EXTREMES, st.integers(-2, 14)), min_size=1, max_size=20))
def test_ranks_count_the_values_below(rows, wanted):
    found = order.sort(np.array(rows, np.int64))
    below = order.ranks(found.values, found.offsets, found.base, found.shift, np.array(wanted, np.int64))
    assert below.tolist() == [sum(value < limit for value in rows) for limit in wanted]


@given(COLUMNS, st.integers(0, 4))
def test_two_rounds_scatter_as_one_does(rows, fine):
    column = np.array(rows, np.int64)
    base, shift, buckets = order._grid(column)
    once, twice = order.scatter(column, base, shift, buckets), order.scatter_twice(column, base, shift, buckets, fine)
    assert [part.tolist() for part in twice] == [part.tolist() for part in once]


@given(COLUMNS)
def test_a_column_in_order_is_kept_and_gets_the_same_buckets(rows):
    column = np.sort(np.array(rows, np.int64))
    base, shift, buckets = order._grid(column)
    assert order.in_order(column)
    assert order.bucket_offsets(column, base, shift, buckets).tolist() == (
        order.scatter(column, base, shift, buckets)[2].tolist()
    )


@pytest.mark.parametrize("outliers", [0, 3])
def test_outliers_do_not_crowd_the_rest_into_one_bucket(outliers):
    column = np.random.default_rng(7).integers(0, 10**6, 5000)
    column[:outliers] = 2**63 - 1
    found = order.sort(column)
    assert np.diff(found.offsets).max() < 64
