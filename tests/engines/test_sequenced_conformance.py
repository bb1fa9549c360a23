"""The sequenced verbs on Spark return the rows of the local engine, however time is sliced."""

import random
from decimal import Decimal
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions as F

import timeloom as tl
from timeloom.engines.spark import coalesce, gaps, temporal_aggregate, temporal_antijoin, temporal_join
from timeloom.model.measures import read_measures
from timeloom.model.naming import Keys
from timeloom.model.policy import Policy
from timeloom.model.sequenced import (
    AggregateRequest,
    AntijoinRequest,
    CoalesceRequest,
    GapsRequest,
    TemporalJoinRequest,
)

pytestmark = pytest.mark.spark

SLICES = [1, 2, 7, 64]


def table(seed, rows=70, keys=("a", "a", "a", "b", None), latest=40):
    """Rows with ties, nested, touching and long periods, open ends, null keys and one key that many rows have.

    They are in the order that ``first``, ``last`` and ``collect`` have on Spark.
    """
    draw = random.Random(seed)
    starts = [draw.randrange(latest) for _ in range(rows)]
    ends = [start + draw.choice([1, 1, 2, 3, 5, 8, 30]) for start in starts]
    return pa.table(
        {
            "start": pa.array(starts, pa.int64()),
            "end": pa.array([None if draw.random() < 0.03 else end for end in ends], pa.int64()),
            "key": pa.array([draw.choice(keys) for _ in range(rows)], pa.string()),
            "number": pa.array([draw.choice([1, 2, 5, None]) for _ in range(rows)], pa.int32()),
            "price": pa.array([draw.choice([Decimal("0.25"), Decimal("3.50"), None]) for _ in range(rows)]),
            "weight": pa.array([draw.choice([0.1, 0.2, 1e16, -1e16]) for _ in range(rows)]),
        }
    ).sort_by([("start", "ascending"), ("end", "ascending"), ("number", "ascending")])


def on_spark(spark, rows):
    return spark.createDataFrame(rows).repartition(3)


def assert_same(cases):
    """Compare Spark plans with local tables; plans of one schema run as one action."""
    by_schema = {}
    for name, plan, expected in cases:
        assert plan.columns == expected.column_names
        by_schema.setdefault(plan.schema.simpleString(), []).append((name, plan, expected))
    for together in by_schema.values():
        numbered = [
            plan.select(F.lit(number).alias("call"), F.struct("*").alias("row"))
            for number, (_, plan, _) in enumerate(together)
        ]
        found = reduce(lambda a, b: a.unionAll(b), numbered).toArrow()
        for number, (name, _, expected) in enumerate(together):
            mine = found.filter(pc.equal(found["call"], number))["row"]
            assert sorted(map(repr, mine.to_pylist())) == sorted(map(repr, expected.to_pylist())), name


@pytest.mark.parametrize("by", [(), ("key",)])
def test_coalesce(spark, by):
    rows = table(1, latest=120)
    frame = on_spark(spark, rows)
    request = CoalesceRequest(by, tl.Period(), Policy())
    expected = tl.coalesce(rows, by=list(by))
    assert_same([(slices, coalesce.coalesce(frame, request, slices), expected) for slices in SLICES])


@pytest.mark.parametrize("by", [(), ("key",)])
def test_gaps(spark, by):
    rows = table(2, rows=25, latest=200)
    frame = on_spark(spark, rows)
    cases = []
    for within, sliced in {None: SLICES, (3, 70): [7], (-20, -10): [2]}.items():
        expected = tl.gaps(rows, by=by, within=within)
        request = GapsRequest(by, within, tl.Period(), Policy())
        cases += [((within, slices), gaps.gaps(frame, request, slices), expected) for slices in sliced]
    assert_same(cases)


MEASURES = {
    "n": "count",
    "known": ("number", "count"),
    "total": ("number", "sum"),
    "mean": ("number", "avg"),
    "money": ("price", "sum"),
    "fare": ("price", "avg"),
    "load": ("weight", "sum"),
    "lightest": ("weight", "min"),
    "spread": ("number", "stddev"),
    "top": ("key", "max"),
    "kinds": ("key", "count_distinct"),
    "first": ("number", "first"),
    "last": ("number", "last"),
    "all": ("number", "collect"),
    "own": ("number", lambda values: float(np.max(values) - np.min(values))),
}


@pytest.mark.parametrize("by", [(), ("key",)])
def test_temporal_aggregate(spark, by):
    rows = table(3)
    frame = on_spark(spark, rows)
    cases = []
    for fill, within, sliced in [(False, None, SLICES), (False, (3, 37), [7]), (True, None, [7])]:
        request = AggregateRequest(read_measures(MEASURES), by, tl.Period(), Policy(), fill, within)
        expected = tl.temporal_aggregate(rows, MEASURES, by=by, fill=fill, within=within)
        for slices in sliced:
            plan = temporal_aggregate.temporal_aggregate(frame, request, slices)
            cases.append(((fill, within, slices), plan, expected))
    assert_same(cases)


@pytest.mark.parametrize("on", [None, "key"])
def test_temporal_antijoin(spark, on):
    left, right = table(4, rows=40, latest=120), table(5, rows=15, latest=150, keys=("a", "b", None))
    right = right.filter(pc.is_valid(right["end"]))
    frames = on_spark(spark, left), on_spark(spark, right)
    expected = tl.temporal_antijoin(left, right, on=on)
    request = AntijoinRequest(Keys.of(on), tl.Period(), tl.Period(), Policy())
    cases = [(s, temporal_antijoin.temporal_antijoin(*frames, request, s), expected) for s in SLICES]
    assert_same(cases)


@pytest.mark.parametrize("on", [None, "key"])
def test_temporal_join(spark, on):
    left, right = table(6, rows=40, latest=60), table(7, rows=20, latest=90).rename_columns({"weight": "height"})
    frames = on_spark(spark, left), on_spark(spark, right)
    cases = []
    for how, sliced in {"inner": [None, 64], "left": [7], "right": [2], "full": [1, 7]}.items():
        request = TemporalJoinRequest(Keys.of(on), how, tl.Period(), tl.Period(), Policy())
        expected = tl.temporal_join(left, right, on=on, how=how)
        cases += [((how, s), temporal_join.temporal_join(*frames, request, s), expected) for s in sliced]
    assert_same(cases)
