"""Inputs that give other rows each time: a plan must take its rows from one reading, or refuse them."""

import random
import uuid
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import timeloom as tl
from timeloom.engines.spark.cluster.readings import changing, unequal_seed

ROWS, PARTS = 60, 3

CALLS = {
    "join broadcast": lambda left, right: tl.join(left, right, on="k", how="full", strategy="broadcast"),
    "join slices": lambda left, right: tl.join(left, right, "overlaps", how="full", strategy="slices"),
    "count_join keys": lambda left, right: tl.count_join(left, right, on="k", strategy="keys"),
    "temporal_join": lambda left, right: tl.temporal_join(left, right, on="k", how="full"),
    "temporal_antijoin": tl.temporal_antijoin,
}


def changing_frame(spark, path, name):
    """A DataFrame with the same ids but other periods whenever it is read, which leaves a file for each partition."""
    path.mkdir()

    def read(batches):
        (path / uuid.uuid4().hex).touch()
        draw = random.SystemRandom()
        for batch in batches:
            starts = [draw.randrange(60) for _ in range(batch.num_rows)]
            ends = [start + draw.choice([1, 2, 5, 30]) for start in starts]
            keys = [draw.choice("ab") for _ in starts]
            arrays = [batch.column(0), *map(pa.array, (starts, ends, keys, starts, ends))]
            yield pa.RecordBatch.from_arrays(arrays, [name, "start", "end", "k", f"{name}_start", f"{name}_end"])

    schema = f"{name} long, start long, end long, k string, {name}_start long, {name}_end long"
    return spark.range(ROWS).repartition(PARTS).mapInArrow(read, schema)


def readings(path: Path) -> float:
    return len(list(path.iterdir())) / PARTS


@pytest.mark.spark
@pytest.mark.parametrize(("adaptive", "calls"), [("true", list(CALLS)), ("false", ["join broadcast", "temporal_join"])])
def test_rows_come_from_one_reading(spark, tmp_path, monkeypatch, adaptive, calls):
    """A sample may read periods once more: it says only where time is cut."""
    monkeypatch.setattr("timeloom.engines.spark.slicing.slices.WHOLE_BYTES", 0)
    before = spark.conf.get("spark.sql.adaptive.enabled")
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        for name in calls:
            paths = tmp_path / f"{name} left", tmp_path / f"{name} right"
            left, right = (changing_frame(spark, path, part) for path, part in zip(paths, "rs", strict=True))
            rows = CALLS[name](left, right).collect()
            most = 1 if "broadcast" in name else 2
            assert max(map(readings, paths)) <= most, name
            known = Counter((row["r"], row["r_start"], row["r_end"]) for row in rows if row["r"] is not None)
            assert len({number for number, *_ in known}) == len(known), f"{name}: a row was read twice"
            if name != "temporal_antijoin":
                assert len(known) == ROWS, f"{name}: rows were lost"
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", before)


@pytest.mark.spark
def test_what_would_be_read_twice_is_refused_unless_it_is_kept(spark):
    rows = spark.range(20).selectExpr("id", "CAST(rand() * 9 AS BIGINT) AS start", "12L AS end")
    spark.conf.set("spark.sql.exchange.reuse", "false")
    try:
        for how, strategy in (("full", "broadcast"), ("left", "slices")):
            with pytest.raises(
                tl.errors.InvalidInputError, match=r"left table may give other rows.*rand\(.*persist\(\)"
            ):
                tl.join(rows, rows, how=how, strategy=strategy)
        tl.join(rows, rows, how="inner", strategy="slices")
        tl.join(rows, rows, how="left", strategy="broadcast")
        rows.persist()
        tl.join(rows, rows, how="full", strategy="broadcast")
        rows.unpersist()
        limited = spark.range(20).selectExpr("id", "id AS start", "id + 3 AS end").limit(7)
        with pytest.raises(tl.errors.InvalidInputError, match="GlobalLimit"):
            tl.count_join(limited, limited, strategy="slices")
        ordered = spark.range(20).selectExpr("id", "id AS start", "id + 3 AS end").orderBy("id").limit(7)
        tl.count_join(ordered, ordered, strategy="slices")
        sampled = spark.range(20).selectExpr("id", "id AS start", "id + 3 AS end").where(F.rand(3) < 0.5)
        with pytest.raises(tl.errors.InvalidInputError, match="rand"):
            tl.top_k(sampled, sampled, 2, strategy="slices")
    finally:
        spark.conf.set("spark.sql.exchange.reuse", "true")


@pytest.mark.spark
def test_gaps_beside_an_aggregate_are_a_second_reading(spark):
    rows = spark.range(20).selectExpr("id", "CAST(rand() * 9 AS BIGINT) AS start", "12L AS end")
    tl.temporal_aggregate(rows, {"n": "count"})
    with pytest.raises(tl.errors.InvalidInputError, match=r"rand\(.*second pass.*persist"):
        tl.temporal_aggregate(rows, {"n": "count"}, fill=True)


PLAN = """
Union false, false
:- Project [id#0L, uuid(Some({one})) AS u#1]
:  +- Range (0, 9, step=1)
+- Project [id#2L, uuid(Some({other})) AS u#3]
   +- Range (0, 9, step=1)
"""


def test_seeds_that_differ_are_found():
    assert unequal_seed(PLAN.format(one=7, other=7)) is None
    assert unequal_seed(PLAN.format(one=7, other=8)) == "uuid(Some(7))"


@pytest.mark.parametrize(
    ("plan", "found"),
    [
        ("Project [id#0L]\n+- Range (0, 9)", None),
        ("Project [rand(4) AS r#1]\n+- Range (0, 9)", "rand(4)"),
        ("Sample 0.0, 0.5, false, 4\n+- Range (0, 9)", "Sample"),
        ("MapInArrow read(id#0L)#3, [a#1]\n+- Range (0, 9)", "MapInArrow"),
        ("MapInArrow timeloom_JoinTask(id#0L)#3, [a#1]\n+- Range (0, 9)", None),
        ("GlobalLimit 5\n+- LocalLimit 5\n   +- Range (0, 9)", "GlobalLimit"),
        ("GlobalLimit 5\n+- LocalLimit 5\n   +- Sort [a#0 ASC], true\n      +- Range (0, 9)", None),
        ("GlobalLimit 5\n+- LocalLimit 5\n   +- Project [a#0]\n      +- Sort [a#0 ASC], true", None),
        ("Filter a\n+- InMemoryRelation [a#1]\n      +- *(1) Project [rand(4) AS a#1]", None),
        (
            "Union\n:- InMemoryRelation [a#1]\n:     +- *(1) Project [rand(4)]\n+- Project [uuid(Some(4))]",
            "uuid(Some(4))",
        ),
    ],
)
def test_what_may_change_is_found_in_plans(plan, found):
    assert changing(plan) == found
