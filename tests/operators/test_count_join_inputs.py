"""What counting takes and refuses: kinds of tables, types of columns, wrong calls."""

import datetime as dt
import decimal
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import timeloom as tl

LEFT = pa.table({"who": ["Ann", "Bob"], "start": [0, 5], "end": [5, 9]})
RIGHT = pa.table({"v": [1, 2, 3], "start": [4, 5, 8], "end": [6, 6, 10]})


def with_values(values):
    return RIGHT.set_column(0, "v", values)


def aggregated(values, function):
    return tl.count_join(LEFT, with_values(values), aggregates={"x": ("v", function)})["x"].to_pylist()


def test_answers_in_the_kind_of_the_left_table():
    for kind, make in ((pd.DataFrame, LEFT.to_pandas), (pl.DataFrame, lambda: pl.from_arrow(LEFT))):
        result = tl.count_join(make(), RIGHT)
        assert isinstance(result, kind)
        assert list(result["count"]) == [1, 3]


def test_dates_and_timestamps():
    day = dt.date(2024, 3, 1)
    left = pa.table({"start": [day], "end": [day + dt.timedelta(2)]})
    right = pa.table({"start": [day - dt.timedelta(3), day], "end": [day, None]}, pa.schema(left.schema))
    assert tl.count_join(left, right)["count"].to_pylist() == [1]
    assert tl.count_join(left, right, period=tl.Period(closed="both"))["count"].to_pylist() == [2]
    noon = dt.datetime(2024, 3, 1, 12)
    left = pa.table({"start": [noon], "end": [noon + dt.timedelta(hours=1)]})
    right = pa.table({"start": [noon + dt.timedelta(hours=3)], "end": [noon + dt.timedelta(hours=4)]})
    for delta, count in (("2 hours", 1), ("1 hour", 0)):
        assert tl.count_join(left, right, "iseql.before", delta=delta)["count"].to_pylist() == [count]


def test_aggregates_of_many_types():
    assert aggregated(pa.array([1, 2, 3], pa.uint8()), "sum") == [1, 6]
    assert aggregated(pa.array([True, False, True]), "sum") == [1, 2]
    assert aggregated(pa.array([None, None, None], pa.int64()), "max") == [None, None]
    assert aggregated(pa.array(["x", None, "a"]), "min") == ["x", "a"]
    assert aggregated(pa.array(["x", None, "a"]), "count") == [1, 2]
    assert aggregated(pa.array(["x", "y", "a"]).dictionary_encode(), "max") == ["x", "y"]
    prices = pa.array([decimal.Decimal("1.10"), decimal.Decimal("2.20"), None])
    assert aggregated(prices, "sum") == [decimal.Decimal("1.10"), decimal.Decimal("3.30")]
    assert aggregated(prices, "avg") == [decimal.Decimal("1.10"), decimal.Decimal("1.65")]
    days = [dt.date(2024, 1, day) for day in (3, 1, 2)]
    assert aggregated(pa.array(days), "min") == [days[0], days[1]]
    assert aggregated(pa.array([1.0, math.nan, 2.0]), "min") == [1.0, 1.0]
    assert math.isnan(aggregated(pa.array([1.0, math.nan, 2.0]), "max")[1])
    assert math.isnan(aggregated(pa.array([1.0, math.nan, 2.0]), "sum")[1])


def test_sums_beyond_int64_are_noticed_and_smaller_ones_are_right():
    huge = pa.array([2**62, 2**62, -(2**62)])
    assert aggregated(huge, "sum") == [2**62, 2**62]
    assert aggregated(huge, "avg") == [2.0**62, 2.0**62 / 3]
    with pytest.raises(tl.InvalidInputError, match=r"sum of 'v' does not fit into an int64 for 1 left rows .* row 1"):
        aggregated(pa.array([2**62, 2**62, 0]), "sum")


def test_a_long_sum_keeps_the_small_values():
    right = pa.table({"v": [1e17, 0.5, 0.25], "start": [0, 20, 30], "end": [1, 21, 31]})
    left = pa.table({"start": [0, 15, 25], "end": [40, 40, 40]})
    total = tl.count_join(left, right, aggregates={"t": ("v", "sum")})["t"].to_pylist()
    assert total == [1e17 + 0.75, 0.75, 0.25]


