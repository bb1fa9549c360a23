"""Stab-forests on every axis: values of the axis go in and come out, those of another are refused in every method."""

from datetime import UTC, date, datetime, timedelta, timezone
from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import timeloom as tl
from timeloom import InvalidInputError, StabForest, TimeloomError, UsageError

DAY, MICROSECOND = timedelta(days=1), timedelta(microseconds=1)
OFFSET = timezone(timedelta(hours=5, minutes=30))
FROM_TICK = {
    "integer": lambda tick: tick,
    "date": lambda tick: date(2024, 5, 1) + tick * DAY,
    "timestamp without zone": lambda tick: datetime(2024, 5, 1, 12) + tick * MICROSECOND,
    "timestamp with zone": lambda tick: datetime(2024, 5, 1, 12, tzinfo=OFFSET) + tick * MICROSECOND,
}
AXES = list(FROM_TICK)


def forest_on(axis, events=((0, 4), (2, 3), (3, None)), **options):
    of = FROM_TICK[axis]
    starts, ends = ([None if tick is None else of(tick) for tick in column] for column in zip(*events, strict=True))
    return StabForest.build(starts, ends, **options)


@pytest.mark.parametrize("axis", AXES)
def test_every_method_takes_and_gives_values_of_the_axis(axis, tmp_path):
    of, forest = FROM_TICK[axis], forest_on(axis)
    assert forest.axis == axis
    assert sorted(forest.stab(of(2)).tolist()) == [0, 1]
    assert forest.stab(of(2), window=(of(3), None)).tolist() == []
    assert forest.count(of(3)) == 2
    assert forest.count_many([of(0), of(9)]).tolist() == [1, 1]
    assert sorted(forest.multi_stab([of(0), of(2)]).tolist()) == [0, 1]
    assert forest.stab_many([of(2), of(9)])[0].tolist() == [0, 2, 3]
    assert sorted(forest.overlapping(of(2), of(3)).tolist()) == [0, 1]
    assert forest.append(of(5), of(6)) == 3
    handle = forest.begin(of(7))
    assert handle.start == of(7)
    forest.finish(handle, of(8))
    forest.extend([of(8), of(9)], [of(9), None])
    pairs = forest.skip_join(([of(1)], [of(3)]), window=(of(2), of(3)))
    assert sorted(pairs[0].tolist()) == [0, 1]
    facts = forest.describe()
    assert (facts["first start"], facts["last start"], facts["last end"]) == (of(0), of(9), of(9))
    rows = forest.table().to_pylist()
    assert [row["start"] for row in rows] == [of(tick) for tick in (0, 2, 3, 5, 7, 8, 9)]
    assert [row["end"] for row in rows] == [None if t is None else of(t) for t in (4, 3, None, 6, 8, 9, None)]
    forest.save(tmp_path / "f")
    loaded = StabForest.load(tmp_path / "f")
    assert loaded.axis == axis
    assert loaded.table() == forest.table()
    assert sorted(loaded.stab(of(2)).tolist()) == [0, 1]


METHODS = {
    "stab": lambda f, t, u: f.stab(t),
    "count": lambda f, t, u: f.count(t),
    "count_many": lambda f, t, u: f.count_many([t]),
    "stab_many": lambda f, t, u: f.stab_many([t]),
    "multi_stab": lambda f, t, u: f.multi_stab([t]),
    "multi_stab window": lambda f, t, u: f.multi_stab([], window=(t, u)),
    "overlapping": lambda f, t, u: f.overlapping(t, u),
    "append": lambda f, t, u: f.append(t, u),
    "begin": lambda f, t, u: f.begin(t),
    "finish": lambda f, t, u: f.finish(f.handle(2), u),
    "extend": lambda f, t, u: f.extend([t], [u]),
    "extend by a table": lambda f, t, u: f.extend(pa.table({"start": [t], "end": [u]})),
    "extend by a forest": lambda f, t, u: f.extend(StabForest.build([t], [u])),
    "skip_join": lambda f, t, u: f.skip_join(([t], [u])),
    "skip_join of a forest": lambda f, t, u: f.skip_join(StabForest.build([t], [u])),
    "skip_join window": lambda f, t, u: f.skip_join(f, window=(t, u)),
    "tl.join": lambda f, t, u: tl.join(f, StabForest.build([t], [u])),
}


@pytest.mark.parametrize(("axis", "other"), list(permutations(AXES, 2)))
def test_another_axis_is_refused_in_every_method(axis, other):
    of = FROM_TICK[other]
    for name, call in METHODS.items():
        forest = forest_on(axis)
        with pytest.raises(TimeloomError, match="axis"):
            print(name, call(forest, of(10**6), of(10**6 + 1)))
        assert len(forest) == 3, name
    waiting = forest_on(axis, order="watermark")
    with pytest.raises(UsageError, match="axis"):
        waiting.advance(of(10**6))


def missing_in(ends):
    return int(pd.isna(pd.Series(ends.to_pylist() if hasattr(ends, "to_pylist") else list(ends), dtype=object)).sum())


