"""What the design promises for clusters that are not here: few copies, tasks of about equal work."""

import pytest
from benchmarks.simulate_cluster import DISTRIBUTIONS, WORST, simulate

EVEN = [
    (name, tasks, seed)
    for name in DISTRIBUTIONS
    if name not in WORST
    for tasks, seeds in ((100, 8), (1000, 3))
    for seed in range(1, seeds + 1)
]
EVEN += [("zipf", 10_000, 1), ("bursts", 10_000, 3)]


@pytest.mark.parametrize(("name", "tasks", "seed"), EVEN)
def test_copies_are_few_and_tasks_even(name, tasks, seed):
    found = simulate(name, 1e12, tasks, seed=seed)
    assert found.copies <= 1.5
    assert found.imbalance <= 1.3
    assert found.driver < 1 << 20


@pytest.mark.parametrize("name", WORST)
def test_what_cannot_be_cut_is_copied_no_more_than_the_bound_allows_and_work_stays_even(name):
    found = simulate(name, 1e12, 100)
    assert found.copies <= 4
    assert found.imbalance <= 1.3
