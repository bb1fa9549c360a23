"""What a plan would cost, from the sample by which it would cut time: asked for, against the rows themselves."""

import numpy as np
import pyarrow as pa
import pytest

import timeloom as tl
from timeloom.engines.spark.exchange.forecast import row_bytes
from timeloom.errors import UsageError
from timeloom.operators.registry import verbs

ROWS = pa.table({"key": [1, 2] * 60, "start": range(120), "end": range(3, 123)})

CALLS = {
    "join in slices": lambda left, right: (tl.join, left, right, {"strategy": "slices"}),
    "join by keys": lambda left, right: (tl.join, left, right, {"on": "key", "strategy": "keys"}),
    "count_join": lambda left, right: (tl.count_join, left, right, {"strategy": "slices"}),
    "temporal_join": lambda left, right: (tl.temporal_join, left, right, {"on": "key"}),
    "outer temporal_join": lambda left, right: (tl.temporal_join, left, right, {"how": "full"}),
    "temporal_antijoin": lambda left, right: (tl.temporal_antijoin, left, right, {}),
    "temporal_aggregate": lambda left, right: (tl.temporal_aggregate, left, {"n": "count"}, {"by": "key"}),
    "coalesce": lambda left, right: (tl.coalesce, left, {"by": "key"}),
    "sessions": lambda left, right: (tl.coalesce, left, {"by": "key", "max_gap": 2}),
    "gaps": lambda left, right: (tl.gaps, left, {}),
    "as_of": lambda left, right: (tl.as_of, left, right, {"at": "start", "on": "key"}),
    "nearest": lambda left, right: (tl.nearest, left, right, {}),
    "depth": lambda left, right: (tl.depth, left, {"by": "key"}),
    "temporal_intersect": lambda left, right: (tl.temporal_intersect, left, right, {}),
    "temporal_except": lambda left, right: (tl.temporal_except, left, right, {}),
    "lanes": lambda left, right: (tl.lanes, left, {"by": "key"}),
    "check": lambda left, right: (tl.check, left, {}),
    "temporal_union": lambda left, right: (tl.temporal_union, left, right, {}),
    "top_k": lambda left, right: (tl.top_k, left, right, 3, {"strategy": "slices"}),
}

IN_PLACE = {
    "stab": (lambda table: tl.explain(tl.stab, table, 5, sample=True), 1),
    "split": (lambda table: tl.explain(tl.split, table, every=1, sample=True), 3),
    "sliding_windows": (
        lambda table: tl.explain(
            tl.sliding_windows,
            table,
            tl.Slide(1, 2),
            tl.Slide(1, 2),
            steps=3,
            sys_period=("start", "end"),
            app_period=("start", "end"),
            sample=True,
        ),
        1,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_sample_tells_rows_copies_bytes_and_the_largest_task(name, spark):
    frames = spark.createDataFrame(ROWS), spark.createDataFrame(ROWS)
    verb, *tables, options = CALLS[name](*frames)
    assert "expected copies" not in tl.explain(verb, *tables, **options).facts
    plan = tl.explain(verb, *tables, sample=True, **options)
    inputs = sum(table in frames for table in tables if not isinstance(table, dict))
    assert plan["sampled rows stand for"] == inputs * ROWS.num_rows
    assert 1 <= plan["expected copies"] <= 4
    if "strategy" in options:
        assert plan["bytes shuffled"] >= plan["sampled rows stand for"] * 16
    else:
        assert plan["bytes shuffled"] == 0, "one task reads and takes small tables"
    assert ROWS.num_rows / 10 <= plan["largest task rows"] <= inputs * ROWS.num_rows
    assert plan["largest task over mean"] >= 1
    assert plan["largest task memory"] > 0


@pytest.mark.parametrize("name", IN_PLACE)
def test_verbs_that_take_rows_where_they_are_shuffle_nothing(name, spark):
    told, pieces = IN_PLACE[name]
    plan = told(spark.createDataFrame(ROWS))
    assert (plan["sampled rows stand for"], plan["bytes shuffled"], plan["slices with rows"]) == (ROWS.num_rows, 0, 0)
    assert plan["expected copies"] == pieces
    assert plan["largest task memory"] >= ROWS.num_rows * 24


def test_the_largest_group_is_the_largest_task(spark):
    skewed = ROWS.set_column(0, "key", pa.array([0] * 90 + list(range(1, 31))))
    plan = tl.explain(tl.lanes, spark.createDataFrame(skewed).repartition(2), by="key", sample=True)
    assert 90 <= plan["largest task rows"] < ROWS.num_rows
    assert plan["strategy"] == "keys"
    alone = tl.explain(tl.lanes, spark.createDataFrame(skewed), by="key", sample=True)
    assert (alone["strategy"], alone["largest task rows"]) == ("one task", ROWS.num_rows)
    assert (alone["bytes shuffled"], plan["bytes shuffled"] > 0) == (0, True)


def test_every_verb_is_asked_for_its_cost_here():
    asked = {CALLS[name](None, None)[0].__name__ for name in CALLS} | set(IN_PLACE)
    assert asked == {name for name, verb in verbs().items() if verb.explains}


def test_a_pattern_tells_what_sending_its_rows_costs_or_its_first_join(spark):
    frame, relations = spark.createDataFrame(ROWS), [("a", "before", "b")]
    alone = tl.explain(tl.pattern, {"a": frame, "b": frame}, relations, sample=True)
    assert (alone["expected copies"], alone["bytes shuffled"]) == (1, 0)
    assert alone["largest task rows"] == alone["sampled rows stand for"] == 2 * ROWS.num_rows
    spread = frame.repartition(2)
    keyed = tl.explain(tl.pattern, {"a": spread, "b": spread}, relations, on="key", sample=True)
    assert keyed["bytes shuffled"] > 0
    assert keyed["largest task memory"] > 0
    joined = tl.explain(tl.pattern, {"a": spread, "b": spread}, relations, sample=True)
    assert joined["expected copies"] >= 1


def test_a_broadcast_copies_nothing_and_small_tables_are_one_task(spark):
    frame = spark.createDataFrame(ROWS)
    sent = tl.explain(tl.join, frame, frame, strategy="broadcast", sample=True)
    assert (sent["expected copies"], sent["bytes shuffled"]) == (1.0, 0)
    assert "count_join lists no pairs" in str(sent)


def test_local_tables_have_no_sample_to_look_at():
    with pytest.raises(UsageError, match="sample=True is for calls on Spark"):
        tl.explain(tl.join, ROWS, ROWS, sample=True)


def test_row_bytes_of_fixed_and_other_types():
    assert row_bytes(pa.schema([("a", pa.int64()), ("b", pa.string()), ("c", pa.bool_()), ("d", pa.int32())])) == 32
    assert row_bytes(pa.schema([("a", pa.null())])) >= 1
    assert row_bytes(pa.schema([("a", pa.list_(pa.int8()))])) == 20
    assert np.isfinite(row_bytes(pa.schema([("a", pa.decimal128(10, 2))])))
