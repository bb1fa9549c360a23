"""Sums in integer parts: exact for all magnitudes, rounded once."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timeloom.kernels.aggregates.means import integer_means
from timeloom.kernels.counts.sums import double_limbs, double_totals, fits_int64, integer_limbs, integer_totals

INT64 = st.integers(-(2**63), 2**63 - 1)
WIDE = st.integers(-(2**120), 2**120)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
COUNTS = st.integers(1, 2**31 - 1)


def nearest(value):
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def summed(limbs):
    return [limb.position for limb in limbs], [limb.weights.sum(keepdims=True) for limb in limbs]


def words(values):
    low = [(value + 2**63) % 2**64 - 2**63 for value in values]
    high = [(value - lower) >> 64 for value, lower in zip(values, low, strict=True)]
    return np.array(low, np.int64), np.array(high, np.int64)


@given(st.lists(DOUBLES, min_size=1, max_size=30), COUNTS)
def test_sums_and_means_of_doubles_are_rounded_once(values, count):
    parts = summed(double_limbs(np.array(values)))
    exact = sum(map(Fraction, values))
    assert double_totals(*parts).tolist() == [nearest(exact)]
    assert double_totals(*parts, np.array([count])).tolist() == [nearest(exact / count)]


@given(st.integers(-60, 60), COUNTS)
def test_means_below_the_normal_numbers_are_rounded_once(units, count):
    value = math.ldexp(units, -1074)
    parts = summed(double_limbs(np.array([value])))
    assert double_totals(*parts, np.array([count])).tolist() == [nearest(Fraction(value) / count)]


def test_columns_of_near_magnitudes_need_few_limbs():
    prices = np.random.default_rng(0).uniform(1, 1000, 1_000_000)
    assert len(double_limbs(prices)) <= 3
    assert len(double_limbs(np.array([1e300, 1.0]))) <= 6


@given(st.lists(WIDE, min_size=1, max_size=6), st.integers(1, 10**6))
def test_sums_and_means_of_wide_integers_are_exact(values, count):
    lower, upper = integer_totals(*summed(integer_limbs(*words(values))))
    assert (int(upper[0]) << 64) + int(lower[0]) % 2**64 == sum(values)
    assert integer_means(lower, upper, np.array([count])).tolist() == [nearest(Fraction(sum(values), count))]


@given(st.lists(INT64, max_size=6))
def test_sums_that_pass_the_check_cannot_overflow(values):
    if fits_int64(np.array(values, np.int64)):
        assert sum(abs(value) for value in values) < 2**63
    else:
        assert sum(abs(value) for value in values) >= 2**63 - (2 * len(values) << 32)
