"""Competitors of the papers find what the reference finds."""

import numpy as np
import pytest
from benchmarks.peers import aggregates, dip_as_printed, forward_scan, interval_joins, leung_muntz, tree_sweep
from benchmarks.peers.active_sets import churned, scan_gapless, scan_linked, scan_tree
from benchmarks.peers.blocks import FETCHED, merged_partitions, pool_of, touch
from benchmarks.peers.consumed_in_place import shared_ends
from benchmarks.peers.iejoin import CONDITIONS, InequalityJoins
from benchmarks.peers.treap import LEFT, NONE, after, insert, insert_last, outermost, remove, treap

from reference import relations, sequenced
from timeloom.kernels.sequenced.dip import partition
from timeloom.model.names import relation
from tree import worked_examples

SEEDS = range(25)
DIP_CASES = worked_examples("dip")


def periods(random, most=14, domain=12):
    rows = int(random.integers(1, most))
    starts = random.integers(0, domain, rows)
    return starts, starts + random.integers(1, domain, rows)


def sides(seed):
    random = np.random.default_rng(seed)
    return periods(random), periods(random)


def spans(side):
    return list(zip(*map(np.ndarray.tolist, side), strict=True))


def expected(left, right, holds):
    return sorted((i, j) for i, r in enumerate(spans(left)) for j, s in enumerate(spans(right)) if holds(r, s))


@pytest.mark.parametrize("join", ["sort_merge", "overlap_partitions", "timeline_index", "sweepline", "alignment"])
def test_joins_count_the_pairs_of_the_reference(join):
    for seed in SEEDS:
        left, right = sides(seed)
        pairs = len(expected(left, right, relations.intersects))
        assert getattr(interval_joins, join)(left, right)[0] == pairs
        if join != "alignment":
            pool = interval_joins.disk(left, right, 2)
            assert getattr(interval_joins, join)(left, right, pool)[0] == pairs
            assert pool.counts[FETCHED] >= 1


@pytest.mark.parametrize("m", [1, 2, 16])
def test_merges_as_printed_count_the_pairs_of_the_reference_within_their_bound(m):
    for seed in SEEDS:
        left, right = sides(seed)
        parts = partition(*left), partition(*right)
        found = dip_as_printed.count_merged(*parts, m)
        assert found.results == len(expected(left, right, relations.intersects))
        assert found.unproductive <= parts[1].depth * left[0].size + parts[0].depth * right[0].size


def named_columns(rows):
    return np.array([row[1] for row in rows]), np.array([row[2] for row in rows])


def test_comparisons_of_the_running_example():
    example = DIP_CASES["DIP-fig1-relations"]["input"]
    found = dip_as_printed.count_merged(*(partition(*named_columns(example[side])) for side in ("R", "S")))
    wanted = DIP_CASES["DIP-ex2-merge"]["expected"]
    assert (found.comparisons, found.unproductive) == (wanted["total"], wanted["unproductive"])
    sort_merge = sequenced.sort_merge([row[1:3] for row in example["R"]], [row[1:3] for row in example["S"]])
    assert sort_merge == DIP_CASES["DIP-fig2-sortmerge"]["expected"]["per_outer"]
    assert (sum(sort_merge), found.comparisons) == (29, 22)


def test_lemma_5_needs_its_factor_of_two():
    case = DIP_CASES["DIP-lemma5"]
    found = dip_as_printed.count_merged(*(partition(*named_columns(case["input"][side])) for side in ("R", "S")))
    assert found.unproductive == case["expected"]["unproductive"] > case["expected"]["printed_bound"]


def test_alignment_finds_the_pieces_of_the_reference():
    for seed in SEEDS:
        left, right = sides(seed)
        pieces = sequenced.antijoin(spans(left), spans(right))
        found = interval_joins.alignment_antijoin(left, right)
        assert found == (len(pieces), sum(piece[1] for piece in pieces), sum(piece[2] for piece in pieces))


@pytest.mark.parametrize("heuristic", [False, True])
@pytest.mark.parametrize("name", ["iseql.start_preceding", "iseql.contains", "contains", "iseql.before", "overlaps"])
def test_leung_muntz_finds_the_pairs_of_the_reference(name, heuristic):
    (box,) = relation(name).boxes()
    for seed in SEEDS:
        left, right = sides(seed)
        pairs = expected(left, right, relations.RELATIONS[name])
        found = leung_muntz.summed(left, right, box, heuristic)
        assert (found.pairs, found.total) == (len(pairs), sum(int(left[0][i]) for i, _ in pairs))
        assert found.pairs <= found.candidates <= found.scanned


def test_leung_muntz_writes_the_pairs_themselves():
    (box,) = relation("iseql.contains").boxes()
    left, right = sides(3)
    pairs = expected(left, right, relations.RELATIONS["iseql.contains"])
    orders = [np.argsort(side[0], kind="stable") for side in (left, right)]
    columns = [column[order] for side, order in zip((left, right), orders, strict=True) for column in side]
    out = np.empty((2, len(pairs)), np.int32)
    leung_muntz.join(*columns, leung_muntz.bounds_of(box), leung_muntz.by_start(*columns[::2]), *out)
    assert sorted(zip(orders[0][out[0]].tolist(), orders[1][out[1]].tolist(), strict=True)) == pairs


