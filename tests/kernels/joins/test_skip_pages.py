"""The skip-join in pages finds the pairs of brute force, also where one stab has more of them than a page holds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drawing import periods
from timeloom.kernels.joins.skip_pages import skip_pages
from timeloom.kernels.joins.skip_parts import FEW
from timeloom.kernels.stab_forest.build import build


def columns(rows: list) -> tuple[np.ndarray, np.ndarray]:
    array = np.array(sorted(rows), np.int64).reshape(-1, 2)
    return array[:, 0].copy(), array[:, 1].copy()


def pairs_of(left: list, right: list, reach: int, most: int) -> list[tuple[int, int]]:
    pages = list(skip_pages(build(*columns(left)), build(*columns(right)), reach, reach, most))
    assert all(0 < lefts.size <= most for lefts, _ in pages)
    return sorted(pair for lefts, rights in pages for pair in zip(lefts.tolist(), rights.tolist(), strict=True))


def brute_force(left: list, right: list) -> list[tuple[int, int]]:
    left, right = sorted(left), sorted(right)
    return [(i, j) for i, (a, b) in enumerate(left) for j, (c, d) in enumerate(right) if a < d and c < b]


@given(periods(max_size=12), periods(max_size=12), st.integers(0, 3), st.integers(1, 5))
def test_pages_hold_all_pairs(left, right, reach, most):
    assert pairs_of(left, right, reach, most) == brute_force(left, right)


@given(st.integers(0, 3), st.integers(1, 40), st.booleans())
def test_a_stab_with_more_pairs_than_a_page(reach, most, flip):
    """A leap over short rows ends in a stab that meets all long ones, each with a run on the other side."""
    long, short = [(0, 1000)] * 9, [(t, t + 1) for t in range(20, 60)]
    left, right = [*short, *((t, 1000) for t in range(30, 39)), *long], [(t, t + 2) for t in range(500, 520)]
    if flip:
        left, right = right, left
    assert pairs_of(left, right, reach, most) == brute_force(left, right)


@given(st.integers(1, 4000), st.booleans())
def test_a_stab_that_meets_more_events_than_there_was_room_for(most, flip):
    left = [(0, 1), *((t, 5_000) for t in range(10, 10 + 3 * FEW)), (4_000, 4_001)]
    right = [(0, 1), (4_500, 4_501), (4_600, 4_700)]
    if flip:
        left, right = right, left
    assert pairs_of(left, right, 0, most) == brute_force(left, right)
