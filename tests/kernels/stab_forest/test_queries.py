"""Stabs, multi-stabs and counts on a stab-forest, against the paper's examples and brute force."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.stabbing import half_open, multi_stab, stab
from timeloom import StabForest
from timeloom.engines.joins import parallel_skip
from timeloom.kernels.stab_forest import multi_stab as many
from timeloom.kernels.stab_forest.build import build
from timeloom.kernels.stab_forest.layout import allocate, append_events
from timeloom.kernels.stab_forest.stab import locate
from timeloom.stab_forest import batches, reaching
from tree import worked_examples

CASES = worked_examples("stab_forest")
LOW, HIGH = -(2**63), 2**63 - 1

lists = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6)), max_size=40).map(
    lambda pairs: [(v, v + length) for v, length in pairs]
)
instants = st.lists(st.integers(-2, 20), max_size=12)
variants = st.sampled_from(["auto", "events", "index"])


def forest_of(events):
    return StabForest.build(*half_open(events))


def example():
    return [tuple(event) for event in CASES["SF-4.1-multistab"]["input"]["E"]]


@pytest.mark.parametrize("variant", ["auto", "events", "index"])
@pytest.mark.parametrize("name", ["SF-4.1-multistab", "SF-4-duplicate-phi"])
def test_multi_stabs_of_the_paper(name, variant):
    case = CASES[name]
    events = [tuple(event) for event in case["input"]["E"]]
    forest, phi = forest_of(events), case["input"]["phi"]
    for t, expected in zip(phi, case["expected"]["R"], strict=True):
        assert sorted(list(events[i]) for i in forest.stab(t)) == sorted(expected)
    found = forest.multi_stab(phi, variant=variant)
    assert sorted(list(events[i]) for i in found) == sorted(case["expected"]["result"])


def test_order_of_example_4_2():
    case = CASES["SF-4.2-order"]
    events, phi = example(), np.array(case["input"]["phi"])
    forest = allocate(16)
    append_events(forest, *(np.array(column) for column in half_open(events)))
    found, offsets = many.multi_stab(forest, phi, 0, many.new_marks())
    steps = [[list(events[p]) for p in found[a:b]] for a, b in pairwise(offsets)]
    assert steps == case["expected"]["emitted"]


def test_a_stab_of_a_suffix_gives_the_hits_and_the_next_event():
    case = CASES["SF-2.5-stab"]
    forest = build(*(np.array(column) for column in half_open([tuple(e) for e in case["input"]["E"]])))
    for reach in (0, 100):
        out = np.empty(8, np.int64)
        fill, after, _ = many.stab_step(
            forest, case["input"]["t"], case["input"]["from"], 1, reach, many.new_marks(), out, 0
        )
        assert {"hits": out[:fill].tolist(), "next": after} == case["expected"]


@settings(max_examples=150, deadline=None)
@given(lists, instants, st.integers(1, 3), variants)
def test_every_query_equals_brute_force(events, ts, c, variant):
    forest = forest_of(events)
    for t in range(-1, 20):
        expected = stab(events, t)
        found = forest.stab(t).tolist()
        assert len(found) == len(expected) == forest.count(t)
        assert set(found) == expected
    found = forest.multi_stab(ts, c=c, variant=variant).tolist()
    assert sorted(found) == sorted(multi_stab(events, ts))
    offsets, ids = forest.stab_many(ts, c=c)
    for j, t in enumerate(ts):
        assert sorted(ids[offsets[j] : offsets[j + 1]].tolist()) == sorted(stab(events, t))
    assert forest.count_many(ts).tolist() == [len(stab(events, t)) for t in ts]


@settings(max_examples=100, deadline=None)
@given(lists, instants, st.integers(-1, 14), st.integers(1, 9))
def test_windows(events, ts, begin, length):
    forest, window = forest_of(events), (begin, begin + length)
    inside = [t for t in ts if begin <= t < begin + length]
    assert sorted(forest.multi_stab(ts, window=window).tolist()) == sorted(multi_stab(events, inside))
    for t in range(-1, 20):
        expected = stab(events, t) if begin <= t < begin + length else set()
        assert set(forest.stab(t, window=window).tolist()) == expected
    found = forest.overlapping(*window).tolist()
    assert sorted(found) == sorted(multi_stab(events, range(*window)))


def test_an_open_window_has_no_end():
    forest = forest_of(example())
    assert sorted(forest.overlapping(8).tolist()) == sorted(multi_stab(example(), range(8, 99)))
    assert sorted(forest.multi_stab([2, 9], window=(5, None)).tolist()) == sorted(stab(example(), 9))


@pytest.mark.parametrize("spread", [3, 400, 100_000])
def test_large_forests_agree_with_a_scan(spread):
    random = np.random.default_rng(spread)
    starts = random.integers(0, 100_000, 20_000)
    ends = starts + 1 + np.minimum(1 / random.random(20_000), spread).astype(np.int64)
    forest = StabForest.build(starts, ends)
    ts = random.integers(-5, 110_000, 300)
    offsets, ids = forest.stab_many(ts)
    found = set()
    for j, t in enumerate(ts):
        expected = np.flatnonzero((starts <= t) & (t < ends))
        np.testing.assert_array_equal(np.sort(forest.stab(t)), expected)
        np.testing.assert_array_equal(np.sort(ids[offsets[j] : offsets[j + 1]]), expected)
        assert forest.count(t) == expected.size
        found.update(expected.tolist())
    for c in (1, 16, 1000):
        assert sorted(forest.multi_stab(ts, c=c).tolist()) == sorted(found)


def test_int64_extremes():
    forest = StabForest.build([LOW, LOW, 0, HIGH - 1], [LOW + 1, HIGH, HIGH, HIGH])
    assert sorted(forest.stab(LOW).tolist()) == [0, 1]
    assert sorted(forest.stab(HIGH - 1).tolist()) == [1, 2, 3]
    assert forest.stab(HIGH).tolist() == []
    assert forest.count(LOW) == 2
    assert sorted(forest.multi_stab([LOW, HIGH]).tolist()) == [0, 1]
    assert sorted(forest.overlapping(LOW).tolist()) == [0, 1, 2, 3]


def test_an_empty_forest_answers_with_nothing():
    forest = StabForest()
    assert forest.stab(5).tolist() == []
    assert forest.multi_stab([1, 2]).tolist() == []
    assert forest.multi_stab([]).tolist() == []
    assert [part.tolist() for part in forest.stab_many([1, 2])] == [[0, 0, 0], []]
    assert forest.count(0) == 0
    assert forest.overlapping(0, 9).tolist() == []
    assert len(forest) == 0


def test_locate_finds_the_scope_from_any_earlier_node():
    starts = np.arange(0, 3000, 3)
    forest = build(starts, starts + 1)
    for hint in (1, 2, 63, 64, 65, 200):
        for t in range(int(forest.dkey[hint - 1]) + 1 if hint > 1 else 0, 700):
            assert locate(forest, hint, t) == int(np.searchsorted(starts, t)) + 1
    assert locate(forest, 1, 2995) == 1000
    assert locate(forest, 1, 5000) == 1000


@settings(max_examples=60, deadline=None)
@given(lists, st.lists(st.tuples(st.integers(-2, 20), st.integers(1, 6)), max_size=12))
def test_many_windows_at_once(events, given_windows):
    forest = forest_of(events)
    begins, ends = [begin for begin, _ in given_windows], [begin + length for begin, length in given_windows]
    offsets, ids = forest.overlapping_many(begins, ends)
    expected = [sorted(multi_stab(events, range(*window))) for window in zip(begins, ends, strict=True)]
    assert [sorted(ids[a:b].tolist()) for a, b in pairwise(offsets)] == expected
    assert forest.count_overlapping(begins, ends).tolist() == list(map(len, expected))


def test_questions_shared_out_to_threads_are_answered_as_by_one(monkeypatch):
    random = np.random.default_rng(9)
    starts = random.integers(0, 50_000, 40_000)
    ends = starts + random.integers(1, 90, starts.size)
    forest = StabForest.build(starts, ends)
    ts, others = random.integers(-5, 51_000, 70_000), longer_forest(random)

    def answers():
        offsets, ids = forest.stab_many(ts)
        windows = forest.overlapping_many(ts, ts + 7)
        return (
            [sorted(ids[a:b].tolist()) for a, b in pairwise(offsets[:900])],
            windows[0].tolist(),
            sorted(windows[1].tolist()),
            sorted(forest.multi_stab(ts).tolist()),
            forest.count_many(ts).tolist(),
            forest.count_overlapping(ts, ts + 7).tolist(),
            forest.count_many(ts[:50]).tolist(),
            forest.count_overlapping(ts[:50], ts[:50] + 7).tolist(),
            sorted(zip(*map(np.ndarray.tolist, forest.skip_join(others)), strict=True)),
        )

    for name in ("SHORT", "REST"):
        monkeypatch.setattr(parallel_skip, name, 0)
    found = []
    for threads in (1, 3):
        for module in (batches, reaching):
            monkeypatch.setattr(module, "cores", lambda threads=threads: threads)
        found.append(answers())
    assert found[0] == found[1]
    assert found[0][4][:50] == found[0][6]
    assert found[0][5][:50] == found[0][7]
    assert found[0][4][:50] == [int(((starts <= t) & (t < ends)).sum()) for t in ts[:50]]


def longer_forest(random):
    starts = random.integers(0, 50_000, 3_000)
    return StabForest.build(starts, starts + random.integers(1, 400, starts.size))
