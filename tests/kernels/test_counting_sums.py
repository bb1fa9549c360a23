"""Fixed point: exact where the column allows, within the documented error otherwise."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timeloom.kernels.counting_sums import fits_int64, fixed_point, to_floats

floats = st.lists(st.floats(-1e9, 1e9), max_size=30)


@given(floats)
def test_sums_are_within_the_grid(values):
    weights = np.array(values, np.float64)
    parts = fixed_point(weights)
    found = float(to_floats(parts.high.sum(), parts.low.sum(), parts.scale, parts.bits))
    exact = math.fsum(values)
    grid = len(values) * math.ldexp(1.0, parts.scale - parts.bits)
    assert abs(found - exact) <= grid + 2**-52 * abs(exact)


def test_small_values_survive_beside_large_ones():
    weights = np.array([1e12, -1e12, 0.1, 0.2])
    parts = fixed_point(weights)
    assert to_floats(parts.high[2:].sum(), parts.low[2:].sum(), parts.scale, parts.bits) == 0.1 + 0.2


def test_the_largest_and_smallest_magnitudes():
    for value in (1.7e308, 5e-324, 0.0):
        parts = fixed_point(np.array([value, -value]))
        assert to_floats(parts.high[:1], parts.low[:1], parts.scale, parts.bits).tolist() == [value]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=6))
def test_sums_that_pass_the_check_cannot_overflow(values):
    if fits_int64(np.array(values, np.int64)):
        assert sum(abs(value) for value in values) < 2**63
    else:
        assert sum(abs(value) for value in values) >= 2**63 - (2 * len(values) << 32)
