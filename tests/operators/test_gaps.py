"""Gaps against brute force over instants."""

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from drawing import keys_for, periods
from reference import sequenced as reference

WINDOWS = st.one_of(st.none(), st.tuples(st.integers(-2, 8), st.integers(9, 20)))


@settings(max_examples=100)
@given(rows=periods(12), within=WINDOWS, grouped=st.booleans(), data=st.data())
def test_equals_the_uncovered_time_of_each_group(rows, within, grouped, data):
    keys = data.draw(keys_for(rows))
    table = pa.table(
        {
            "key": pa.array(keys, pa.string()),
            "start": pa.array([row[0] for row in rows], pa.int64()),
            "end": pa.array([row[1] for row in rows], pa.int64()),
        }
    )
    result = tl.gaps(table, by="key" if grouped else None, within=within)
    groups = {}
    for key, row in zip(keys, rows, strict=True):
        groups.setdefault((key,) if grouped else (), []).append(row)
    if not grouped:
        groups.setdefault((), [])
    expected = [
        (*group, *gap)
        for group, members in groups.items()
        for gap in reference.gaps(members, within or reference.span(members))
    ]
    assert sorted((tuple(row.values()) for row in result.to_pylist()), key=str) == sorted(expected, key=str)


def test_an_open_window_has_an_open_gap():
    table = pa.table({"start": [2], "end": [4]})
    assert tl.gaps(table, within=(0, None)).to_pylist() == [{"start": 0, "end": 2}, {"start": 4, "end": None}]


def test_the_window_is_in_the_periods_own_form():
    table = pa.table({"start": pa.array([dt.date(2024, 1, 3)]), "end": pa.array([dt.date(2024, 1, 4)])})
    found = tl.gaps(table, within=("2024-01-01", dt.date(2024, 1, 5)), period=tl.Period(closed="both"))
    assert found.to_pylist() == [
        {"start": dt.date(2024, 1, 1), "end": dt.date(2024, 1, 2)},
        {"start": dt.date(2024, 1, 5), "end": dt.date(2024, 1, 5)},
    ]


def test_windows_that_make_no_sense():
    table = pa.table({"start": [2], "end": [4]})
    with pytest.raises(tl.UsageError, match="holds no instant"):
        tl.gaps(table, within=(4, 4))
    with pytest.raises(tl.UsageError, match="within takes a tuple of 2"):
        tl.gaps(table, within=5)
    with pytest.raises(tl.UsageError, match="within='x' does not fit the period's type int64"):
        tl.gaps(table, within=("x", 9))
