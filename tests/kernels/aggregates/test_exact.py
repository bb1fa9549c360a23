"""Sums, means and variances against exact rational arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import periods
from kernels.whole import timeline
from reference import sequenced as reference
from timeloom.kernels.aggregates.doubles import double_sums
from timeloom.kernels.aggregates.variance import variances
from timeloom.kernels.aggregates.wide import wide_means, wide_sums

NEAR = st.floats(-1e6, 1e6).filter(lambda value: value == 0 or abs(value) > 1e-3)
FAR = st.floats(allow_nan=False, allow_infinity=False)
ODD = st.sampled_from([math.inf, -math.inf, math.nan, 1.5, -0.0, 5e-324, 1.7e308])
WIDE = st.integers(-(10**38), 10**38)


def columns(rows: list) -> tuple[np.ndarray, np.ndarray]:
    array = np.array(rows, np.int64).reshape(-1, 2)
    return array[:, 0].copy(), array[:, 1].copy()


def with_values(values):
    return periods().flatmap(
        lambda rows: st.tuples(st.just(rows), st.lists(values, min_size=len(rows), max_size=len(rows)))
    )


def active_values(rows: list, values: list) -> list[list]:
    return [[values[at] for at in names] for _, _, names in reference.lineage(rows)]


def rounded(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


@pytest.mark.parametrize("values", [NEAR, FAR], ids=["near", "far"])
@given(data=st.data())
def test_double_sums_are_exact_and_rounded_once(values, data):
    rows, drawn = data.draw(with_values(values))
    found = double_sums(timeline(*columns(rows)), np.array(drawn, np.float64))
    assert found.tolist() == [rounded(sum(map(Fraction, some))) for some in active_values(rows, drawn)]


@given(with_values(ODD))
def test_infinities_and_not_a_number_leave_no_trace(drawn):
    rows, values = drawn
    found = double_sums(timeline(*columns(rows)), np.array(values, np.float64)).tolist()
    for total, some in zip(found, active_values(rows, values), strict=True):
        if all(map(math.isfinite, some)):
            assert total == rounded(sum(map(Fraction, some)))
        else:
            expected = sum(value for value in some if not math.isfinite(value))
            assert total == expected or (math.isnan(total) and math.isnan(expected))


def test_a_huge_value_that_left_leaves_no_trace():
    """A hundred thousand values come and go; in floating point 1e16 + 1 - 1e16 is 0."""
    size = 100_000
    starts = np.arange(size, dtype=np.int64)
    values = np.where(starts % 2 == 0, 1e16, 0.1) * np.where(starts % 4 < 2, 1.0, -1.0)
    line = timeline(np.append(starts, 0), np.append(starts + 3, 2 * size))
    found = double_sums(line, np.append(values, 0.1))
    assert found[-1] == 0.1
    assert found[10] == math.fsum([values[8], values[9], values[10], 0.1])


@pytest.mark.parametrize("scale", [1.0, 1e140], ids=["one", "large"])
@given(drawn=with_values(NEAR))
def test_variances_are_exact_up_to_the_last_place(scale, drawn):
    rows, values = drawn
    values = [value * scale for value in values]
    line = timeline(*columns(rows))
    found = variances(line, np.array(values, np.float64), line.active.astype(np.int64)).tolist()
    for spread, some in zip(found, active_values(rows, values), strict=True):
        if len(some) < 2:
            assert math.isnan(spread)
            continue
        mean = sum(map(Fraction, some)) / len(some)
        exact = sum((Fraction(value) - mean) ** 2 for value in some) / (len(some) - 1)
        assert spread == pytest.approx(rounded(exact), rel=1e-15, abs=0)


def test_variance_of_close_values_far_from_zero():
    line = timeline(np.zeros(3, np.int64), np.ones(3, np.int64))
    assert variances(line, np.array([1e9, 1e9 + 1, 1e9 + 2]), np.array([3])).tolist() == [1.0]
    assert math.isnan(variances(line, np.array([1.0, math.inf, 2.0]), np.array([3]))[0])


def halves(values: list[int]) -> tuple[np.ndarray, np.ndarray]:
    low = [(value + 2**63) % 2**64 - 2**63 for value in values]
    high = [(value - part) >> 64 for value, part in zip(values, low, strict=True)]
    return np.array(low, np.int64), np.array(high, np.int64)


def whole(lower: np.ndarray, upper: np.ndarray) -> list[int]:
    return [(high << 64) + low % 2**64 for low, high in zip(lower.tolist(), upper.tolist(), strict=True)]


@given(with_values(WIDE))
def test_wide_sums_and_means_are_exact(drawn):
    rows, values = drawn
    line = timeline(*columns(rows))
    lower, upper = wide_sums(line, *halves(values))
    totals = [sum(some) for some in active_values(rows, values)]
    assert whole(lower, upper) == [max(min(total, 2**127 - 1), -(2**127)) for total in totals]
    counts = line.active.astype(np.int64)
    if any(abs(total) >= 2**127 for total in totals):
        return
    means = whole(*wide_means(lower, upper, counts, 10))
    exact = [Fraction(10 * abs(total), int(count)) for total, count in zip(totals, counts, strict=True)]
    signs = [-1 if total < 0 else 1 for total in totals]
    away = [math.floor(mean + Fraction(1, 2)) * sign for mean, sign in zip(exact, signs, strict=True)]
    assert means == [max(min(mean, 2**127 - 1), -(2**127)) for mean in away]


def test_the_least_integer_is_summed_and_taken_back():
    line = timeline(np.array([0, 1, 2]), np.array([3, 2, 4]))
    assert whole(*wide_sums(line, *halves([-(2**63), -(2**63), 5]))) == [-(2**63), -(2**64), 5 - 2**63, 5]


def test_a_count_of_zero_has_no_mean():
    zero = np.zeros(1, np.int64)
    assert whole(*wide_means(zero, zero, zero, 10)) == [0]
