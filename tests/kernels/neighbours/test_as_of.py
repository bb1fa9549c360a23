"""As-of merges against a look at every right row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timeloom.kernels import order
from timeloom.kernels.neighbours.as_of import (
    NO_ROW,
    Side,
    backward,
    carry_over,
    closer,
    distance,
    forward,
    level_rows,
    look_up,
    within,
)
from timeloom.kernels.ties import settle_ties
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


def columns(rows):
    """Times and keys as kernels take them."""
    found = [np.array([row[at] for row in rows], np.int64) for at in (0, 1)]
    return [order.sealed(column) for column in found]


def in_time(rows):
    """A side in order of time, its rows beside it."""
    times, keys = columns(rows)
    positions = np.argsort(times, kind="stable").astype(np.int32)
    return Side(order.sealed(times[positions]), positions, keys)


@pytest.mark.parametrize("direction", [backward, forward])
@settings(max_examples=60)
@given(sides, sides, st.booleans())
def test_like_a_look_at_every_row(direction, left, right, exact):
    ours, theirs, found = in_time(left), in_time(right), np.empty(len(left), np.int32)
    missing = direction(ours, theirs, (0, len(left), 0, len(right)), exact, np.full(3, NO_ROW, np.int32), found)
    assert found.tolist() == expected(left, right, direction, exact)
    assert missing == found.tolist().count(NO_ROW)


@pytest.mark.parametrize("direction", [backward, forward])
@settings(max_examples=60)
@given(sides, sides, st.booleans(), st.integers(0, 10))
def test_parts_merged_by_themselves(direction, left, right, exact, cut):
    ours, theirs, found = in_time(left), in_time(right), np.empty(len(left), np.int32)
    middle, other = (int(np.searchsorted(side.ticks, cut)) for side in (ours, theirs))
    parts = [(0, middle, 0, other), (middle, len(left), other, len(right))]
    seen = [np.full(3, NO_ROW, np.int32) for _ in parts]
    for part, last in zip(parts, seen, strict=True):
        direction(ours, theirs, part, exact, last, found)
    later = direction is backward
    carry_over(ours, *parts[later][:2], seen[not later], found)
    assert found.tolist() == expected(left, right, direction, exact)


@pytest.mark.parametrize("direction", [backward, forward])
@settings(max_examples=60)
@given(sides, sides, st.booleans())
def test_partners_looked_up(direction, left, right, exact):
    ours, theirs = (times + 1 + 13 * keys for times, keys in map(columns, (left, right)))
    found = np.empty(len(left), np.int32)
    by_position = order.sort(theirs)
    by_position.ids[:] = by_position.ids[np.searchsorted(by_position.values, by_position.values, side="right") - 1]
    look_up(by_position, *order.roughly(ours, by_position, 1), 13, (0, len(left)), direction is backward, exact, found)
    assert found.tolist() == expected(left, right, direction, exact)


@settings(max_examples=60)
@given(sides)
def test_rows_level_in_time_and_key(rows):
    side = in_time(rows)
    positions, groups = level_rows(side, 3)
    found = {}
    for position, group in zip(positions.tolist(), groups.tolist(), strict=True):
        found.setdefault(group, []).append(int(side.rows[position]))
    level = {}
    for row, event in enumerate(rows):
        level.setdefault(event, []).append(row)
    assert sorted(found.values()) == sorted(same for (_, key), same in level.items() if key >= 0 and len(same) > 1)


def test_rows_of_one_value_by_another_column():
    values, rows, beside = np.array([1, 1, 1, 2, 3, 3]), np.arange(6, dtype=np.int32), np.array([9, 5, 5, 0, 2, 1])
    settle_ties(values, rows, beside)
    assert rows.tolist() == [1, 2, 0, 3, 5, 4]
    assert beside.tolist() == [5, 5, 9, 0, 1, 2]


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
