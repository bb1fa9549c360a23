"""The structure of the stab-forest: the paper's figures after each append, its invariants, bulk against appends."""

import os

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reference.stabbing import check_shape, half_open, in_order, least, most, point_least, read_shape
from timeloom.kernels.stab_forest.build import build, event_order, first_dummy, highest_between
from timeloom.kernels.stab_forest.bulk_append import append_many
from timeloom.kernels.stab_forest.finish import finish
from timeloom.kernels.stab_forest.layout import FOREVER, NODES, STRIDE, allocate, append_events, dummies, resized
from tree import worked_examples

COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
"""Whether kernels run compiled: otherwise a million of anything takes too long."""

CASES = worked_examples("stab_forest")

events = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6)), max_size=40).map(
    lambda pairs: sorted((v, v + length) for v, length in pairs)
)


def columns(periods):
    starts, ends = half_open(periods)
    return np.array(starts, np.int64), np.array(ends, np.int64)


def appended(periods, capacity=64):
    forest = allocate(capacity)
    for period in periods:
        append_events(forest, *columns([period]))
    return forest


def built(periods):
    return build(*columns(periods))


def as_golden(shape):
    """A shape in the words of the golden file; lists whose order the paper leaves open are sorted."""

    def of(positions):
        return [list(shape["events"][p]) for p in positions]

    points = []
    for point in shape["points"]:
        dummy = point["dummy"]
        tree = [
            {
                "path": path,
                "nkey": node["nkey"],
                "dkey": node["dkey"],
                "min": least(node),
                "max": most(node),
                "i_data": node["i_data"],
                "LEFT": sorted(of(node["n_desc"] + node["d_desc"])),
            }
            for path, node in in_order(point["tree"])
        ]
        points.append(
            {
                "height": point["height"],
                "min": point_least(point),
                "max": dummy["dkey"],
                "m": [dummy["nkey"], dummy["dkey"]],
                "m_i_data": dummy["i_data"],
                "tree": tree,
                "MAX": sorted(of(dummy["n_desc"] + dummy["d_desc"])),
                "MAXn_desc": sorted(of(dummy["n_desc"]), key=lambda event: (-event[1], event[0])),
                "MAXd_desc": of(dummy["d_desc"]),
                "MAXn_asc": of(dummy["n_asc"]),
            }
        )
    tail = of(range(shape["i_tail"], len(shape["events"])))
    return {"points": points, "i_tail": shape["i_tail"], "tail": tail}


@pytest.mark.parametrize("make", [appended, built])
@pytest.mark.parametrize("name", ["SF-3.3-forest", "SF-5.1-forest", "SF-5-first-nkey"])
def test_forests_of_the_paper(name, make):
    case = CASES[name]
    shape = read_shape(make([tuple(event) for event in case["input"]["E"]]))
    check_shape(shape)
    assert as_golden(shape) == case["expected"]


def test_stab_tree_of_examples_3_1_and_3_2():
    case = CASES["SF-3.1-tree"]
    shape = read_shape(appended([*map(tuple, case["input"]["E"]), (8, 8), (9, 9)]))
    (point,) = shape["points"]
    nodes = in_order(point["tree"])
    assert as_golden(shape)["points"][0]["tree"] == case["expected"]["nodes"]
    root = CASES["SF-3.1-root"]["expected"]
    assert (most(point["tree"]), least(point["tree"])) == (root["max"], root["min"])
    for t, scope in CASES["SF-3.2-cover"]["expected"]:
        found = [[node["nkey"], node["dkey"]] for _, node in nodes if node["nkey"] <= t <= node["dkey"]]
        assert found == ([] if scope is None else [scope])


