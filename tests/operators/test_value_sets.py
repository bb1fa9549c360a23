"""Sets and bags of values at every instant, lanes, faults, buckets, pieces and sessions of local tables."""

import datetime as dt
import itertools
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from drawing import keys_for, periods
from reference import aggregates, sequenced, value_sets
from rows import table

UNORDERED = ("sum", "avg", "min", "max", "count_distinct")
KEYED = periods().flatmap(lambda rows: st.tuples(st.just(rows), keys_for(rows)))


def tuples(found, *names):
    return list(zip(*(found[name].to_pylist() for name in names or found.column_names), strict=True))


@settings(max_examples=150)
@given(KEYED, KEYED, st.sampled_from(["union", "intersect", "except"]), st.booleans())
def test_sets_and_bags(left, right, name, bag):
    verb = {"union": tl.temporal_union, "intersect": tl.temporal_intersect, "except": tl.temporal_except}[name]
    found = verb(table(*left), table(*right), all=bag)
    rows = tuples(found, "key", "start", "end")
    sides = [[(key, *row) for row, key in zip(rows, keys, strict=True)] for rows, keys in (left, right)]
    for instant in range(20):
        snapshots = (value_sets.snapshot(side, instant) for side in sides)
        assert value_sets.snapshot(rows, instant) == value_sets.combined(*snapshots, name, bag)
    if not bag:
        assert all(one[0] != other[0] or one[2] != other[1] for one in rows for other in rows)


@settings(max_examples=100)
@given(KEYED, st.booleans())
def test_lanes(drawn, keyed):
    rows, keys = drawn
    found = tl.lanes(table(*drawn), by="key" if keyed else None)
    assert found.drop_columns("lane").equals(table(*drawn))
    lanes, groups = found["lane"].to_pylist(), keys if keyed else [None] * len(rows)
    for group in set(groups):
        own = [(row, lane) for row, lane, name in zip(rows, lanes, groups, strict=True) if name == group]
        assert {lane for _, lane in own} == set(range(sequenced.depth([row for row, _ in own])))
        for lane in {lane for _, lane in own}:
            assert sequenced.depth([row for row, number in own if number == lane]) == 1


@settings(max_examples=100)
@given(KEYED, st.integers(0, 4))
def test_sessions(drawn, gap):
    rows, keys = drawn
    found = tuples(tl.coalesce(table(*drawn), max_gap=gap), "key", "start", "end")
    for key in set(keys):
        own = [row for row, name in zip(rows, keys, strict=True) if name == key]
        widened = sequenced.coalesce([(start, end + gap) for start, end in own])
        assert sorted(row[1:] for row in found if row[0] == key) == sorted((start, end - gap) for start, end in widened)


@settings(max_examples=100)
@given(KEYED)
def test_semi_joins(drawn):
    rows, keys = drawn
    left, right = table(*drawn, n=pa.array(range(len(rows)), pa.int64())), table(rows[::2], keys[::2])
    for on in (None, "key"):
        found = tuples(tl.temporal_join(left, right, how="semi", on=on), "n", "start", "end")
        expected = []
        for at, row in enumerate(rows):
            others = [
                other
                for other, key in zip(rows[::2], keys[::2], strict=True)
                if on is None or (key is not None and key == keys[at])
            ]
            shared = sequenced.runs(
                *row, lambda instant, others=others: bool(sequenced.active(others, instant)) or None
            )
            expected += [(at, start, end) for start, end, _ in shared]
        assert sorted(found) == sorted(expected)


@settings(max_examples=100)
@given(KEYED, st.integers(1, 5), st.integers(0, 3))
def test_pieces_and_buckets(drawn, step, origin):
    rows, keys = drawn
    numbers = pa.array([None if at % 4 == 3 else at * 0.1 for at in range(len(rows))], pa.float64())
    given_rows = table(*drawn, load=numbers)
    cut = tuples(tl.split(given_rows, every=step, origin=origin), "load", "start", "end")
    lines = [line for line in range(-20, 40) if (line - origin) % step == 0]
    expected = []
    for row, load in zip(rows, numbers.to_pylist(), strict=True):
        edges = [row[0], *(line for line in lines if row[0] < line < row[1]), row[1]]
        expected += [(load, first, last) for first, last in itertools.pairwise(edges)]
    assert cut == expected
    assert tuples(tl.split(given_rows, at=lines), "load", "start", "end") == expected
    wanted = {"n": "count", "busy": "covered", "mean": ("load", "time_avg"), "loads": ("load", "count")}
    wanted |= {name: ("load", name) for name in UNORDERED}
    found = tl.temporal_aggregate(given_rows, wanted, by="key", every=step, origin=origin)
    expected = []
    for key in dict.fromkeys(keys):
        own = [(*row, load) for row, load, name in zip(rows, numbers.to_pylist(), keys, strict=True) if name == key]
        for line in lines:
            n, busy, _ = value_sets.bucket(own, line, line + step)
            if n:
                loads = [
                    (Fraction(load), min(end, line + step) - max(start, line))
                    for start, end, load in own
                    if load is not None and start < line + step and end > line
                ]
                weight = sum(length for _, length in loads)
                mean = float(sum(load * length for load, length in loads) / weight) if weight else None
                touching = [load for start, end, load in own if start < line + step and end > line]
                plain = [aggregates.PLAIN[name](touching) for name in UNORDERED]
                expected.append((key, line, line + step, n, busy, mean, len(loads), *plain))
    assert sorted(tuples(found), key=repr) == sorted(expected, key=repr)


