"""Copies of rows for the slices that they touch: as by hand."""

from bisect import bisect_right

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timeloom.kernels.slicing.copies import (
    END_HERE,
    FIRST,
    ONLY,
    SOLE,
    START_HERE,
    deal_copies,
    number_slices,
    slice_of,
)

ROWS = st.lists(st.tuples(st.integers(-5, 30), st.integers(1, 40), st.integers(-2, 40)), max_size=20)
BOUNDS = st.lists(st.integers(0, 25), max_size=6, unique=True).map(sorted)


@given(ROWS, BOUNDS)
def test_each_slice_gets_the_rows_that_touch_it(rows, bounds):
    starts, lengths, spans = (np.array([row[at] for row in rows], np.int64) for at in range(3))
    ticks, firsts, lasts = np.array(bounds, np.int64), np.empty(len(rows), np.int32), np.empty(len(rows), np.int32)
    sizes = np.zeros(len(bounds) + 1, np.int64)
    number_slices(starts, starts + spans, ticks, firsts, lasts, sizes)
    edges = np.concatenate([[0], np.cumsum(sizes)])
    copies, bits = np.empty(edges[-1], np.int32), np.empty(edges[-1], np.int8)
    deal_copies(starts, starts + lengths, ticks, firsts, lasts, edges[:-1].copy(), copies, bits)
    for number in range(len(bounds) + 1):
        mine = slice(edges[number], edges[number + 1])
        expected = [row for row in range(len(rows)) if number in slices(rows[row], bounds)]
        assert copies[mine].tolist() == expected
        assert bits[mine].tolist() == [bits_of(rows[row], number, bounds) for row in expected]


def slices(row, bounds):
    start, _, span = row
    if span < 0:
        return range(1)
    return range(bisect_right(bounds, start), bisect_right(bounds, start + span) + 1)


def bits_of(row, number, bounds):
    touched = slices(row, bounds)
    if len(touched) == 1:
        return ONLY
    start, length, _ = row
    return (
        START_HERE * (bisect_right(bounds, start) == number)
        | END_HERE * (bisect_right(bounds, start + length) == number)
        | FIRST * (touched[0] == number)
    )


def test_a_row_with_one_copy_has_all_points_there():
    assert ONLY & SOLE
    assert ONLY & START_HERE
    assert ONLY & END_HERE
    assert not ONLY & FIRST


@given(st.integers(-5, 30), BOUNDS)
def test_slices_are_numbered_from_zero(tick, bounds):
    assert slice_of(np.array(bounds, np.int64), tick) == bisect_right(bounds, tick)
