"""Columns nearly in order are sorted as any others."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timeloom.kernels import order
from timeloom.kernels.nearly_sorted import insert, resort

COLUMNS = st.one_of(st.lists(st.integers(0, 12), max_size=60), st.lists(st.integers(-(2**63), 2**63 - 1), max_size=60))


@given(COLUMNS, st.integers(0, 3))
def test_a_column_nearly_in_order_is_sorted_as_any_other(rows, moved):
    column = np.array(sorted(rows), np.int64)
    column[:moved], ids = column[:moved][::-1].copy(), np.arange(len(rows), dtype=np.int32)[::-1].copy()
    for given_rows in (column, np.array(rows, np.int64)):
        kept = given_rows.copy()
        found, plain = resort(given_rows, ids, 1), order.sort(given_rows)
        assert found.values.tolist() == plain.values.tolist()
        assert found.ids.tolist() == ids[plain.ids].tolist()
        assert found.offsets.tolist() == plain.offsets.tolist()
        assert (given_rows == kept).all()


def test_inserting_gives_up_where_too_many_rows_move():
    values, ids = np.arange(200)[::-1].copy(), np.arange(200, dtype=np.int32)
    assert not insert(values, ids)
    assert sorted(values.tolist()) == list(range(200))
    assert insert(np.array([1, 0, 3, 2]), np.arange(4, dtype=np.int32))
