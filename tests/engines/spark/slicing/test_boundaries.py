"""Where slices begin, and which homes are hot: decided from a sample, without Spark."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timeloom as tl
from timeloom.engines.spark.slicing.boundaries import (
    COPIES,
    RANKS,
    SAMPLE,
    Slicing,
    copies,
    estimated_rows,
    favour,
    quantiles,
    sampled_share,
    stand_for,
)
from timeloom.engines.spark.slicing.cuts import CutTask
from timeloom.engines.spark.slicing.join_parts import cover
from timeloom.model.ticks import FOREVER


def chosen(low, high, home=None, *, slices=8, least=2, by_key=False, rows_per_slice=1):
    low, high = np.asarray(low, np.int64), np.asarray(high, np.int64)
    home = np.zeros(low.size, np.int64) if home is None else np.asarray(home, np.int64)
    slicing = Slicing(slices, least, by_key, rows_per_slice)
    return slicing.choose(low, high, home, np.ones(low.size))


@given(st.lists(st.integers(-5, 5), max_size=40), st.integers(1, 9))
def test_boundaries_rise_and_leave_no_slice_empty(points, slices):
    ticks = np.array(points, np.int64)
    for weights in (None, np.abs(ticks) + 1.0):
        bounds = quantiles(ticks, slices, weights)
        assert bounds.size < slices
        assert (np.diff(bounds) > 0).all()
        held = np.bincount(np.searchsorted(bounds, points, side="right"), minlength=bounds.size + 1) if points else []
        assert all(count > 0 for count in held)


def test_short_rows_get_as_many_slices_as_allowed():
    bounds, hot = chosen(np.arange(1000), np.arange(1000) + 3)
    assert bounds.tolist() == [126, 251, 376, 501, 626, 751, 876]
    assert hot.size == 0


def test_long_rows_get_fewer_slices_so_that_copies_stay_bounded():
    starts = np.arange(1000)
    bounds, _ = chosen(starts, np.full(1000, 2**63 - 1), slices=64)
    assert 1 < copies(bounds, starts, np.full(1000, 2**63 - 1)) <= COPIES


def test_slices_never_fall_below_the_tasks_that_run_at_once():
    bounds, _ = chosen(np.arange(1000), np.full(1000, 2**63 - 1), slices=64, least=16)
    assert bounds.size + 1 == 16


def test_few_rows_get_few_slices():
    bounds, _ = chosen(np.arange(1000), np.arange(1000), rows_per_slice=250)
    assert bounds.size + 1 == 4


def test_slices_have_as_much_work_not_as_many_rows():
    low = np.concatenate([np.arange(1000), np.full(100, 500)])
    high = np.concatenate([np.arange(1000), np.full(100, 999)])
    (middle,), _ = chosen(low, high, slices=2)
    assert 600 < middle < 650


def test_only_homes_with_more_than_their_share_are_hot():
    home = np.where(np.arange(1000) % 2, 7, np.arange(1000) % 8)
    bounds, hot = chosen(np.arange(1000), np.arange(1000), home, by_key=True)
    assert hot.tolist() == [7]
    assert bounds.size == 7


def test_without_hot_homes_there_is_one_slice():
    bounds, hot = chosen(np.arange(1000), np.arange(1000), np.arange(1000) % 8, by_key=True)
    assert bounds.size == hot.size == 0


def test_rows_are_counted_or_estimated_from_the_smallest_hashes():
    assert estimated_rows(np.arange(17, dtype=np.int64)) == 17
    hashes = np.sort(np.random.default_rng(1).integers(-(2**63), 2**63, 500_000))[:SAMPLE]
    assert 0.95 < estimated_rows(hashes) / 500_000 < 1.05


def test_a_sampled_share_stands_for_all_rows():
    starts, rank = np.zeros(17, np.int64), np.arange(17)
    assert stand_for(starts, starts + 1, rank, 1 / 4).sum() == 68
    assert stand_for(starts, starts + 64, rank, 1 / 4).sum() == 34
    assert stand_for(starts, np.full(17, FOREVER), rank, 1 / 4).tolist() == [1] * 17


def test_long_rows_are_favoured_in_a_sample_and_count_for_less():
    draw = np.random.default_rng(3)
    starts = draw.integers(0, 10**6, 200_000)
    ends = starts + np.where(np.arange(starts.size) % 1000, 10, 5 * 10**5)
    rank = draw.integers(0, RANKS, starts.size) >> favour(starts, ends)
    sample = np.argsort(rank)[:SAMPLE]
    counts = stand_for(starts[sample], ends[sample], rank[sample], 1.0)
    is_long = ends[sample] - starts[sample] > 10
    assert is_long.sum() > 50
    assert counts[is_long].sum() == pytest.approx(200, rel=0.2)
    assert counts.sum() == pytest.approx(200_000, rel=0.05)


def test_rows_count_for_what_they_stand_for():
    low, counts = np.arange(100), np.where(np.arange(100) < 10, 1000.0, 1.0)
    bounds, _ = Slicing(2, 2, False, 1).choose(low, low, np.zeros(100, np.int64), counts)
    assert bounds[0] <= 6
    home = np.arange(100) % 4
    _, hot = Slicing(4, 2, True, 1).choose(low, low, home, np.where(home == 3, 9.0, 1.0))
    assert hot.tolist() == [3]


def test_the_larger_the_inputs_the_smaller_the_share_that_is_sampled():
    sizes = [[100, 200], [1 << 20, 1 << 20], [1 << 40, 5], [None, 5]]
    assert [sampled_share(given) for given in sizes] == [1.0, 1 / 4, 1 / 128, 1 / 32]


def test_a_sample_becomes_one_row_of_boundaries():
    sample = {"side": [0, 1, 0, 1], "start": [1, 2, 3, 4], "end": [2, 3, 4, 5], "key": [0] * 4, "rank": [1, 2, 3, 4]}
    task = CutTask(Slicing(2, 2, False), cover(tl.relation("intersects").boxes()))
    for batches, bounds in (([pa.RecordBatch.from_pydict(sample)], [3]), ([], [])):
        (row,) = task(iter(batches))
        assert row.to_pylist() == [{"cuts": {"bounds": bounds, "hot": []}}]
