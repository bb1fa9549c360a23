"""Counting on Spark returns the rows of counting on local tables, for every kind of call."""

import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions as F

import timeloom as tl

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


def table(seed, rows=60, keys=("a", "b", "c", None), latest=40):
    """Rows with ties, equal periods, nested and long ones, open ends and null keys."""
    draw = random.Random(seed)
    starts = [draw.randrange(latest) for _ in range(rows)]
    ends = [start + draw.choice([1, 1, 2, 3, 5, 8, 30]) for start in starts]
    return pa.table(
        {
            "start": pa.array(starts, pa.int64()),
            "end": pa.array([None if draw.random() < 0.05 else end for end in ends], pa.int64()),
            "key": pa.array([draw.choice(keys) for _ in range(rows)], pa.string()),
            "number": pa.array([draw.choice([1, 2, -7, None]) for _ in range(rows)], pa.int32()),
            "price": pa.array([draw.choice([0.1, 1e15, -1e15, 3e-7, None]) for _ in range(rows)], pa.float64()),
            "cost": pa.array(
                [draw.choice([Decimal("0.10"), Decimal("-2.35"), None]) for _ in range(rows)], pa.decimal128(9, 2)
            ),
            "id": pa.array(range(rows), pa.int64()),
        }
    )


def plain(value):
    """A value as text that does not depend on the zone in which an instant is shown."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return str(value.astimezone(UTC)) if isinstance(value, datetime) and value.tzinfo else repr(value)


def texts(rows):
    return sorted(str(plain(row)) for row in rows)


def assert_same(spark, left, right, calls, verb=tl.count_join):
    """Compare each call with the local engine; calls with results of one schema run as one Spark action."""
    frames = spark.createDataFrame(left), spark.createDataFrame(right)
    by_schema = {}
    for call in calls:
        plan = verb(*frames, **call)
        by_schema.setdefault(plan.schema.simpleString(), []).append((call, plan))
    for together in by_schema.values():
        numbered = [
            plan.select(F.lit(number).alias("call"), F.struct("*").alias("row"))
            for number, (_, plan) in enumerate(together)
        ]
        found = reduce(lambda a, b: a.unionAll(b), numbered).toArrow()
        for number, (call, plan) in enumerate(together):
            expected = verb(left, right, **call)
            assert plan.columns == expected.column_names
            mine = found.filter(pc.equal(found["call"], number))["row"].to_pylist()
            assert texts(mine) == texts(expected.to_pylist()), call


@pytest.fixture
def static(spark):
    """Plans that are not changed while they run."""
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    yield
    spark.conf.set("spark.sql.adaptive.enabled", "true")


def test_slices(spark):
    calls = [
        {"relation": "intersects", "strategy": "slices", "aggregates": AGGREGATES},
        {"relation": "before | after | during", "strategy": "slices", "aggregates": AGGREGATES},
    ]
    assert_same(spark, table(1), table(2, rows=45), calls)


@pytest.mark.usefixtures("static")
def test_slices_without_adaptive_execution(spark):
    assert_same(spark, table(1), table(2, rows=45), [{"strategy": "slices", "aggregates": AGGREGATES}])


def test_a_hot_key_and_keys_of_different_types(spark):
    left = table(5, rows=150, keys=["hot"] * 9 + ["cold", None])
    right = table(6, rows=120, keys=["hot"] * 9 + ["cold", None])
    right = right.set_column(3, "number", right["number"].cast(pa.int64()))
    calls = [
        {"on": "key", "strategy": "keys", "relation": "overlaps | during", "aggregates": AGGREGATES},
        {"on": ["key", "number"], "strategy": "keys", "aggregates": AGGREGATES},
    ]
    assert_same(spark, left, right, calls)


def test_a_broadcast_right_side(spark):
    calls = [
        {"relation": relation, "strategy": "broadcast", "on": "key", "aggregates": AGGREGATES}
        for relation in ("intersects", tl.iseql.during(delta=5, epsilon=2))
    ]
    assert_same(spark, table(3), table(4, rows=30), calls)
    assert_same(spark, table(3), table(4, rows=0), calls[:1])


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
    assert_same(spark, timed(table(7)), timed(table(8)), calls)


def distinct_periods(seed):
    """Rows in the order by which equal counts are told apart on Spark."""
    rows = {(row["start"], row["end"] or 10**6): row for row in table(seed, rows=90).to_pylist()}
    return pa.Table.from_pylist([rows[period] for period in sorted(rows)], table(seed).schema)


def test_top_k(spark):
    left, right = distinct_periods(9), table(10, rows=80)
    calls = [
        {"k": 7, "strategy": "slices"},
        {"k": 7, "strategy": "broadcast", "ties": "all"},
        {"k": 2, "strategy": "keys", "on": "key", "by": ["number"]},
        {"k": 1, "relation": "during", "by": "key", "ties": "all"},
        {"k": 0},
    ]
    assert_same(spark, left, right, calls, tl.top_k)
    highest = tl.top_k(spark.createDataFrame(left), spark.createDataFrame(right), 3).collect()
    assert [row["count"] for row in highest] == tl.top_k(left, right, 3)["count"].to_pylist()


def test_depth(spark):
    rows = table(11)
    for options in ({"by": "key"}, {"fill": True, "within": (5, 45), "name": "active"}):
        found = tl.depth(spark.createDataFrame(rows), **options)
        expected = tl.depth(rows, **options)
        assert found.columns == expected.column_names
        assert texts(found.toArrow().to_pylist()) == texts(expected.to_pylist())


def test_invalid_rows_and_nothing_runs_before_it_is_asked_for(spark):
    good = table(12).select(["start", "end", "id"])
    bad = pa.concat_tables([good, pa.table({"start": [9, None], "end": [3, 4], "id": [900, 901]})])
    frames = spark.createDataFrame(bad), spark.createDataFrame(good)
    counted = tl.count_join(*frames, strategy="slices")
    with pytest.raises(Exception, match="end is before start"):
        counted.collect()
    result, rejected = tl.count_join(*frames, strategy="slices", on_invalid="quarantine")
    assert texts(result.toArrow().to_pylist()) == texts(tl.count_join(good, good).to_pylist())
    assert sorted((row["side"], row["id"], row["reason"]) for row in rejected.collect()) == [
        ("left", 900, "end is before start"),
        ("left", 901, "start is null"),
    ]


def test_bad_calls_use_the_same_words(spark):
    rows = table(13)
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
