"""Rows that look up an endpoint: the same pairs as by comparing all, whatever the room for them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timeloom.kernels.joins.equal_endpoints import distribute, look_up
from timeloom.model.ticks import MAX_TICK, MIN_TICK

PERIODS = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 5)), max_size=20)
FREE = (MIN_TICK, MAX_TICK, MIN_TICK, MAX_TICK)


def columns(periods):
    starts = np.array([start for start, _ in periods], np.int64)
    return starts, starts + np.array([length for _, length in periods], np.int64)


def looked_up(indexed, probe, distance, by_end, rest, room):
    last = indexed.heads.size - 1
    table, following = np.empty(64, np.int32), np.empty(32, np.int32)
    place, pairs = (0, 0, -1), []
    while place[0] < last:
        out = np.empty(room, np.int32), np.empty(room, np.int32)
        *place, found = look_up(
            indexed, probe, distance, by_end, FREE, rest, tuple(place), last, table, following, *out
        )
        pairs += list(zip(out[0][:found].tolist(), out[1][:found].tolist(), strict=True))
    return pairs


@given(PERIODS, PERIODS, st.integers(-3, 3), st.booleans(), st.booleans(), st.integers(-2, 2), st.integers(1, 40))
def test_pairs_equal_brute_force(left, right, distance, by_end, driven_by_end, nearest, room):
    lefts, rights = columns(left), columns(right)
    points = rights[::-1] if driven_by_end else rights
    indexed, probe = distribute(points, lefts[::-1] if by_end else lefts, distance, 2)
    rest = (nearest, MAX_TICK, MIN_TICK, MAX_TICK)
    found = looked_up(indexed, probe, distance, by_end, rest, room)
    expected = [
        (row, other)
        for row in range(len(left))
        for other in range(len(right))
        if points[0][other] == lefts[by_end][row] + distance and points[1][other] >= lefts[0][row] + nearest
    ]
    assert sorted(found) == expected
