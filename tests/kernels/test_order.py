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


@pytest.mark.parametrize("outliers", [0, 3])
def test_outliers_do_not_crowd_the_rest_into_one_bucket(outliers):
    column = np.random.default_rng(7).integers(0, 10**6, 5000)
    column[:outliers] = 2**63 - 1
    found = order.sort(column)
    assert np.diff(found.offsets).max() < 64
