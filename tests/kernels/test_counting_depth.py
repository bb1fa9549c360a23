"""Depth over time against brute force."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import counting as brute
from timeloom.kernels.counting_depth import depth_profile

ticks = st.integers(0, 12)
periods = st.tuples(ticks, ticks).filter(lambda p: p[0] < p[1]) | st.tuples(ticks, st.just(2**63 - 1))


@settings(max_examples=200, deadline=None)
@given(st.lists(periods, max_size=20))
def test_depth_equals_brute_force(rows):
    starts, ends = np.array([s for s, _ in rows], np.int64), np.array([e for _, e in rows], np.int64)
    found = zip(*(column.tolist() for column in depth_profile(starts, ends)), strict=True)
    assert list(found) == brute.depth(rows)
