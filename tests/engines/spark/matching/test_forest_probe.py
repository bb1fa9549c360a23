"""A stab-forest beside DataFrames: it goes to the workers, and rows ask it there."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

import timeloom as tl
from engines.agreement import on_spark
from rows import assert_same
from timeloom.engines.spark.matching import forest_probe
from timeloom.engines.spark.matching.forest_probe import SentIndex

AXES = {
    "integer": (pa.int64(), lambda tick: tick),
    "date": (pa.date32(), lambda tick: date(2024, 3, 1) + timedelta(tick)),
    "timestamp": (pa.timestamp("us"), lambda tick: datetime(2024, 3, 10, 2) + timedelta(minutes=tick)),
    "zoned": (pa.timestamp("us", "UTC"), lambda tick: datetime(2024, 3, 10, 6, tzinfo=UTC) + timedelta(minutes=tick)),
}


@pytest.fixture
def asked(monkeypatch):
    """Forests are asked however few events they have."""
    monkeypatch.setattr(forest_probe, "LEAST_EVENTS", 0)


def sides(axis, events=90, rows=40):
    kind, value = AXES[axis]
    rng = np.random.default_rng(3)
    payload = pa.table({"name": [f"e{number}" for number in range(events)], "size": rng.integers(0, 9, events)})
    begins = np.sort(rng.integers(0, 60, events)).tolist()
    ends = [begin + int(length) for begin, length in zip(begins, rng.integers(1, 9, events), strict=True)]
    forest = tl.StabForest.build([value(tick) for tick in begins], [value(tick) for tick in ends], payload=payload)
    starts = rng.integers(0, 70, rows).tolist()
    columns = [pa.array([value(tick + more) for tick in starts], kind) for more in (0, 3)]
    return pa.table([*columns, pa.array(range(rows), pa.int64())], ["start", "end", "row"]), forest


CALLS = {
    "inner": lambda rows, forest: tl.join(rows, forest, "overlaps | during"),
    "left": lambda rows, forest: tl.join(rows, forest, "during", how="left", overlap=True),
    "semi": lambda rows, forest: tl.join(rows, forest, how="semi"),
    "anti": lambda rows, forest: tl.join(rows, forest, "before", how="anti"),
    "full": lambda rows, forest: tl.join(rows, forest, "meets", how="full"),
    "where": lambda rows, forest: tl.join(rows, forest, where="size > 4", how="left"),
    "count": lambda rows, forest: tl.count_join(rows, forest, "contains"),
    "sums": lambda rows, forest: tl.count_join(rows, forest, aggregates={"total": ("size", "sum")}),
    "top": lambda rows, forest: tl.top_k(rows, forest, 3, ties="all"),
    "nearest": lambda rows, forest: tl.nearest(rows, forest, 2, ties="all", how="left"),
    "instants": tl.temporal_antijoin,
    "pairs": lambda rows, forest: tl.temporal_join(rows, forest, how="left"),
}


@pytest.mark.parametrize("axis", AXES)
def test_answers_of_local_tables(spark, asked, axis):
    rows, forest = sides(axis)
    frame = on_spark(spark, rows).repartition(3)
    for name, call in CALLS.items():
        assert_same(call(frame, forest), call(rows, forest), (axis, name))


def test_forests_on_the_left_and_few_events_are_tables(spark):
    rows, forest = sides("integer")
    frame = on_spark(spark, rows)
    assert_same(tl.join(forest, frame, "during"), tl.join(forest, rows, "during"))
    assert tl.explain(tl.join, frame, forest).facts["strategy"] == "broadcast"
    assert "algorithm" not in tl.explain(tl.join, frame, forest).facts
    with pytest.raises(tl.UsageError, match="different families"):
        tl.join(frame, rows)


def test_plans_tell_of_the_index_and_another_axis_is_refused(spark, asked):
    rows, forest = sides("date")
    frame = on_spark(spark, rows)
    for verb in (tl.join, tl.count_join, tl.nearest):
        assert tl.explain(verb, frame, forest).facts["algorithm"] == "index"
    other = on_spark(spark, sides("integer")[0])
    for verb in (tl.join, tl.count_join, tl.nearest, tl.temporal_antijoin):
        with pytest.raises(tl.InvalidInputError, match="date"):
            verb(other, forest)


def test_a_worker_unpacks_an_index_once():
    forest = tl.StabForest.build(np.arange(9), np.arange(9) + 2)
    sent, again = SentIndex.of(forest), SentIndex.of(forest)
    assert sent.unpacked() is again.unpacked()
    assert sent.unpacked().table() == forest.table()
    for number in range(forest_probe.MOST_KEPT):
        SentIndex.of(tl.StabForest.build(np.arange(number + 1), np.arange(number + 1) + 1)).unpacked()
    assert len(forest_probe._KEPT) == forest_probe.MOST_KEPT
