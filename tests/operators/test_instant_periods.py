"""Periods of one column: instants in every verb, pandas' intervals, PostgreSQL's ranges."""

import datetime as dt

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from drawing import TIMES, periods
from reference import sequenced
from reference.relations import RELATIONS

INSTANTS = st.lists(TIMES, max_size=8)


def instants(times, name="at"):
    return pa.table({"l": pa.array(range(len(times)), pa.int64()), name: pa.array(times, pa.int64())})


def spans(rows):
    return pa.table(
        {
            "r": pa.array(range(len(rows)), pa.int64()),
            "start": pa.array([start for start, _ in rows], pa.int64()),
            "end": pa.array([end for _, end in rows], pa.int64()),
        }
    )


def rows_of(table, *names):
    return sorted(zip(*(table[name].to_pylist() for name in names), strict=True), key=repr)


@settings(max_examples=60)
@given(INSTANTS, periods(), st.sampled_from(sorted(RELATIONS)))
def test_instants_meet_periods_and_each_other(times, right, name):
    ticks = [(time, time + 1) for time in times]
    pairs = {(a, b) for a, r in enumerate(ticks) for b, s in enumerate(right) if RELATIONS[name](r, s)}
    found = tl.join(instants(times), spans(right), name, left_period="at")
    assert rows_of(found, "l", "r") == sorted(pairs)
    assert found.column_names == ["l", "at", "r", "start", "end"]
    same = {(a, b) for a, r in enumerate(ticks) for b, s in enumerate(ticks) if RELATIONS[name](r, s)}
    both = tl.join(instants(times), instants(times).rename_columns(["r", "at"]), name, period=tl.Period("at"))
    assert rows_of(both, "l", "r") == sorted(same)
    counted = tl.count_join(instants(times), spans(right), name, left_period={"at": "at"})
    assert counted["count"].to_pylist() == [sum(a == at for a, _ in pairs) for at in range(len(times))]


@settings(max_examples=60)
@given(INSTANTS, periods(), st.sampled_from(["inner", "left", "right", "full"]))
def test_sequenced_joins_of_instants(times, right, how):
    ticks = [(time, time + 1) for time in times]
    expected = sequenced.outer_join(ticks, right, how)
    found = tl.temporal_join(instants(times), spans(right), how=how, left_period="at")
    if how in ("inner", "left"):
        assert found.column_names == ["l", "at", "r"]
        assert rows_of(found, "l", "r", "at") == sorted(((a, b, start) for a, b, start, _ in expected), key=repr)
    else:
        assert found.column_names == ["l", "start", "end", "r"]
        assert rows_of(found, "l", "r", "start", "end") == sorted(expected, key=repr)
    flipped = tl.temporal_join(spans(right), instants(times), how=how, right_period="at")
    mirrored = sequenced.outer_join(right, ticks, how)
    assert rows_of(flipped, "r", "l", "start", "end") == sorted(mirrored, key=repr)
    alone = tl.temporal_antijoin(instants(times), spans(right), left_period="at")
    assert rows_of(alone, "l", "at") == sorted(
        ((at, start) for at, start, _ in sequenced.antijoin(ticks, right)), key=repr
    )


@settings(max_examples=60)
@given(INSTANTS, st.integers(0, 12))
def test_one_table_of_instants(times, at):
    table, ticks = instants(times), [(time, time + 1) for time in times]
    assert rows_of(tl.coalesce(table, by=[], period="at"), "start", "end") == sorted(
        sequenced.coalesce(ticks), key=repr
    )
    free = tl.gaps(table, period="at", within=(0, 12))
    assert rows_of(free, "start", "end") == sorted(sequenced.gaps(ticks, (0, 12)), key=repr)
    counted = tl.temporal_aggregate(table, {"n": "count"}, period="at")
    assert rows_of(counted, "at", "n") == sorted(((time, times.count(time)) for time in set(times)), key=repr)
    assert tl.depth(table, period="at").column_names == ["at", "depth"]
    filled = tl.depth(table, period="at", fill=True, within=(0, 12))
    busy = [(time, time + 1, times.count(time)) for time in {*times} - {12}]
    empty = [(*gap, 0) for gap in sequenced.gaps(ticks, (0, 12))]
    assert rows_of(filled, "start", "end", "depth") == sorted(busy + empty, key=repr)
    assert tl.stab(table, at=at, period="at")["at"].to_pylist() == [time for time in times if time == at]


def test_units_and_types_of_instants_stay():
    seconds = pa.array([dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2)], pa.timestamp("s"))
    marks = pa.table({"at": seconds})
    prices = pa.table({"start": seconds, "end": pa.array([None, None], pa.timestamp("s"))})
    assert tl.temporal_join(marks, prices, left_period="at").schema.field("at").type == pa.timestamp("s")
    assert tl.temporal_aggregate(marks, {"n": "count"}, period="at").schema.field("at").type == pa.timestamp("s")
    assert tl.coalesce(marks, period="at").schema.field("end").type == pa.timestamp("us")
    small = pa.table({"at": pa.array([3], pa.int8())})
    assert tl.temporal_antijoin(small, small.slice(1), period="at").schema.field("at").type == pa.int8()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: tl.coalesce(pa.table({"at": [1], "end": [2]}), period="at"),
            "need columns 'start' and 'end', but.*'end'",
        ),
        (lambda: tl.gaps(pa.table({"at": [1], "start": [2]}), by="start", period="at"), "there is a 'start' already"),
        (lambda: tl.stab(pa.table({"at": [1]}), 1, period="when"), "no column 'when'"),
        (lambda: tl.Period("at", closed="right"), "closed='right' was given for the single column 'at'"),
        (lambda: tl.Period("at", open_end=9), "open_end=9 was given for the single column 'at'"),
        (lambda: tl.Period("a", "b", form="daterange"), "for a period of one column"),
        (lambda: tl.Period("a", form="date_range"), "Did you mean 'daterange'"),
        (lambda: tl.Period.of({"at": "a", "end": "b"}), "an instant, at, and two ends"),
        (lambda: tl.stab(pa.table({"at": [1, None]}), 1, period="at"), "1 where at is null"),
        (lambda: tl.stab(pa.table({"at": [2**63 - 1]}), 1, period="at"), "at is the last tick of all"),
        (lambda: tl.join(pa.table({"at": [1]}), pa.table({"at": [1]}), on="at", period="at"), "is a period column"),
    ],
)
def test_what_instants_cannot_be(call, words):
    with pytest.raises(tl.TimeloomError, match=words):
        call()


