"""Weighted means of 128-bit integers against fractions, rounded with halves away from zero."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timeloom.kernels.aggregates.weighted_decimals import weighted_decimals

VALUES = st.one_of(
    st.integers(-5, 5), st.integers(-(10**38) + 1, 10**38 - 1), st.sampled_from([2**63, -(2**63), 2**64, -(2**64)])
)
WEIGHTS = st.one_of(st.integers(1, 4), st.integers(1, 2**40), st.sampled_from([2**60, 2**62 - 1, 2**62, 2**63 - 1]))
PIECES = st.lists(st.lists(st.tuples(VALUES, WEIGHTS, st.booleans()), max_size=6), max_size=4)


def rounded(exact):
    """The nearest whole number, halves away from zero."""
    return int(abs(exact) + Fraction(1, 2)) * (1 if exact >= 0 else -1)


def means_of(stretches, factor):
    """Means, weights and certainty of stretches of (value, weight, whether it is known); rows lie in reverse."""
    pieces = [piece for stretch in stretches for piece in stretch]
    rows = np.arange(len(pieces) - 1, -1, -1, dtype=np.int32)
    values = [piece[0] for piece in reversed(pieces)]
    lower = np.array([value % 2**64 for value in values], np.uint64).view(np.int64)
    upper = np.array([value >> 64 for value in values], np.int64)
    weights, known = np.array([piece[1] for piece in pieces], np.int64), np.array([p[2] for p in pieces], np.bool_)
    offsets = np.concatenate([[0], np.cumsum([len(stretch) for stretch in stretches])]).astype(np.int64)
    means, totals = np.empty((len(stretches), 2), np.int64), np.empty(len(stretches), np.int64)
    certain = weighted_decimals(lower, upper, rows, weights, known, offsets, factor, means, totals, 0, len(stretches))
    return [(int(high) << 64) + int(low) % 2**64 for low, high in means], totals, certain


@given(PIECES, st.sampled_from([1, 10, 10**4]))
def test_means_are_rounded_once(stretches, factor):
    stretches = [[(value // factor, *rest) for value, *rest in stretch] for stretch in stretches]
    for stretch, mean, total, sure in zip(stretches, *means_of(stretches, factor), strict=True):
        known = [(value, weight) for value, weight, is_known in stretch if is_known]
        weight = sum(weight for _, weight in known)
        assert sure == (weight < 2**62)
        if sure:
            assert total == weight
            assert mean == (rounded(Fraction(factor * sum(v * w for v, w in known), weight)) if known else 0)


def test_halves_go_away_from_zero():
    assert means_of([[(1, 1, True), (2, 1, True)], [(-1, 1, True), (-2, 1, True)]], 1)[0] == [2, -2]
