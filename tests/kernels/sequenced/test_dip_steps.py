"""The steps of an anti-join by themselves: however little room there is at a time, each result is found once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drawing import periods
from timeloom.kernels.sequenced.dip import partition
from timeloom.kernels.sequenced.dip_merge import one_list
from timeloom.kernels.sequenced.dip_steps import GROUP, Lanes, leads_on


def columns(rows):
    array = np.array(rows, np.int64).reshape(-1, 2)
    return array[:, 0].copy(), array[:, 1].copy()


def stepwise(outer, inner, to_lead, m, room):
    """All results of a merge that writes into so much room at a time."""
    state, lanes, found = np.zeros(8, np.int64), Lanes.room(m), []
    while state[GROUP] < outer.depth:
        page = (*np.empty((2, room), np.int32), *np.empty((2, room), np.int64))
        written = leads_on(outer, inner, to_lead, state, lanes, *page)
        found += zip(*(column[:written].tolist() for column in page), strict=True)
    return found


@given(periods(), periods(), st.integers(1, 4), st.integers(1, 5), st.booleans())
def test_leads_find_the_time_that_nothing_covers(left, right, m, room, to_lead):
    outer, inner = partition(*columns(left)), one_list(*columns(right))
    found = stepwise(outer, inner, to_lead, m, room)
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
