"""Depth over time, with groups, against brute force."""

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from drawing import keys_for, periods
from reference import counting as brute
from rows import open_ended, table
from timeloom.model.ticks import FOREVER


@settings(max_examples=100)
@given(rows=periods(max_size=12), data=st.data())
def test_depth_equals_brute_force(rows, data):
    rows = [(start, FOREVER if data.draw(st.integers(0, 5)) == 0 else end) for start, end in rows]
    result = tl.depth(table(open_ended(rows)))
    found = [(row["start"], FOREVER if row["end"] is None else row["end"], row["depth"]) for row in result.to_pylist()]
    assert found == brute.depth(rows)


@settings(max_examples=60)
@given(rows=periods(), data=st.data())
def test_each_group_has_its_own_profile(rows, data):
    groups = data.draw(keys_for(rows))
    result = tl.depth(table(rows, g=pa.array(groups, pa.string())), by="g", name="n")
    assert result.column_names == ["g", "start", "end", "n"]
    for group in set(groups):
        members = [row for row, of in zip(rows, groups, strict=True) if of == group]
        found = [(row["start"], row["end"], row["n"]) for row in result.to_pylist() if row["g"] == group]
        assert found == brute.depth(members)
    assert set(result["g"].to_pylist()) == set(groups)


def test_periods_are_written_as_they_were_read():
    days = [dt.date(2024, 5, day) for day in (1, 2, 4)]
    df = pa.table({"from": [days[0], days[1]], "to": [days[2], days[2]]})
    result = tl.depth(df, period=tl.Period("from", "to", closed="both"))
    assert result.to_pylist() == [
        {"from": days[0], "to": days[0], "depth": 1},
        {"from": days[1], "to": days[2], "depth": 2},
    ]


def test_time_without_rows_is_shown_on_request():
    result = tl.depth(table([(2, 4), (6, 7)]), fill=True, within=(0, 8))
    found = [tuple(row.values()) for row in result.to_pylist()]
    assert found == [(0, 2, 0), (2, 4, 1), (4, 6, 0), (6, 7, 1), (7, 8, 0)]


def test_a_name_that_is_taken_is_refused():
    with pytest.raises(tl.UsageError, match="start"):
        tl.depth(table([(0, 1)]), name="start")
