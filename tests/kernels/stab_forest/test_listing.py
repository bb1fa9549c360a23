"""Many stabs with an answer for each, pass by pass: counted, placed and written, in the order that is asked for."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drawing import periods
from timeloom.kernels.stab_forest.build import build
from timeloom.kernels.stab_forest.listing import add_runs, events_met, place, write_met, write_runs

NO_ROWS = np.zeros(0, np.int32)


def answers(events, instants, *, c=16, rows=NO_ROWS, parts=1, runs=None):
    """The answer to each instant by position, from all passes; each part of the instants is met by itself."""
    forest, ts = (
        build(*(np.array(column, np.int64) for column in zip(*events, strict=True))),
        np.array(instants, np.int64),
    )
    edges = [ts.size * part // parts for part in range(parts + 1)]
    offsets = np.zeros(ts.size + 1, np.int64)
    spans = [(begin, stop) for begin, stop in itertools.pairwise(edges) if begin < stop]
    met = [events_met(forest, ts, c, rows, offsets, *span) for span in spans]
    if runs is not None:
        add_runs(rows, *runs, offsets)
    out = np.full(place(offsets), -1, np.int64)
    for some in met:
        write_met(forest, ts, some.stop, some.positions, some.firsts, rows, offsets, out)
        if runs is not None:
            write_runs(some.begin, some.stop, rows, *runs, offsets, out)
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
    expected = [{at for at, (start, end) in enumerate(events) if start <= t < end} for t in instants]
    for rows in (list(range(len(instants))), draw.sample(range(len(instants)), len(instants))):
        found = answers(events, instants, c=c, rows=np.array(rows, np.int32), parts=parts)
        assert [sorted(found[row]) for row in rows] == [sorted(answer) for answer in expected]
    assert [set(answer) for answer in answers(events, instants, c=c, parts=parts)] == expected


def test_runs_come_behind_what_is_active():
    events = [(0, 9), (2, 3), (4, 6), (5, 9)]
    runs = np.array([2, 3]), np.array([4, 2])
    assert answers(events, [1, 5], runs=runs) == [[0, 2, 3], [0, 2, 3]]
