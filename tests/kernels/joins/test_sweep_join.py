"""The sweeping join against nested loops, on ties, extremes and every relation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.whole import together
from reference.relations import PARAMETERS, RELATIONS, join_pairs
from timeloom.kernels.joins.sweep_join import Counters, PeriodTable, sweep_batches, sweep_join, sweep_pages
from timeloom.kernels.joins.sweep_plan import candidates, rewrites
from timeloom.model.box import Box
from timeloom.model.names import relation
from timeloom.model.ticks import FOREVER, MIN_TICK

Span = tuple[int, int]

ticks = st.integers(0, 12)
extremes = st.sampled_from([MIN_TICK, MIN_TICK + 1, -1, 0, 1, FOREVER - 2, FOREVER - 1, FOREVER])
periods = st.tuples(ticks, ticks).filter(lambda span: span[0] != span[1]).map(lambda span: tuple(sorted(span)))
far_periods = (
    st.tuples(extremes, extremes).filter(lambda span: span[0] != span[1]).map(lambda span: tuple(sorted(span)))
)
bound = st.none() | st.integers(-4, 4)
boxes = st.builds(Box, *(st.tuples(bound, bound) for _ in range(4)))


def period_table(rows: list[Span]) -> PeriodTable:
    columns = np.array(rows, np.int64).reshape(-1, 2)
    return PeriodTable(columns[:, 0].copy(), columns[:, 1].copy())


def listed(pairs: tuple[np.ndarray, np.ndarray]) -> list[tuple[int, int]]:
    return list(zip(pairs[0].tolist(), pairs[1].tolist(), strict=True))


def pairs_in(box: Box, left: list[Span], right: list[Span]) -> list[tuple[int, int]]:
    return join_pairs(left, right, lambda r, s, *_: box.holds(r, s))


@pytest.mark.parametrize("name", RELATIONS)
@settings(max_examples=40, deadline=None)
@given(
    left=st.lists(periods, max_size=9),
    right=st.lists(periods, max_size=9),
    limits=st.tuples(st.none() | st.integers(0, 4), st.none() | st.integers(0, 4)),
    lazy=st.booleans(),
)
def test_every_relation(name: str, left: list[Span], right: list[Span], limits: tuple, lazy: bool):
    takes = PARAMETERS.get(name, ())
    given_limits = {
        option: limit for option, limit in zip(("delta", "epsilon"), limits, strict=True) if option in takes
    }
    found = []
    for box in relation(name, **given_limits).boxes():
        found += listed(sweep_join(period_table(left), period_table(right), box, lazy=lazy))
    assert sorted(found) == join_pairs(left, right, RELATIONS[name], **given_limits)


@settings(max_examples=150, deadline=None)
@given(box=boxes, left=st.lists(periods, max_size=8), right=st.lists(periods, max_size=8), lazy=st.booleans())
def test_any_box(box: Box, left: list[Span], right: list[Span], lazy: bool):
    assert sorted(listed(sweep_join(period_table(left), period_table(right), box, lazy=lazy))) == pairs_in(
        box, left, right
    )


@settings(max_examples=150, deadline=None)
@given(box=boxes, left=st.lists(far_periods, max_size=8), right=st.lists(far_periods, max_size=8))
def test_nothing_wraps_at_the_ends_of_the_axis(box: Box, left: list[Span], right: list[Span]):
    assert sorted(listed(sweep_join(period_table(left), period_table(right), box))) == pairs_in(box, left, right)


@settings(max_examples=60, deadline=None)
@given(
    box=boxes,
    left=st.lists(periods, max_size=8),
    right=st.lists(periods, max_size=8),
    chunk=st.integers(1, 9),
)
def test_batches_hold_the_same_pairs_in_the_same_order(box: Box, left: list[Span], right: list[Span], chunk: int):
    whole = sorted(listed(sweep_join(period_table(left), period_table(right), box, lazy=False)))
    batches = list(sweep_batches(period_table(left), period_table(right), box, lazy=False, chunk=chunk))
    assert sorted(pair for batch in batches for pair in listed(batch)) == whole
    assert all(0 < batch[0].size <= max(chunk, len(left), len(right)) for batch in batches)


@settings(max_examples=60, deadline=None)
@given(box=boxes, left=st.lists(periods, max_size=40), right=st.lists(periods, max_size=40))
def test_lazy_joining_changes_only_the_number_of_scans(box: Box, left: list[Span], right: list[Span]):
    plain, lazy = Counters(), Counters()
    slow = sweep_join(period_table(left), period_table(right), box, lazy=False, counters=plain)
    fast = sweep_join(period_table(left), period_table(right), box, lazy=True, counters=lazy)
    assert sorted(listed(slow)) == sorted(listed(fast))
    assert plain.getnext == plain.candidates == lazy.candidates >= lazy.getnext
    assert plain.pairs == lazy.pairs == slow[0].size <= plain.candidates
    assert plain.comparisons == lazy.comparisons


@settings(max_examples=100, deadline=None)
@given(
    points=st.lists(st.tuples(ticks, ticks), max_size=10),
    windows=st.lists(st.tuples(ticks, ticks, ticks, ticks), max_size=10),
    selects=st.booleans(),
    lazy=st.booleans(),
)
def test_intervals_and_points(points: list, windows: list, selects: bool, lazy: bool):
    """Windows may be empty on either axis: then they match nothing."""
    point = np.array(points, np.int64).reshape(-1, 2)
    window = np.array(windows, np.int64).reshape(-1, 4)
    selection = (point[:, 1].copy(), window[:, 2].copy(), window[:, 3].copy()) if selects else ()
    found = together(sweep_pages(point[:, 0].copy(), window[:, 0].copy(), window[:, 1].copy(), *selection, lazy=lazy))
    assert sorted(listed(found)) == [
        (i, j)
        for i, (low, high, other_low, other_high) in enumerate(windows)
        for j, (value, other) in enumerate(points)
        if low <= value <= high and (not selects or other_low <= other <= other_high)
    ]


def test_point_driven_relations_need_no_comparisons():
    left, right = period_table([(0, 4), (2, 6), (3, 5)]), period_table([(1, 2), (3, 9), (6, 7)])
    for name, comparisons_per_candidate in [
        ("iseql.before", 0),
        ("iseql.start_preceding", 0),
        ("contains", 1),
    ]:
        counters = Counters()
        for box in relation(name).boxes():
            sweep_join(left, right, box, counters=counters)
        assert counters.candidates > 0
        assert counters.comparisons == comparisons_per_candidate * counters.candidates


def test_intersects_is_two_disjoint_sweeps_without_selection():
    (box,) = relation("intersects").boxes()
    first, second = rewrites(box)
    assert (first.left_intervals, second.left_intervals) == (True, False)
    assert first.selection == second.selection == ((None, None), (None, None))


def test_an_impossible_box_is_not_swept():
    assert rewrites(Box(start_start=(1, None), end_end=(None, 0), end_start=(None, 0))) == ()


@settings(max_examples=80, deadline=None)
@given(box=boxes)
def test_every_rewrite_says_the_same_as_its_box(box: Box):
    """Read the four rewrites as predicates, on all pairs of a small grid."""
    if box.tight() is None:
        return
    grid = [(start, end) for start in range(4) for end in range(start + 1, 5)]
    for rewrite in candidates(box):
        for r in grid:
            for s in grid:
                interval, point = (r, s) if rewrite.left_intervals else (s, r)
                value, other = point[rewrite.end_points], point[not rewrite.end_points]
                inside = all(
                    (low is None or own + low <= value) and (high is None or value <= own + high)
                    for own, low, high in zip(interval, rewrite.starts, rewrite.ends, strict=True)
                )
                chosen = all(
                    (low is None or own + low <= other) and (high is None or other <= own + high)
                    for own, (low, high) in zip(interval, rewrite.selection, strict=True)
                )
                assert (inside and chosen) == box.holds(r, s)
