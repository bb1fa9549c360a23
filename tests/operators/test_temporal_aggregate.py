"""Temporal aggregation against brute force over instants, and against DuckDB."""

import math
import statistics
from decimal import Decimal
from fractions import Fraction

import duckdb
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
ALGORITHMS = ["auto", "sweep", "dip"]
WINDOWS = st.one_of(st.none(), st.tuples(st.integers(-2, 8), st.integers(9, 20)))


def values_for(rows, values):
    return st.lists(st.one_of(st.none(), values), min_size=len(rows), max_size=len(rows))


def expected_periods(rows, within, fill):
    """(start, end, active positions), cut to the window; empty periods only if they are to be filled."""
    first, last = within or reference.span(rows)

    def label(instant):
        return reference.active(rows, instant) or (() if fill else None)

    return reference.runs(first, last, label)


def by_start(rows, names):
    return sorted(names, key=lambda at: (rows[at][0], at))


@settings(max_examples=150)
@given(
    rows=periods(10),
    within=WINDOWS,
    fill=st.booleans(),
    grouped=st.booleans(),
    algorithm=st.sampled_from(ALGORITHMS),
    data=st.data(),
)
def test_every_function_in_every_way(rows, within, fill, grouped, algorithm, data):
    keys, values = data.draw(keys_for(rows)), data.draw(values_for(rows, st.integers(-3, 3)))
    given_table = table(rows, key=pa.array(keys, pa.string()), v=pa.array(values, pa.int16()))
    functions = ["count", "sum", "avg", "min", "max", "var", "stddev", "first", "last", "count_distinct", "collect"]
    aggregates = {"n": "count", **{f"{function}_v": ("v", function) for function in functions}, "spread": ("v", spread)}
    result = tl.temporal_aggregate(
        given_table, aggregates, by="key" if grouped else None, within=within, fill=fill, algorithm=algorithm
    )
    groups = {}
    for at, key in enumerate(keys):
        groups.setdefault((key,) if grouped else (), []).append(at)
    if not grouped:
        groups.setdefault((), [])
    expected = []
    for group, members in groups.items():
        own = [rows[at] for at in members]
        for start, end, names in expected_periods(own, within, fill):
            ordered = by_start(own, names)
            expected.append((*group, start, end, *measures([values[members[at]] for at in ordered])))
    found = [tuple(row.values()) for row in result.to_pylist()]
    assert sorted(found, key=str) == sorted(expected, key=str)


def spread(values):
    return int(values.max() - values.min())


def measures(values):
    """What every function gives for the values of the active rows, by start."""
    known = [value for value in values if value is not None]
    return (
        len(values),
        len(known),
        sum(known) if known else None,
        sum(known) / len(known) if known else None,
        min(known, default=None),
        max(known, default=None),
        float(exact_variance(known)) if len(known) > 1 else None,
        math.sqrt(exact_variance(known)) if len(known) > 1 else None,
        values[0] if values else None,
        values[-1] if values else None,
        len(set(known)),
        values or None,
        max(known) - min(known) if known else None,
    )


def exact_variance(values):
    return statistics.variance([Fraction(value) for value in values])


@settings(max_examples=60)
@given(rows=periods(10), data=st.data())
def test_snapshot_reducible_and_change_preserving(rows, data):
    result = tl.temporal_aggregate(table(rows), {"n": "count"}).to_pylist()
    for instant in range(20):
        now = [row["n"] for row in result if row["start"] <= instant < row["end"]]
        active = reference.active(rows, instant)
        assert now == ([len(active)] if active else [])
    boundaries = {time for row in result for time in (row["start"], row["end"])}
    changes = {time for time in range(21) if reference.active(rows, time) != reference.active(rows, time - 1)}
    assert boundaries == changes


@settings(max_examples=30)
@given(rows=periods(10), data=st.data())
def test_equals_duckdb(rows, data):
    values = data.draw(values_for(rows, st.integers(-1000, 1000)))
    numbered = table(rows, v=pa.array(values, pa.int64()))
    functions = ["sum", "min", "max", "avg"]
    found = tl.temporal_aggregate(numbered, {"n": "count", **{f: ("v", f) for f in functions}})
    expected = duckdb.sql("""
        with points as (select "start" as p from numbered union select "end" from numbered),
             steps as (select p as a, lead(p) over (order by p) as b from points)
        select a, b, count(*) as n, sum(v)::bigint, min(v), max(v), avg(v)
        from steps join numbered on numbered."start" <= a and a < numbered."end" where b is not null
        group by a, b order by a
    """).fetchall()
    assert [tuple(row.values()) for row in found.to_pylist()] == expected


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_figure_16(algorithm):
    case = CASES["DIP-fig16-aggregation"]
    rows = case["input"]["R"]
    booked = table([row[1:3] for row in rows], price=pa.array([row[4] for row in rows]))
    result = tl.temporal_aggregate(booked, {"average": ("price", "avg")}, algorithm=algorithm)
    expected = [(start, end, above / below) for start, end, above, below in case["expected"]]
    assert [tuple(row.values()) for row in result.to_pylist()] == expected


