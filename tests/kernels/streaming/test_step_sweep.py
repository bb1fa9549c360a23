"""Points of one side over the steps of the other one: all open rows in a range, and those of now, in whatever room."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timeloom.kernels.streaming.chain_sweep import AFTER, BEFORE, CHAINED_SIZE, HEAD, chain_all, sweep_chained
from timeloom.kernels.streaming.gapless import bucket_of
from timeloom.kernels.streaming.layout import GETNEXT, PAIRS, STATE_SIZE, WANTED
from timeloom.kernels.streaming.step_sweep import (
    EVERY_ONE,
    NOW_ENDS,
    POINTS_END,
    STARTS,
    sweep_now,
    sweep_steps,
    write_open,
)
from timeloom.model.names import relation
from timeloom.streaming.rules import rules_of

ticks = st.integers(0, 12)
spans = st.lists(st.tuples(ticks, st.integers(1, 8)).map(lambda span: (span[0], sum(span))), max_size=8)


def steps_of(rows: list[tuple[int, int]], delay: int) -> np.ndarray:
    """What rows, which are named by their positions, do to the list of those that are open."""
    events = sorted((time, at == 0, row) for row, span in enumerate(rows) for at, time in enumerate(span))
    listed, steps = [], []
    for time, starts, row in events:
        if starts:
            place = len(listed)
            listed.append(row)
        else:
            place, last = listed.index(row), listed.pop()
            if place < len(listed):
                listed[place] = last
        name = listed[place] if place < len(listed) else 0
        steps.append((time + delay * starts, place, name, rows[name][0], len(listed)))
    return np.array(steps, np.int64).reshape(-1, 5)


def marks(rows: list[tuple[int, int]], at: int) -> np.ndarray:
    """The starts or the ends of rows, by time."""
    some = sorted((span[at], row, span[0], 0) for row, span in enumerate(rows))
    return np.array(some, np.int64).reshape(-1, 4)


def swept(sweep, room: int) -> list[tuple[int, int, int]]:
    """What a sweep writes that gets as much room as it asks for."""
    state, pairs = np.zeros(STATE_SIZE, np.int64), np.empty((3, room), np.int64)
    while not sweep(state, pairs):
        assert state[PAIRS] + state[WANTED] > pairs.shape[1]
        larger = np.empty((3, state[PAIRS] + state[WANTED]), np.int64)
        larger[:, : state[PAIRS]] = pairs[:, : state[PAIRS]]
        pairs = larger
    return sorted(zip(*pairs[:, : state[PAIRS]].tolist(), strict=True))


CASES = {
    "overlaps": (1, POINTS_END, None, 0, 0),
    "during": (1, POINTS_END, None, 0, 0),
    "finishes": (1, POINTS_END | NOW_ENDS, 1, 0, 0),
    "meets": (1, POINTS_END, 0, 0, 0),
    "iseql.left_overlap": (1, POINTS_END | NOW_ENDS, 1, 0, 0),
    "iseql.end_following": (1, POINTS_END | NOW_ENDS | EVERY_ONE, 1, 1, 1),
    "iseql.start_preceding": (0, EVERY_ONE, None, 1, 0),
}
"""At which endpoint rows look for partners, how, which rows of now count, which side looks, and the delay of steps."""


@pytest.mark.parametrize("name", CASES)
@given(spans, spans, st.sampled_from([1, 2, 32]), st.integers(1, 20))
@settings(max_examples=60, deadline=None)
def test_all_pairs_at_their_instants(name, left, right, lazy, room):
    point, what, now, side, delay = CASES[name]
    own, other = (right, left) if side else (left, right)
    steps = np.empty((0, 5), np.int64) if name in ("finishes", "meets") else steps_of(other, delay)
    seen = np.empty((0, 4), np.int64) if now is None else marks(other, now)
    listed, cursors = np.zeros((2, 16), np.int64), np.zeros(4, np.int64)
    rules = rules_of(relation(name).boxes()).decisions
    found = swept(
        lambda state, pairs: sweep_steps(
            side, marks(own, point), steps, seen, what, lazy, rules, listed, cursors, state, pairs
        ),
        room,
    )
    holds = relation(name).holds
    assert found == sorted(
        (i, j, (s if side else r)[point]) for i, r in enumerate(left) for j, s in enumerate(right) if holds(r, s)
    )


TOGETHER = {
    "meets": (1, 0, POINTS_END),
    "met_by": (0, 1, NOW_ENDS),
    "finishes": (1, 1, POINTS_END | NOW_ENDS),
    "finished_by": (1, 1, POINTS_END | NOW_ENDS),
    "equals": (1, 1, POINTS_END | NOW_ENDS),
}
"""At which endpoint left rows look for partners, which endpoint of these counts, and the bits that say so."""


@pytest.mark.parametrize("name", TOGETHER)
@given(spans, spans, st.integers(1, 20))
@settings(max_examples=60, deadline=None)
def test_rows_of_one_instant(name, left, right, room):
    point, endpoint, what = TOGETHER[name]
    cursors, points, now = np.zeros(4, np.int64), marks(left, point), marks(right, endpoint)
    rules, holds = rules_of(relation(name).boxes()).decisions, relation(name).holds
    found = swept(lambda state, pairs: sweep_now(0, points, now, what, rules, cursors, state, pairs), room)
    assert found == sorted((i, j, r[point]) for i, r in enumerate(left) for j, s in enumerate(right) if holds(r, s))


@pytest.mark.parametrize("name", ["starts", "started_by"])
@given(spans, spans, st.integers(1, 20))
@settings(max_examples=60, deadline=None)
def test_rows_that_start_together(name, left, right, room):
    side = int(name == "started_by")
    own, other = (right, left) if side else (left, right)
    listed, cursors, read = np.zeros((CHAINED_SIZE, 16), np.int64), np.zeros(4, np.int64), []
    chain_all(listed, 0)
    rules = rules_of(relation(name).boxes()).decisions

    def sweep(state, pairs):
        done = sweep_chained(side, marks(own, 1), steps_of(other, 0), rules, listed, cursors, state, pairs)
        read.append(int(state[GETNEXT]))
        return done

    found, holds = swept(sweep, room), relation(name).holds
    expected = [(i, j, (s if side else r)[1]) for i, r in enumerate(left) for j, s in enumerate(right) if holds(r, s)]
    assert found == sorted(expected)
    assert read[-1] == len(expected), "nothing else is read"
    assert (listed[HEAD] == -1).all(), "all rows have ended"


def test_chains_hold_a_list_together():
    listed = np.zeros((CHAINED_SIZE, 8), np.int64)
    listed[STARTS, :5] = [3, 4, 3, 3, 11]
    chain_all(listed, 5)
    place, chain = listed[HEAD, bucket_of(3, 7)], []
    while place >= 0:
        chain.append(int(place))
        after = listed[AFTER, place]
        assert after < 0 or listed[BEFORE, after] == place
        place = after
    assert {place for place in chain if listed[STARTS, place] == 3} == {0, 2, 3}


@given(st.lists(ticks, max_size=80), ticks, ticks, st.booleans())
def test_rows_of_a_list_in_a_range(starts, low, high, every):
    names, out = np.arange(len(starts)) + 100, np.empty(len(starts) + 2, np.int64)
    written = write_open(names, np.array(starts, np.int64), 0, len(starts), low, high, every, 1, out)
    assert out[1:written].tolist() == [100 + at for at, start in enumerate(starts) if every or low <= start <= high]
