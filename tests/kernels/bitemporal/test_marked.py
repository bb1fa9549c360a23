"""Marked rows, written out."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timeloom.kernels.bitemporal.marked import STRETCH, with_room, write_marked


@given(st.lists(st.booleans(), max_size=40), st.integers(0, 5))
def test_rows_that_are_marked_are_written_behind_the_others(chosen, before):
    marks = np.full(STRETCH, 1, np.uint8)
    marks[: len(chosen)] = chosen
    found = np.full(STRETCH + before, -1, np.int64)
    size = write_marked(marks, len(chosen), 100, found, before)
    assert found[:before].tolist() == [-1] * before
    assert found[before:size].tolist() == [100 + at for at, mark in enumerate(chosen) if mark]


def test_room_for_a_stretch_is_there_before_it_is_written():
    found = np.arange(STRETCH)
    assert with_room(found, 0) is found
    grown = with_room(found, 3)
    assert grown.size >= 3 + STRETCH
    assert grown[:3].tolist() == [0, 1, 2]
