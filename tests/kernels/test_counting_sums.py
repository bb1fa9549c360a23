"""Sums in integer parts: exact where the column allows, overflow noticed exactly."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timeloom.kernels.counting_sums import fits_int64, halves, joined_halves, joined_limbs, limbs_of

INT64 = st.integers(-(2**63), 2**63 - 1)


def total(values):
    cut = limbs_of(np.array(values, np.float64))
    return float(joined_limbs([limb.sum(keepdims=True) for limb in cut.limbs], cut.scale, cut.bits)[0])


@given(st.lists(st.floats(-1e9, 1e9).filter(lambda x: x == 0 or abs(x) > 1e-9), min_size=1, max_size=30))
def test_sums_are_rounded_once(values):
    exact = math.fsum(values)
    assert abs(total(values) - exact) <= math.ulp(exact)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300), min_size=1))
def test_any_doubles_within_the_documented_grid(values):
    cut = limbs_of(np.array(values, np.float64))
    grid = len(values) * max(abs(value) for value in values) * 2.0**-140
    assert len(cut.limbs) <= 4
    assert abs(total(values) - math.fsum(values)) <= grid + math.ulp(math.fsum(values))


def test_small_values_survive_beside_large_ones():
    assert total([1e15, 0.1, -1e15, 0.2]) == math.fsum([0.1, 0.2])


def test_the_largest_and_smallest_magnitudes():
    for value in (1.7e308, 5e-324, 0.0):
        assert total([value]) == value
    assert total([1.7e308, 1.7e308]) == math.inf


@given(st.lists(INT64, max_size=6))
def test_sums_that_pass_the_check_cannot_overflow(values):
    if fits_int64(np.array(values, np.int64)):
        assert sum(abs(value) for value in values) < 2**63
    else:
        assert sum(abs(value) for value in values) >= 2**63 - (2 * len(values) << 32)


@given(st.lists(INT64, min_size=1, max_size=6))
def test_halves_tell_exactly_which_sums_overflow(values):
    upper, lower = (part.sum(keepdims=True) for part in halves(np.array(values, np.int64)))
    whole, overflow = joined_halves(upper, lower)
    fits = -(2**63) <= sum(values) < 2**63
    assert bool(overflow[0]) is not fits
    assert not fits or int(whole[0]) == sum(values)
