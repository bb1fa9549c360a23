"""Coalescing against brute force over instants."""

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from drawing import keys_for, periods
from reference import sequenced as reference


@settings(max_examples=100)
@given(rows=periods(12), data=st.data())
def test_equals_the_union_of_each_group(rows, data):
    keys = data.draw(keys_for(rows))
    numbers = data.draw(st.lists(st.sampled_from([1, 2]), min_size=len(rows), max_size=len(rows)))
    table = pa.table(
        {
            "start": pa.array([row[0] for row in rows], pa.int64()),
            "key": pa.array(keys, pa.string()),
            "number": pa.array(numbers, pa.int8()),
            "end": pa.array([row[1] for row in rows], pa.int64()),
        }
    )
    for by in (None, ["key"], ["number"], []):
        names = ["key", "number"] if by is None else by
        result = tl.coalesce(table, by=by)
        assert result.column_names == [name for name in table.column_names if name in (*names, "start", "end")]
        groups = {}
        for at, row in enumerate(rows):
            values = {"key": keys[at], "number": numbers[at]}
            groups.setdefault(tuple(values[name] for name in names), []).append(row)
        expected = [(*group, *period) for group, members in groups.items() for period in reference.coalesce(members)]
        found = list(zip(*(result[name].to_pylist() for name in (*names, "start", "end")), strict=True))
        assert sorted(found, key=str) == sorted(expected, key=str)


def test_closed_periods_that_touch_become_one():
    days = [dt.date(2024, 1, day) for day in (1, 5, 9)]
    table = pa.table({"start": pa.array([days[0], days[1]]), "end": pa.array([dt.date(2024, 1, 4), days[2]])})
    assert tl.coalesce(table, period=tl.Period(closed="both")).to_pylist() == [{"start": days[0], "end": days[2]}]
    assert tl.coalesce(table).num_rows == 2


def test_an_open_end_swallows_what_follows():
    table = pa.table({"start": [0, 5, 7], "end": pa.array([5, None, 9], pa.int64())})
    assert tl.coalesce(table).to_pylist() == [{"start": 0, "end": None}]


def test_values_that_cannot_be_compared_are_named():
    table = pa.table({"tags": [["a"], ["a"]], "start": [0, 1], "end": [2, 3]})
    with pytest.raises(tl.InvalidInputError, match="column 'tags' is list<.*choose the columns with by="):
        tl.coalesce(table)
    assert tl.coalesce(table, by=[]).num_rows == 1
    with pytest.raises(tl.InvalidInputError, match=r"no column 'tag'\. Did you mean 'tags'\?"):
        tl.coalesce(table, by="tag")
