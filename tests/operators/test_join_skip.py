"""The skip-join behind `join`: the same rows as any other algorithm, and chosen where most rows lie in gaps."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from drawing import keys_for, periods
from reference.relations import RELATIONS, join_pairs
from rows import table
from timeloom.kernels.coverage import count_intersecting
from timeloom.kernels.order import sort

SHARING = ["intersects", "overlaps", "overlapped_by", "starts", "during", "contains", "finishes", "equals"]


def pairs_of(result):
    return sorted(zip(result["i"].to_pylist(), result["j"].to_pylist(), strict=True))


@pytest.mark.parametrize("name", SHARING)
@settings(max_examples=40)
@given(data=st.data())
def test_relations_that_share_time(name, data):
    left, right, keyed = data.draw(periods()), data.draw(periods()), data.draw(st.booleans())
    left_keys = data.draw(keys_for(left)) if keyed else None
    right_keys = data.draw(keys_for(right)) if keyed else None
    tables = table(left, left_keys, "i"), table(right, right_keys, "j")
    result = tl.join(*tables, name, on="key" if keyed else None, algorithm="skip")
    expected = join_pairs(left, right, RELATIONS[name], left_keys=left_keys, right_keys=right_keys)
    assert pairs_of(result) == sorted(expected)


def test_relations_that_share_no_time_are_refused():
    rows = table([(1, 3)], number="i"), table([(5, 6)], number="j")
    with pytest.raises(tl.UsageError, match=r"finds rows that share time.*use 'intersects'.*algorithm='auto'"):
        tl.join(*rows, "intersects | before", algorithm="skip")


def scattered(rows, groups, length, seed):
    """Rows in short bursts with long gaps between them."""
    random = np.random.default_rng(seed)
    start = random.integers(0, groups, rows) * 1_000_000 + random.integers(0, 1000, rows)
    return start, start + length


@pytest.mark.parametrize("swap", [False, True])
def test_auto_takes_it_when_most_rows_lie_in_gaps_and_says_so(swap):
    windows = np.arange(20) * 10_000_000
    few = pa.table({"start": windows, "end": windows + 500, "i": np.arange(20)})
    start, end = scattered(60_000, 2000, 30, 5)
    many = pa.table({"start": start, "end": end, "j": np.arange(start.size)})
    tables = (many, few) if swap else (few, many)
    plan = tl.explain(tl.join, *tables)
    assert plan["algorithm"] == "skip"
    assert "of the larger side's rows lie in gaps of the other, by a sample" in str(plan)
    assert pairs_of(tl.join(*tables)) == pairs_of(tl.join(*tables, algorithm="forward_scan"))


def test_auto_scans_dense_tables():
    start, end = scattered(60_000, 1, 30, 6)
    rows = pa.table({"start": start, "end": end})
    assert tl.explain(tl.join, rows, rows.slice(0, 100))["algorithm"] == "forward_scan"


def test_a_sample_without_partners_is_checked_against_all_rows():
    """Every row has one partner, but a sample of the smaller side has next to none of them."""
    start = np.random.default_rng(1).permutation(40_000) * 10
    left = pa.table({"start": start, "end": start + 5})
    right = pa.table({"start": start[::-1], "end": start[::-1] + 5})
    assert tl.explain(tl.join, left, right)["algorithm"] == "forward_scan"


@settings(max_examples=100)
@given(periods(), periods())
def test_partners_are_counted_without_pairs(rows, wanted):
    starts, ends = (np.array([row[end] for row in rows], np.int64) for end in (0, 1))
    sought = tuple(np.array([row[end] for row in wanted], np.int64) for end in (0, 1))
    found = count_intersecting(starts, ends, sort(np.concatenate(sought)), sought)
    assert found.tolist() == [sum(r[0] < w[1] and w[0] < r[1] for r in rows) for w in wanted]
