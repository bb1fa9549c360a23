"""Counts and aggregates for every relation, key and algorithm against brute force."""

import math

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from drawing import LIMITS, keys_for, periods, ranges
from reference.relations import PARAMETERS, RELATIONS, join_pairs
from rows import open_ended, table
from timeloom.model.box import Box
from timeloom.model.ticks import FOREVER

FUNCTIONS = ["sum", "avg", "min", "max", "count"]


def partners(pairs, rows):
    return [[j for i, j in pairs if i == row] for row in range(rows)]


def brute_aggregate(function, values):
    values = [value for value in values if value is not None]
    if function == "count":
        return len(values)
    if not values:
        return None
    if function in ("min", "max"):
        return {"min": min, "max": max}[function](values)
    total = math.fsum(values) if any(isinstance(value, float) for value in values) else sum(values)
    return total if function == "sum" else total / len(values)


@st.composite
def open_periods(draw):
    """Periods of which some never end."""
    return [(start, FOREVER if draw(st.integers(0, 4)) == 0 else end) for start, end in draw(periods(max_size=10))]


@pytest.mark.parametrize("name", RELATIONS)
@settings(max_examples=60)
@given(data=st.data())
def test_every_relation(name, data):
    left, right = data.draw(open_periods()), data.draw(open_periods())
    options = {limit: data.draw(LIMITS) for limit in PARAMETERS.get(name, ())}
    keyed = data.draw(st.booleans())
    left_keys = data.draw(keys_for(left)) if keyed else None
    right_keys = data.draw(keys_for(right)) if keyed else None
    values = data.draw(st.lists(st.integers(-9, 9) | st.none(), min_size=len(right), max_size=len(right)))
    result = tl.count_join(
        table(open_ended(left), left_keys),
        table(open_ended(right), right_keys, v=pa.array(values, pa.int64())),
        name,
        on="key" if keyed else None,
        aggregates={function: ("v", function) for function in FUNCTIONS[:4]},
        name="n",
        **options,
    )
    pairs = join_pairs(left, right, RELATIONS[name], left_keys=left_keys, right_keys=right_keys, **options)
    wanted = partners(pairs, len(left))
    assert result["start"].to_pylist() == [start for start, _ in left]
    assert result["n"].to_pylist() == [len(found) for found in wanted]
    for function in FUNCTIONS[:4]:
        brute = [brute_aggregate(function, [values[j] for j in found]) for found in wanted]
        assert result[function].to_pylist() == brute


@settings(max_examples=150)
@given(
    left=open_periods(),
    right=open_periods(),
    boxes=st.lists(st.builds(Box, ranges(), ranges(), ranges(), ranges()), min_size=1, max_size=3),
    data=st.data(),
)
def test_custom_relations_and_unions(left, right, boxes, data):
    relation = tl.Relation.of(boxes)
    left_keys, right_keys = data.draw(keys_for(left)), data.draw(keys_for(right))
    values = data.draw(st.lists(st.sampled_from("abc"), min_size=len(right), max_size=len(right)))
    result = tl.count_join(
        table(open_ended(left), left_keys),
        table(open_ended(right), right_keys, v=pa.array(values, pa.string())),
        relation,
        on="key",
        aggregates={"least": ("v", "min"), "most": ("v", "max")},
    )
    pairs = join_pairs(left, right, lambda r, s, *_: relation.holds(r, s), left_keys=left_keys, right_keys=right_keys)
    wanted = partners(pairs, len(left))
    assert result["count"].to_pylist() == [len(found) for found in wanted]
    for name, function in (("least", "min"), ("most", "max")):
        assert result[name].to_pylist() == [brute_aggregate(function, [values[j] for j in found]) for found in wanted]


@pytest.mark.parametrize("algorithm", ["naive", "simple", "smart", "ranks", "dominance"])
@settings(max_examples=60)
@given(left=open_periods(), right=open_periods(), data=st.data())
def test_every_algorithm_counts_the_same(algorithm, left, right, data):
    left_keys, right_keys = data.draw(keys_for(left)), data.draw(keys_for(right))
    tables = table(open_ended(left), left_keys), table(open_ended(right), right_keys)
    for on in (None, "key"):
        auto = tl.count_join(*tables, on=on)
        assert tl.count_join(*tables, on=on, algorithm=algorithm).equals(auto)


@settings(max_examples=80)
@given(left=periods(), right=periods(), data=st.data())
def test_sums_of_doubles_are_rounded_once(left, right, data):
    number = st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6) | st.sampled_from([math.inf, -math.inf])
    values = data.draw(st.lists(number | st.none(), min_size=len(right), max_size=len(right)))
    result = tl.count_join(
        table(open_ended(left)),
        table(open_ended(right), v=pa.array(values, pa.float64())),
        aggregates={"total": ("v", "sum")},
    )
    for total, found in zip(
        result["total"].to_pylist(), partners(join_pairs(left, right, RELATIONS["intersects"]), len(left)), strict=True
    ):
        inside = [values[j] for j in found if values[j] is not None]
        if not inside:
            assert total is None
        elif math.inf in inside and -math.inf in inside:
            assert math.isnan(total)
        else:
            exact = math.fsum(inside)
            assert total == exact or abs(total - exact) <= math.ulp(exact)
