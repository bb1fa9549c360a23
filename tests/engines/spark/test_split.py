"""`split` on Spark: Spark itself cuts rows at regular grids and few instants, exactly as local tables are cut."""

import io
import random
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import timeloom as tl
from engines.agreement import assert_all_same, on_spark

pytestmark = pytest.mark.spark

AXES: dict[str, tuple[pa.DataType, Callable[[int], Any]]] = {
    "byte": (pa.int8(), lambda tick: tick),
    "int": (pa.int32(), lambda tick: tick * 10_000_019),
    "bigint": (pa.int64(), lambda tick: tick * 10**15),
    "date": (pa.date32(), lambda tick: date(1970, 1, 1) + timedelta(days=tick * 9)),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        lambda tick: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=tick * 9, microseconds=tick),
    ),
    "timestamp_ntz": (
        pa.timestamp("us"),
        lambda tick: datetime(1970, 1, 1) + timedelta(days=tick * 9, microseconds=tick * 7),
    ),
}
"""Types of periods, and how ticks on both sides of zero lie in them; days and instants go through changes of clocks."""

SPANS: dict[str, list[Any]] = {
    "byte": [1, 7, 120],
    "int": [10_000_019, 7 * 10**6],
    "bigint": [10**15, 3 * 10**14 + 1],
    "date": ["1 day", "week", timedelta(days=10)],
    "timestamp": ["day", "2 weeks", "37 hours", timedelta(days=3, microseconds=1)],
    "timestamp_ntz": ["3 days", "week", "90 minutes", timedelta(days=5, microseconds=7)],
}
"""Distances of regular grids."""

PERIODS = [tl.Period(), tl.Period(closed="both"), tl.Period(closed="right"), tl.Period(closed="neither")]


def rows_of(axis, seed, open_ends):
    kind, at = AXES[axis]
    draw = random.Random(f"{axis} {seed}")
    starts = [draw.randrange(-30, 25) for _ in range(12)]
    lengths = [draw.choice([2, 2, 3, 6]) for _ in starts]
    ends = [None if open_ends and draw.random() < 0.3 else s + n for s, n in zip(starts, lengths, strict=True)]
    return pa.table(
        {
            "id": range(len(starts)),
            "start": pa.array(map(at, starts), kind),
            "end": pa.array([None if end is None else at(end) for end in ends], kind),
            "some `text.": [str(s) for s in starts],
        }
    )


def plan_of(frame):
    text = io.StringIO()
    with redirect_stdout(text):
        frame.explain()
    return text.getvalue()


def compared(spark, rows, calls):
    frame, cases = on_spark(spark, rows), []
    for options in calls:
        plan = tl.split(frame, **options)
        assert "MapInArrow" not in plan_of(plan), options
        cases.append((options, plan, tl.split(rows, **options)))
        wanted = tl.split(frame, **options, on_invalid="drop").schema
        assert plan.schema.simpleString() == wanted.simpleString(), options
    assert_all_same(cases)


@pytest.mark.parametrize("axis", AXES)
def test_regular_grids_cut_as_on_local_tables(spark, axis):
    draw, at = random.Random(axis), AXES[axis][1]
    calls = [
        {"every": every, "origin": origin, "period": draw.choice(PERIODS)}
        for every in SPANS[axis]
        for origin in (None, at(draw.randrange(-40, 40)))
    ]
    compared(spark, rows_of(axis, 1, open_ends=False), calls)


