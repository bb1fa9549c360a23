import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeloom.kernels import order
from tree import ROOT

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


@given(COLUMNS, st.integers(0, 4), st.integers(1, 3))
def test_two_rounds_by_several_threads_sort_as_one_does(rows, fine, threads):
    column = np.array(rows, np.int64)
    beside = np.arange(len(rows))[::-1].copy()
    base, shift, buckets = order.grid(column)
    once, offsets = order.scatter(column, beside, base, shift, buckets)
    order.sort_long(*once, 0, offsets[1:])
    order.settle(*once, 0, column.size)
    twice, other_offsets = order.scatter_twice(column, beside, base, shift, buckets, fine, threads)
    assert [part.tolist() for part in twice] == [part.tolist() for part in once]
    assert other_offsets.tolist() == offsets.tolist()
    assert (twice.beside == beside[twice.ids]).all()


@given(st.lists(st.lists(st.integers(0, 9), max_size=order.LONG), max_size=5), st.booleans())
def test_rows_are_settled_within_their_buckets(buckets, carry):
    """Values of a later bucket are all greater; equal ones keep their order, and what is beside them goes along."""
    values = np.array([10 * number + value for number, bucket in enumerate(buckets) for value in bucket], np.int64)
    ids, beside = np.arange(values.size, dtype=np.int32), values * 7 if carry else np.zeros(0, np.int64)
    expected = np.argsort(values, kind="stable")
    order.settle(values, ids, beside, 0, values.size)
    assert ids.tolist() == expected.tolist()
    assert values.tolist() == sorted(values.tolist())
    assert not carry or beside.tolist() == (values * 7).tolist()


@pytest.mark.parametrize("domain", [1000, 10**6, 2**62])
def test_many_rows_and_what_is_beside_them(domain):
    column = np.random.default_rng(3).integers(-domain, domain, 3 * order.SMALL // 2)
    found = order.sort(column, 2, column * 2)
    expected = np.argsort(column, kind="stable")
    assert (found.ids == expected).all()
    assert (found.values == column[expected]).all()
    assert (found.beside == 2 * column[expected]).all()


@given(COLUMNS)
def test_a_column_in_order_is_kept_and_gets_the_same_buckets(rows):
    column = np.sort(np.array(rows, np.int64))
    base, shift, buckets = order.grid(column)
    assert order.in_order(column)
    assert order.bucket_offsets(column, base, shift, buckets).tolist() == (
        order.scatter(column, order.NOTHING, base, shift, buckets)[1].tolist()
    )


@pytest.mark.parametrize("outliers", [0, 3])
def test_outliers_do_not_crowd_the_rest_into_one_bucket(outliers):
    column = np.random.default_rng(7).integers(0, 10**6, 5000)
    column[:outliers] = 2**63 - 1
    found = order.sort(column)
    assert np.diff(found.offsets).max() < 64


@pytest.mark.parametrize("size", [0, 1, 1000, 300_000, 600_000, 1_100_000])
def test_room_is_as_long_as_was_asked_for(size):
    for kind in (np.int32, np.int64):
        found = order.room(size, kind)
        assert found.size == size
        assert found.dtype == np.dtype(kind)


def test_all_columns_are_alike_to_kernels_however_they_came():
    """What may be written and what lies in stretches is part of a type that Numba compiles for."""
    given = np.array([3, 1, 2, 5]), np.array([1, 2, 3, 5]), np.array([1, 2, 3, 4, 5, 6])[::2]
    locked = given[1].copy()
    locked.flags.writeable = False
    kinds = {
        (part.flags.writeable, part.flags.c_contiguous)
        for column in (*given, locked)
        for found in (order.sort(column), order.sort(column, beside=column))
        for part in (found.values, found.beside)
    }
    assert kinds == {(False, True)}
    assert all(column.flags.writeable for column in given)


@given(COLUMNS)
def test_distinct_values_ascend(rows):
    assert order.distinct(np.array(rows, np.int64)).tolist() == sorted(set(rows))


def test_nothing_asks_numpy_for_distinct_values_by_hashing():
    """Its ``unique`` hashes whole numbers unless it is asked for more than them, and takes a hundred times as long."""
    slow = re.compile(r"np\.(unique|union1d|intersect1d)\((?!.*return_)|np\.setdiff1d\((?!.*assume_unique)")
    files = [file for folder in ("src", "benchmarks") for file in (ROOT / folder).rglob("*.py")]
    found = [f"{file}: {line.strip()}" for file in files for line in file.read_text().splitlines() if slow.search(line)]
    assert not found, "\n".join(["use `timeloom.kernels.order.distinct`:", *found])
