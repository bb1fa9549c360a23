"""`stab`: whole rows, each once and in their order, at one instant or at many, in the column's own type."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from drawing import TIMES, periods
from rows import table

DAYS = [dt.date(2024, 1, day) for day in range(1, 10)]
UTC = dt.UTC


@settings(max_examples=150)
@given(periods(max_size=20), st.lists(st.integers(-1, 20), max_size=6))
def test_many_instants_equal_brute_force(rows, instants):
    expected = [i for i, (start, end) in enumerate(rows) if any(start <= t < end for t in instants)]
    assert tl.stab(table(rows, number="row"), at=instants)["row"].to_pylist() == expected


@settings(max_examples=60)
@given(periods(), TIMES)
def test_one_instant_equals_brute_force(rows, t):
    expected = [i for i, (start, end) in enumerate(rows) if start <= t < end]
    assert tl.stab(table(rows, number="row"), at=t)["row"].to_pylist() == expected


def test_closed_ends_open_ends_and_sentinels():
    rows = pa.table({"a": [1, 4, 6], "b": [3, None, 99], "n": [0, 1, 2]})
    period = tl.Period("a", "b", closed="both", open_end=99)
    assert tl.stab(rows, 3, period=period)["n"].to_pylist() == [0]
    assert tl.stab(rows, at=10**12, period=period)["n"].to_pylist() == [1, 2]


@pytest.mark.parametrize(
    "at", [DAYS[2], "2024-01-03", np.datetime64("2024-01-03", "D").item(), [DAYS[2]], pa.array([DAYS[2]])]
)
def test_dates(at):
    rows = pa.table({"start": DAYS[:3], "end": DAYS[2:5], "n": [0, 1, 2]})
    assert tl.stab(rows, at=at)["n"].to_pylist() == [1, 2]


@pytest.mark.parametrize("zone", [None, UTC])
@pytest.mark.parametrize("as_given", ["datetime", "text", "numpy", "pandas"])
def test_timestamps(zone, as_given):
    at = dt.datetime(2024, 1, 3, 12, tzinfo=zone)
    start = pa.array([at - dt.timedelta(hours=1), at, at + dt.timedelta(hours=1)], pa.timestamp("us", zone and "UTC"))
    end = pa.array([at, None, None], start.type)
    rows = pa.table({"start": start, "end": end, "n": [0, 1, 2]})
    forms = {
        "datetime": at,
        "text": at.isoformat(),
        "numpy": np.array([at.replace(tzinfo=None)], "datetime64[ns]"),
        "pandas": pd.Series([at]),
    }
    if as_given == "numpy" and zone:
        with pytest.raises(tl.UsageError, match="no time zone"):
            tl.stab(rows, at=forms[as_given])
    else:
        assert tl.stab(rows, at=forms[as_given])["n"].to_pylist() == [1]


def test_a_text_may_hold_several_instants():
    rows = pa.table({"start": DAYS[:4], "end": DAYS[1:5], "n": [0, 1, 2, 3]})
    assert tl.stab(rows, at="2024-01-01, 2024-01-03")["n"].to_pylist() == [0, 2]


def test_every_kind_of_table_comes_back_as_its_own_kind():
    rows = table([(1, 3), (2, 5)], number="row")
    assert tl.stab(rows.to_pandas(), at=3)["row"].tolist() == [1]
    assert isinstance(tl.stab(pl.from_arrow(rows), at=3), pl.DataFrame)
    assert rows.to_pandas().pipe(tl.stab, 2)["row"].tolist() == [0, 1]


def test_no_instant_and_no_row():
    rows = table([(1, 3)], number="row")
    assert tl.stab(rows, at=[]).num_rows == 0
    assert tl.stab(rows.slice(0, 0), at=2).num_rows == 0
    assert tl.stab(rows, at=[2, 2, 1]).num_rows == 1


def test_int64_extremes():
    low, high = -(2**63), 2**63 - 1
    rows = table([(low, low + 1), (low, high), (high - 1, high)], number="row")
    assert tl.stab(rows, at=[low])["row"].to_pylist() == [0, 1]
    assert tl.stab(rows, at=[high - 1])["row"].to_pylist() == [1, 2]
    assert tl.stab(rows, at=high).num_rows == 0


def test_invalid_rows_follow_the_policy():
    rows = pa.table({"start": [1, None, 5], "end": [4, 4, 2], "n": [0, 1, 2]})
    with pytest.raises(tl.InvalidInputError, match="2 of 3 rows of the input table have no usable period"):
        tl.stab(rows, at=2)
    result, rejected = tl.stab(rows, at=2, on_invalid="quarantine")
    assert result["n"].to_pylist() == [0]
    assert rejected["n"].to_pylist() == [1, 2]


@pytest.mark.parametrize(
    ("at", "words"),
    [
        (None, r"at is None; give an instant"),
        ([1, None], r"at\[1\] is None"),
        (1.5, r"at=1.5 does not fit the period's type int64"),
        ("noon", r"at='noon' does not fit"),
        (2**63, r"does not fit"),
        (dt.date(2024, 1, 1), r"does not fit the period's type int64"),
    ],
)
def test_instants_of_another_type_are_refused(at, words):
    with pytest.raises(tl.UsageError, match=words):
        tl.stab(table([(1, 3)], number="row"), at=at)