KINDS = {
    "text": pa.array(["b", "ä", "", None]),
    "date": pa.array([3, 1, 2, None], pa.int32()).cast(pa.date32()),
    "timestamp": pa.array([3, 1, 2, None], pa.timestamp("ns", "UTC")),
    "time": pa.array([3, 1, 2, None], pa.time64("us")),
    "duration": pa.array([3, -1, 2, None], pa.duration("ms")),
    "bool": pa.array([True, False, True, None]),
    "uint64": pa.array([2**64 - 1, 0, 2**63, None], pa.uint64()),
    "double": pa.array([math.inf, -0.5, -math.inf, None]),
    "decimal": pa.array([Decimal("3.10"), Decimal("-1.00"), Decimal("2.00"), None]),
    "wide decimal": pa.array([Decimal(10**37), Decimal(-(10**37)), Decimal(2), None], pa.decimal128(38, 0)),
    "dictionary": pa.array(["b", "a", "c", None]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_extremes_of_any_type_that_sorts(kind):
    column = KINDS[kind]
    rows = table([(0, 9)] * 4, v=column)
    aggregates = {name: ("v", name) for name in ("min", "max", "first", "last", "count", "count_distinct", "collect")}
    result = tl.temporal_aggregate(rows, aggregates)
    plain = column.cast(column.type.value_type) if kind == "dictionary" else column
    known = plain.to_pylist()[:3]
    (row,) = result.to_pylist()
    assert row == {
        "start": 0,
        "end": 9,
        "min": min(known),
        "max": max(known),
        "first": known[0],
        "last": None,
        "count": 3,
        "count_distinct": len(set(known)),
        "collect": [*known, None],
    }
    assert result["min"].type == plain.type


def test_not_a_number_is_the_greatest():
    rows = table([(0, 9), (0, 9), (0, 5)], v=pa.array([1.0, 2.0, math.nan]))
    found = tl.temporal_aggregate(rows, {"low": ("v", "min"), "high": ("v", "max")})
    assert str(found["high"].to_pylist()) == "[nan, 2.0]"
    assert found["low"].to_pylist() == [1.0, 1.0]


def test_decimals_are_exact():
    prices = [Decimal("0.10"), Decimal("0.20"), Decimal("12345678901234567890123456789012345.67")]
    rows = table([(0, 9), (0, 5), (5, 9)], v=pa.array(prices, pa.decimal128(37, 2)))
    found = tl.temporal_aggregate(rows, {"total": ("v", "sum"), "mean": ("v", "avg")})
    assert found["total"].to_pylist() == [Decimal("0.30"), Decimal("12345678901234567890123456789012345.77")]
    assert found["mean"].to_pylist() == [Decimal("0.150"), Decimal("6172839450617283945061728394506172.885")]
    thirds = table([(0, 9)] * 3, v=pa.array([Decimal("0.01"), Decimal("0.01"), Decimal("0.00")]))
    assert tl.temporal_aggregate(thirds, {"m": ("v", "avg")})["m"].to_pylist() == [Decimal("0.006667")]


def test_durations_are_summed():
    rows = table([(0, 9), (0, 5)], v=pa.array([3, 6], pa.duration("s")))
    found = tl.temporal_aggregate(rows, {"total": ("v", "sum"), "mean": ("v", "avg")})
    assert found["total"].cast(pa.int64()).to_pylist() == [9, 3]
    assert found["mean"].cast(pa.int64()).to_pylist() == [5, 3]


def test_overflow_is_an_error_and_its_absence_is_exact():
    most = 2**63 - 1
    fits = table([(0, 9), (0, 4), (4, 9)], v=pa.array([most, -1, -most]))
    assert tl.temporal_aggregate(fits, {"total": ("v", "sum")})["total"].to_pylist() == [most - 1, 0]
    beyond = table([(0, 9), (0, 4)], v=pa.array([most, 1]))
    with pytest.raises(tl.InvalidInputError, match="sum of 'v' does not fit into an int64 in 1 periods; cast 'v'"):
        tl.temporal_aggregate(beyond, {"total": ("v", "sum")})
    assert tl.temporal_aggregate(beyond, {"mean": ("v", "avg")})["mean"].to_pylist() == [2.0**62, 2.0**63]
    unsigned = table([(0, 9)], v=pa.array([2**63], pa.uint64()))
    with pytest.raises(tl.InvalidInputError, match="does not fit into an int64"):
        tl.temporal_aggregate(unsigned, {"total": ("v", "sum")})
    nines = table([(0, 9), (0, 4)], v=pa.array([Decimal(10**38 - 1), Decimal(1)], pa.decimal128(38, 0)))
    with pytest.raises(tl.InvalidInputError, match="more than 38 digits in 1 periods"):
        tl.temporal_aggregate(nines, {"total": ("v", "sum")})


def test_bad_aggregates_say_what_to_do():
    rows = table([(0, 9)], price=pa.array([1]), name=pa.array(["a"]))
    cases = [
        ({"x": ("price", "summ")}, r"no function 'summ'\. Did you mean 'sum'\?"),
        ({"x": ("name", "sum")}, "there is no sum of 'name', which is string; cast it, or use count"),
        ({"x": ("name", "stddev")}, "there is no stddev of 'name', which is string"),
        ({"x": "sum"}, r"sum needs a column, such as \('price', 'sum'\)"),
        ({"x": 5}, "aggregate 'x' is 5; give 'count', or a column and a function"),
        ({"start": "count"}, "an aggregate is named 'start', like a grouping or period column"),
        (["count"], "aggregates takes a mapping"),
    ]
    for aggregates, words in cases:
        with pytest.raises(tl.UsageError, match=words):
            tl.temporal_aggregate(rows, aggregates)
    with pytest.raises(tl.InvalidInputError, match=r"no column 'prise'\. Did you mean 'price'\?"):
        tl.temporal_aggregate(rows, {"x": ("prise", "sum")})
    with pytest.raises(tl.UsageError, match="an aggregate is named 'name'"):
        tl.temporal_aggregate(rows, {"name": "count"}, by="name")


def test_a_callable_that_raises_says_for_which_period():
    def picky(values):
        if len(values) > 1:
            raise ValueError("too many")
        return values[0]

    rows = table([(0, 9), (4, 9)], v=pa.array([1, 2]), key=pa.array(["a", "a"]))
    with pytest.raises(
        tl.InvalidInputError,
        match="'x': its function raised ValueError: too many for the period with key=a, start=4, end=9",
    ):
        tl.temporal_aggregate(rows, {"x": ("v", picky)}, by="key")
    with pytest.raises(tl.InvalidInputError, match="results of its function are not of one type"):
        tl.temporal_aggregate(rows, {"x": ("v", lambda values: "many" if len(values) > 1 else 1)})


def test_no_rows():
    none = table([], v=pa.array([], pa.float64()))
    aggregates = {"n": "count", "total": ("v", "sum"), "top": ("v", "max")}
    assert tl.temporal_aggregate(none, aggregates).num_rows == 0
    assert tl.temporal_aggregate(none, aggregates, fill=True).num_rows == 0
    assert tl.temporal_aggregate(none, aggregates, fill=True, within=(0, 5)).to_pylist() == [
        {"start": 0, "end": 5, "n": 0, "total": None, "top": None}
    ]


def test_open_ends_and_invalid_rows():
    rows = pa.table({"start": [0, 3, 9], "end": pa.array([None, 5, 4], pa.int64())})
    found = tl.temporal_aggregate(rows, {"n": "count"}, on_invalid="quarantine")
    assert found.result.to_pylist() == [
        {"start": 0, "end": 3, "n": 1},
        {"start": 3, "end": 5, "n": 2},
        {"start": 5, "end": None, "n": 1},
    ]
    assert found.rejected["reason"].to_pylist() == ["end is before start"]


def test_explain():
    rows = table([(0, 9)])
    assert tl.explain(tl.temporal_aggregate, rows, {"n": "count"})["algorithm"] == "sweep"
    assert tl.explain(tl.temporal_aggregate, rows, {"n": "count"}, algorithm="dip")["algorithm"] == "dip"
