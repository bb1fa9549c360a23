"""What merges of disjoint partitions cost: counted work, not time, on data where every row overlaps every other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import periods
from reference import sequenced as reference
from timeloom.kernels.aggregates.dip import dip_timeline, joined_periods
from timeloom.kernels.sequenced import dip, dip_full, dip_join, dip_merge, dip_outer


def columns(rows: list) -> tuple[np.ndarray, np.ndarray]:
    array = np.array(rows, np.int64).reshape(-1, 2)
    return array[:, 0].copy(), array[:, 1].copy()


def identical(rows: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(rows, np.int64), np.full(rows, 10, np.int64)


def nested(rows: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(rows), np.arange(4 * rows, 3 * rows, -1)


@pytest.mark.parametrize("overlapping", [identical, nested])
@pytest.mark.parametrize("m", [0, 7])
def test_a_join_of_all_with_all_works_in_proportion_to_its_pairs(overlapping, m):
    for rows in (20, 40, 80):
        sides = overlapping(rows)
        found = dip_join.join(*sides, *sides, m=m)
        assert found.outer.size == rows * rows
        assert found.comparisons + found.moved <= 4 * rows * rows


@pytest.mark.parametrize("overlapping", [identical, nested])
def test_an_antijoin_of_all_with_all_works_in_proportion_to_its_rows(overlapping):
    for rows in (20, 40, 80):
        found = dip_merge.antijoin(*overlapping(rows), *overlapping(rows))
        assert found.comparisons + found.moved <= 4 * rows + rows


@pytest.mark.parametrize("overlapping", [identical, nested])
def test_a_full_outer_join_of_all_with_all_works_in_proportion_to_its_pairs(overlapping):
    for rows in (20, 40, 80):
        parts, counters = dip.partition(*overlapping(rows)), dip_merge.Counters()
        inner = dip_merge.one_list(*overlapping(rows))
        found = list(dip_outer.outer_pages(parts, inner, keep_outer=True, keep_inner=True, counters=counters))
        assert sum(page.outer.size for page in found) >= rows * rows
        assert counters.work <= 4 * rows * rows + 8 * rows


@given(periods(), periods(), st.integers(1, 5), st.integers(0, 3), st.booleans())
def test_pages_hold_what_the_whole_has_however_small_they_are(left, right, most, m, pairs):
    outer = dip.number_rows(*columns(left))
    if pairs:
        pages = list(dip_join.join_pages(outer, dip.number_rows(*columns(right)), m, most=most))
    else:
        pages = list(dip_merge.merge_pages(outer.laid_out(), dip_merge.one_list(*columns(right)), m, most=most))
    assert all(0 < page.outer.size <= most for page in pages)
    found = [row for page in pages for row in zip(*(column.tolist() for column in page), strict=True)]
    if pairs:
        assert sorted(found) == reference.join(left, right)
    else:
        assert sorted((row, start, end) for row, _, start, end in found) == reference.antijoin(left, right)


@given(periods(), periods(), st.integers(2, 6), st.booleans(), st.booleans())
def test_outer_joins_in_one_merge_equal_brute_force(left, right, most, keep_outer, keep_inner):
    parts, inner, counters = dip.partition(*columns(left)), dip_merge.one_list(*columns(right)), dip_merge.Counters()
    pages = dip_outer.outer_pages(
        parts, inner, keep_outer=keep_outer, keep_inner=keep_inner, most=most, counters=counters
    )
    found = sorted(row for page in pages for row in zip(*(column.tolist() for column in page), strict=True))
    expected = list(reference.join(left, right))
    if keep_outer:
        expected += [(row, -1, start, end) for row, start, end in reference.antijoin(left, right)]
    if keep_inner:
        expected += [(-1, row, start, end) for row, start, end in reference.antijoin(right, left)]
    assert found == sorted(expected)
    lists = parts.depth + keep_inner
    assert counters.comparisons - len(found) <= lists * (len(right) + 1) + 2 * len(left) + 1


@given(periods())
def test_aggregation_keeps_lemma_9_with_its_factor(rows):
    counters = dip_merge.Counters()
    dip_timeline(*columns(rows), counters)
    assert counters.unproductive <= 2 * reference.depth(rows) * len(rows)


def test_the_bound_of_lemma_9_as_printed_is_passed():
    """Two partitions of two rows each: 4 comparisons of rows that share no time, more than (c - 2) (2n - 1) = 0."""
    counters = dip_merge.Counters()
    dip_timeline(*columns([(0, 2), (1, 3), (4, 6), (5, 7)]), counters)
    assert counters.unproductive > 0


@given(periods(), periods())
def test_the_full_outer_operator_gives_a_partition_again(left, right):
    first, second = dip.partition(*columns(left)), dip.partition(*columns(right))
    one, other = (slice(0, part.offsets[min(1, part.depth)]) for part in (first, second))
    found = dip_full.full_join(first.starts[one], first.ends[one], second.starts[other], second.ends[other])
    assert (found.starts < found.ends).all()
    assert (found.ends[:-1] <= found.starts[1:]).all()
    rows = [tuple(pair) for pair in zip(first.starts[one].tolist(), first.ends[one].tolist(), strict=True)]
    others = [tuple(pair) for pair in zip(second.starts[other].tolist(), second.ends[other].tolist(), strict=True)]
    expected = [
        *reference.join(rows, others),
        *((row, -1, start, end) for row, start, end in reference.antijoin(rows, others)),
        *((-1, row, start, end) for row, start, end in reference.antijoin(others, rows)),
    ]
    named = zip(*(column.tolist() for column in (found.outer, found.inner, found.starts, found.ends)), strict=True)
    assert sorted(named) == sorted(expected)


@pytest.mark.parametrize("overlapping", [identical, nested])
def test_aggregation_has_one_intermediate_whatever_the_depth(overlapping):
    """One room is read and one is written; the deepest partitions take no more of them."""
    for rows in (2, 20, 40):
        taken: list[tuple[int, int]] = []

        def room_of(shape: tuple[int, int], taken: list[tuple[int, int]] = taken) -> np.ndarray:
            taken.append(shape)
            return np.empty(shape, np.int64)

        parts = dip.partition(*overlapping(rows))
        assert parts.depth == rows
        joined_periods(parts, dip_merge.Counters(), room_of)
        assert taken == [(2, 2 * rows)] * 2