@pytest.mark.parametrize("lazy", [False, True])
def test_pairs_consumed_in_place_are_those_of_the_reference(lazy):
    for seed in SEEDS:
        left, right = sides(seed)
        pairs = expected(left, right, relations.RELATIONS["iseql.start_preceding"])
        ends = sum(min(int(left[1][i]), int(right[1][j])) for i, j in pairs)
        assert shared_ends(left, right, lazy=lazy) == (len(pairs), ends)


def test_the_sweep_with_a_tree_finds_the_pairs_of_the_reference():
    for seed in SEEDS:
        left, right = sides(seed)
        pairs = expected(left, right, relations.RELATIONS["iseql.contains"])
        assert tree_sweep.summed(left, right) == (len(pairs), sum(int(left[0][i]) for i, _ in pairs))


def test_forward_scans_with_groups_and_buckets_find_the_pairs_of_the_reference():
    for seed in SEEDS:
        left, right = sides(seed)
        pairs = expected(left, right, relations.intersects)
        found = forward_scan.forward_scan(left, right, len(pairs) + 1)
        assert sorted(zip(*map(np.ndarray.tolist, found), strict=True)) == pairs
        pairs = expected(left, right, lambda r, s: relations.loosely_before(r, s, delta=3))
        found = forward_scan.before_join(left, right, 3, len(pairs) + 1)
        assert sorted(zip(*map(np.ndarray.tolist, found), strict=True)) == pairs


@pytest.mark.parametrize("name", list(CONDITIONS))
def test_inequality_joins_are_those_of_the_reference_and_run_as_such(name):
    left, right = sides(11)
    joins = InequalityJoins(left, right)
    assert "IE Join" in joins.operator(name, 3)
    delta = {"delta": 3} if name == "iseql.before" else {}
    pairs = expected(left, right, lambda r, s: relations.RELATIONS[name](r, s, **delta))
    assert joins.summed(name, 3) == (len(pairs), sum(int(left[0][i]) for i, _ in pairs))


@pytest.mark.parametrize("way", ["aggregation_tree", "timeline_aggregate", "sort_aggregate"])
def test_aggregates_are_those_of_the_reference(way):
    for seed in SEEDS:
        random = np.random.default_rng(seed)
        starts, ends = periods(random)
        values = random.integers(-5, 9, starts.size)
        wanted = []
        for begin in sorted({*starts.tolist(), *ends.tolist()}):
            rows = [row for row, (s, e) in enumerate(spans((starts, ends))) if s <= begin < e]
            if rows:
                wanted.append((begin, len(rows), int(values[rows].sum())))
        found = getattr(aggregates, way)(starts, ends, values)
        assert list(zip(*map(np.ndarray.tolist, found), strict=True)) == wanted


def test_trees_keep_their_order_under_insertions_and_removals():
    random = np.random.default_rng(5)
    tree, present = treap(60), {}
    for node in range(60):
        key = int(random.integers(0, 9))
        insert(tree, node, key)
        present[node] = key
        if node % 3 == 2:
            gone = int(random.choice(list(present)))
            remove(tree, gone)
            del present[gone]
        listed, at = [], outermost(tree, LEFT)
        while at != NONE:
            listed.append(at)
            at = after(tree, at)
        assert sorted(listed) == sorted(present)
        assert [present[one] for one in listed] == sorted(present.values())
        assert tree.ends[1] == (listed[-1] if listed else NONE)


def test_hints_make_the_tree_that_searching_makes():
    one, other = treap(50), treap(50)
    for node in range(50):
        insert(one, node, node // 3)
        insert_last(other, node, node // 3)
    assert np.array_equal(one.links, other.links)


def test_active_sets_hold_the_same_tuples():
    gapless, linked, tree = churned(37)
    assert scan_gapless(gapless, 2) == scan_linked(*linked, 2) == scan_tree(*tree, 2)


def test_pools_keep_the_blocks_used_last():
    random, held, fetched = np.random.default_rng(2), [], 0
    pool = pool_of(9, 3)
    for block in random.integers(0, 9, 300).tolist():
        touch(pool, block)
        fetched += block not in held
        held = [block, *(other for other in held if other != block)][:3]
        assert pool.counts[FETCHED] == fetched


def test_more_partitions_at_once_fetch_no_more_blocks():
    random = np.random.default_rng(4)
    starts = random.integers(0, 3_000, 3_000)
    parts = partition(starts, starts + random.integers(1, 60, 3_000))
    fetched = [merged_partitions(parts, parts, m, 12) for m in (1, 2, 4, 8)]
    assert fetched == sorted(fetched, reverse=True)
