"""As-of merges against a look at every right row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timeloom.kernels.neighbours.as_of import NO_ROW, backward, closer, distance, forward, within
from timeloom.model.ticks import MAX_TICK, MIN_TICK

sides = st.lists(st.tuples(st.integers(0, 9), st.integers(-1, 2)), max_size=12)


def expected(left, right, direction, exact):
    """The row of the nearest partner of each left row; of rows level in time the last."""
    found = []
    for time, key in left:
        fits = [
            (at, row)
            for row, (at, other) in enumerate(right)
            if other == key >= 0 and (at < time if direction is backward else at > time) | (exact and at == time)
        ]
        nearest = (max if direction is backward else min)((at for at, _ in fits), default=None)
        found.append(max((row for at, row in fits if at == nearest), default=NO_ROW))
    return found


@pytest.mark.parametrize("direction", [backward, forward])
@settings(max_examples=60)
@given(sides, sides, st.booleans())
def test_like_a_look_at_every_row(direction, left, right, exact):
    times, keys, rows = [], [], []
    for side in (left, right):
        times.append(np.array([time for time, _ in side], np.int64))
        keys.append(np.array([key for _, key in side], np.int64))
        rows.append(np.argsort(times[-1], kind="stable").astype(np.int32))
    found = np.empty(len(left), np.int32)
    ordered = [part for side in (0, 1) for part in (times[side][rows[side]], rows[side], keys[side])]
    direction(*ordered, 3, exact, found)
    assert found.tolist() == expected(left, right, direction, exact)


def test_partners_too_far_away_are_forgotten_and_distances_do_not_wrap():
    left, right = np.array([0, MAX_TICK, 9]), np.array([5, MIN_TICK, 7])
    found = np.array([0, 1, 2], np.int32)
    within(left, right, 4, found)
    assert found.tolist() == [NO_ROW, NO_ROW, 2]
    assert distance(MAX_TICK, MIN_TICK) == MAX_TICK


def test_the_earlier_of_two_that_are_equally_far():
    before, after = np.array([0, NO_ROW, 0, 0], np.int32), np.array([1, 1, NO_ROW, 2], np.int32)
    closer(np.array([5, 5, 5, 5]), np.array([3, 7, 6]), before, after)
    assert before.tolist() == [0, 1, 0, 2]
