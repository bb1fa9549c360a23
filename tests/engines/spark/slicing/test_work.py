"""What is likely to be chance in a sample, and what is not: no Spark, no clock."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeloom.engines.spark.slicing import work as module
from timeloom.engines.spark.slicing.work import PAIRS_PER_ROW, evened, likely, work
from timeloom.model.ticks import MAX_TICK, MIN_TICK


def drawn(count, gaps, lengths=100.0, *, stands_for=1000.0, seed=2):
    """Rows that begin at random, so far apart on average; each stands for so many."""
    draw = np.random.default_rng(seed)
    low = np.cumsum(draw.exponential(np.broadcast_to(gaps, count))).astype(np.int64)
    return low, low + draw.exponential(lengths, count).astype(np.int64), np.full(count, stands_for)


@pytest.mark.parametrize("count", [1 << 12, 1 << 15])
def test_chance_is_taken_out_of_samples_of_all_sizes(count):
    low, high, counts = drawn(count, 1e6, 1e5)
    cuts = np.linspace(0, low[-1], 65)[1:]
    found = np.diff(np.interp(cuts, low, np.cumsum(work(low, high, counts))))
    rows = np.diff(np.interp(cuts, low, np.cumsum(counts)))
    assert found.std() / found.mean() < rows.std() / rows.mean()
    assert found.max() < 1.05 * found.mean() or count < 1 << 15


def test_chance_is_taken_out_and_steps_remain(monkeypatch):
    dense = np.arange(1 << 17) < 1 << 16
    rows = drawn(dense.size, np.where(dense, 10.0, 100.0))
    monkeypatch.setattr(module, "BLOCK", 64)
    weights = work(*rows) / 1000
    assert weights[:-2000][dense[:-2000]].mean() == pytest.approx(PAIRS_PER_ROW + 5000, rel=0.03)
    assert weights[~dense].mean() == pytest.approx(PAIRS_PER_ROW + 500, rel=0.05)
    for part in (slice(60_000), slice(70_000, None)):
        found, _ = np.histogram(rows[0][part], 60, weights=weights[part])
        assert found.std() < 0.03 * found.mean()


def test_rows_with_few_pairs_are_not_left_to_one_task():
    rush = np.arange(1 << 14) < 1 << 13
    low, high, counts = drawn(rush.size, np.where(rush, 1.0, 1e6), 1e3)
    weights = work(low, high, counts)
    assert weights.min() >= 0.8 * weights.mean() / 8


def test_no_row_meets_itself():
    low, high, counts = drawn(1 << 14, 1e6, 1e3, stands_for=1e6)
    assert work(low, high, counts).sum() / counts.sum() == pytest.approx(PAIRS_PER_ROW + 500, rel=0.2)


def test_a_sample_of_all_rows_has_no_chance():
    low, high, _ = drawn(1 << 12, 10.0)
    ones = np.ones(low.size)
    assert work(low, high, ones).tolist() == work(low, high, ones, exact=True).tolist()


ROWS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 40), st.integers(1, 50)), min_size=1, max_size=200)


@given(ROWS, st.sampled_from([0, MIN_TICK, MAX_TICK - 100]))
def test_work_is_positive_whatever_comes_and_wherever(rows, first):
    low, lengths, counts = (np.array(column, np.int64) for column in zip(*sorted(rows), strict=True))
    weights = work(low + first, low + first + lengths, counts.astype(np.float64))
    assert np.isfinite(weights).all()
    assert (weights > 0).all()
    assert weights.tolist() == work(low, low + lengths, counts.astype(np.float64)).tolist()


@given(st.integers(1, 1000), st.sampled_from([7.5, 1e9]))
def test_rows_that_come_as_regularly_as_a_clock_weigh_the_same(gap, count):
    low = np.arange(1 << 8) * gap
    weights = work(low, low + 1, np.full(low.size, count))
    assert weights[:200].tolist() == pytest.approx([weights[0]] * 200, rel=0.02)


def test_ticks_beyond_what_can_be_subtracted_and_ticks_of_many_rows_are_counted():
    counts = np.full(64, 5.0)
    far = np.linspace(MIN_TICK, MAX_TICK // 2, 64).astype(np.int64)
    assert evened(far, far, counts) is None
    assert evened(np.repeat(np.arange(2), 32), np.repeat(np.arange(2), 32), counts) is None


def test_what_chance_would_show_is_not_there_and_what_it_would_not_is():
    draw = np.random.default_rng(3)
    seen = draw.normal(size=1 << 12)
    seen[:40] += 20
    part = likely(seen**2, np.ones(seen.size))
    assert part[:40].min() > 0.95
    assert np.mean(part[40:] * np.abs(seen[40:])) < 0.05
    assert likely(draw.normal(size=1 << 12) ** 2 * 50, np.ones(1 << 12)).mean() > 0.5


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)), min_size=1, max_size=50))
def test_parts_are_parts_and_grow_with_what_is_seen(pairs):
    squares, chance = (np.array(column) for column in zip(*pairs, strict=True))
    part = likely(squares, chance)
    assert ((part >= 0) & (part <= 1)).all()
    order = np.argsort(squares / np.maximum(2 * chance, 1e-9))
    assert (np.diff(part[order]) >= -1e-12).all()
