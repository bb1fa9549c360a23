"""Sequenced joins with a condition: it decides what a match is, so it decides what is left, too."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import periods
from timeloom.engines.joins.problem import Side
from timeloom.engines.timelines import conditioned
from timeloom.engines.timelines.conditioned import Conditioned, Matched
from timeloom.engines.timelines.sequenced import TwoSides


def side(rows: list, keys: list | None) -> Side:
    array = np.array(rows, np.int64).reshape(-1, 2)
    return Side(array[:, 0].copy(), array[:, 1].copy(), None if keys is None else np.array(keys, np.int64))


def brute_force(left: list, right: list, matches) -> tuple[list, list, list]:
    """Pairs with the time they share, and the instants of either side without a match, as runs."""
    pairs = [
        (i, j, max(a, c), min(b, d))
        for i, (a, b) in enumerate(left)
        for j, (c, d) in enumerate(right)
        if a < d and c < b and matches(i, j)
    ]

    def rest(rows: list, at: int) -> list:
        found = []
        for row, (start, end) in enumerate(rows):
            taken = {t for pair in pairs if pair[at] == row for t in range(pair[2], pair[3])}
            free = [t for t in range(start, end) if t not in taken]
            for t in free:
                if found and found[-1][0] == row and found[-1][2] == t:
                    found[-1] = (row, found[-1][1], t + 1)
                else:
                    found.append((row, t, t + 1))
        return found

    return pairs, rest(left, 0), rest(right, 1)


@given(
    periods(max_size=6),
    periods(max_size=6),
    st.lists(st.booleans(), min_size=36, max_size=36),
    st.sampled_from(["auto", "sweep", "dip"]),
    st.booleans(),
)
def test_a_condition_decides_matches_and_what_is_left(left, right, truth, algorithm, keyed):
    matrix = np.array(truth).reshape(6, 6)
    keys = [[at % 2 for at in range(len(rows))] for rows in (left, right)] if keyed else [None, None]
    sides = TwoSides(side(left, keys[0]), side(right, keys[1]), 2, 1)
    joined = Conditioned(sides, lambda lefts, rights: matrix[lefts, rights], algorithm)
    pairs, left_rest, right_rest = brute_force(left, right, lambda i, j: matrix[i, j] and (not keyed or i % 2 == j % 2))
    for how in ("inner", "left", "right", "full"):
        expected = list(pairs)
        expected += [(row, -1, start, end) for row, start, end in left_rest if how in ("left", "full")]
        expected += [(-1, row, start, end) for row, start, end in right_rest if how in ("right", "full")]
        found = [row for page in joined.rows(how) for row in zip(*(column.tolist() for column in page), strict=True)]
        assert sorted(found) == sorted(expected)
    alone = joined.alone()
    assert list(zip(*(column.tolist() for column in alone), strict=True)) == left_rest


@pytest.mark.parametrize("most", [1, 3])
def test_matches_are_merged_as_they_come(most):
    """However many matches come, what is held is what they cover."""
    whole = Matched(Side(np.array([0, 0]), np.array([100, 100])), 1, most)
    for t in range(0, 90, 2):
        whole.add(np.array([0, 0], np.int32), np.array([t, t + 1]), np.array([t + 1, t + 2]))
    assert whole._held <= most + 2
    rest = whole.rest()
    assert list(zip(*(column.tolist() for column in rest), strict=True)) == [(0, 90, 100), (1, 0, 100)]


def test_pages_do_not_change_the_answer(monkeypatch):
    monkeypatch.setattr(conditioned, "PAGE", 2)
    rows = [(at, at + 5) for at in range(12)]
    sides = TwoSides(side(rows, None), side(rows, None), 0, 1)
    joined = Conditioned(sides, lambda lefts, rights: (lefts + rights) % 3 == 0)
    pairs, left_rest, _ = brute_force(rows, rows, lambda i, j: (i + j) % 3 == 0)
    found = [row for page in joined.rows("inner") for row in zip(*(column.tolist() for column in page), strict=True)]
    assert sorted(found) == pairs
    assert list(zip(*(column.tolist() for column in joined.alone()), strict=True)) == left_rest
