"""The sequenced anti-join against brute force over instants."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from drawing import keys_for, periods
from reference import sequenced as reference
from rows import table
from tree import worked_examples

CASES = worked_examples("dip")


@settings(max_examples=150)
@given(left=periods(), right=periods(), algorithm=st.sampled_from(["auto", "cover", "dip"]), data=st.data())
def test_equals_brute_force_over_instants(left, right, algorithm, data):
    keyed = data.draw(st.booleans())
    keys, others = data.draw(keys_for(left)), data.draw(keys_for(right))
    result = tl.temporal_antijoin(
        table(left, keys, "i"), table(right, others, "j"), on="key" if keyed else None, algorithm=algorithm
    )

    def fits(at, other):
        return not keyed or (keys[at] is not None and keys[at] == others[other])

    found = list(zip(*(result[name].to_pylist() for name in ("i", "start", "end")), strict=True))
    assert found == reference.antijoin(left, right, fits)
    assert result["key"].to_pylist() == [keys[at] for at in result["i"].to_pylist()]


@pytest.mark.parametrize("case", ["DIP-fig12-antijoin", "DIP-antijoin-SR"])
def test_figure_12(case):
    def relation(rows):
        return pa.table(dict(zip(["name", "start", "end", "room", "price"], zip(*rows, strict=True), strict=True)))

    given_input = CASES[case]["input"]
    result = tl.temporal_antijoin(relation(given_input["R"]), relation(given_input["S"]))
    assert [list(row.values()) for row in result.to_pylist()] == CASES[case]["expected"]


def test_open_ends_stay_open_where_nothing_follows():
    left = pa.table({"start": [0, 0], "end": pa.array([None, 5], pa.int64())})
    right = pa.table({"start": [2], "end": [3]})
    assert tl.temporal_antijoin(left, right).to_pylist() == [
        {"start": 0, "end": 2},
        {"start": 3, "end": None},
        {"start": 0, "end": 2},
        {"start": 3, "end": 5},
    ]


def test_columns_are_picked_and_checked():
    left = pa.table({"name": ["a"], "start": [0], "end": [9]})
    right = pa.table({"start": [2], "end": [3]})
    assert tl.temporal_antijoin(left, right, columns=["end", "name"]).to_pylist() == [
        {"end": 2, "name": "a"},
        {"end": 9, "name": "a"},
    ]
    with pytest.raises(tl.UsageError, match=r"columns= asks for 'nam', .* Did you mean 'name'\?"):
        tl.temporal_antijoin(left, right, columns=["nam"])
    with pytest.raises(tl.UsageError, match="algorithm='sweep' is unknown"):
        tl.temporal_antijoin(left, right, algorithm="sweep")


def test_explain():
    one = pa.table({"start": [0], "end": [4]})
    assert tl.explain(tl.temporal_antijoin, one, one)["algorithm"] == "cover"
    assert tl.explain(tl.temporal_antijoin, one, one, algorithm="dip")["algorithm"] == "dip"