def test_append_of_example_5_1_merges_three_times():
    case = CASES["SF-5.1-merges"]
    periods = [tuple(event) for event in case["input"]["E"]]
    before = read_shape(appended(periods))
    after = read_shape(appended([*periods, tuple(case["input"]["append"])]))
    assert [point["height"] for point in before["points"]] == [3, 2, 1]
    assert [point["height"] for point in after["points"]] == [4]
    new = case["expected"]["new_point"]
    dummy = after["points"][0]["dummy"]
    assert (dummy["nkey"], dummy["dkey"], dummy["i_data"]) == (new["nkey"], new["dkey"], new["i_data"])
    roots = {(node["nkey"], node["dkey"]): node for _, node in in_order(after["points"][0]["tree"])}
    for merge in case["expected"]["merges"]:
        node = roots[tuple(merge["root"])]
        assert sorted(list(after["events"][p]) for p in node["n_desc"] + node["d_desc"]) == merge["LEFT"]


def test_tail_is_not_claimed_by_the_new_node():
    case = CASES["SF-5-literal-dkey"]
    periods = [tuple(event) for event in [*case["input"]["E"], case["input"]["append"]]]
    dummy = read_shape(appended(periods))["points"][-1]["dummy"]
    assert [dummy["nkey"], dummy["dkey"]] == case["expected"]["scope_right"]


def test_heights_are_the_binary_digits_of_the_indexed_starts():
    for count, heights in CASES["SF-3-heights"]["expected"].items():
        periods = [(t, t) for t in range(int(count))]
        for make in (appended, built):
            assert [point["height"] for point in read_shape(make(periods))["points"]] == heights


@settings(max_examples=60, deadline=None)
@given(events)
def test_invariants_hold_after_every_append(periods):
    forest = allocate(len(periods))
    check_shape(read_shape(forest))
    for period in periods:
        append_events(forest, *columns([period]))
        check_shape(read_shape(forest))


@settings(max_examples=100, deadline=None)
@given(events)
def test_bulk_build_makes_the_forest_that_appends_make(periods):
    shape = read_shape(built(periods))
    check_shape(shape)
    assert as_golden(shape) == as_golden(read_shape(appended(periods)))


@settings(max_examples=60, deadline=None)
@given(events, events)
def test_a_built_forest_grows_on(before, later):
    shift = before[-1][0] if before else 0
    later = [(v + shift, w + shift) for v, w in later]
    periods = sorted([*before, *later])
    assume(periods[: len(before)] == before)
    forest = resized(built(before), len(periods) + 3)
    append_events(forest, *columns(later))
    shape = read_shape(forest)
    check_shape(shape)
    assert as_golden(shape) == as_golden(read_shape(built(periods)))


def same_structure(forest, whole, random):
    """The same nodes and, where they are looked at, the same lists."""
    np.testing.assert_array_equal(forest.counts[:3], whole.counts[:3])
    nodes = int(whole.counts[1])
    for name in ("first", "own_stop", "last_end"):
        np.testing.assert_array_equal(forest.nodes[name][1 : nodes + 1], whole.nodes[name][1 : nodes + 1])
    for node in random.integers(1, nodes + 1, 500).tolist():
        ours, theirs = (f.lists[f.nodes[node]["list_at"] : f.nodes[node]["list_stop"]] for f in (forest, whole))
        np.testing.assert_array_equal(ours["end"], theirs["end"])
        np.testing.assert_array_equal(ours["asc"], theirs["asc"])
        np.testing.assert_array_equal(np.sort(ours["desc"]), np.sort(theirs["desc"]))


def test_a_million_appends_keep_the_invariants_where_they_are_looked_at():
    """All ten invariants early on; later by comparison with a forest that is built at once."""
    random = np.random.default_rng(20260)
    count = 1_000_000 if COMPILED else 10_000
    starts = np.sort(random.integers(0, count * 6 // 10, count))
    ends = starts + 1 + np.minimum((1 / random.random(count)).astype(np.int64), 5_000)
    rows = event_order(starts, ends)
    starts, ends = starts[rows], ends[rows]
    forest = allocate(count)
    early, late = random.integers(1, 5_000, 4), random.integers(count // 10, count, 4)
    done = 0
    for look in [*np.sort(np.concatenate([early, late])).tolist(), count]:
        append_events(forest, starts[done:look], ends[done:look])
        done = look
        if look < 5_000:
            check_shape(read_shape(forest))
        else:
            same_structure(forest, build(starts[:look], ends[:look]), random)


def test_numbers_of_nodes():
    for nodes in range(1, 70):
        cuts = dummies(nodes)
        assert cuts[-1] == nodes
        for node in range(1, nodes + 1):
            assert first_dummy(nodes, node) == min(cut for cut in cuts if cut >= node)
            zeros = {k: (k & -k) for k in range(node, nodes + 1)}
            assert highest_between(node, nodes) == max(zeros, key=zeros.get)


def test_int64_extremes_do_not_wrap():
    low, high = -(2**63), 2**63 - 1
    starts = np.array([low, low, low + 1, 0, high - 1])
    ends = np.array([low + 1, high, low + 2, high, high])
    check_shape(read_shape(build(starts, ends)))
    forest = allocate(5)
    append_events(forest, starts, ends)
    check_shape(read_shape(forest))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 60)), max_size=80))
