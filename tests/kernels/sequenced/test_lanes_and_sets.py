"""Lanes, crowded time, and sets and bags of values, against a look at every instant."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeloom.kernels.sequenced.lanes import assign_groups
from timeloom.kernels.sequenced.multiplicities import EXCEPT, INTERSECT, UNION, combine
from timeloom.kernels.sequenced.overlaps import crowded

periods = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), max_size=12).map(
    lambda rows: sorted((start, start + length) for start, length in rows)
)


def columns(rows):
    return tuple(np.array([row[at] for row in rows], np.int64) for at in (0, 1))


def active(rows, t):
    return sum(start <= t < end for start, end in rows)


@given(periods, periods)
def test_lanes_are_free_of_overlap_and_as_few_as_rows_at_once(one, other):
    lanes = assign_groups(*columns(one + other), np.array([0, len(one), len(one) + len(other)]))
    for rows, found in ((one, lanes[: len(one)]), (other, lanes[len(one) :])):
        assert len(set(found)) == max((active(rows, t) for t in range(16)), default=0)
        for lane in set(found):
            mine = [row for row, at in zip(rows, found, strict=True) if at == lane]
            assert all(active(mine, t) <= 1 for t in range(16))


@given(periods)
def test_crowded_time_is_where_two_rows_are_active(rows):
    found = list(zip(*(part.tolist() for part in crowded(*columns(rows))), strict=True))
    assert [active(found, t) > 0 for t in range(16)] == [active(rows, t) > 1 for t in range(16)]
    assert all(end < start for (_, end), (start, _) in pairwise(found))


MEANINGS = {
    (UNION, True): lambda ours, theirs: ours + theirs,
    (INTERSECT, True): min,
    (EXCEPT, True): lambda ours, theirs: max(0, ours - theirs),
    (UNION, False): lambda ours, theirs: int(ours + theirs > 0),
    (INTERSECT, False): lambda ours, theirs: int(ours > 0 and theirs > 0),
    (EXCEPT, False): lambda ours, theirs: int(ours > 0 and not theirs),
}


@pytest.mark.parametrize("mode", MEANINGS)
@given(periods, periods)
def test_as_many_copies_as_the_operation_has_at_every_instant(mode, ours, theirs):
    events = sorted(
        (tick, event + begins)
        for event, rows in ((0, ours), (2, theirs))
        for row in rows
        for begins, tick in enumerate(row)
    )
    times, kinds = np.array([t for t, _ in events], np.int64), np.array([kind for _, kind in events], np.int32)
    found = list(zip(*(part.tolist() for part in combine(times, kinds, *mode)), strict=True))
    for t in range(16):
        assert active(found, t) == MEANINGS[mode](active(ours, t), active(theirs, t))