@pytest.mark.parametrize(
    ("starts", "ends", "axis"),
    [
        (np.array([1, 2], np.int32), np.array([4, 5], np.uint16), "integer"),
        (pd.Series([1, 2], dtype="Int64"), pd.Series([3, None], dtype="Int64"), "integer"),
        (np.array(["2024-01-01", "2024-01-02"], "M8[D]"), np.array(["2024-01-05", "NaT"], "M8[D]"), "date"),
        (pa.array([0, 86_400_000], pa.date64()), pa.chunked_array([[date(2024, 1, 5), None]]), "date"),
        (pl.Series([date(2024, 1, 1)] * 2), pl.Series([date(2024, 1, 5), None]), "date"),
        (pd.to_datetime(["2024-01-01", "2024-01-02"]), [datetime(2024, 2, 1), pd.NaT], "timestamp without zone"),
        (
            pa.array([1, 2], pa.timestamp("s")),
            np.array(["2024-01-05T01", "NaT"], "M8[ms]"),
            "timestamp without zone",
        ),
        (
            pd.Series(pd.to_datetime(["2024-01-01", "2024-01-02"], utc=True)),
            [datetime(2024, 2, 1, tzinfo=OFFSET), None],
            "timestamp with zone",
        ),
        ([], [], None),
        (np.array([], "M8[D]"), [], "date"),
    ],
)
def test_what_a_forest_is_built_from_decides_its_axis(starts, ends, axis):
    forest = StabForest.build(starts, ends)
    assert forest.axis == axis
    assert forest.table()["end"].null_count == forest.describe()["open"] == missing_in(ends)


def test_an_empty_forest_takes_the_axis_of_its_first_event():
    forest = StabForest()
    assert forest.axis is None
    assert forest.stab(date(2024, 1, 1)).tolist() == forest.stab(5).tolist() == []
    with pytest.raises(InvalidInputError, match="is empty"):
        forest.append(date(2024, 1, 2), date(2024, 1, 2))
    assert forest.axis is None
    forest.append(date(2024, 1, 1))
    assert forest.axis == "date"
    assert StabForest().skip_join(forest)[0].tolist() == []


def test_a_watermark_decides_the_axis_as_an_event_does():
    forest = StabForest(order="watermark")
    forest.advance(date(2024, 1, 1))
    assert forest.axis == "date"
    with pytest.raises(UsageError, match="the forest's axis is date"):
        forest.append(5)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, "is bool"),
        ("yesterday", "is no date"),
        (np.datetime64("2024-01"), "neither days nor seconds"),
        (np.datetime64("NaT"), "missing"),
        (pd.NaT, "missing"),
        (pa.scalar(None, pa.date32()), "missing"),
        (None, "is NoneType"),
        (1.5, "is float"),
        ([date(2024, 1, 1)], "is list"),
    ],
)
def test_what_is_no_instant_is_refused(value, words):
    with pytest.raises(UsageError, match=words):
        forest_on("date").stab(value)


def test_texts_scalars_and_other_zones_are_instants():
    assert forest_on("date").stab("2024-05-01").tolist() == [0]
    assert forest_on("date").stab(pa.scalar(date(2024, 5, 1))).tolist() == [0]
    assert forest_on("timestamp without zone").stab("2024-05-01 12:00").tolist() == [0]
    zoned = forest_on("timestamp with zone")
    assert zoned.stab("2024-05-01T06:30:00Z").tolist() == [0]
    assert zoned.stab(datetime(2024, 5, 1, 6, 30, tzinfo=UTC)).tolist() == [0]
    assert zoned.table().schema.field("start").type == pa.timestamp("us", "+05:30")
    with pytest.raises(UsageError, match="no whole number of microseconds"):
        forest_on("timestamp without zone").stab(pd.Timestamp(1))


@pytest.mark.parametrize(
    ("starts", "ends", "words"),
    [
        ([date(2024, 1, 1), datetime(2024, 1, 1)], [date(2025, 1, 1)] * 2, "starts mixes axes: row 0 .* row 1"),
        ([datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC)], [datetime(2025, 1, 1)] * 2, "mixes axes"),
        ([date(2024, 1, 1)], [datetime(2024, 1, 2)], "starts and ends do not fit"),
        ([1, None], [3, 4], "starts has 1 missing values, first row 1"),
        (["2024-01-01"], ["2024-01-02"], "is text"),
        (np.array(["2024-01"], "M8[M]"), np.array(["2024-02"], "M8[M]"), "holds datetime64"),
        (np.array([2**63], np.uint64), np.array([2**63 + 1], np.uint64), "do not fit into int64"),
    ],
)
def test_columns_that_have_no_axis_are_refused(starts, ends, words):
    with pytest.raises(TimeloomError, match=words):
        StabForest.build(starts, ends)


def test_out_of_order_dates_are_named_as_dates():
    forest = forest_on("date")
    with pytest.raises(
        InvalidInputError, match=r"start 2024-05-02 is out of order, 2 ticks before the last start 2024-05-04"
    ):
        forest.append(date(2024, 5, 2))
    waiting = forest_on("date", order="watermark")
    with pytest.raises(InvalidInputError, match=r"starts at 2024-05-02, 3 ticks before the watermark 2024-05-05"):
        waiting.append(date(2024, 5, 2))
