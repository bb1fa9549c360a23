"""Pairs as runs: batches that hold them, and the pairs that Spark makes of batches."""

from collections import Counter
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from dealing import deal_sides
from drawing import keys_for, periods
from timeloom.engines.spark.exchange.packed_rows import SideLayout
from timeloom.engines.spark.exchange.readers import ShuffledBlocks
from timeloom.engines.spark.join import planned
from timeloom.engines.spark.matching import tasks
from timeloom.engines.spark.matching.runs import PAIRS, WINDOW_BYTES, RunTask, cut, cut_few
from timeloom.engines.spark.matching.tasks import Matcher
from timeloom.engines.spark.slicing.join_parts import cover
from timeloom.model.join import JoinRequest
from timeloom.model.naming import Keys
from timeloom.model.period import Period
from timeloom.model.policy import Policy

RUNS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 30)), max_size=12)
BOUNDS = st.lists(st.integers(1, 17), max_size=5, unique=True).map(sorted)
EXACT = ["intersects", tl.iseql.start_preceding(delta=3), tl.iseql.end_following(epsilon=2), tl.iseql.before(delta=4)]


def pairs_of(batches):
    for number in range(batches.lows.size):
        for at in range(batches.edges[number], batches.edges[number + 1]):
            first, count = batches.firsts[at], batches.counts[at]
            assert batches.lows[number] <= first
            assert first + count <= batches.highs[number]
            yield from ((batches.rows[at], first + step) for step in range(count))


@given(RUNS, st.integers(0, 4))
def test_run_batches_that_are_made_without_kernels_hold_every_pair_once(runs, window):
    begins, counts = (np.array([run[at] for run in runs], np.int64) for at in (0, 1))
    batches = cut_few(begins, counts, window)
    expected = Counter((row, begin + step) for row, (begin, count) in enumerate(runs) for step in range(count))
    assert Counter(pairs_of(batches)) == expected
    totals = [batches.counts[a:b].sum() for a, b in zip(batches.edges[:-1], batches.edges[1:], strict=True)]
    assert all(total < 2 ** (PAIRS + window) + 31 for total in totals)


@given(RUNS, st.integers(0, 4))
def test_run_batches_hold_every_pair_once(runs, window):
    begins, counts = (np.array([run[at] for run in runs], np.int64) for at in (0, 1))
    batches = cut(begins, counts, window)
    expected = Counter((row, begin + step) for row, (begin, count) in enumerate(runs) for step in range(count))
    assert Counter(pairs_of(batches)) == expected
    assert (batches.counts > 0).all()
    assert (batches.highs - batches.lows <= 2**window).all()
    totals = [batches.counts[a:b].sum() for a, b in zip(batches.edges[:-1], batches.edges[1:], strict=True)]
    assert all(total < (2**PAIRS + 1) * 2**window for total in totals)


def test_long_runs_share_their_windows():
    batches = cut(np.zeros(100, np.int64), np.full(100, 10_000))
    assert batches.counts.sum() == 1_000_000
    assert (batches.highs - batches.lows).sum() < 1_000_000 / 3


def written_out(batch, sides):
    """The pairs of batches, as Spark writes them out."""
    for run_batch in batch.to_pylist():
        for run, (first, count) in enumerate(zip(run_batch["firsts"], run_batch["counts"], strict=True)):
            for met in range(first, first + count):
                at = {"left": met, "right": run} if run_batch["flip"] else {"left": run, "right": met}
                yield tuple(run_batch[f"v{number}"][at[side]] for number, side in enumerate(sides))


@pytest.mark.parametrize("relation", EXACT, ids=str)
@settings(max_examples=40, deadline=None)
@given(periods(), periods(), BOUNDS, st.booleans(), st.data())
def test_tasks_return_the_pairs_of_their_slices(relation, left, right, bounds, loaded, data):
    relation = tl.relation(relation)
    pieces = cover(relation.boxes())
    tables = []
    for rows in (left, right):
        starts, ends = ([row[at] for row in rows] for at in (0, 1))
        keys = pa.array(data.draw(keys_for(rows)), pa.string())
        columns = {"start": pa.array(starts, pa.int64()), "end": pa.array(ends, pa.int64()), "key": keys}
        tables.append(pa.table(columns | {"id": np.arange(len(rows))}))
    layouts = tuple(SideLayout(side, Period(), "p0", "p1", ("p2",)) for side in ("left", "right"))
    packed = [table.rename_columns(["p0", "p1", "p2", "p3"]).filter(table["key"].is_valid()) for table in tables]
    schema = tables[0].rename_columns(["p0", "p1", "p2", "p3"]).schema
    matcher = Matcher(ShuffledBlocks(schema), *layouts, pieces, Policy(), "auto")
    task = RunTask(matcher, (("left", 3), ("right", 3), ("left", 2)))
    with patch.object(tasks, "compiler_loaded", return_value=loaded):
        found = Counter(
            pair
            for received in deal_sides(packed, layouts, pieces, bounds, 3).values()
            for batch in task(iter([received]))
            for pair in written_out(batch, ("left", "right", "left"))
        )
    expected = tl.join(tables[0], tables[1], relation, on="key", columns=["id", "id_right", "key"])
    assert found == Counter(tuple(row.values()) for row in expected.to_pylist())


