"""Joins of the partitions of both sides: however little room there is at a time, each pair is found once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import periods
from timeloom.kernels.sequenced.dip import number_rows
from timeloom.kernels.sequenced.dip_join import (
    COMPARISONS,
    INNER,
    OUTER,
    Current,
    begin,
    count_joined,
    count_met,
    groups,
    join_on,
    write_met,
)
from timeloom.model.ticks import FOREVER, MIN_TICK


def columns(rows):
    array = np.array(rows, np.int64).reshape(-1, 2)
    return array[:, 0].copy(), array[:, 1].copy()


def stepwise(outer, inner, room):
    """All results of a join that writes into so much room at a time, and what it compared."""
    (state, fronts), found = begin(outer, inner), []
    while state[OUTER] < outer.starts.size or state[INNER] < inner.starts.size:
        page = (*np.empty((2, room), np.int32), *np.empty((2, room), np.int64))
        written = join_on(outer, inner, fronts[0], fronts[1], state, *page)
        found += zip(*(column[:written].tolist() for column in page), strict=True)
    return found, int(state[COMPARISONS])


def shared(left, right):
    return [
        (i, j, max(a, c), min(b, d))
        for i, (a, b) in enumerate(left)
        for j, (c, d) in enumerate(right)
        if max(a, c) < min(b, d)
    ]


@given(periods(), periods(), st.integers(1, 6))
def test_joins_find_each_pair_once_in_pages_of_any_size(left, right, room):
    outer, inner = number_rows(*columns(left)), number_rows(*columns(right))
    found, comparisons = stepwise(outer, inner, room)
    assert sorted(found) == sorted(shared(left, right))
    assert comparisons == stepwise(outer, inner, 1000)[1]


@given(periods(), periods(), st.integers(0, 3))
def test_what_is_counted_is_what_would_be_written(left, right, m):
    outer, inner = number_rows(*columns(left)), number_rows(*columns(right))
    assert count_joined(outer, inner, m).results == len(shared(left, right))


@given(periods(), st.integers(1, 4))
def test_groups_have_all_rows_in_order_and_so_many_partitions(rows, m):
    side = number_rows(*columns(rows))
    found = list(groups(side, m))
    assert sorted(row for group in found for row in group.rows.tolist()) == list(range(len(rows)))
    assert sum(group.depth for group in found) == side.depth
    for group in found:
        assert group.depth <= m
        assert (np.diff(group.starts) >= 0).all()
        assert not group.number.size or set(group.number.tolist()) == set(range(group.depth))


def test_rows_from_the_first_tick_and_for_ever_are_like_any_other():
    outer, inner = number_rows(*columns([(MIN_TICK, FOREVER)])), number_rows(*columns([(MIN_TICK, 3), (3, FOREVER)]))
    found, _ = stepwise(outer, inner, 1)
    assert [row[2:] for row in found] == [(MIN_TICK, 3), (3, FOREVER)]


@pytest.mark.parametrize(("lane", "room", "written", "following"), [(0, 9, [7, 9], 3), (0, 1, [7], 1), (1, 9, [9], 3)])
def test_a_row_that_begins_is_written_with_those_that_have_not_ended(lane, room, written, following):
    front = Current(np.array([6, 4, 8]), np.array([7, 8, 9], np.int32))
    page = (*np.empty((2, room), np.int32), *np.empty((2, room), np.int64))
    size, next_lane = write_met(front, 3, lane, 4, 7, 5, 0, *page)
    assert (page[0][:size].tolist(), next_lane) == (written, following)
    assert (page[1][:size] == 5).all()
    assert page[3][:size].tolist() == [min(7, {7: 6, 9: 8}[row]) for row in written]
    assert count_met(front.ends, 3, 4) == 2
