"""Weighted means against fractions: where the kernel is certain, it has rounded the true mean once."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timeloom.kernels.aggregates.weighted import rest_of_product, weighted_means

VALUES = st.one_of(
    st.integers(-5, 5).map(float),
    st.sampled_from([0.1, -0.1, 1 / 3, 1e16, -1e16, 1 + 2.0**-52, 2.0**-600, 1e300, float("inf"), float("nan")]),
    st.floats(-1e9, 1e9),
)
WEIGHTS = st.one_of(st.integers(1, 9), st.integers(1, 2**40), st.sampled_from([2**53 - 1, 2**53, 2**62]))
PIECES = st.lists(st.lists(st.tuples(VALUES, WEIGHTS, st.booleans()), max_size=6), max_size=4)


def means_of(stretches):
    """Means, weights and certainty of stretches of (value, weight, whether it is known)."""
    pieces = [piece for stretch in stretches for piece in stretch]
    values, weights, known = (
        np.array([piece[at] for piece in pieces], kind) for at, kind in enumerate((np.float64, np.int64, np.bool_))
    )
    offsets = np.concatenate([[0], np.cumsum([len(stretch) for stretch in stretches])]).astype(np.int64)
    means, totals = np.empty(len(stretches)), np.empty(len(stretches), np.int64)
    certain = weighted_means(values, weights, known, offsets, means, totals, 0, len(stretches))
    return means, totals, certain


@given(PIECES)
def test_certain_means_are_rounded_once(stretches):
    means, totals, certain = means_of(stretches)
    for stretch, mean, total, sure in zip(stretches, means, totals, certain, strict=True):
        known = [(value, weight) for value, weight, is_known in stretch if is_known]
        assert (total == 0) == (not known)
        if known and sure:
            exact = sum(Fraction(value) * weight for value, weight in known) / sum(weight for _, weight in known)
            assert mean == float(exact)


def test_means_of_ordinary_numbers_are_certain():
    draw = np.random.default_rng(5)
    stretches = [
        [
            (float(value), int(weight), True)
            for value, weight in zip(draw.normal(20, 5, 50), draw.integers(1, 10**9, 50), strict=True)
        ]
        for _ in range(200)
    ]
    assert means_of(stretches)[2].all()


def test_a_mean_between_two_doubles_and_values_without_end_are_left_open():
    halfway = [(1.0, 1, True), (1 + 2.0**-52, 1, True)]
    endless = [(float("inf"), 1, True)]
    cancelled = [(1e16, 1, True), (0.1, 1, True), (-1e16, 1, True)]
    assert means_of([halfway, endless, cancelled])[2].tolist()[:2] == [False, False]


@given(st.floats(-1e100, 1e100), st.integers(1, 2**53))
def test_the_rest_of_a_product(value, weight):
    if value and abs(value) < 1e-100:
        return
    product = value * float(weight)
    assert Fraction(product) + Fraction(rest_of_product(product, value, float(weight))) == Fraction(value) * weight