def test_counting_rows_once_more_is_no_harm():
    result = tl.count_join(LEFT, RIGHT, aggregates={"n": "count", "mean": ("v", "mean")})
    assert result.select(["count", "n", "mean"]).to_pylist() == [
        {"count": 1, "n": 1, "mean": 1.0},
        {"count": 3, "n": 3, "mean": 2.0},
    ]


def test_empty_sides():
    none = RIGHT.slice(0, 0)
    result = tl.count_join(LEFT, none, "during", aggregates={f: ("v", f) for f in ("sum", "avg", "min")})
    row = {"count": 0, "sum": None, "avg": None, "min": None}
    assert result.select(list(row)).to_pylist() == [row, row]
    assert tl.count_join(LEFT.slice(0, 0), RIGHT)["count"].to_pylist() == []


def test_invalid_rows_are_set_aside():
    broken = pa.table({"who": ["x", "y"], "start": [3, None], "end": [1, 4]})
    left = pa.concat_tables([LEFT, broken])
    found = tl.count_join(left, RIGHT, on_invalid="quarantine")
    assert found.result["count"].to_pylist() == [1, 3]
    assert found.rejected["who"].to_pylist() == ["x", "y"]
    with pytest.raises(tl.InvalidInputError, match="2 of 4 rows of the left table"):
        tl.count_join(left, RIGHT)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"algorithm": "smartest"}, "algorithm='smartest' is unknown. Did you mean 'smart'"),
        ({"relation": "during", "algorithm": "smart"}, "counts 'intersects' only, not 'during'"),
        ({"relation": "meets", "algorithm": "ranks"}, "counts 'intersects' only, not 'meets'"),
        ({"aggregates": {"m": ("v", "median")}}, "there is no function 'median'"),
        ({"aggregates": {"m": ("v", "collect")}}, "'collect' cannot be had without listing the pairs"),
        ({"aggregates": {"m": "sum"}}, "sum needs a column"),
        ({"aggregates": ["sum"]}, "aggregates takes a mapping"),
        ({"aggregates": {"count": ("v", "sum")}}, "both named 'count'"),
        ({"name": "who"}, "the left table has a column 'who' already"),
        ({"name": ""}, "is no column name"),
    ],
)
def test_wrong_calls_say_what_is_wrong(options, words):
    with pytest.raises(tl.UsageError, match=words):
        tl.count_join(LEFT, RIGHT, **options)


def test_columns_that_cannot_be_aggregated():
    with pytest.raises(tl.UsageError, match="there is no sum of 'v', which is string; join the tables"):
        aggregated(pa.array(["a", "b", "c"]), "sum")
    with pytest.raises(tl.UsageError, match="there is no min of 'v'"):
        aggregated(pa.array([[1], [2], [3]]), "min")
    with pytest.raises(tl.InvalidInputError, match="no column 'w'"):
        tl.count_join(LEFT, RIGHT, aggregates={"x": ("w", "sum")})
    with pytest.raises(tl.InvalidInputError, match="does not fit into an int64 for 2 left rows"):
        aggregated(pa.array([2**64 - 1, 0, 0], pa.uint64()), "sum")
    with pytest.raises(tl.InvalidInputError, match="more than 38 digits in 1 left rows"):
        aggregated(
            pa.array([decimal.Decimal(10**38 - 1), decimal.Decimal(10**38 - 1), None], pa.decimal128(38, 0)), "sum"
        )


def test_explain_tells_ranks_from_sweeps():
    assert tl.explain(tl.count_join, LEFT, RIGHT)["algorithm"] == "ranks"
    plan = tl.explain(tl.count_join, LEFT, RIGHT, "before")
    assert (plan["algorithm"], plan["swept rows"]) == ("dominance", 0)
    nested = pa.table({"start": np.arange(50), "end": 100 - np.arange(50)})
    plan = tl.explain("count_join", nested, nested, "during")
    assert (plan["algorithm"], plan["swept rows"] > 0) == ("dominance", True)
    assert tl.explain("count_join", LEFT, RIGHT, algorithm="smart")["algorithm"] == "smart"
