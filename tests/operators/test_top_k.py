"""The k highest counts, with groups and ties, against brute force."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from drawing import keys_for, periods
from reference import counting as brute
from rows import table


@settings(max_examples=100)
@given(left=periods(), right=periods(), k=st.integers(0, 5), ties=st.sampled_from(["first", "all"]), data=st.data())
def test_top_k_equals_brute_force(left, right, k, ties, data):
    groups = data.draw(keys_for(left))
    counts = brute.counts(left, right, brute.intersects)
    tables = table(left, number="row", group=pa.array(groups, pa.string())), table(right)
    for by, of in ((None, [0] * len(left)), ("group", groups)):
        result = tl.top_k(*tables, k, by=by, ties=ties, name="n")
        rows = brute.top_k(counts, of, k, ties)
        assert result["row"].to_pylist() == rows
        assert result["n"].to_pylist() == [counts[row] for row in rows]


def test_the_relation_and_the_keys_count():
    left = pa.table({"key": [1, 2], "start": [0, 0], "end": [4, 4]})
    right = pa.table({"key": [2, 1, 1], "start": [4, 1, 4], "end": [5, 2, 6]})
    result = tl.top_k(left, right, 1, "meets", on="key", ties="all")
    assert result.to_pylist() == [
        {"key": 1, "start": 0, "end": 4, "count": 1},
        {"key": 2, "start": 0, "end": 4, "count": 1},
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k": -1}, "k=-1 is no number of rows"),
        ({"k": 1, "by": ["a", "a"]}, "by= names 'a' twice"),
        ({"k": 1.5}, "k takes a whole number"),
        ({"k": 1, "ties": "last"}, "Known: first, all"),
    ],
)
def test_wrong_calls_say_what_is_wrong(options, words):
    with pytest.raises(tl.UsageError, match=words):
        tl.top_k(table([(0, 1)]), table([(0, 1)]), **options)


def test_unknown_groups_are_named():
    with pytest.raises(tl.InvalidInputError, match="no column 'grp'"):
        tl.top_k(table([(0, 1)]), table([(0, 1)]), 1, by="grp")
