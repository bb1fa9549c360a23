"""Counting on Spark returns the rows of counting on local tables, for every kind of call."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

import timeloom as tl
from engines.agreement import assert_calls_same, random_rows
from rows import assert_same

pytestmark = pytest.mark.spark

AGGREGATES = {
    "known": ("number", "count"),
    "sum": ("number", "sum"),
    "mean": ("cost", "avg"),
    "total": ("price", "sum"),
    "spent": ("cost", "sum"),
    "least": ("price", "min"),
    "last": ("key", "max"),
    "rows": "count",
}


def test_slices(spark):
    calls = [
        {"relation": "intersects", "strategy": "slices", "aggregates": AGGREGATES},
        {"relation": "before | after | during", "strategy": "slices", "aggregates": AGGREGATES},
    ]
    assert_calls_same(spark, tl.count_join, (random_rows(1), random_rows(2, rows=45)), calls)


@pytest.mark.usefixtures("static")
def test_slices_without_adaptive_execution(spark):
    assert_calls_same(
        spark,
        tl.count_join,
        (random_rows(1), random_rows(2, rows=45)),
        [{"strategy": "slices", "aggregates": AGGREGATES}],
    )


def test_a_hot_key_and_keys_of_different_types(spark):
    left = random_rows(5, rows=150, keys=["hot"] * 9 + ["cold", None])
    right = random_rows(6, rows=120, keys=["hot"] * 9 + ["cold", None])
    right = right.set_column(3, "number", right["number"].cast(pa.int64()))
    calls = [
        {"on": "key", "strategy": "keys", "relation": "overlaps | during", "aggregates": AGGREGATES},
        {"on": ["key", "number"], "strategy": "keys", "aggregates": AGGREGATES},
    ]
    assert_calls_same(spark, tl.count_join, (left, right), calls)


def test_a_broadcast_right_side(spark):
    calls = [
        {"relation": relation, "strategy": "broadcast", "on": "key", "aggregates": AGGREGATES}
        for relation in ("intersects", tl.iseql.during(delta=5, epsilon=2))
    ]
    assert_calls_same(spark, tl.count_join, (random_rows(3), random_rows(4, rows=30)), calls)
    assert_calls_same(spark, tl.count_join, (random_rows(3), random_rows(4, rows=0)), calls[:1])


def test_instants_with_a_zone_and_closed_periods(spark):
    def timed(rows):
        first = datetime(2024, 3, 9, 12, tzinfo=UTC)
        for position, name in enumerate(("start", "end")):
            hours = rows[name].to_pylist()
            instants = [None if hour is None else first + timedelta(hours=hour) for hour in hours]
            rows = rows.set_column(position, name, pa.array(instants, pa.timestamp("us", "UTC")))
        return rows

    period = tl.Period("start", "end", closed="both")
    aggregates = {"first": ("start", "min"), "last": ("end", "max")}
    calls = [{"strategy": "slices", "period": period, "aggregates": aggregates}]
    assert_calls_same(spark, tl.count_join, (timed(random_rows(7)), timed(random_rows(8))), calls)


def distinct_periods(seed):
    """Rows in the order by which equal counts are told apart on Spark."""
    rows = {(row["start"], row["end"] or 10**6): row for row in random_rows(seed, rows=90).to_pylist()}
    return pa.Table.from_pylist([rows[period] for period in sorted(rows)], random_rows(seed).schema)


def test_top_k(spark):
    left, right = distinct_periods(9), random_rows(10, rows=80)
    calls = [
        {"k": 7, "strategy": "slices"},
        {"k": 7, "strategy": "broadcast", "ties": "all"},
        {"k": 2, "strategy": "keys", "on": "key", "by": ["number"]},
        {"k": 1, "relation": "during", "by": "key", "ties": "all"},
        {"k": 0},
    ]
    assert_calls_same(spark, tl.top_k, (left, right), calls)
    highest = tl.top_k(spark.createDataFrame(left), spark.createDataFrame(right), 3).collect()
    assert [row["count"] for row in highest] == tl.top_k(left, right, 3)["count"].to_pylist()


def test_depth(spark):
    rows = random_rows(11)
    assert_calls_same(spark, tl.depth, (rows,), [{"by": "key"}, {"fill": True, "within": (5, 45), "name": "active"}])


def test_invalid_rows_and_nothing_runs_before_it_is_asked_for(spark):
    good = random_rows(12).select(["start", "end", "id"])
    bad = pa.concat_tables([good, pa.table({"start": [9, None], "end": [3, 4], "id": [900, 901]})])
    frames = spark.createDataFrame(bad), spark.createDataFrame(good)
    counted = tl.count_join(*frames, strategy="slices")
    with pytest.raises(Exception, match="end is before start"):
        counted.collect()
    result, rejected = tl.count_join(*frames, strategy="slices", on_invalid="quarantine")
    assert_same(result, tl.count_join(good, good))
    assert sorted((row["side"], row["id"], row["reason"]) for row in rejected.collect()) == [
        ("left", 900, "end is before start"),
        ("left", 901, "start is null"),
    ]


def test_bad_calls_use_the_same_words(spark):
    rows = random_rows(13)
    frame = spark.createDataFrame(rows)
    for frames in ((frame, frame), (rows, rows)):
        with pytest.raises(tl.InvalidInputError, match="the right table has no column 'x'"):
            tl.count_join(*frames, aggregates={"n": ("x", "sum")})
        with pytest.raises(tl.UsageError, match="there is no sum of 'key', which is"):
            tl.count_join(*frames, aggregates={"n": ("key", "sum")})
        with pytest.raises(tl.UsageError, match="has a column 'id' already"):
            tl.count_join(*frames, name="id")
        with pytest.raises(tl.InvalidInputError, match="the left table has no column 'x'"):
            tl.top_k(*frames, 3, by="x")
    plan = tl.explain(tl.count_join, frame, frame, strategy="slices")
    assert plan["strategy"] == "slices"
    assert plan["algorithm"] == "ranks"