@pytest.mark.parametrize("axis", AXES)
def test_few_instants_cut_as_on_local_tables_and_open_ends_stay_open(spark, axis):
    draw, at = random.Random(axis), AXES[axis][1]
    instants = [at(draw.randrange(-32, 34)) for _ in range(9)]
    calls = [{"at": instants[:many], "period": period} for many, period in zip((0, 1, 9, 9), PERIODS, strict=True)]
    calls.append({"at": instants, "period": tl.Period(open_end=at(20))})
    compared(spark, rows_of(axis, 2, open_ends=True), calls)


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_the_ends_of_the_axis(spark, ansi):
    low, high = -(2**63), 2**63 - 1
    rows = pa.table({"id": [0, 1, 2], "start": [low, low, high - 9], "end": [low + 5, high - 1, high - 1]})
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        compared(spark, rows, [{"at": [low, low + 1, 0, high - 3, high]}])
        refused = {
            1: (rows.slice(0, 1), "makes lines beyond the ticks that there are"),
            4: (rows.slice(2, 1), "makes lines beyond the ticks that there are"),
            2**40: (rows.slice(1, 1), "makes lines beyond the ticks that there are"),
            3: (pa.table({"start": [-(2**62)], "end": [2**62]}), "cut into more than 50,000,000 pieces"),
            5: (pa.table({"start": [1], "end": pa.nulls(1, pa.int64())}), "never ends, so a regular grid would cut it"),
        }
        for every, (table, told) in refused.items():
            with pytest.raises(Exception, match=told):
                tl.split(on_spark(spark, table), every=every).collect()
            with pytest.raises(tl.UsageError):
                tl.split(table, every=every)
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)


def test_the_first_and_last_instants_without_a_zone(spark):
    rows = pa.table({"start": pa.array([-(2**63), 2**63 - 1000], pa.int64()).cast(pa.timestamp("us"))})
    rows = rows.append_column("end", pa.array([-(2**63) + 1000, 2**63 - 10], pa.int64()).cast(pa.timestamp("us")))
    frame = on_spark(spark, rows)
    seconds = [datetime(1, 1, 1), datetime(9999, 1, 1)]
    found = tl.split(frame, at=seconds).selectExpr("start = end", "unix_date(CAST(start AS DATE))").collect()
    assert [row[0] for row in found] == [False, False]
    assert tl.split(frame, at=seconds).exceptAll(frame).count() == 0


def test_invalid_rows_are_refused_or_handed_out(spark):
    rows = pa.table({"start": [1, 6, None, 4], "end": [9, 2, 3, 4], "id": range(4)})
    frame = on_spark(spark, rows)
    with pytest.raises(Exception, match="at least 1 row of the input table has no usable period: 1 where .* Mend them"):
        tl.split(frame, every=4).collect()
    for call in ({"every": 4}, {"at": [4, 8]}):
        result, rejected = tl.split(frame, **call, on_invalid="quarantine")
        assert sorted((row.start, row.end) for row in result.collect()) == [(1, 4), (4, 8), (8, 9)]
        assert sorted(row.id for row in rejected.collect()) == [1, 2, 3]
    with pytest.raises(Exception, match="the period is empty"):
        tl.split(frame, every=4, on_invalid="quarantine", empty="error").result.collect()


def test_what_spark_cannot_cut_goes_to_tasks(spark):
    days = pa.table({"start": [date(2024, 1, 30)], "end": [date(2024, 3, 2)]})
    small = pa.table({"start": pa.array([1, 2], pa.int8()), "end": pa.array([5, None], pa.int8())})
    calls: list[tuple[pa.Table, dict[str, Any]]] = [
        (days, {"every": "month", "origin": date(2024, 1, 31)}),
        (small, {"at": list(range(100))}),
        (small.slice(0, 1), {"every": 2, "on_invalid": "drop"}),
        (small.slice(0, 1), {"every": 2, "empty": "point"}),
        (small, {"at": [3], "period": tl.Period(open_end=None)}),
    ]
    for rows, options in calls:
        frame = on_spark(spark, rows)
        in_sql = "open_end" in str(options.get("period")) or "period" in options
        assert ("MapInArrow" in plan_of(tl.split(frame, **options))) is not in_sql, options
        assert_all_same([(options, tl.split(frame, **options), tl.split(rows, **options))])
        told = str(tl.explain(tl.split, frame, **options))
        assert ("Spark itself cuts them" in told) is in_sql
    with pytest.raises(Exception, match="int8, which cannot hold 9999"):
        tl.split(on_spark(spark, small), at=[3], period=tl.Period(open_end=9999)).collect()
