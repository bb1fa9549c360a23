"""The counting algorithms of the count semi-join paper: its examples, brute force, batches, and each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import counting as brute
from timeloom.kernels.counts.endpoints import (
    LEFT_END,
    LEFT_START,
    RIGHT_END,
    RIGHT_START,
    Endpoints,
    merge_endpoints,
)
from timeloom.kernels.counts.ranks import count_intersecting
from timeloom.kernels.counts.sweeps import feed, naive_count, simple_count, smart_count
from timeloom.kernels.order import sort
from timeloom.model.ticks import MAX_TICK as MAX
from tree import worked_examples

GOLDEN = worked_examples("counting")

ticks = st.integers(0, 12)
periods = st.tuples(ticks, ticks).filter(lambda p: p[0] < p[1]) | st.tuples(ticks, st.just(int(MAX)))
sides = st.lists(periods, max_size=15)


def columns(rows):
    return np.array([s for s, _ in rows], np.int64), np.array([e for _, e in rows], np.int64)


def golden_sides(case):
    """The two sides of a case as half-open columns; closed periods gain one tick."""
    longer = 1 if case["input"]["intervals"] == "closed" else 0
    return [[(start, end + longer) for start, end in case["input"][side].values()] for side in ("R", "S")]


def by_smart(left, right):
    return smart_count(merge_endpoints(*columns(left), *columns(right)), len(left))


def by_simple(left, right):
    return simple_count(merge_endpoints(*columns(left), *columns(right)), len(left))[0]


def by_naive(left, right):
    return naive_count(merge_endpoints(*columns(left), *columns(right)), len(left), len(right))


def by_ranks(left, right):
    starts, ends = columns(right)
    return count_intersecting(sort(starts), sort(ends), *columns(left))


ALGORITHMS = [by_naive, by_simple, by_smart, by_ranks]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("case", ["ICSJ-fig1-counts", "ICSJ-ties-closed", "ICSJ-ties-halfopen"])
def test_examples_of_the_paper(case, algorithm):
    left, right = golden_sides(GOLDEN[case])
    assert algorithm(left, right).tolist() == list(GOLDEN[case]["expected"].values())


def test_naive_counts_the_pairs():
    expected = GOLDEN["ICSJ-naive"]["expected"]
    counts = by_naive(*golden_sides(GOLDEN["ICSJ-naive"]))
    assert counts.tolist() == list(expected["counts"].values())
    assert counts.sum() == expected["pairs"] == len(GOLDEN["ICSJ-fig1-join"]["expected"])


def test_a_run_of_right_starts_costs_one_scan():
    expected = GOLDEN["ICSJ-lazy-simple"]["expected"]
    left, right = golden_sides(GOLDEN["ICSJ-lazy-simple"])
    counts, scans = simple_count(merge_endpoints(*columns(left), *columns(right)), len(left))
    assert (counts.tolist(), scans) == (list(expected["counts"].values()), expected["scans_lazy"])


def test_simple_counting_step_by_step():
    """Cut off the sweep after each printed step: the counters touched so far agree."""
    case = GOLDEN["ICSJ-simple"]
    left, right = golden_sides(case)
    endpoints = merge_endpoints(*columns(left), *columns(right))
    names = event_names(endpoints)
    counters = {}
    for step in case["expected"]:
        side_of = step["ev"].split(".")[0]
        if "C" in step:
            counters[side_of] = step["C"]
        for row in step.get("inc", []):
            counters[row] += 1
        if "count" in step:
            assert counters[side_of] == step["count"]
        seen = names.index(step["ev"]) + 1
        counts, _ = simple_count(Endpoints(endpoints.kinds[:seen], endpoints.rows[:seen]), len(left))
        if not step.get("inc"):
            assert {
                f"r{row + 1}": int(counts[row]) for row in range(len(left)) if f"r{row + 1}" in counters
            } == counters


def event_names(endpoints):
    words = {LEFT_START: "r{}.start", LEFT_END: "r{}.end", RIGHT_START: "s{}.start", RIGHT_END: "s{}.end"}
    return [words[kind].format(row + 1) for kind, row in zip(*(column.tolist() for column in endpoints), strict=True)]


def test_smart_counting_step_by_step():
    case = GOLDEN["ICSJ-smart"]
    left, right = golden_sides(case)
    endpoints = merge_endpoints(*columns(left), *columns(right))
    counters, counts, trace = np.zeros(2, np.int64), np.zeros(len(left), np.int64), []
    for event, name in enumerate(event_names(endpoints)):
        feed(endpoints.kinds[event : event + 1], endpoints.rows[event : event + 1], counters, counts)
        counter = int(counts[endpoints.rows[event]]) if name.startswith("r") else None
        trace.append([name, int(counters[0]), int(counters[1]), counter])
    assert trace == [step[1:] for step in case["expected"]]


@settings(max_examples=150, deadline=None)
@given(sides, sides)
def test_all_algorithms_equal_brute_force(left, right):
    expected = brute.counts(left, right, brute.intersects)
    for algorithm in ALGORITHMS:
        assert algorithm(left, right).tolist() == expected


@settings(max_examples=60, deadline=None)
@given(sides, sides, st.integers(1, 9))
def test_batches_of_every_size_equal_one_batch(left, right, size):
    endpoints = merge_endpoints(*columns(left), *columns(right))
    counters, counts = np.zeros(2, np.int64), np.zeros(len(left), np.int64)
    for at in range(0, endpoints.kinds.size, size):
        feed(endpoints.kinds[at : at + size], endpoints.rows[at : at + size], counters, counts)
    assert counts.tolist() == brute.counts(left, right, brute.intersects)


def test_many_pairs_pass_through_the_buffer_of_the_naive_sweep():
    left, right = [(0, 10)] * 300, [(5, 6)] * 400
    assert by_naive(left, right).tolist() == [400] * 300
