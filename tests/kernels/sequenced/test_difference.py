"""Union and difference of periods against brute force."""

import numpy as np
from hypothesis import given

from drawing import periods
from reference import sequenced as reference
from timeloom.kernels.sequenced import difference as sequenced
from timeloom.model.ticks import FOREVER


def columns(rows: list) -> tuple[np.ndarray, np.ndarray]:
    array = np.array(rows, np.int64).reshape(-1, 2)
    return array[:, 0].copy(), array[:, 1].copy()


def rows_of(*arrays: np.ndarray) -> list[tuple]:
    return list(zip(*(array.tolist() for array in arrays), strict=True))


@given(periods())
def test_cover_is_the_union(rows):
    edges = sequenced.cover(*columns(rows)).values
    assert rows_of(edges[::2], edges[1::2]) == reference.coalesce(rows)


@given(periods(), periods())
def test_subtract_leaves_the_uncovered_pieces_in_order(left, right):
    found = sequenced.subtract(*columns(left), sequenced.cover(*columns(right)))
    assert rows_of(*found) == reference.antijoin(left, right)


def test_touching_periods_leave_no_piece_between_them():
    covered = sequenced.cover(*columns([(2, 4), (4, 6)]))
    assert rows_of(*sequenced.subtract(*columns([(0, 8)]), covered)) == [(0, 0, 2), (0, 6, 8)]


def test_open_ends_are_covered_to_the_end():
    covered = sequenced.cover(*columns([(5, FOREVER)]))
    assert rows_of(*sequenced.subtract(*columns([(0, FOREVER), (6, FOREVER)]), covered)) == [(0, 0, 5)]


def test_many_rows_are_looked_up_block_by_block():
    right = [(4 * at, 4 * at + 2) for at in range(1000)]
    left = [(start, start + 3) for start in range(0, 4000, 3)]
    found = sequenced.subtract(*columns(left), sequenced.cover(*columns(right)))
    uncovered = np.arange(4003) % 4 >= 2
    uncovered[4000:] = True
    assert (found.ends - found.starts).sum() == sum(int(uncovered[start:end].sum()) for start, end in left)
    assert all(uncovered[start:end].all() for start, end in zip(found.starts, found.ends, strict=True))
