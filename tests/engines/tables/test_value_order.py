"""Rows that are level otherwise, in the order of their values."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeloom.engines.tables.taking import taken
from timeloom.engines.tables.value_order import by_values, runs_of_equals, value_ranks

NAN = float("nan")

ASCENDING = {
    "integers": pa.array([-3, 2, None]),
    "numbers": pa.array([-1.5, 0.0, 7.0, NAN, None]),
    "halves": pa.array([np.float16(-1.5), np.float16(2.0), None], pa.float16()),
    "texts": pa.array(["", "B", "a", "ab", None]),
    "views": pa.array(["B", "a", None], pa.string_view()),
    "categories": pa.array(["a", "b", None]).dictionary_encode(),
    "truths": pa.array([False, True, None]),
    "decimals": pa.array([Decimal("-0.10"), Decimal("2.35"), None]),
    "dates": pa.array([dt.date(2024, 5, 1), dt.date(2024, 5, 2), None]),
    "structs": pa.array([{"a": 1, "b": 2}, {"a": 1, "b": 3}, {"a": 2, "b": None}, None]),
    "lists": pa.array([[], [1], [1, 2], [2], [None], None]),
    "maps": pa.array([[("a", 1)], [("a", 2)], None], pa.map_(pa.string(), pa.int64())),
    "runs": pa.RunEndEncodedArray.from_arrays([1, 2], [4, 9]),
}


@pytest.mark.parametrize("kind", ASCENDING)
def test_every_type_has_an_order_and_nulls_come_last(kind):
    ranks = value_ranks(ASCENDING[kind]).tolist()
    assert ranks == sorted(set(ranks))
    reverse = pa.array(range(len(ranks) - 1, -1, -1))
    assert value_ranks(pa.chunked_array([taken(ASCENDING[kind], reverse, kind)])).tolist() == ranks[::-1]


def test_zeros_are_level_and_a_column_without_a_type_says_nothing():
    assert len(set(value_ranks(pa.array([0.0, -0.0])).tolist())) == 1
    assert len(set(value_ranks(pa.nulls(3)).tolist())) == 1


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from("ab")), max_size=12))
def test_columns_decide_one_after_the_other(drawn):
    drawn.sort(key=lambda row: row[0])
    groups, first, second = (list(column) for column in zip(*drawn, strict=True)) if drawn else ([], [], [])
    kinds = [("key", pa.int64()), ("x", pa.int64()), ("y", pa.string())]
    table = pa.table({"key": groups, "x": first, "y": second}, pa.schema(kinds))
    found = by_values(table, np.arange(len(drawn)), np.array(groups, np.int64), ["key"])
    assert found.tolist() == sorted(range(len(drawn)), key=lambda row: drawn[row])


def test_positions_of_equal_values():
    positions, groups = runs_of_equals(np.array([1, 2, 2, 3, 4, 4, 4]))
    assert positions.tolist() == [1, 2, 4, 5, 6]
    assert groups.tolist() == [0, 0, 1, 1, 1]
    assert runs_of_equals(np.arange(3))[0].size == 0