def test_run_batches_of_large_rows_stay_small():
    starts = np.arange(64, dtype=np.int64)
    rows = pa.table({"p0": starts, "p1": starts + 50, "p2": pa.array(["x" * (WINDOW_BYTES // 4)] * 64)})
    pieces = cover(tl.relation("intersects").boxes())
    layouts = tuple(SideLayout(side, Period(), "p0", "p1", ()) for side in ("left", "right"))
    matcher = Matcher(ShuffledBlocks(rows.schema), *layouts, pieces, Policy(), "auto")
    (received,) = deal_sides([rows, rows], layouts, pieces, [], 1).values()
    found = list(RunTask(matcher, (("left", 2), ("right", 0)))(iter([received])))
    assert sum(sum(run_batch["counts"]) for batch in found for run_batch in batch.to_pylist()) == 64 * 64 - 14 * 15
    assert max(batch.nbytes for batch in found) <= 2 * 2**PAIRS * WINDOW_BYTES


@pytest.mark.spark
def test_only_what_suits_is_sent_as_runs(spark):
    frame = spark.createDataFrame([(1, 5, "a"), (3, 9, "b")], "start long, end long, id string")
    period = Period()
    request = JoinRequest(tl.relation("intersects"), Keys(), "inner", period, period, Policy())
    assert planned(frame, frame, request).runs
    unfit = {
        "a filter": {"relation": tl.relation("during")},
        "single partners": {"relation": tl.relation("meets")},
        "rows without a partner": {"how": "left"},
        "an algorithm": {"algorithm": "sweep"},
        "overlaps": {"overlap": True},
    }
    for why, changed in unfit.items():
        assert not planned(frame, frame, replace(request, **changed)).runs, why
    wide = frame.selectExpr("*", *(f"{number} AS c{number}" for number in range(20)))
    assert not planned(wide, frame, request).runs
    assert not planned(frame.selectExpr("start", "end", "1 AS one"), frame, request).runs
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    try:
        assert not planned(frame, frame, request).runs
    finally:
        spark.conf.unset("spark.sql.codegen.wholeStage")


@pytest.mark.spark
def test_payload_of_any_type_comes_through_runs(spark):
    text = (
        "start long, end long, t string, d decimal(20, 3), s struct<a: int, b: array<string>>, m map<string, int>, "
        "x binary, n int, at timestamp, `a.b` date"
    )
    rows = spark.sql(
        "SELECT id AS start, id + 3 AS end, IF(id % 3 = 0, NULL, CAST(id AS STRING)) AS t, "
        "CAST(id / 7 AS DECIMAL(20, 3)) AS d, "
        "IF(id % 4 = 0, NULL, named_struct('a', CAST(id AS INT), 'b', array('x', NULL))) AS s, "
        "map('k', CAST(id AS INT)) AS m, CAST(CAST(id AS STRING) AS BINARY) AS x, "
        "IF(id % 2 = 0, NULL, CAST(id AS INT)) AS n, timestamp_seconds(id) AS at, "
        "date_add(DATE'2020-01-01', CAST(id AS INT)) AS `a.b` FROM range(0, 60, 1, 3)"
    )
    left = spark.createDataFrame(rows.collect(), text).repartition(3)
    right = spark.range(0, 60, 7).selectExpr("nullif(id, -1) AS start", "nullif(id + 2, -1) AS end")
    period = Period()
    request = JoinRequest(tl.relation("intersects"), Keys(), "inner", period, period, Policy(), strategy="slices")
    assert planned(left, right, request).runs
    found = tl.join(left, right, strategy="slices")
    expected = tl.join(left.toArrow(), right.toArrow())
    assert found.columns == expected.column_names
    assert sorted(map(repr, found.toArrow().to_pylist())) == sorted(map(repr, expected.to_pylist()))
