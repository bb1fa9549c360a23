"""The join on Spark returns the rows of the join on local tables, for every kind of call."""

import random
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions as F

import timeloom as tl

pytestmark = pytest.mark.spark

RELATIONS = [
    *("before", "meets", "overlaps", "starts", "during", "finishes", "equals"),
    *("after", "met_by", "overlapped_by", "started_by", "contains", "finished_by"),
    *("intersects", "meets | met_by", "before | after | during", "starts | finishes | equals", "overlaps | meets"),
    tl.iseql.start_preceding(delta=3),
    tl.iseql.end_following(epsilon=2),
    tl.iseql.before(delta=4),
    tl.iseql.left_overlap(delta=3, epsilon=3),
    tl.iseql.during(delta=5, epsilon=2),
    ~tl.iseql.during(delta=5, epsilon=2),
    tl.iseql.start_preceding,
    tl.Relation(start_start=(-2, 2), end_end=(-1, 3)),
    tl.Relation(start_end=(-3, 3)) | tl.allen.during,
    tl.Relation(end_start=(2**62, None)),
    tl.Relation(start_start=(1, 0)),
]


def table(seed, rows=60, keys=("a", "b", "c", None), latest=40):
    """Rows with ties, nested and long periods, open ends and null keys."""
    draw = random.Random(seed)
    starts = [draw.randrange(latest) for _ in range(rows)]
    ends = [start + draw.choice([1, 1, 2, 3, 5, 8, 30]) for start in starts]
    return pa.table(
        {
            "start": pa.array(starts, pa.int64()),
            "end": pa.array([None if draw.random() < 0.05 else end for end in ends], pa.int64()),
            "key": pa.array([draw.choice(keys) for _ in range(rows)], pa.string()),
            "number": pa.array([draw.choice([1, 2, None]) for _ in range(rows)], pa.int32()),
            "id": pa.array(range(rows), pa.int64()),
        }
    )


def on_spark(spark, rows):
    return spark.createDataFrame(rows)


def assert_same(spark, left, right, calls):
    """Compare each call with the local engine; calls with results of one schema run as one Spark action."""
    frames = on_spark(spark, left), on_spark(spark, right)
    by_schema = {}
    for call in calls:
        plan = tl.join(*frames, **call)
        by_schema.setdefault(plan.schema.simpleString(), []).append((call, plan))
    for together in by_schema.values():
        numbered = [
            plan.select(F.lit(number).alias("call"), F.struct("*").alias("row"))
            for number, (_, plan) in enumerate(together)
        ]
        found = reduce(lambda a, b: a.unionAll(b), numbered).toArrow()
        for number, (call, plan) in enumerate(together):
            expected = tl.join(left, right, **call)
            assert plan.columns == expected.column_names
            mine = found.filter(pc.equal(found["call"], number))["row"]
            assert sorted(map(repr, mine.to_pylist())) == sorted(map(repr, expected.to_pylist())), call


@pytest.mark.parametrize("strategy", ["slices", "keys"])
def test_every_relation(spark, strategy):
    options = {"strategy": strategy, "columns": ["id", "id_right"], **({"on": "key"} if strategy == "keys" else {})}
    calls = [{"relation": relation, **options} for relation in RELATIONS]
    assert_same(spark, table(1), table(2, rows=45), calls)


HOWS = ["inner", "left", "right", "full", "semi", "anti"]


@pytest.mark.parametrize("strategy", ["slices", "keys", "broadcast"])
def test_every_kind_of_join(spark, strategy):
    calls = [{"relation": "during", "how": how, "on": "key", "strategy": strategy} for how in HOWS]
    assert_same(spark, table(3), table(4, rows=30), calls)
