"""The sequenced verbs on Spark return the rows of the local engine, however time is sliced."""

import numpy as np
import pyarrow.compute as pc
import pytest

import timeloom as tl
from engines.agreement import assert_all_same, on_spark, random_rows
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


def drawn_rows(seed, rows=70, keys=("a", "a", "a", "b", None), latest=40):
    """Rows in the order that ``first``, ``last`` and ``collect`` have on Spark; many have one key."""
    order = [(name, "ascending") for name in ("start", "end", "number", "id")]
    return random_rows(seed, rows, keys, latest, open_ends=0.03).sort_by(order)


def apart(spark, rows):
    return on_spark(spark, rows).repartition(3)


@pytest.mark.parametrize("by", [(), ("key",)])
def test_coalesce(spark, by):
    rows = drawn_rows(1, latest=120)
    frame = apart(spark, rows)
    request = CoalesceRequest(by, tl.Period(), Policy())
    expected = tl.coalesce(rows, by=list(by))
    assert_all_same([(slices, coalesce.coalesce(frame, request, slices), expected) for slices in SLICES])


@pytest.mark.parametrize("by", [(), ("key",)])
def test_gaps(spark, by):
    rows = drawn_rows(2, rows=25, latest=200)
    frame = apart(spark, rows)
    cases = []
    for within, sliced in {None: SLICES, (3, 70): [7], (-20, -10): [2]}.items():
        expected = tl.gaps(rows, by=by, within=within)
        request = GapsRequest(by, within, tl.Period(), Policy())
        cases += [((within, slices), gaps.gaps(frame, request, slices), expected) for slices in sliced]
    assert_all_same(cases)


MEASURES = {
    "n": "count",
    "known": ("number", "count"),
    "total": ("number", "sum"),
    "mean": ("number", "avg"),
    "money": ("cost", "sum"),
    "fare": ("cost", "avg"),
    "load": ("price", "sum"),
    "lightest": ("price", "min"),
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
    rows = drawn_rows(3)
    frame = apart(spark, rows)
    cases = []
    for fill, within, sliced in [(False, None, SLICES), (False, (3, 37), [7]), (True, None, [7])]:
        request = AggregateRequest(read_measures(MEASURES), by, tl.Period(), Policy(), fill, within)
        expected = tl.temporal_aggregate(rows, MEASURES, by=by, fill=fill, within=within)
        for slices in sliced:
            plan = temporal_aggregate.temporal_aggregate(frame, request, slices)
            cases.append(((fill, within, slices), plan, expected))
    assert_all_same(cases)


@pytest.mark.parametrize("on", [None, "key"])
def test_temporal_antijoin(spark, on):
    left, right = drawn_rows(4, rows=40, latest=120), drawn_rows(5, rows=15, latest=150, keys=("a", "b", None))
    right = right.filter(pc.is_valid(right["end"]))
    frames = apart(spark, left), apart(spark, right)
    expected = tl.temporal_antijoin(left, right, on=on)
    request = AntijoinRequest(Keys.of(on), tl.Period(), tl.Period(), Policy())
    cases = [(s, temporal_antijoin.temporal_antijoin(*frames, request, s), expected) for s in SLICES]
    assert_all_same(cases)


@pytest.mark.parametrize("on", [None, "key"])
def test_temporal_join(spark, on):
    left, right = (
        drawn_rows(6, rows=40, latest=60),
        drawn_rows(7, rows=20, latest=90).rename_columns({"price": "height"}),
    )
    frames = apart(spark, left), apart(spark, right)
    cases = []
    sliced_by: dict[str, list[int | None]] = {"inner": [None, 64], "left": [7], "right": [2], "full": [1, 7]}
    for how, sliced in sliced_by.items():
        request = TemporalJoinRequest(Keys.of(on), how, tl.Period(), tl.Period(), Policy())
        expected = tl.temporal_join(left, right, on=on, how=how)
        cases += [((how, s), temporal_join.temporal_join(*frames, request, s), expected) for s in sliced]
    assert_all_same(cases)
