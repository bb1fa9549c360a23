"""Where slices begin, and which buckets are cut: decided from a sample, without Spark."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timeloom as tl
from timeloom.engines.spark.exchange.routing import RowTicks, routed
from timeloom.engines.spark.slicing.boundaries import (
    COPIES,
    RANKS,
    SAMPLE,
    bounded,
    copies,
    favour,
    quantiles,
    sample_size,
    sampled_share,
    stand_for,
)
from timeloom.engines.spark.slicing.cuts import Cuts, CutTask
from timeloom.engines.spark.slicing.join_parts import cover
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.spark.slicing.tick_ranges import PartRange, PeriodRange
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK


def chosen(low, high, keys=None, *, slices=8, least=2, by_key=False, rows_per_slice=1, groups=False):
    """The boundaries of each bucket that is cut."""
    low, high = np.asarray(low, np.int64), np.asarray(high, np.int64)
    keys = np.zeros(low.size, np.int64) if keys is None else np.asarray(keys, np.int64)
    slicing = Slicing(slices, least, by_key, rows_per_slice, groups=groups)
    return slicing.choose(low, high, keys, np.ones(low.size))


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
    bounds = chosen(np.arange(1000), np.arange(1000) + 3)[0]
    assert bounds.tolist() == [126, 251, 376, 501, 626, 751, 876]


def test_long_rows_get_fewer_slices_so_that_copies_stay_bounded():
    starts = np.arange(1000)
    bounds = chosen(starts, np.full(1000, 2**63 - 1), slices=64)[0]
    assert 1 < copies(bounds, starts, np.full(1000, 2**63 - 1)) <= COPIES


def test_slices_never_fall_below_the_tasks_that_run_at_once():
    bounds = chosen(np.arange(1000), np.full(1000, 2**63 - 1), slices=64, least=16)[0]
    assert bounds.size + 1 == 16


def test_few_rows_get_few_slices():
    bounds = chosen(np.arange(1000), np.arange(1000), rows_per_slice=250)[0]
    assert bounds.size + 1 == 4


def test_slices_have_as_much_work_not_as_many_rows():
    low = np.concatenate([np.arange(1000), np.full(100, 500)])
    high = np.concatenate([np.arange(1000), np.full(100, 999)])
    (middle,) = chosen(low, high, slices=2)[0]
    assert 600 < middle < 650


def test_only_buckets_with_more_than_their_share_are_cut():
    keys = np.where(np.arange(1000) % 5, np.arange(1000) % 8, 7)
    found = chosen(np.arange(1000), np.arange(1000), keys, by_key=True)
    assert list(found) == [7]
    assert 1 < found[7].size < 8
    assert chosen(np.arange(1000), np.arange(1000), np.arange(1000) % 8, by_key=True) == {}


def test_keys_of_one_bucket_are_cut_together_and_groups_apart():
    keys = np.where(np.arange(1000) % 2, 7, 7 + 8)
    assert list(chosen(np.arange(1000), np.arange(1000), keys, by_key=True)) == [7]
    assert list(chosen(np.arange(1000), np.arange(1000), keys, by_key=True, groups=True)) == [7, 15]


def test_what_is_forced_is_cut():
    slicing = Slicing(8, 8, by_key=True, groups=True, forced=True)
    low, keys = np.arange(100), np.arange(100) % 10
    found = slicing.choose(low, low, keys, np.ones(100))
    assert {bucket: bounds.size for bucket, bounds in found.items()} == dict.fromkeys(range(10), 7)


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
    bounds = Slicing(2, 2, False, 1).choose(low, low, np.zeros(100, np.int64), counts)[0]
    assert bounds[0] <= 6
    keys = np.arange(100) % 4
    assert list(Slicing(4, 2, True, 1).choose(low, low, keys, np.where(keys == 3, 9.0, 1.0))) == [3]


def test_the_larger_the_inputs_the_smaller_the_share_that_is_sampled():
    sizes = [[100, 200], [1 << 20, 1 << 20], [1 << 36, 5], [1 << 40, 0], [None, 5]]
    assert [sampled_share(given) for given in sizes] == [1.0, 1 / 4, 1 / 128, 1 / 1024, 1 / 32]


def test_the_more_slices_the_larger_the_sample():
    assert [sample_size(slices) for slices in (2, 10, 100, 10_000)] == [10_000, 10_000, 70_000, 20_000_000]


def test_a_tick_with_too_much_work_is_a_slice_and_the_others_share_the_rest():
    points = np.concatenate([np.arange(50), np.full(1000, 50), np.arange(51, 100)])
    bounds = quantiles(points, 11, np.ones(points.size)).tolist()
    assert {50, 51} <= set(bounds)
    assert max(np.diff([0, *bounds, 100])) <= 11
    assert quantiles(np.full(100, 7), 4, np.ones(100)).tolist() == []


def test_so_many_buckets_are_cut_that_no_task_has_much_more_than_its_share():
    draw, slices = np.random.default_rng(3), 50
    keys = np.minimum(draw.zipf(1.3, 100_000), 10**6) * 2654435761 % 2**31
    low = draw.integers(0, 10**9, keys.size)
    slicing = Slicing(slices, 2, by_key=True, rows_per_slice=1)
    cuts = Cuts(*slicing.chosen(low, low, keys, np.ones(keys.size), keys * 0))
    found = routed(keys.size, keys, RowTicks(low, low + 1, low, low), cuts, slicing)
    received = np.zeros(slices)
    for number, destination in enumerate(found.destinations):
        received[destination.task] += found.edges[number + 1] - found.edges[number]
    assert received.max() <= 1.16 * received.mean()
    assert sum(bounds.size + 1 for bounds in cuts.bounds.values()) <= 2 * slices


def test_a_sample_becomes_one_row_of_boundaries():
    sample = {"source": [0, 1, 0, 1], "start": [1, 2, 3, 4], "end": [2, 3, 4, 5], "key": [0] * 4, "rank": [1, 2, 3, 4]}
    parts = cover(tl.relation("intersects").boxes())
    for ranges in ((PartRange("left", parts), PartRange("right", parts)), (PeriodRange(), PeriodRange())):
        task = CutTask(Slicing(2, 2), ranges)
        for batches, bounds in (([pa.RecordBatch.from_pydict(sample)], {0: [3]}), ([], {})):
            (row,) = task(iter(batches))
            cuts = Cuts.read(row["cuts"][0].as_py())
            assert {bucket: found.tolist() for bucket, found in cuts.bounds.items()} == bounds


def test_cuts_are_read_as_they_were_written():
    cuts = Cuts({-(2**63): np.array([1, FOREVER]), 5: np.array([-(2**63)])})
    found = Cuts.read(cuts.written()).bounds
    assert {bucket: bounds.tolist() for bucket, bounds in found.items()} == {
        -(2**63): [1, FOREVER],
        5: [-(2**63)],
    }
    assert Cuts.read([]).bounds == {}
    assert Cuts.read(Cuts({}).written()).bounds == {}


def test_rows_last_to_their_ends_and_rows_without_time_nowhere():
    starts, ends = np.array([1, FOREVER]), np.array([4, -(2**63)])
    for with_end, last in ((False, 3), (True, 4)):
        low, high = PeriodRange(with_end).of(starts, ends)
        assert (low[0], high[0]) == (1, last)
        assert low[1] > high[1]


@pytest.mark.parametrize("first", [MIN_TICK, 0, MAX_TICK - 1])
def test_the_first_tick_of_all_is_weighed_like_any_other(first):
    points = np.array([first] * 6 + [first + 1] * 2, np.int64)
    assert bounded(points, np.ones(8), 4).tolist() == bounded(points - first, np.ones(8), 4).tolist()
