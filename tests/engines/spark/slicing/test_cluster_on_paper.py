"""What the design promises for clusters that are not here: few copies, tasks of about equal work."""

import pytest
from benchmarks.simulate_cluster import DISTRIBUTIONS, WORST, simulate


@pytest.mark.parametrize("name", [name for name in DISTRIBUTIONS if name not in WORST])
def test_copies_are_few_and_tasks_even(name):
    found = simulate(name, 1e12, 100)
    assert found.copies <= 1.5
    assert found.imbalance <= 1.3
    assert found.driver < 1 << 20


def test_long_rows_are_copied_no_more_than_the_bound_allows_and_work_stays_even():
    found = simulate("long_rows", 1e12, 100)
    assert found.copies <= 4
    assert found.imbalance <= 1.3


def test_a_tick_that_cannot_be_cut_takes_one_task_and_no_other_rows():
    found = simulate("one_instant", 1e12, 100)
    assert found.most_rows == pytest.approx(20, rel=0.05), "a fifth of all rows, where a task should have a hundredth"
