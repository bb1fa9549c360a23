"""The events of one side as steps of a list: like a dict under any history, and the steps alone rebuild the list."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from timeloom.kernels.streaming.arrival import ALREADY_OPEN, EMPTY, LATE, NEVER_STARTED, TOO_LATE
from timeloom.kernels.streaming.steps import (
    BEGUN,
    COUNT,
    ENDED,
    HANDLE,
    ID,
    LENGTH,
    MARK_SIZE,
    NEXT_HANDLE,
    PLACE,
    PROGRESS_SIZE,
    REFUSED,
    START,
    STEP_NAME,
    STEP_SIZE,
    STEP_START,
    STEP_TIME,
    STEPS,
    empty_list,
    ends_first,
    extent,
    fill,
    take_steps,
)
from timeloom.model.ticks import MAX_TICK, MIN_TICK

ids = st.integers(0, 5) | st.sampled_from([8, 16, 24, 64, 2**40, 2**41, -1, -9, -(2**63), 2**63 - 1])
histories = st.lists(st.tuples(st.integers(0, 9), ids, st.booleans()), max_size=40).map(
    lambda some: sorted(some, key=_time)
)


def _time(event):
    return event[0]


@given(st.lists(st.integers(-4, 4), max_size=8))
def test_the_extent_of_instants(known):
    expected = (min(known, default=MAX_TICK), max(known, default=MIN_TICK), known == sorted(known))
    assert extent(np.array(known, np.int64)) == expected


@given(histories)
def test_ends_come_first(history):
    known, starting = np.array([e[0] for e in history], np.int64), np.array([e[2] for e in history], np.bool_)
    order = np.empty(known.size, np.int64)
    ends_first(known, starting, order)
    assert sorted(order.tolist()) == list(range(known.size))
    found = [(known[at], starting[at]) for at in order]
    assert found == sorted(found)


def expected_of(history, order, numbers):
    """Verdicts by position, and the open rows, of events that are taken in an order."""
    opened, verdicts, handles = {}, {}, 0
    for at in order:
        time, key, starting = history[at]
        if numbers and numbers[at] == LATE:
            verdicts[at] = TOO_LATE
        elif starting and key in opened:
            verdicts[at] = ALREADY_OPEN
        elif not starting and key not in opened:
            verdicts[at] = NEVER_STARTED
        elif not starting:
            del opened[key]
        else:
            strays = [
                other
                for other, verdict in verdicts.items()
                if verdict == NEVER_STARTED and history[other][:2] == (time, key)
            ]
            if strays:
                verdicts |= dict.fromkeys([*strays, at], EMPTY)
                continue
            handle = numbers[at] if numbers else handles
            handles, opened[key] = max(handles, handle + 1), (handle, time)
    return verdicts, opened, handles


@settings(max_examples=200, deadline=None)
@given(histories, st.booleans(), st.sets(st.integers(0, 39)), st.integers(0, 1))
@example([(1, 0, True), (1, 0, False), (1, 0, True)], False, set(), 1)
@example([(1, 0, False), (1, 1, True), (1, 0, True), (2, 0, True)], True, {1}, 0)
def test_like_a_dict(history, numbered, late, delay):
    numbers = [LATE if at in late else 3 + at for at in range(len(history))] if numbered else []
    known, keys, starting = (np.array([event[at] for event in history], np.int64) for at in range(3))
    order, progress = np.empty(known.size, np.int64), np.zeros(PROGRESS_SIZE, np.int64)
    ends_first(known, starting.astype(np.bool_), order)
    (rows, slots), by = empty_list(1), HANDLE if numbered else ID
    room = [np.empty((known.size + 1, width), np.int64) for width in (STEP_SIZE, MARK_SIZE, MARK_SIZE)]
    refused = np.empty((known.size, 2), np.int64)
    arguments = (keys, known, starting.astype(np.bool_), np.array(numbers, np.int64), order, by, delay)
    while not take_steps(*arguments, rows, slots, progress, *room, refused):
        assert progress[COUNT] == len(rows), "it stops only where the list is full"
        larger = empty_list(2 * len(rows))
        fill(*larger, rows)
        rows, slots = larger
    verdicts, opened, handles = expected_of(history, order.tolist(), numbers)
    assert dict(refused[: progress[REFUSED]].tolist()) == verdicts
    found = rows[: progress[COUNT]]
    assert {key: (handle, start) for key, handle, start, _ in found.tolist()} == opened
    assert len(found) == len(opened)
    assert progress[NEXT_HANDLE] == handles
    used = [at for at in order.tolist() if at not in verdicts]
    begun, ended = room[1][: progress[BEGUN]], room[2][: progress[ENDED]]
    assert begun[:, 3].tolist() == [at for at in used if history[at][2]]
    assert ended[:, 3].tolist() == [at for at in used if not history[at][2]]
    assert [(time, start) for time, _, start, _ in begun.tolist()] == [(known[at], known[at]) for at in begun[:, 3]]
    listed = []
    for step in room[0][: progress[STEPS]]:
        listed[step[PLACE] : step[PLACE] + 1] = [(step[STEP_NAME], step[STEP_START])]
        listed = listed[: step[LENGTH]]
    assert listed == [(row[by], row[START]) for row in found]
    times = [known[at] + delay * history[at][2] for at in used]
    assert room[0][: progress[STEPS], STEP_TIME].tolist() == times == sorted(times)


def test_a_list_that_grows_keeps_its_rows():
    rows, slots = empty_list(4)
    some = np.array([[7, 0, 3], [-1, 1, 4], [2**40, 2, 5], [39, 3, 6]])
    fill(rows, slots, some)
    larger, more = empty_list(8)
    fill(larger, more, rows)
    assert larger[:4, : START + 1].tolist() == some.tolist()
    assert sorted(more[more >= 0].tolist()) == [0, 1, 2, 3]
