"""Verbs of the second edition on Spark return the rows of the local engine."""

import random
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import timeloom as tl
import timeloom.accessors

pytestmark = pytest.mark.spark


def drawn_rows(seed, rows=40, name="x"):
    """Rows in any order, with ties, nulls and instants."""
    draw = random.Random(seed)
    starts = [draw.randrange(30) for _ in range(rows)]
    columns = {
        "start": starts,
        "end": [start + draw.choice([1, 1, 2, 5, 9]) for start in starts],
        "key": [draw.choice(["a", "a", "b", None]) for _ in range(rows)],
        name: [draw.choice([1, 2, None]) for _ in range(rows)],
    }
    columns["cost"] = [draw.choice([Decimal("0.10"), Decimal("-2.35"), None]) for _ in range(rows)]
    kinds = [("start", pa.int64()), ("end", pa.int64()), ("key", pa.string()), (name, pa.int64())]
    kinds.append(("cost", pa.decimal128(9, 2)))
    return pa.table(columns, pa.schema(kinds))


CALLS = {
    "split": lambda a, b: tl.split(a, every=4, origin=1),
    "split at": lambda a, b: tl.split(a, at=[3, 9, 20]),
    "lanes": lambda a, b: tl.lanes(a, by="key"),
    "check": lambda a, b: tl.check(a, by="key", gaps=True, duplicates=True, within=(0, 50)),
    "sessions": lambda a, b: tl.coalesce(a, by="key", max_gap=2),
    "buckets": lambda a, b: tl.temporal_aggregate(
        a,
        {"n": "count", "busy": "covered", "mean": ("x", "time_avg"), "sum": ("x", "sum"), "max": ("x", "max")},
        by="key",
        every=7,
        within=(2, 25),
    ),
    "buckets of decimals": lambda a, b: tl.temporal_aggregate(
        a, {"mean": ("cost", "time_avg"), "plain": ("cost", "avg")}, by="key", every=7
    ),
    "buckets of all": lambda a, b: tl.temporal_aggregate(a, {"n": "count", "busy": "covered"}, every=3),
    "union": tl.temporal_union,
    "intersect": lambda a, b: tl.temporal_intersect(a, b, all=True),
    "except": tl.temporal_except,
    "semi": lambda a, b: tl.temporal_join(a, b, how="semi", on="key"),
    "near": lambda a, b: tl.join(a, b, max_gap=2, on="key", how="full"),
    "as_of": lambda a, b: tl.as_of(a, b, at="start", on="key", tolerance=5),
    "as_of forward": lambda a, b: tl.as_of(a, b, at="start", direction="forward", allow_exact=False, how="inner"),
    "nearest": lambda a, b: tl.nearest(a, b, 3, on="key", how="left"),
    "nearest ties": lambda a, b: tl.nearest(a, b, 2, ties="all", direction="backward"),
    "instants": lambda a, b: tl.join(a.select(*_instants(a)), b, left_period="start", right_period=("start", "end")),
    "instants at every instant": lambda a, b: tl.temporal_join(
        a, b, how="left", on="key", left_period="start", suffixes=("", "_b")
    ),
    "instants beside periods": lambda a, b: tl.temporal_join(
        a.select(*_renamed(a)), b, how="full", on="key", left_period="at", suffixes=("", "_b")
    ),
    "instants merged": lambda a, b: tl.coalesce(a.select(*_renamed(a)), by="key", period="at"),
    "instants counted": lambda a, b: tl.temporal_aggregate(a, {"n": "count"}, by="key", period="start"),
    "believed": lambda a, b: tl.as_of(a, sys=5, sys_period=("start", "end")),
}


def _instants(frame):
    return [["start", "key"]] if isinstance(frame, pa.Table) else ["start", "key"]


def _renamed(frame):
    return [["at", "key"]] if isinstance(frame, pa.Table) else ["at", "key"]


def ready(name, rows):
    return (
        rows.rename_columns(["at", *rows.column_names[1:]])
        if name in ("instants merged", "instants beside periods")
        else rows
    )


@pytest.mark.parametrize("name", CALLS)
def test_both_engines_agree(spark, name):
    left, right = ready(name, drawn_rows(1)), drawn_rows(2)
    expected = CALLS[name](left, right)
    frames = [spark.createDataFrame(rows).repartition(3) for rows in (left, right)]
    plan = CALLS[name](*frames)
    assert plan.columns == expected.column_names
    assert sorted(map(repr, plan.toArrow().to_pylist())) == sorted(map(repr, expected.to_pylist()))


def test_invalid_rows_and_methods(spark):
    rows = pa.table({"start": [1, 5, None], "end": [3, 2, 4], "key": ["a", "a", "b"]})
    frame = spark.createDataFrame(rows)
    found = frame.timeloom.lanes(by="key", on_invalid="quarantine")
    assert found.result.toArrow()["lane"].to_pylist() == [0]
    assert sorted(found.rejected.toArrow()["reason"].to_pylist()) == ["end is before start", "start is null"]
    faults = sorted(map(repr, frame.timeloom.check(by="key").toArrow().to_pylist()))
    assert faults == sorted(map(repr, tl.check(rows, by="key").to_pylist()))


@pytest.mark.parametrize(
    "call",
    [
        lambda rows: tl.coalesce(rows, by="key", max_gap=2),
        lambda rows: tl.temporal_aggregate(rows, {"n": "count", "mean": ("x", "time_avg")}, by="key", every=7),
    ],
)
def test_columns_that_no_result_needs_are_not_read(spark, call):
    rows = drawn_rows(1)
    frame = spark.createDataFrame(rows).repartition(3).withColumn("other", F.expr("cast(raise_error('read') as int)"))
    found = call(frame).toArrow().to_pylist()
    assert sorted(map(repr, found)) == sorted(map(repr, call(rows).to_pylist()))
