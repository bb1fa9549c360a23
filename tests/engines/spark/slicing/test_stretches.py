"""Buckets laid end to end: all of them are given away, and tasks end level."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeloom.engines.spark.slicing.stretches import SLIVER, room, stretches

LOADS = st.lists(st.floats(0, 100), min_size=1, max_size=12).map(np.array)


@given(LOADS, st.floats(0.01, 500))
def test_tasks_are_filled_to_one_level_unless_they_hold_more(held, more):
    taken = room(held, more)
    assert taken.sum() == pytest.approx(more)
    filled = (held + taken)[taken > 0]
    assert np.ptp(filled) <= 1e-9 * filled.max()
    assert (held[taken == 0] >= filled.max() * (1 - 1e-9)).all()


@given(LOADS, st.lists(st.floats(0.01, 100), min_size=1, max_size=8).map(np.array))
def test_each_bucket_goes_to_tasks_that_follow_each_other_and_have_room_for_it(held, lengths):
    taken = np.zeros(held.size)
    for length, (first, parts) in zip(lengths, stretches(held, lengths), strict=True):
        assert 0 <= first < held.size - parts.size
        assert (np.diff([0, *parts, 1]) >= 0).all()
        taken[first : first + parts.size + 1] += length * np.diff([0, *parts, 1])
    assert taken.sum() == pytest.approx(lengths.sum())
    slivers = 2 * lengths.size * SLIVER * (held.sum() + lengths.sum()) / held.size
    assert np.allclose(taken, room(held, lengths.sum()), rtol=0, atol=slivers + 1e-6)
