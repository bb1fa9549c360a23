"""The steps of DIPMerge by themselves: however little room there is at a time, each result is found once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import periods
from timeloom.kernels.sequenced.dip import partition
from timeloom.kernels.sequenced.dip_merge import one_list
from timeloom.kernels.sequenced.dip_steps import COMPARISONS, GROUP, Lanes, drop_ended, join_on, leads_on
from timeloom.model.ticks import FOREVER, MIN_TICK


def columns(rows):
    array = np.array(rows, np.int64).reshape(-1, 2)
    return array[:, 0].copy(), array[:, 1].copy()


def stepwise(on, outer, inner, m, room):
    """All results of a merge that writes into so much room at a time, and what it compared."""
    state, lanes, found = np.zeros(9, np.int64), Lanes.room(m), []
    while state[GROUP] < outer.depth and inner.depth:
        page = (*np.empty((2, room), np.int32), *np.empty((2, room), np.int64))
        written = on(outer, inner, state, lanes, *page)
        found += zip(*(column[:written].tolist() for column in page), strict=True)
    return found, int(state[COMPARISONS])


@given(periods(), periods(), st.integers(1, 4), st.integers(0, 5))
def test_joins_find_each_pair_once_in_pages_of_any_size(left, right, m, more):
    outer, inner = partition(*columns(left)), partition(*columns(right))
    found, comparisons = stepwise(join_on, outer, inner, m, m + more)
    shared = [
        (i, j, max(a, c), min(b, d))
        for i, (a, b) in enumerate(left)
        for j, (c, d) in enumerate(right)
        if max(a, c) < min(b, d)
    ]
    told = [(int(outer.rows[r]), int(inner.rows[s]), start, end) for r, s, start, end in found]
    assert sorted(told) == sorted(shared)
    assert comparisons == stepwise(join_on, outer, inner, m, 1000)[1]


@given(periods(), periods(), st.integers(1, 4), st.integers(1, 5), st.booleans())
def test_leads_find_the_time_that_nothing_covers(left, right, m, room, to_lead):
    outer, inner = partition(*columns(left)), one_list(*columns(right))

    def on(outer, inner, *rest):
        return leads_on(outer, inner, to_lead, *rest)

    found, _ = stepwise(on, outer, inner, m, room)
    free = []
    for i, (start, end) in enumerate(left):
        since = None
        for tick in range(start, end + 1):
            is_free = tick < end and not any(c <= tick < d for c, d in right)
            if is_free and since is None:
                since = tick
            elif not is_free and since is not None:
                free.append((i, since, tick))
                since = None
    assert sorted((int(outer.rows[r]), start, end) for r, _, start, end in found) == sorted(free)


@pytest.mark.parametrize(("at", "others", "left"), [([2, 5], [0, 0], [5]), ([1, 5], [0, 9], [1]), ([2, 5], [9, 9], [])])
def test_lanes_that_are_through_give_their_position_to_the_last(at, others, left):
    lanes = Lanes(np.array(at, np.uint64), np.array([2, 7], np.uint64), np.array(others, np.uint64))
    live = drop_ended(lanes, 2, np.uint64(9))
    assert lanes.at[:live].tolist() == left


def test_rows_from_the_first_tick_and_for_ever_are_like_any_other():
    outer, inner = partition(*columns([(MIN_TICK, FOREVER)])), partition(*columns([(MIN_TICK, 3), (3, FOREVER)]))
    found, _ = stepwise(join_on, outer, inner, 1, 1)
    assert [row[2:] for row in found] == [(MIN_TICK, 3), (3, FOREVER)]
