"""Outer joins on Spark find their pairs once; one more pass decides about the rows that several tasks have."""

import random

import pyarrow as pa
import pytest

import timeloom as tl

pytestmark = pytest.mark.spark

EVALUATIONS = {
    ("inner", "slices"): 4,
    ("left", "slices"): 5,
    ("full", "slices"): 5,
    ("semi", "slices"): 5,
    ("left", "broadcast"): 2,
    ("full", "broadcast"): 4,
}
"""How often a plan goes through Python. With slices: both sides are written, boundaries chosen, and rows joined; then
at most one pass decides for both sides. A broadcast: the small side is written, and rows are joined; to keep it whole
takes one pass that decides, and one over its rows."""


def drawn_rows(draw, name, rows=60):
    starts = [draw.randrange(100) for _ in range(rows)]
    ends = [None if draw.random() < 0.05 else start + draw.choice([1, 2, 3, 60]) for start in starts]
    return pa.table(
        {
            "start": pa.array(starts, pa.int64()),
            "end": pa.array(ends, pa.int64()),
            "k": pa.array([draw.choice([None, 0.0, -0.0, 2.5]) for _ in starts], pa.float64()),
            name: pa.array(range(rows), pa.int64()),
        }
    )


@pytest.fixture
def whole_plans(spark):
    """Plans that are all there before they run; otherwise a plan has its stages, and those that it was to have."""
    before = spark.conf.get("spark.sql.adaptive.enabled")
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    yield
    spark.conf.set("spark.sql.adaptive.enabled", before)


def evaluations(frame):
    """The passes through Python in the plan that runs; what is reused is not in it twice."""
    plan = frame._jdf.queryExecution().executedPlan().toString()
    return sum("MapInArrow" in line for line in plan.splitlines())


def rows_of(table):
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.usefixtures("whole_plans")
@pytest.mark.parametrize("relation", ["during"])
def test_pairs_are_found_once_whatever_is_kept(spark, relation):
    draw = random.Random(relation)
    left, right = drawn_rows(draw, "r"), drawn_rows(draw, "s")
    frames = [spark.createDataFrame(rows).repartition(3) for rows in (left, right)]
    for (how, strategy), expected in EVALUATIONS.items():
        for keys in ({}, {"on": "k"}) if strategy == "slices" else ({},):
            options = {"how": how, "overlap": how != "semi", **keys}
            found = tl.join(*frames, relation, strategy=strategy, **options)
            assert rows_of(pa.Table.from_pylist([row.asDict() for row in found.collect()])) == rows_of(
                pa.Table.from_pylist(tl.join(left, right, relation, **options).to_pylist())
            ), (how, strategy, keys)
            assert evaluations(found) == expected, (how, strategy, keys)