@settings(max_examples=60)
@given(periods(), st.integers(1, 5), st.sampled_from([pa.decimal128(9, 2), pa.decimal64(15, 2), pa.decimal128(38, 2)]))
def test_decimals_weighted_by_time(rows, step, kind):
    costs = [None if at % 4 == 3 else (7 * at - 9) * at for at in range(len(rows))]
    values = pa.array([None if cost is None else Decimal(cost).scaleb(-2) for cost in costs], kind)
    found = tl.temporal_aggregate(table(rows, cost=values), {"mean": ("cost", "time_avg")}, every=step)
    places = min(4, 38 - kind.precision)
    assert found.schema.field("mean").type == pa.decimal128(kind.precision + places, 2 + places)
    for start, end, mean in tuples(found, "start", "end", "mean"):
        shares = [(min(e, end) - max(s, start), cost) for (s, e), cost in zip(rows, costs, strict=True)]
        shares = [(share, cost) for share, cost in shares if share > 0 and cost is not None]
        if not shares:
            assert mean is None
            continue
        exact = 10**places * Fraction(sum(share * cost for share, cost in shares), sum(share for share, _ in shares))
        nearest = int(abs(exact) + Fraction(1, 2)) * (1 if exact >= 0 else -1)
        assert mean == Decimal(nearest).scaleb(-2 - places)


def test_decimals_weighted_by_nearly_all_time():
    costs = pa.array([Decimal("0.01"), Decimal("-0.04"), None], pa.decimal128(9, 2))
    rows = pa.table({"cost": costs, "start": [0, 0, 0], "end": [2**61, 2**62 - 1, 5]})
    found = tl.temporal_aggregate(rows, {"mean": ("cost", "time_avg")}, every=2**62)
    assert found["mean"].to_pylist() == [Decimal("-0.023333")]


@settings(max_examples=100)
@given(KEYED)
def test_faults(drawn):
    rows, keys = drawn
    given_rows = table(*drawn)
    found = tuples(tl.check(given_rows, by="key", gaps=True, duplicates=True))
    expected = []
    for key in set(keys):
        own = [row for row, name in zip(rows, keys, strict=True) if name == key]
        expected += [(key, "overlap", *crowd) for crowd in value_sets.crowded(own)]
        expected += [(key, "gap", *gap, 0) for gap in sequenced.gaps(own, sequenced.span(own))]
        expected += [(key, "duplicate", *row, own.count(row)) for row in set(own) if own.count(row) > 1]
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    assert tl.check(given_rows, overlaps=False).num_rows == 0


def test_invalid_rows_are_faults():
    given_rows = pa.table({"from": [1, None, 5, 4], "to": [3, 4, 2, 4]})
    found = tl.check(given_rows, period=("from", "to"))
    assert tuples(found) == [("invalid", None, 4, 1), ("invalid", 4, 4, 1), ("invalid", 5, 2, 1)]
    window = tl.check(given_rows.slice(0, 1), period=("from", "to"), gaps=True, within=(0, None))
    assert tuples(window) == [("gap", 0, 1, 0), ("gap", 3, None, 0)]


BERLIN = "Europe/Berlin"


def at(*parts):
    return dt.datetime(*parts, tzinfo=dt.UTC)


