"""Versions believed at a time about a time, and those that are believed together, against all versions."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timeloom.kernels.bitemporal import believed
from timeloom.kernels.bitemporal.overlaps import overlapping_pair
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK

TIMES = st.integers(0, 8)
PERIODS = st.tuples(TIMES, st.integers(1, 6)).map(lambda drawn: (drawn[0], drawn[0] + drawn[1]))
VERSIONS = st.lists(st.tuples(PERIODS, PERIODS, st.integers(0, 3)), max_size=8)


def columns(versions):
    listed = [(*sys, ended, *app) for sys, app, ended in versions]
    return tuple(np.array(listed, np.int64).reshape(-1, 5).T.copy())


def expected(versions, at, number, low, high):
    """An end that a batch behind ``number`` wrote is not known yet."""
    return [
        row
        for row, ((begin, end), (app_start, app_end), ended) in enumerate(versions)
        if begin <= at and (at < end or ended > number) and app_start <= high and app_end > low
    ]


@given(VERSIONS, TIMES, st.integers(0, 3), TIMES, TIMES)
def test_ranges_and_rows_of_versions(versions, at, number, low, high):
    versions = [version for version in versions if version[0][0] <= at]
    wanted, times = expected(versions, at, number, low, high), columns(versions)[1:]
    assert believed.believed_range(0, len(versions), at, number, low, high, *times).tolist() == wanted
    rows = np.arange(len(versions), dtype=np.int32)[::-1].copy()
    assert believed.believed_rows(rows, at, number, low, high, *times).tolist() == wanted[::-1]
    half = len(versions) // 2
    later = believed.believed_range(half, len(versions), at, number, low, high, *times).tolist()
    assert later == [row for row in wanted if row >= half]


def test_a_range_of_more_versions_than_there_was_room_for():
    size = 3_000
    zeros, ones = np.zeros(size, np.int64), np.ones(size, np.int64)
    assert believed.believed_range(0, size, 0, 0, 0, 0, ones, zeros, zeros, ones).tolist() == [*range(size)]


@given(st.integers(0, 300), st.integers(0, 300), st.randoms(use_true_random=False))
def test_blocks_without_a_late_end_are_passed_over(size, started, random):
    ends = np.array([random.randrange(40) for _ in range(size)], np.int64)
    by_start, started, low = np.array(random.sample(range(size), size), np.int32), min(started, size), 35
    latest = believed.latest_ends(by_start, ends)
    found = believed.reaching_rows(by_start, ends[by_start], started, latest, low).tolist()
    blocks = [by_start[at : at + believed.BLOCK].tolist() for at in range(0, size, believed.BLOCK)]
    assert latest.tolist() == [max(ends[row] for row in block) for block in blocks]
    assert found == [row for row in by_start[:started].tolist() if ends[row] > low]


@given(VERSIONS, TIMES, st.integers(0, 3))
def test_versions_of_every_application_time(versions, at, number):
    begun = [version for version in versions if version[0][0] <= at]
    wanted, times = expected(begun, at, number, -1, 99), columns(begun)[1:]
    rows = np.arange(len(begun), dtype=np.int32)
    assert believed.believed_rows(rows, at, number, MIN_TICK, MAX_TICK, *times).tolist() == wanted
    assert believed.believed_range(0, len(begun), at, number, MIN_TICK, MAX_TICK, *times).tolist() == wanted
    assert believed.believed_rows(rows, at, number, MIN_TICK, MIN_TICK, *times).tolist() == []


@given(VERSIONS, st.integers(0, 3))
def test_ends_that_later_batches_write_are_open(versions, number):
    _, sys_end, ended_by, _, _ = columns(versions)
    rows = np.arange(len(versions))[::-1].copy()
    found = believed.known_ends(rows, number, sys_end, ended_by).tolist()
    assert found == [FOREVER if ended > number else end for (_, end), _, ended in reversed(versions)]


def test_slabs_are_read_in_part():
    size, rng = 2 * believed.SLAB, np.random.default_rng(5)
    app_start, sys_start = rng.integers(0, 500, size), np.sort(rng.integers(0, 50, size))
    app_end, sys_end = app_start + rng.integers(1, 40, size), sys_start + rng.integers(1, 40, size)
    ended_by = rng.integers(0, 4, size)
    within = app_start.reshape(2, -1).argsort(axis=1, kind="stable") + np.array([[0], [believed.SLAB]])
    order = within.ravel().astype(np.int32)
    latest, heads = believed.latest_ends(order, app_end), app_start[order[:: believed.BLOCK]]
    times = (sys_end, ended_by, app_start)
    for begin, upto, at, low, high in ((0, size, 30, 99, 99), (100, size - 5, 10, 0, 600), (700, 700, 9, 9, 9)):
        end = max(begin, min(upto, int(np.searchsorted(sys_start, at, side="right"))))
        slabs = believed.believed_slabs(begin, end, order, app_end[order], heads, latest, at, 2, low, high, *times)
        wanted = believed.believed_range(begin, end, at, 2, low, high, *times, app_end)
        assert sorted(slabs.tolist()) == wanted.tolist()


def both(one, other):
    return all(mine[0] < theirs[1] and theirs[0] < mine[1] for mine, theirs in zip(one, other, strict=True))


@given(st.lists(st.tuples(st.integers(0, 1), PERIODS, PERIODS), max_size=7))
def test_versions_of_a_key_that_overlap_in_both_times(versions):
    keys = np.array([key for key, _, _ in versions], np.int64)
    times = np.array([(*sys, *app) for _, sys, app in versions], np.int64).reshape(-1, 4).T.copy()
    order = np.array(sorted(range(len(versions)), key=lambda row: (versions[row][0], versions[row][1][0])), np.int64)
    pairs = {
        frozenset((one, other))
        for one, other in combinations(range(len(versions)), 2)
        if versions[one][0] == versions[other][0] and both(versions[one][1:], versions[other][1:])
    }
    found = overlapping_pair(order, keys, *times)
    assert frozenset(found) in pairs if pairs else tuple(found) == (-1, -1)
