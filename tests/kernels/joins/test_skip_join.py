"""The skip-join in all variants, against the paper's examples, brute force and the forward scan."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.stabbing import half_open, join
from timeloom import StabForest
from timeloom.engines.joins.parallel_skip import skip_join_by
from timeloom.kernels.joins.skip_join import forward_scan
from timeloom.kernels.joins.skip_parts import SkipJoin
from timeloom.kernels.stab_forest.build import build
from timeloom.kernels.stab_forest.multi_stab import new_marks, stab_step
from tree import worked_examples

CASES = worked_examples("stab_forest")
LOW, HIGH = -(2**63), 2**63 - 1
VARIANTS = ["auto", "events", "index"]

lists = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 5)), max_size=25).map(
    lambda pairs: [(v, v + length) for v, length in pairs]
)


def columns(events):
    return tuple(np.array(column, np.int64) for column in half_open(events))


def pairs(ids):
    return sorted(zip(*(part.tolist() for part in ids), strict=True))


def inputs(name):
    given = CASES[name]["input"]
    return [tuple(event) for event in given["R"]], [tuple(event) for event in given["S"]]


@pytest.mark.parametrize("variant", VARIANTS)
def test_join_of_example_2_3(variant):
    left, right = inputs("SF-2.3-join")
    found = StabForest.build(*columns(left)).skip_join(StabForest.build(*columns(right)), variant=variant)
    assert pairs(found) == [tuple(pair) for pair in CASES["SF-2.3-join"]["expected"]]


def test_forward_scan_of_example_2_3_emits_in_the_paper_s_order():
    left, right = inputs("SF-2.3-fwdscan")
    found = zip(*(part.tolist() for part in forward_scan(*columns(left), *columns(right))), strict=True)
    steps = CASES["SF-2.3-fwdscan"]["expected"]
    assert [list(pair) for pair in found] == [pair for step in steps for pair in step["out"]]


@pytest.mark.parametrize("reach", [0, 1, 100])
def test_skip_join_of_example_2_5_emits_in_the_paper_s_order(reach):
    left, right = inputs("SF-2.5-skipjoin")
    found = skip_join_by(lambda: 1, SkipJoin(build(*columns(left)), build(*columns(right)), reach, reach))
    steps = CASES["SF-2.5-skipjoin"]["expected"]
    emitted = [list(pair) for pair in zip(*(part.tolist() for part in found), strict=True)]
    assert emitted == [pair for step in steps for pair in step["out"]]


@pytest.mark.parametrize("reach", [0, 100])
def test_steps_of_example_2_5(reach):
    """Algorithm 2 spelled out over single stabs makes exactly the stabs of the example."""
    events = dict(zip("RS", inputs("SF-2.5-skipjoin"), strict=True))
    forests = {side: build(*columns(rows)) for side, rows in events.items()}
    at, steps = {"R": 0, "S": 0}, []
    while all(at[side] < len(events[side]) for side in "RS"):
        mine, other = ("R", "S") if events["R"][at["R"]] <= events["S"][at["S"]] else ("S", "R")
        t = events[other][at[other]][0]
        if t > events[mine][at[mine]][1]:
            out = np.empty(8, np.int64)
            fill, after, _ = stab_step(forests[mine], t, at[mine], 1, reach, new_marks(), out, 0)
            hits = sorted(out[:fill].tolist())
            steps.append({"on": mine, "from": at[mine], "t": t, "hits": hits, "next": after})
            at[mine] = after
        else:
            at[mine] += 1
    stabs = [step for step in CASES["SF-2.5-skipjoin"]["expected"] if step["op"] == "stab"]
    assert steps == [{key: step[key] for key in ("on", "from", "t", "hits", "next")} for step in stabs]


def test_stabbing_at_its_own_start_would_skip_nothing():
    case = CASES["SF-2.5-line8-literal"]
    left, right = inputs("SF-2.5-line8-literal")
    assert sorted(join(left, right)) == [tuple(pair) for pair in case["expected"]["pairs"]]
    for side, t in case["expected"]["stab_timestamps"]:
        starts, ends = columns(left if side == "R" else right)
        position = int(np.searchsorted(starts, t))
        _, after, _ = stab_step(build(starts, ends), t, position, 1, 0, new_marks(), np.empty(8, np.int64), 0)
        assert after == position + 1


@pytest.mark.parametrize("variant", VARIANTS)
def test_windowed_join(variant):
    left, right = inputs("SF-2-window")
    begin, last = CASES["SF-2-window"]["input"]["window"]
    found = StabForest.build(*columns(left)).skip_join(columns(right), variant=variant, window=(begin, last + 1))
    assert pairs(found) == [tuple(pair) for pair in CASES["SF-2-window"]["expected"]]


@pytest.mark.parametrize("variant", VARIANTS)
def test_gap_data_join_to_nothing(variant):
    left, right = ([tuple(event) for event in CASES["SF-6-gap"]["expected"][side]] for side in "RS")
    assert pairs(StabForest.build(*columns(left)).skip_join(columns(right), variant=variant)) == []


@settings(max_examples=150, deadline=None)
@given(lists, lists, st.sampled_from(VARIANTS), st.integers(1, 3))
def test_every_variant_equals_brute_force(left, right, variant, c):
    expected = sorted(join(left, right))
    ours = StabForest.build(*columns(left))
    theirs = StabForest.build(*columns(right))
    assert pairs(ours.skip_join(theirs, c, variant)) == expected
    assert pairs(ours.skip_join(columns(right), c=c, variant=variant)) == expected
    ordered = sorted(left), sorted(right)
    assert pairs(forward_scan(*columns(ordered[0]), *columns(ordered[1]))) == sorted(join(*ordered))


@settings(max_examples=100, deadline=None)
@given(lists, lists, st.sampled_from(VARIANTS), st.integers(-1, 14), st.integers(1, 9))
def test_every_window_equals_brute_force(left, right, variant, begin, length):
    found = StabForest.build(*columns(left)).skip_join(
        columns(right), variant=variant, c=1, window=(begin, begin + length)
    )
    assert pairs(found) == sorted(join(left, right, (begin, begin + length - 1)))


@settings(max_examples=50, deadline=None)
@given(lists)
def test_self_join_pairs_each_event_with_itself(events):
    forest = StabForest.build(*columns(events))
    assert pairs(forest.skip_join(forest)) == sorted(join(events, events))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("gap", [1, 7, 500])
def test_groups_with_long_events_between_them(gap, variant):
    random = np.random.default_rng(gap)
    number = np.arange(6_000)
    starts = 2 * number
    ends = starts + 1 + (random.random(number.size) < 0.01) * random.integers(1, 4 * gap, number.size)
    side = number // gap % 2 == 0
    left, right = (starts[side], ends[side]), (starts[~side], ends[~side])
    expected = pairs(forward_scan(*left, *right))
    for c in (1, 16):
        assert pairs(StabForest.build(*left).skip_join(StabForest.build(*right), c, variant)) == expected


def test_results_larger_than_the_first_room():
    starts, ends = np.zeros(200, np.int64), np.arange(1, 201)
    forest = StabForest.build(starts, ends)
    assert forest.skip_join(forest)[0].size == 40_000
    assert forest.skip_join(forest, window=(0, 1))[0].size == 40_000
    assert forward_scan(starts, ends, starts, ends)[0].size == 40_000


def test_int64_extremes():
    left = StabForest.build([LOW, HIGH - 1], [HIGH, HIGH])
    for variant in VARIANTS:
        found = left.skip_join(([LOW, 5, HIGH - 1], [LOW + 1, 6, HIGH]), variant=variant)
        assert pairs(found) == [(0, 0), (0, 1), (0, 2), (1, 2)]


def test_empty_sides():
    some, none = StabForest.build([1], [2]), StabForest()
    for left, right in ((some, none), (none, some), (none, none)):
        assert pairs(left.skip_join(right)) == []
        assert pairs(left.skip_join(right, window=(0, 9))) == []
