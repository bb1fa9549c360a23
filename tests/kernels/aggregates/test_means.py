"""Averages against exact fractions: one rounding, whatever the magnitudes."""

from fractions import Fraction

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from timeloom.kernels.aggregates.exact import WIDTH
from timeloom.kernels.aggregates.means import integer_means, nearest_quotient, quick_quotient, word_means

COUNTS = st.integers(1, 2**31 - 1)
ODD = st.one_of(st.integers(-(2**126), 2**126), st.integers(-300, 300), st.integers(-(2**54), 2**54))


def nearest(value):
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


@given(number=st.integers(0, 2**200), count=COUNTS, exponent=st.integers(-1260, 1000))
@example(number=3, count=2, exponent=-1074)
@example(number=1, count=2, exponent=-1074)
@example(number=2**61 + 1, count=1, exponent=0)
@example(number=2**53 + 1, count=1, exponent=0)
@example(number=0, count=5, exponent=0)
@example(number=4, count=4_256_175, exponent=-1000)
@example(number=2**63 - 10, count=4, exponent=0)
@example(number=2**91 - 1, count=1, exponent=0)
def test_a_quotient_is_rounded_once(number, count, exponent):
    digits = np.array([(number >> (WIDTH * k)) & ((1 << WIDTH) - 1) for k in range(8)], np.int64)
    assert nearest_quotient(digits, count, exponent) == nearest(Fraction(number) * Fraction(2) ** exponent / count)


@given(total=ODD, count=COUNTS)
@example(total=-(2**63), count=3)
def test_means_of_integers(total, count):
    lower, upper = total & (2**64 - 1), (total >> 64) & (2**64 - 1)
    halves = (np.array([half], np.uint64).view(np.int64) for half in (lower, upper))
    assert integer_means(*halves, np.array([count])).tolist() == [nearest(Fraction(total, count))]


@given(
    totals=st.lists(st.one_of(st.integers(-(2**118), 2**118), st.integers(-9, 9)), min_size=1, max_size=4),
    before=st.integers(-(2**100), 2**100),
    count=st.one_of(st.integers(0, 2**31 - 1), st.integers(0, 40)),
    unit=st.sampled_from([-1074, -1000, -52, 0, 500]),
)
def test_means_of_words(totals, before, count, unit):
    highs, lows = (np.array(part, np.int64) for part in zip(*(divmod(total, 2**60) for total in totals), strict=True))
    counts, means = np.full(len(totals), count), np.empty(len(totals))
    word_means(highs, lows, *divmod(before, 2**60), unit, counts, 0, len(totals), means)
    exact = [Fraction(before + total) * Fraction(2) ** unit / max(count, 1) if count else 0 for total in totals]
    assert means.tolist() == list(map(nearest, exact))


@given(
    middle=st.integers(-(2**53), 2**53),
    shift=st.integers(1, 40),
    count=st.one_of(st.integers(1, 9), st.integers(1, 2**26)),
    off=st.integers(-3, 3),
)
def test_quick_quotients_near_the_middle_of_two_doubles(middle, shift, count, off):
    total = (2 * middle + 1) * count * 2 ** (shift - 1) + off
    value, certain = quick_quotient(*divmod(total, 2**60), count)
    assert not certain or value == nearest(Fraction(total, count))