def test_days_and_months_follow_the_clock_of_a_zone():
    stay = pa.table({"start": [at(2024, 3, 30, 12)], "end": [at(2024, 4, 1, 12)]})
    stay = stay.cast(pa.schema([(name, pa.timestamp("us", "UTC")) for name in ("start", "end")]))
    days = tl.split(stay, every="1 day", zone=BERLIN)
    assert days["start"].to_pylist() == [at(2024, 3, 30, 12), at(2024, 3, 30, 23), at(2024, 3, 31, 22)]
    busy = tl.temporal_aggregate(stay, {"busy": "covered"}, every="day", zone=BERLIN)
    assert busy["busy"].to_pylist() == [dt.timedelta(hours=hours) for hours in (11, 23, 14)]
    months = tl.split(stay, every="month", zone=BERLIN)
    assert months["start"].to_pylist() == [at(2024, 3, 30, 12), at(2024, 3, 31, 22)]
    utc = tl.split(stay, every="1 day")
    assert utc["start"].to_pylist() == [at(2024, 3, 30, 12), at(2024, 3, 31), at(2024, 4, 1)]


@pytest.mark.parametrize(
    ("every", "origin", "expected"),
    [
        ("month", None, ["2024-01-15", "2024-02-01", "2024-03-01"]),
        ("quarter", None, ["2024-01-15"]),
        ("year", None, ["2024-01-15"]),
        ("2 weeks", None, ["2024-01-15", "2024-01-29", "2024-02-12", "2024-02-26"]),
        (
            "week",
            None,
            [f"2024-{day}" for day in ["01-15", "01-22", "01-29", "02-05", "02-12", "02-19", "02-26", "03-04"]],
        ),
        ("month", "2024-01-31", ["2024-01-15", "2024-01-31", "2024-02-29"]),
        ("10 days", "2024-01-15", [f"2024-{day}" for day in ["01-15", "01-25", "02-04", "02-14", "02-24", "03-05"]]),
    ],
)
def test_calendar_units_of_dates(every, origin, expected):
    stay = pa.table({"start": [dt.date(2024, 1, 15)], "end": [dt.date(2024, 3, 10)]})
    assert [str(day) for day in tl.split(stay, every=every, origin=origin)["start"].to_pylist()] == expected


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (tl.split, "give either every= for a regular grid, or at="),
        (lambda t: tl.split(t, every=5, at=[1]), "give either every= for a regular grid, or at="),
        (lambda t: tl.split(t, every=0), "give more than zero"),
        (lambda t: tl.split(t, every="month"), "integer periods, whose ticks have no calendar"),
        (lambda t: tl.split(t, every="1 hour"), "integer periods, whose ticks have no unit"),
        (lambda t: tl.split(t, every=5, zone=BERLIN), "zone= is for days, weeks"),
        (lambda t: tl.split(t, every="day", zone=BERLIN), "zone='Europe/Berlin' is for timestamps with a zone"),
        (lambda t: tl.split(t, at=[1], origin=3), "origin= is for a regular grid"),
        (lambda t: tl.split(pa.table({"start": [1], "end": pa.nulls(1, pa.int64())}), every=5), "1 rows never end"),
        (lambda t: tl.temporal_aggregate(t, {"n": "covered"}), "of a bucket of time; give every="),
        (lambda t: tl.temporal_aggregate(t, {"n": ("x", "first")}, every=5), "minds the order of rows"),
        (lambda t: tl.temporal_aggregate(t, {"n": ("x", len)}, every=5), "minds the order of rows"),
        (lambda t: tl.temporal_aggregate(t, {"n": "count"}, every=5, fill=True), "every= makes buckets"),
        (lambda t: tl.temporal_aggregate(t, {"n": "count"}, zone=BERLIN), "give every=, too"),
        (lambda t: tl.temporal_aggregate(t, {"n": "time_avg"}, every=5), "a column, such as"),
        (lambda t: tl.temporal_aggregate(t, {"n": ("x", "time_avg")}, every=5), "x.*string.*cast it to a double"),
        (lambda t: tl.lanes(t, name="x"), "column 'x' already"),
        (lambda t: tl.check(t, within=(0, 1)), "give gaps=True, too"),
        (lambda t: tl.check(t, by="start"), "'start' is a period column"),
        (lambda t: tl.temporal_union(t, t.drop_columns("x")), "one of them alone has 'x'"),
        (lambda t: tl.coalesce(t, max_gap="-1 hours"), "max_gap='-1 hours' is below zero"),
        (lambda t: tl.temporal_join([t, t, t], how="semi"), "is for two tables"),
    ],
)
def test_misuse(call, words):
    with pytest.raises(tl.TimeloomError, match=words):
        call(pa.table({"x": ["a"], "start": [1], "end": [5]}))


def test_values_that_cannot_be_compared_are_refused_with_what_can_be_done_here():
    rows = pa.table({"tags": [[1]], "start": [1], "end": [5]})
    for verb in (tl.temporal_union, tl.temporal_intersect, tl.temporal_except):
        with pytest.raises(tl.InvalidInputError, match=r"'tags' is list<.*for equality; leave it out, or turn it into"):
            verb(rows, rows)
