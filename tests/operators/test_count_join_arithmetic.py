"""Sums and averages of counting joins: exact over all magnitudes and types, as temporal aggregates have them."""

import math
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from reference.relations import RELATIONS, join_pairs
from rows import table

DOUBLES = (
    st.sampled_from(
        [None, 0.0, -0.0, 1.0, 0.1, -0.1, 1e300, -1e300, 1.7e308, -1.7e308, 5e-324, 2.5e-308, 1e15, math.inf, -math.inf]
    )
    | st.floats()
)
PERIODS = st.tuples(st.integers(0, 9), st.integers(1, 6)).map(lambda row: (row[0], row[0] + row[1]))
BOTH = {"total": ("v", "sum"), "mean": ("v", "avg")}


def nearest(value):
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def added(values, count=1):
    """The exact total divided by a count, rounded once; infinities and NaN as in IEEE addition."""
    finite = [value for value in values if math.isfinite(value)]
    if len(finite) < len(values):
        return sum(value for value in values if not math.isfinite(value))
    return nearest(sum(map(Fraction, finite)) / count)


def same(found, expected):
    return repr(found) == repr(expected) or (found == expected == 0.0)


def test_a_small_value_survives_beside_a_large_one():
    left, right = table([(0, 2), (4, 6)]), table([(0, 2), (4, 6)], v=pa.array([1e300, 1.0]))
    assert tl.count_join(left, right, aggregates=BOTH)["total"].to_pylist() == [1e300, 1.0]


@given(st.lists(PERIODS, max_size=5), st.data(), st.sampled_from(sorted(RELATIONS)))
@settings(max_examples=150, deadline=None)
def test_doubles_of_all_magnitudes(left, data, relation):
    right = data.draw(st.lists(st.tuples(PERIODS, DOUBLES), max_size=8))
    values = [value for _, value in right]
    rows = [period for period, _ in right]
    found = tl.count_join(table(left), table(rows, v=pa.array(values, pa.float64())), relation, aggregates=BOTH)
    pairs = join_pairs(left, rows, RELATIONS[relation])
    for at, row in enumerate(found.to_pylist()):
        inside = [values[right_at] for left_at, right_at in pairs if left_at == at and values[right_at] is not None]
        assert same(row["total"], added(inside) if inside else None)
        assert same(row["mean"], added(inside, len(inside)) if inside else None)


KINDS = {
    "decimals of 38 digits": ([Decimal(10**37), Decimal(-(10**37) + 1), Decimal(3), None], pa.decimal128(38, 0)),
    "decimals of two places": ([Decimal("0.10"), Decimal("2.35"), Decimal("-9.99"), None], pa.decimal128(9, 2)),
    "unsigned": ([2**64 - 1, 0, None, 1], pa.uint64()),
    "large integers": ([2**62 + 1, -(2**62), 2**53 + 1, None], pa.int64()),
    "booleans": ([True, False, None, True], pa.bool_()),
    "durations": ([timedelta(days=9), timedelta(microseconds=1), None, timedelta(0)], pa.duration("us")),
    "floats": ([0.1, 1e30, None, -1e30], pa.float32()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_totals_and_types_are_those_of_temporal_aggregates(kind):
    """Every row of a temporal aggregate is a period; counting over the same period must give the same."""
    values, arrow = KINDS[kind]
    right = table([(0, 5), (3, 9), (3, 6), (1, 4)], v=pa.array(values, arrow))
    aggregates = {"mean": BOTH["mean"]} if kind == "unsigned" else BOTH
    expected = tl.temporal_aggregate(right, aggregates)
    found = tl.count_join(expected.select(["start", "end"]), right, aggregates=aggregates).drop_columns(["count"])
    assert found.to_pylist() == expected.to_pylist()
    assert found.schema.types == expected.schema.types


def test_averages_of_large_integers_are_rounded_once():
    values = [2**62 + 1, 2**62 + 3, 2**61 + 7]
    right = table([(0, 5)] * 3, v=pa.array(values, pa.int64()))
    expected = [float(Fraction(sum(values), 3))]
    assert tl.count_join(table([(0, 5)]), right, aggregates=BOTH | {"total": "count"})["mean"].to_pylist() == expected
    assert tl.temporal_aggregate(right, {"mean": ("v", "avg")})["mean"].to_pylist() == expected


def test_many_values_of_far_magnitudes_add_up():
    draw = np.random.default_rng(7)
    values = np.ldexp(draw.uniform(-1, 1, 5000), draw.integers(-1000, 1000, 5000))
    starts = draw.integers(0, 1000, 5000)
    right = pa.table({"start": starts, "end": starts + draw.integers(1, 300, 5000), "v": values})
    found = tl.count_join(table([(100, 110), (900, 901)]), right, "contains | overlaps | during", aggregates=BOTH)
    inside = tl.join(table([(100, 110), (900, 901)]), right, "contains | overlaps | during", columns=["start", "v"])
    for row in found.to_pylist():
        matching = [v["v"] for v in inside.to_pylist() if v["start"] == row["start"]]
        assert row["total"] == added(matching)
        assert row["mean"] == added(matching, len(matching))
