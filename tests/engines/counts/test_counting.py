"""Tables beyond the sizes that stay in the caches take other ways; they must give the same counts."""

import numpy as np
import pytest

from timeloom.engines.counts import counting
from timeloom.engines.joins.problem import Problem, Side
from timeloom.model import allen
from timeloom.model.ticks import Axis


def drawn(rows, seed):
    random = np.random.default_rng(seed)
    starts = random.integers(0, 30_000, rows)
    return Side(starts, starts + random.integers(1, 90, rows), random.integers(-1, 4, rows))


@pytest.mark.parametrize("name", ["intersects", "during", "equals", "overlapped_by"])
@pytest.mark.parametrize("keyed", [False, True])
def test_large_tables_in_threads_count_as_small_ones(name, keyed, monkeypatch):
    left, right = drawn(50_000, 1), drawn(60_000, 2)
    if not keyed:
        left.keys = right.keys = None
    boxes = getattr(allen, name).boxes(Axis.INTEGER)
    weights = np.random.default_rng(3).integers(0, 1000, len(right))
    expected = counting.Counting(Problem.of(left, right, 4), boxes)
    monkeypatch.setattr(counting, "CACHED", 0)
    problem = Problem.of(left, right, 4, threads=2)
    found = counting.Counting(problem, boxes)
    assert np.array_equal(found.counts(), expected.counts())
    assert np.array_equal(found.sums(weights), expected.sums(weights))
    assert np.array_equal(found.least(weights), expected.least(weights))
    assert np.array_equal(counting.exists(problem, boxes), expected.counts() > 0)
    if name == "intersects":
        for threads in (1, 2):
            assert np.array_equal(counting.rank_counts(Problem.of(left, right, 4, threads)), expected.counts())
        assert np.array_equal(counting.sweep_counts(problem, "smart"), expected.counts())
    assert expected.counts().sum() > 0
