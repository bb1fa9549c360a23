"""Disjoint interval partitioning on the paper's worked examples and against brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import periods
from reference import sequenced as reference
from timeloom.kernels.aggregates import dip as dip_aggregate
from timeloom.kernels.aggregates.timeline import members
from timeloom.kernels.sequenced import dip, dip_full, dip_join, dip_merge
from timeloom.model.ticks import FOREVER
from tree import worked_examples

CASES = worked_examples("dip")
EXAMPLE = CASES["DIP-fig1-relations"]["input"]


def columns(rows: list) -> tuple[np.ndarray, np.ndarray]:
    array = np.array(rows, np.int64).reshape(-1, 2)
    return array[:, 0].copy(), array[:, 1].copy()


def named_columns(rows: list) -> tuple[np.ndarray, np.ndarray]:
    return columns([row[1:3] for row in rows])


def partitions_of(rows: list) -> list[list[int]]:
    found = dip.partition(*columns(rows))
    return [found.rows[found.offsets[k] : found.offsets[k + 1]].tolist() for k in range(found.depth)]


def pairs(found: dip_merge.Merged) -> list[tuple[int, int, int, int]]:
    rows = zip(*(column.tolist() for column in (found.outer, found.inner, found.starts, found.ends)), strict=True)
    return sorted(rows)


def pieces(found: dip_merge.Merged) -> list[tuple[int, int, int]]:
    return sorted(zip(*(column.tolist() for column in (found.outer, found.starts, found.ends)), strict=True))


@pytest.mark.parametrize("case", ["DIP-fig3-R", "DIP-fig3-S"])
def test_partitions_of_the_running_example(case):
    tuples = CASES[case]["input"]["tuples"]
    found = partitions_of([row[1:] for row in tuples])
    assert [[tuples[row][0] for row in part] for part in found] == CASES[case]["expected"]


def test_partition_heap_of_example_3():
    given_tuples, expected = CASES["DIP-ex3-heap"]["input"], CASES["DIP-ex3-heap"]["expected"]
    rows = given_tuples["tuples"] + given_tuples["next"]
    number, _ = dip.assign(*columns(rows))
    assert [f"R{name + 1}" for name in number[-2:]] == expected["placed"]
    last_end = {f"R{name + 1}": rows[row][1] for row, name in enumerate(number.tolist())}
    assert last_end == expected["keys_after"][-1]


@given(periods(max_size=12))
def test_partitions_are_disjoint_and_minimal(rows):
    found = partitions_of(rows)
    assert sorted(row for part in found for row in part) == list(range(len(rows)))
    assert len(found) == reference.depth(rows)
    for part in found:
        assert all(rows[a][1] <= rows[b][0] for a, b in itertools.pairwise(part))


def test_join_of_figure_10():
    left, right = EXAMPLE["R"], EXAMPLE["S"]
    found = pairs(dip_join.join(*named_columns(left), *named_columns(right)))
    rows = [
        [left[r][0], right[s][0], start, end, left[r][3], right[s][3], left[r][4] - right[s][4]]
        for r, s, start, end in found
    ]
    assert rows == CASES["DIP-fig10-join"]["expected"]


@pytest.mark.parametrize("case", ["DIP-fig12-antijoin", "DIP-antijoin-SR", "DIP-antijoin-gap", "DIP-antijoin-emptyS"])
def test_antijoins_of_the_paper(case):
    left, right = CASES[case]["input"]["R"], CASES[case]["input"]["S"]
    found = pieces(dip_merge.antijoin(*named_columns(left), *named_columns(right)))
    assert [[left[r][0], start, end, *left[r][3:]] for r, start, end in found] == CASES[case]["expected"]


@pytest.mark.parametrize(("case", "to_lead"), [("DIP-fig15-trace", True), ("DIP-fig15-trace-alg2", False)])
def test_antijoin_comparisons_of_figure_15(case, to_lead):
    found = dip_merge.antijoin(*named_columns(EXAMPLE["R"]), *named_columns(EXAMPLE["S"]), to_lead=to_lead)
    assert found.comparisons == CASES[case]["expected"]["total"]
    assert pieces(found) == [(5, 12, 13)]


def test_every_outer_partition_is_finished():
    case = CASES["DIP-alg2-termination"]
    left = [row for part in case["input"]["outer"] for row in part]
    found = pieces(dip_merge.antijoin(*named_columns(left), *named_columns(case["input"]["S"])))
    assert [[left[r][0], start, end] for r, start, end in found] == case["expected"]["by_definition"]


@pytest.mark.parametrize("case", ["DIP-ex6-leads", "DIP-fig15-leads", "DIP-leads-tie"])
def test_leads(case):
    """The pieces of an all-time row are the leads."""
    tuples, expected = CASES[case]["input"]["tuples"], CASES[case]["expected"]
    found = dip_merge.antijoin(*columns([(-FOREVER, FOREVER)]), *named_columns(tuples))
    leads = [lead for lead in expected["lead"].values() if lead] + [expected["closing"]]
    bounds = {"-inf": -FOREVER, "inf": FOREVER}
    assert pieces(found) == [(0, bounds.get(start, start), bounds.get(end, end)) for start, end in leads]


@pytest.mark.parametrize("case", ["DIP-ex8-foj2", "DIP-fig18-foj3"])
def test_full_outer_joins_of_partitions(case):
    given_input = CASES[case]["input"]
    by_name = {row[0]: row for row in given_input["R"]}
    parts = [[by_name[name] for name in part] for part in given_input["parts"]]
    starts, ends = named_columns(parts[0])
    values = [[row[4]] for row in parts[0]]
    for width, part in enumerate(parts[1:], start=1):
        starts, ends, outer, inner, _, _ = dip_full.full_join(starts, ends, *named_columns(part))
        values = [
            (values[r] if r >= 0 else [None] * width) + [part[s][4] if s >= 0 else None]
            for r, s in zip(outer, inner, strict=True)
        ]
    found = [[*row, *prices] for *row, prices in zip(starts.tolist(), ends.tolist(), values, strict=True)]
    assert found == CASES[case]["expected"]


def test_worst_case_of_figure_19():
    case = CASES["DIP-fig19-worst"]
    first, second, third = (columns(part) for part in case["input"]["parts"])
    starts, ends, *_ = dip_full.full_join(*first, *second)
    assert starts.size == case["expected"]["z2_intervals"]
    assert dip_full.full_join(starts, ends, *third).starts.size == case["expected"]["z3_intervals"]


@given(periods(), periods(), st.integers(0, 3))
def test_join_equals_brute_force_within_its_bound(left, right, m):
    found = dip_join.join(*columns(left), *columns(right), m=m)
    assert pairs(found) == reference.join(left, right)
    outer, inner = reference.depth(left), reference.depth(right)
    assert found.unproductive <= inner * len(left) + outer * len(right)


@given(periods(), periods(), st.integers(0, 3), st.booleans())
def test_antijoin_equals_brute_force_within_its_bound(left, right, m, to_lead):
    found = dip_merge.antijoin(*columns(left), *columns(right), m=m, to_lead=to_lead)
    assert pieces(found) == reference.antijoin(left, right)
    assert found.comparisons <= len(left) + reference.depth(left) * (len(right) + 1)


@given(periods())
def test_aggregation_by_full_outer_joins(rows):
    line = dip_aggregate.dip_timeline(*columns(rows))
    found = members(line)
    lineage = [
        (start, end, tuple(sorted(found.rows[found.offsets[k] : found.offsets[k + 1]].tolist())))
        for k, (start, end) in enumerate(zip(line.starts.tolist(), line.ends.tolist(), strict=True))
    ]
    assert lineage == reference.lineage(rows)


def test_open_ends():
    rows = columns([(0, FOREVER), (3, FOREVER)])
    assert pieces(dip_merge.antijoin(*rows, *columns([(5, 7)]))) == [
        (0, 0, 5),
        (0, 7, FOREVER),
        (1, 3, 5),
        (1, 7, FOREVER),
    ]
    assert dip_aggregate.dip_timeline(*rows).ends.tolist() == [3, FOREVER]
