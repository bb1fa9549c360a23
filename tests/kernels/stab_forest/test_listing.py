"""Many stabs with an answer for each, pass by pass: answered, placed and handed out, in the order that is asked for."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import periods
from timeloom.kernels.stab_forest import listing
from timeloom.kernels.stab_forest.build import build
from timeloom.kernels.stab_forest.layout import FOREVER, LATE
from timeloom.kernels.stab_forest.listing import add_runs, answered, hand_out, place

NOTHING, NO_RUNS = np.zeros(0, np.int32), (np.zeros(0, np.int64), np.zeros(0, np.int64))


def forest_of(events):
    return build(*(np.array(column, np.int64) for column in zip(*events, strict=True)))


def answers(forest, instants, *, c=16, rows=NOTHING, parts=1, runs=NO_RUNS, ids=NOTHING):
    """The answer to each instant, from all passes; each part of the instants is answered by itself."""
    ts = np.array(instants, np.int64)
    edges = [ts.size * part // parts for part in range(parts + 1)]
    offsets = np.zeros(ts.size + 1, np.int64)
    spans = [(begin, stop) for begin, stop in itertools.pairwise(edges) if begin < stop]
    pages = [page for span in spans for page in answered(forest, ts, c, rows, offsets, *span)]
    if runs is not NO_RUNS:
        add_runs(rows, *runs, offsets)
    out = np.full(place(offsets), -1, np.int64)
    for page in pages:
        hand_out(rows, *runs, offsets, ids, out, *page)
    assert offsets[0] == 0
    assert offsets[-1] == out.size
    return [out[begin:end].tolist() for begin, end in itertools.pairwise(offsets)]


@given(
    periods().filter(len).map(sorted),
    st.lists(st.integers(-2, 16), min_size=1, max_size=12).map(sorted),
    st.integers(1, 20),
    st.integers(1, 3),
    st.randoms(use_true_random=False),
)
def test_answers_are_those_of_single_stabs_in_any_order(events, instants, c, parts, draw):
    expected = [[at for at, (start, end) in enumerate(events) if start <= t < end] for t in instants]
    forest, order = forest_of(events), list(range(len(instants)))
    for rows in (order, draw.sample(order, len(order))):
        found = answers(forest, instants, c=c, rows=np.array(rows, np.int32), parts=parts)
        assert [sorted(found[row]) for row in rows] == expected
    assert [sorted(answer) for answer in answers(forest, instants, c=c, parts=parts)] == expected


@given(
    periods().filter(len).map(sorted),
    st.lists(st.integers(-2, 16), min_size=1, max_size=12).map(sorted),
    st.integers(1, 20),
    st.integers(1, 9),
)
def test_pages_of_any_size_hold_the_same(events, instants, c, size):
    forest, whole = forest_of(events), answers(forest_of(events), instants, c=c)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "PAGE", size)
        assert answers(forest, instants, c=c) == whole


def test_ends_that_are_kept_apart_count():
    forest = forest_of([(0, FOREVER), (2, FOREVER), (4, 6), (5, 9)])
    forest.late_at[0], forest.late_ends[0], forest.late[0], forest.counts[LATE] = 0, 3, 1, 1
    assert answers(forest, [1, 2, 3, 5]) == [[0], [0, 1], [1], [1, 2, 3]]


def test_runs_come_behind_what_is_active():
    forest, runs = forest_of([(0, 9), (2, 3), (4, 6), (5, 9)]), (np.array([2, 3]), np.array([4, 2]))
    assert answers(forest, [1, 5], runs=runs) == [[0, 2, 3], [0, 2, 3]]


def test_answers_are_ids():
    forest, ids = forest_of([(0, 9), (2, 3), (4, 6), (5, 9)]), np.array([7, 8, 5, 6], np.int32)
    runs = np.array([2, 3]), np.array([4, 2])
    assert answers(forest, [1, 5], ids=ids) == [[7], [7, 5, 6]]
    assert answers(forest, [1, 5], ids=ids, runs=runs, rows=np.array([1, 0], np.int32)) == [[7, 5, 6], [7, 5, 6]]