def test_event_order_sorts_by_start_then_end(pairs):
    starts = np.array([start for start, _ in pairs], np.int64)
    ends = starts + np.array([length for _, length in pairs], np.int64)
    rows = event_order(starts, ends)
    keys = list(zip(starts.tolist(), ends.tolist(), strict=True))
    if rows is None:
        assert keys == sorted(keys)
    else:
        assert rows.tolist() == sorted(range(len(keys)), key=keys.__getitem__)


@given(events, st.integers(0, 40), st.integers(0, 40), st.data())
def test_many_appended_at_once_make_the_same_forest(periods, first, second, data):
    starts = sorted({start for start, _ in periods})
    assume(len(starts) > 1)
    cuts = sorted({starts[1 + first % (len(starts) - 1)], starts[1 + second % (len(starts) - 1)]})
    open_ends = data.draw(st.sets(st.integers(0, len(periods) - 1)))
    ordered = sorted((v, FOREVER - 1 if at in open_ends else w) for at, (v, w) in enumerate(periods))
    forest = appended([period for period in ordered if period[0] < cuts[0]])
    for begin, stop in zip(cuts, [*cuts[1:], FOREVER], strict=True):
        append_many(forest, *columns([period for period in ordered if begin <= period[0] < stop]))
    expected = appended(ordered)
    assert read_shape(forest) == read_shape(expected)
    for each in (forest, expected):
        append_events(each, *columns([(20, 21), (22, 30), (23, 23)]))
    assert read_shape(forest) == read_shape(expected)
    check_shape(read_shape(forest))


def latest_of(forest):
    """What the latest ends should be, and what they are."""
    blocks = int(forest.counts[NODES]) // STRIDE + 1
    firsts = forest.nodes["first"][np.arange(blocks) * STRIDE + 1]
    firsts[0] = 0
    expected = [max(forest.ends[:first].tolist(), default=-(2**63)) for first in firsts.tolist()]
    return expected, forest.latest[:blocks].tolist()


@given(st.integers(0, 2**31), st.sampled_from(["build", "append", "extend", "resize"]), st.integers(1, 4))
def test_the_guide_knows_the_latest_end_before_each_block(seed, way, repeats):
    random = np.random.default_rng(seed)
    starts = np.sort(random.integers(0, 1 + 300 // repeats, 300))
    ends = starts + random.integers(1, 40, 300)
    order = np.lexsort((ends, starts))
    starts, ends = starts[order], ends[order]
    half = int(np.searchsorted(starts, starts[150]))
    if way == "build":
        forest = build(starts, ends)
    elif way == "append":
        forest = allocate(300)
        append_events(forest, starts, ends)
    elif way == "extend":
        forest = resized(build(starts[:half], ends[:half]), 300)
        append_many(forest, starts[half:], ends[half:])
    else:
        forest = resized(build(starts, ends), 500)
    expected, found = latest_of(forest)
    assert found == expected


def test_the_latest_end_is_an_upper_bound_after_an_open_event_has_ended():
    starts = np.arange(200)
    ends = starts + 1
    ends[5] = FOREVER
    forest = build(starts, ends)
    assert finish(forest, 5, 1_000) == 5
    expected, found = latest_of(forest)
    assert expected[1:] == [1_000] * 3
    assert found[1:] == [FOREVER] * 3
    assert latest_of(resized(forest, 300))[1] == expected
