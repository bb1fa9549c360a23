"""What only the join on Spark does: laziness, any payload, invalid rows, plans and their explanation."""

import random
from datetime import timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

import timeloom as tl

pytestmark = pytest.mark.spark


def frame(spark, rows=40, seed=1, **columns):
    draw = random.Random(seed)
    starts = [draw.randrange(30) for _ in range(rows)]
    ends = [start + draw.choice([1, 2, 20]) for start in starts]
    return spark.createDataFrame(pa.table({"start": starts, "end": ends, "id": range(rows), **columns}))


def pairs(result):
    return sorted((row["id"], row["id_right"]) for row in result.select("id", "id_right").collect())


def expected_pairs(left, right):
    return pairs_of(left.collect(), right.collect())


def pairs_of(left, right):
    return sorted((r.id, s.id) for r in left for s in right if r.start < s.end and s.start < r.end)


def test_building_a_join_runs_no_job_and_sets_nothing(spark):
    left, right = frame(spark), frame(spark, seed=2)
    context, before = spark.sparkContext, dict(spark.conf.getAll)
    context.setJobGroup("building", "joins that nobody runs")
    for strategy in ("auto", "slices", "broadcast"):
        for how in ("inner", "full", "anti"):
            tl.join(left, right, how=how, strategy=strategy)
            tl.explain(tl.join, left, right, how=how, strategy=strategy)
    assert list(context.statusTracker().getJobIdsForGroup("building")) == []
    assert dict(spark.conf.getAll) == before
    context.setJobGroup("", "")


def test_any_payload_passes_unchanged(spark):
    rows = 12
    payload = {
        "struct": pa.array([{"a": n, "b": {"c": [str(n), None]}} for n in range(rows)]),
        "map": pa.array([[(f"k{n}", n)] if n % 3 else None for n in range(rows)], pa.map_(pa.string(), pa.int64())),
        "list": pa.array([[[n], [], None] for n in range(rows)], pa.list_(pa.list_(pa.int32()))),
        "decimal": pa.array([Decimal(f"{n}.{n:04d}") for n in range(rows)], pa.decimal128(20, 4)),
        "binary": pa.array([bytes([n, 0, 255]) for n in range(rows)]),
        "text": pa.array([f"{n} ✓" if n % 2 else None for n in range(rows)]),
        "flag": pa.array([n % 2 == 0 for n in range(rows)]),
        "double": pa.array([n / 3 for n in range(rows)]),
        "duration": pa.array([timedelta(seconds=n) for n in range(rows)], pa.duration("us")),
        "a.b `c`": pa.array(range(rows), pa.int8()),
    }
    left = frame(spark, rows, 1, **payload)
    right = frame(spark, rows, 2, **payload)
    for strategy in ("slices", "broadcast"):
        result = tl.join(left, right, strategy=strategy)
        by_id = {row["id"]: row for row in left.collect()}
        others = {row["id"]: row for row in right.collect()}
        assert [field.dataType for field in result.schema] == [field.dataType for field in left.schema] * 2
        found = result.collect()
        assert sorted((row["id"], row["id_right"]) for row in found) == pairs_of(by_id.values(), others.values())
        for row in found:
            assert list(row) == [*by_id[row["id"]], *others[row["id_right"]]]


def test_two_hundred_columns(spark):
    wide = {f"column {number}": [number + row for row in range(15)] for number in range(200)}
    left, right = frame(spark, 15, 1, **wide), frame(spark, 15, 2)
    result = tl.join(left, right, strategy="slices")
    assert len(result.columns) == 206
    for row in result.collect():
        assert [row[f"column {number}"] - number for number in range(200)] == [row["id"]] * 200


def bad_frame(spark):
    return spark.createDataFrame(pa.table({"start": [None, 5, 4, 1], "end": [3, 2, 4, 9], "id": [0, 1, 2, 3]}))


@pytest.mark.parametrize("strategy", ["slices", "broadcast"])
def test_invalid_rows_raise_when_the_plan_runs(spark, strategy):
    result = tl.join(bad_frame(spark), frame(spark), strategy=strategy)
    with pytest.raises(Exception, match="rows of the left table have no usable period") as caught:
        result.collect()
    for words in ("start is null", "end is before start", "start equals end", "on_invalid='quarantine'"):
        assert words in str(caught.value)


def test_invalid_rows_are_quarantined_with_their_reasons(spark):
    good = frame(spark)
    result, rejected = tl.join(good, bad_frame(spark), strategy="slices", on_invalid="quarantine")
    assert pairs(result) == sorted((r.id, 3) for r in good.collect() if r.start < 9 and r.end > 1)
    found = {row["id"]: (row["side"], row["reason"]) for row in rejected.collect()}
    assert found == {
        0: ("right", "start is null"),
        1: ("right", "end is before start"),
        2: ("right", "the period is empty: start equals end"),
    }


@pytest.mark.parametrize("strategy", ["slices", "broadcast"])
def test_invalid_rows_are_dropped_on_request(spark, strategy):
    result = tl.join(bad_frame(spark), bad_frame(spark), how="full", strategy=strategy, on_invalid="drop")
    assert pairs(result) == [(3, 3)]


def test_bad_calls_are_refused_in_the_words_of_the_local_engine(spark):
    left, right = frame(spark), frame(spark)
    table = left.toArrow()
    for bad in (
        {"period": ("start", "finish")},
        {"on": "nothing"},
        {"left_on": ["start_text"], "right_on": ["id"]},
        {"columns": ["missing"]},
        {"delta": 3},
    ):
        with pytest.raises(tl.TimeloomError) as here:
            tl.join(left, right, **bad)
        with pytest.raises(tl.TimeloomError) as there:
            tl.join(table, table, **bad)
        assert str(here.value) == str(there.value)
    with pytest.raises(tl.UsageError, match="strategy='keys' needs equality keys"):
        tl.join(left, right, strategy="keys")


def test_small_sides_are_broadcast_and_the_large_side_is_not_shuffled(spark, capsys):
    large, small = spark.range(10**9).selectExpr("id", "id AS start", "id + 3 AS end"), frame(spark)
    plan = tl.explain(tl.join, large, small)
    assert (plan["strategy"], plan["broadcast side"]) == ("broadcast", "right")
    tl.join(large, small).explain()
    lines = capsys.readouterr().out.splitlines()
    exchanges = [line for line in lines if "Exchange" in line and "Broadcast" not in line]
    assert all("SinglePartition" in line or "RoundRobin" in line for line in exchanges)
    assert tl.explain(tl.join, large, small, how="full")["strategy"] == "slices"
    assert tl.explain(tl.join, small, large, how="left")["strategy"] == "slices"
    assert tl.explain(tl.join, large, large, on="id")["strategy"] == "keys"


def test_explain_states_the_bound_on_copies(spark):
    large = spark.range(10**9).selectExpr("id", "id AS start", "id + 3 AS end")
    assert tl.explain(tl.join, large, large, "meets")["replication"].startswith("at most 2")
    assert "fewer slices are made" in str(tl.explain(tl.join, large, large))


def test_many_long_rows_are_copied_to_few_slices(spark):
    rows = [(n, n % 50, n % 50 + (1000 if n % 2 else 1)) for n in range(200)]
    left = spark.createDataFrame(rows, "id long, start long, end long")
    right = spark.createDataFrame(rows[::3], "id long, start long, end long")
    assert pairs(tl.join(left, right, strategy="slices")) == expected_pairs(left, right)
