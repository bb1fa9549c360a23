"""Disjoint interval partitioning in the tasks of Spark: pairs and remainders, and what is refused."""

import numpy as np
import pyarrow as pa
import pytest

import timeloom as tl
from timeloom.engines.joins.problem import Side
from timeloom.engines.spark.sequenced.chain_task import ChainTask, Linked
from timeloom.engines.timelines.sequenced import TwoSides

pytestmark = pytest.mark.spark


def rows(seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    start = rng.integers(0, 30, 25)
    return pa.table({"key": rng.integers(0, 2, 25), f"v{seed}": np.arange(25), "start": start, "end": start + 4})


def plain(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.select(sorted(table.column_names)).to_pylist()))


@pytest.mark.parametrize("how", ["inner", "full"])
def test_partitions_are_merged_in_tasks(spark, how):
    left, right = rows(1), rows(2)
    frames = [spark.createDataFrame(table).repartition(3) for table in (left, right)]
    found = tl.temporal_join(*frames, on="key", how=how, algorithm="dip")
    assert plain(found.toArrow()) == plain(tl.temporal_join(left, right, on="key", how=how))
    plan = tl.explain(tl.temporal_join, *frames, on="key", how=how, algorithm="dip")
    assert plan["algorithm"] == "dip"
    assert any("a task joins one after the other" in reason for reason in plan.why)


def test_remainders_and_periods_of_constant_lineage_are_merged_in_tasks(spark):
    left, right = rows(1), rows(2)
    frames = [spark.createDataFrame(table) for table in (left, right)]
    calls = [
        (tl.temporal_antijoin, 2, {"on": "key"}),
        (tl.temporal_aggregate, 1, {"by": "key", "aggregates": {"n": "count", "most": ("v1", "max")}}),
    ]
    for verb, inputs, options in calls:
        found = verb(*frames[:inputs], **options, algorithm="dip")
        assert plain(found.toArrow()) == plain(verb(*(left, right)[:inputs], **options))
        assert tl.explain(verb, *frames[:inputs], **options, algorithm="dip")["algorithm"] == "dip"


def test_a_task_merges_and_does_not_scan(monkeypatch):
    """What a task calls for each way to join: no other algorithm is asked."""

    def refuse(*_: object) -> None:
        raise AssertionError("another algorithm ran")

    monkeypatch.setattr(TwoSides, "_matches", refuse)
    monkeypatch.setattr("timeloom.engines.timelines.sequenced.subtract", refuse)
    left, right = rows(1), rows(2)
    for how in ("inner", "left", "right", "full", "anti"):
        task = ChainTask(None, how, "dip", (), None, None)
        sides = [side["start"].to_numpy().copy() for side in (left, right)]
        known = Linked((np.arange(25, dtype=np.int32),), sides[0], sides[0] + 4)
        found = list(task._joined(known, TwoSides(Side(sides[0], sides[0] + 4), Side(sides[1], sides[1] + 4), 0, 1)))
        assert sum(step.starts.size for step in found) > 0


def test_m_is_for_local_tables(spark):
    frame = spark.createDataFrame(rows(1))
    with pytest.raises(tl.UsageError, match="m=2 is for local tables"):
        tl.temporal_join(frame, frame, algorithm="dip", m=2)