@pytest.mark.parametrize(
    ("closed", "held"), [("left", [3, 4]), ("right", [4, 5]), ("both", [3, 4, 5]), ("neither", [4])]
)
def test_columns_of_intervals_are_periods(closed, held):
    stays = pd.DataFrame({"who": ["Ann"], "stay": pd.arrays.IntervalArray.from_tuples([(3, 5)], closed=closed)})
    days = pd.DataFrame({"day": range(8)})
    met = tl.join(days, stays, left_period="day", right_period="stay")
    assert sorted(met["day"]) == held
    merged = tl.coalesce(pd.concat([stays, stays.assign(stay=stays["stay"].array.shift(0))]), period="stay")
    assert merged["stay"].dtype == stays["stay"].dtype
    assert list(merged["stay"]) == list(stays["stay"])


def test_an_index_of_intervals_is_a_period():
    index = pd.IntervalIndex.from_tuples([(0, 5), (5, 9)], closed="left", name="valid")
    prices = pd.DataFrame({"price": [10, 12]}, index=index)
    found = tl.stab(prices, at=5, period="valid")
    assert found["price"].tolist() == [12]
    assert isinstance(found.index, pd.IntervalIndex)
    assert found.index.name == "valid"
    unnamed = pd.DataFrame({"price": [10, 12]}, index=index.rename(None))
    trades = pd.DataFrame({"at": [1, 7]})
    joined = tl.join(trades, unnamed, left_period="at", right_period="index")
    assert sorted(zip(joined["at"], joined["price"], strict=True)) == [(1, 10), (7, 12)]


def test_range_texts_are_periods_if_declared():
    texts = ["[2024-01-01,2024-01-05)", "(2024-01-01,2024-01-05]", "[2024-02-01,)", None, "empty", "tomorrow"]
    table = pa.table({"who": list("abcdef"), "during": texts})
    period = tl.Period("during", form="daterange")
    found = tl.stab(table, at=["2024-01-01"], period=period, on_invalid="quarantine")
    assert found.result["who"].to_pylist() == ["a"]
    assert found.rejected["who"].to_pylist() == ["d", "e", "f"]
    assert found.rejected["reason"].to_pylist() == [
        "during is no daterange with a lower bound",
        "the period during is empty",
        "during is no daterange with a lower bound",
    ]
    merged = tl.coalesce(table.slice(0, 3), by=[], period=period)
    assert merged["during"].to_pylist() == ["[2024-01-01,2024-01-06)", "[2024-02-01,)"]
    with pytest.raises(tl.InvalidInputError, match="is for texts"):
        tl.stab(pa.table({"during": [1]}), 1, period=period)


@pytest.mark.parametrize(
    ("form", "text", "at", "written"),
    [
        ("int4range", "[1,5]", 5, "[1,6)"),
        ("int8range", "(0,5)", 1, "[1,5)"),
        (
            "tsrange",
            '["2024-01-01 00:00:00","2024-01-01 12:00:00")',
            "2024-01-01 11:00:00",
            '["2024-01-01 00:00:00.000000","2024-01-01 12:00:00.000000")',
        ),
        (
            "tstzrange",
            '["2024-01-01 00:00:00+02",infinity)',
            "2023-12-31T22:00:00Z",
            '["2023-12-31 22:00:00.000000Z",)',
        ),
    ],
)
def test_every_range_type(form, text, at, written):
    table, period = pa.table({"during": [text]}), tl.Period("during", form=form)
    assert tl.stab(table, at=at, period=period).num_rows == 1
    assert tl.coalesce(table, period=period)["during"].to_pylist() == [written]


def test_intervals_between_instants_with_a_zone():
    zone = "Europe/Berlin"
    days = pd.IntervalIndex.from_breaks(pd.date_range("2024-03-30", periods=3, tz=zone), closed="left")
    frame = pd.DataFrame({"days": days, "x": [1, 2]})
    noon = pd.Timestamp("2024-03-31T12:00", tz=zone)
    assert tl.stab(frame, noon, period="days")["x"].tolist() == [2]
    for found in (tl.lanes(frame, period="days"), tl.temporal_join(frame, frame, period="days")):
        assert found["days"].dtype == frame["days"].dtype
        assert found["days"].tolist() == frame["days"].tolist()
    cut = tl.split(frame, every="1 day", zone="UTC", period="days")
    assert [interval.left.hour for interval in cut["days"]] == [0, 1, 0, 1]
    indexed = pd.DataFrame({"x": [1, 2]}, index=days)
    assert tl.join(indexed, indexed, period="index").index.equals(days)
    late = pd.DataFrame(
        {"days": pd.arrays.IntervalArray.from_arrays(days.left, days.right, closed="right"), "x": [1, 2]}
    )
    assert tl.stab(late, days.left[0], period="days").empty
    missing = frame.reindex([0, 5])
    assert tl.check(missing, period="days")["fault"].tolist() == ["invalid"]
