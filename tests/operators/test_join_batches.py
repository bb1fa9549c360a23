"""Batches are bounded: whatever the algorithm, ten times the pairs take no more memory."""

import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timeloom as tl
from drawing import periods
from rows import assert_same
from timeloom.engines.joins.algorithms import find
from timeloom.engines.joins.problem import Problem, Side
from timeloom.kernels.joins.sweep_join import Counters
from timeloom.model.names import relation
from timeloom.model.ticks import Axis

ALGORITHMS = ["forward_scan", "sweep", "range_tree", "skip"]
ROWS, SLACK = 1000, 300_000


def lasting(length: int, keys: int) -> pa.Table:
    start = np.random.default_rng(3).integers(0, 20_000, 2000)
    return pa.table({"key": np.arange(2000) % keys, "start": start, "end": start + length})


def peak(algorithm: str, length: int, on: str | None) -> tuple[int, int]:
    """Bytes at most, by NumPy and Arrow, and the number of pairs."""
    left, right = lasting(length, 2), lasting(length, 2)
    if on is None:
        left, right = left.drop_columns("key"), right.drop_columns("key")
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    pairs = most = 0
    for batch in tl.join(left, right, on=on, algorithm=algorithm, batches=True, batch_rows=ROWS):
        assert 0 < batch.num_rows <= ROWS
        pairs, most = pairs + batch.num_rows, max(most, pa.total_allocated_bytes() - before)
    used = tracemalloc.get_traced_memory()[1] + most
    tracemalloc.stop()
    return used, pairs


@pytest.mark.parametrize("on", [None, "key"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_more_pairs_take_no_more_memory(algorithm, on):
    peak(algorithm, 10, on)
    few, some = peak(algorithm, 300, on)
    many, all_pairs = peak(algorithm, 3000, on)
    assert all_pairs > 8 * some > 100 * ROWS / 2
    assert many <= few + SLACK


@given(periods(), periods(), st.integers(1, 4), st.sampled_from(ALGORITHMS), st.booleans())
def test_batches_hold_the_pairs_of_the_whole_however_small_they_are(left, right, rows, algorithm, keyed):
    tables = [
        pa.table(
            {
                "id": pa.array(range(len(side)), pa.int64()),
                "key": pa.array([k % 2 for k in range(len(side))], pa.int64()),
                "start": pa.array([start for start, _ in side], pa.int64()),
                "end": pa.array([end for _, end in side], pa.int64()),
            }
        )
        for side in (left, right)
    ]
    options = {"on": "key"} if keyed else {}
    batches = list(tl.join(*tables, algorithm=algorithm, batches=True, batch_rows=rows, **options))
    assert all(0 < batch.num_rows <= rows for batch in batches) or [batch.num_rows for batch in batches] == [0]
    found = [(row["id"], row["id_right"]) for batch in batches for row in batch.to_pylist()]
    expected = [
        (i, j)
        for i, (a, b) in enumerate(left)
        for j, (c, d) in enumerate(right)
        if a < d and c < b and (not keyed or i % 2 == j % 2)
    ]
    assert sorted(found) == expected


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
def test_a_result_without_rows_is_one_batch_that_tells_its_columns(how):
    none = pa.schema({"key": pa.int32(), "start": pa.int64(), "end": pa.int64()}).empty_table()
    batches = list(tl.join(none, none.slice(0), on="key", how=how, batches=True))
    whole = tl.join(none, none, on="key", how=how)
    assert pa.Table.from_batches(batches).equals(whole)
    assert len(batches) == 1


@pytest.mark.parametrize("how", ["inner", "full", "semi"])
def test_quarantined_rows_come_beside_the_batches(how):
    rows = pa.table({"id": [1, 2, 3], "start": [5, 1, 2], "end": [2, 9, 4]})
    batches, rejected = tl.join(rows, rows, how=how, batches=True, batch_rows=1, on_invalid="quarantine")
    whole = tl.join(rows, rows, how=how, on_invalid="quarantine")
    assert rejected.equals(whole.rejected)
    assert rejected["id"].to_pylist() == [1, 1]
    found = list(batches)
    assert all(batch.num_rows == 1 for batch in found)
    assert_same(pa.Table.from_batches(found), whole.result)


def test_a_keyed_sweep_of_intersects_looks_at_results_only():
    """Two halves, each of which is a run: what is active when a row starts shares time with it."""
    rows, rng = 400, np.random.default_rng(5)
    start = rng.integers(0, 10_000, rows)
    side = Side(start, start + 5, np.arange(rows) % 3)
    problem = Problem.of(side, side, 3)
    problem.counters = Counters()
    found = find(problem, relation("intersects").boxes(Axis.INTEGER), "sweep")
    pairs = sum(lefts.size for lefts, _ in found.batches(50))
    assert problem.counters.candidates == problem.counters.pairs == pairs
