"""Instants on Spark, where time is really cut: every verb gives what it gives on local tables."""

import pyarrow as pa
import pytest

import timeloom as tl
from engines.agreement import assert_all_same, on_spark, random_rows

pytestmark = pytest.mark.spark

SIDES = {"left": {"left_period": "at"}, "right": {"right_period": "at"}, "both": {"period": "at"}}

PAIRS = {"columns": ["id", "other"]}
CALLS = [
    (tl.join, PAIRS | {"strategy": "slices"}),
    (tl.join, PAIRS | {"how": "full", "strategy": "slices"}),
    (tl.join, PAIRS | {"how": "left", "on": "key", "strategy": "keys"}),
    (tl.count_join, {"strategy": "slices"}),
    (tl.count_join, {"on": "key", "aggregates": {"total": ("number_right", "sum")}, "strategy": "keys"}),
    (tl.top_k, {"k": 4, "ties": "all", "strategy": "slices"}),
    (tl.temporal_join, {}),
    (tl.temporal_join, {"on": "key", "how": "left"}),
    (tl.temporal_antijoin, {}),
    (tl.temporal_antijoin, {"on": "key"}),
    (tl.nearest, {"k": 2}),
    (tl.nearest, {"on": "key", "how": "left"}),
]
ALONE = [
    (tl.temporal_aggregate, {"aggregates": {"n": "count"}, "by": "key"}),
    (tl.temporal_aggregate, {"aggregates": {"n": "count"}}),
    (tl.coalesce, {"by": "key"}),
    (tl.gaps, {}),
    (tl.gaps, {"by": "key"}),
    (tl.lanes, {"by": "key"}),
]


@pytest.fixture(autouse=True)
def cut(monkeypatch):
    """Small inputs are sliced as large ones are."""
    monkeypatch.setattr("timeloom.engines.spark.slicing.slices.WHOLE_BYTES", 0)
    monkeypatch.setattr("timeloom.engines.spark.slicing.slices.ALONE_BYTES", 0)
    monkeypatch.setattr("timeloom.engines.spark.matching.inputs.ALONE_BYTES", 0)
    for name in ("ALONE_BYTES", "WHOLE_BYTES", "CHUNK_BYTES"):
        monkeypatch.setattr(f"timeloom.engines.spark.matching.neighbour_plan.{name}", 0)
    monkeypatch.setattr("timeloom.engines.spark.matching.inputs.broadcast_threshold", lambda _: -1)
    monkeypatch.setattr("timeloom.engines.spark.slicing.slices.LEAST_SEEN", 2)


def tables(instants: str) -> list[pa.Table]:
    """Two tables; those at instants have these alone."""
    left, right = random_rows(1), random_rows(2).select(["start", "end", "key", "number", "id"])
    right = right.rename_columns(["start", "end", "key", "number_right", "other"])
    names = {"left": [True, False], "right": [False, True], "both": [True, True]}[instants]
    return [at_instants(rows) if chosen else rows for rows, chosen in zip((left, right), names, strict=True)]


def at_instants(rows: pa.Table) -> pa.Table:
    return rows.drop_columns(["end"]).rename_columns({"start": "at"})


@pytest.mark.parametrize("side", SIDES)
def test_two_tables(spark, side):
    rows = tables(side)
    frames = [on_spark(spark, table).repartition(3) for table in rows]
    cases = []
    for verb, options in CALLS:
        call = options | SIDES[side]
        local = {name: value for name, value in call.items() if name != "strategy"}
        assert tl.explain(verb, *frames, **call)["strategy"] in ("slices", "keys"), (verb.__name__, call)
        cases.append(((verb.__name__, call), verb(*frames, **call), verb(*rows, **local)))
    assert_all_same(cases)


def test_one_table(spark):
    rows = at_instants(random_rows(3))
    frame = on_spark(spark, rows).repartition(3)
    calls = [(verb, options | {"period": "at"}) for verb, options in ALONE]
    assert_all_same([((verb.__name__, call), verb(frame, **call), verb(rows, **call)) for verb, call in calls])
