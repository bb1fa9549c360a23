"""The events of one side, matched by id: like a dict under any history, and the steps alone rebuild the list."""

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
    MARK_NAME,
    MARK_NUMBER,
    MARK_SIZE,
    MARK_START,
    MARK_TIME,
    NEXT_HANDLE,
    PLACE,
    PROGRESS_SIZE,
    REFUSED,
    SLOTS_PER_ROW,
    START,
    STEP_NAME,
    STEP_PLACE,
    STEP_SIZE,
    STEP_START,
    STEP_TIME,
    empty_table,
    ends_first,
    extent,
    fill,
    match_events,
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
    known, starting = np.array([e[0] for e in history], np.int64), np.array([e[2] for e in history], np.uint8)
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


class Taken:
    """The events of a history as one side takes them, with room for few rows at first."""

    def __init__(self, history, numbers, delay, *, listed):
        self.known, keys, starting = (np.array([event[at] for event in history], np.int64) for at in range(3))
        self.order, self.progress = np.empty(self.known.size, np.int64), np.zeros(PROGRESS_SIZE, np.int64)
        starting = starting.astype(np.uint8)
        ends_first(self.known, starting, self.order)
        self.by = HANDLE if numbers else ID
        room, width = self.known.size + 1, MARK_SIZE if numbers else MARK_NUMBER
        self.steps, begun, ended = (np.empty((room, size), np.int64) for size in (STEP_SIZE, width, width))
        refused = np.empty((self.known.size, 2), np.int64)
        events = (keys, self.known, starting, np.array(numbers, np.int64), self.order, self.by, delay)
        table, owners = empty_table(1, listed=listed)
        while not match_events(*events, table, owners, self.progress, self.steps, begun, ended, refused):
            assert self.progress[COUNT] == len(table) // 2, "it stops only where half of the slots are taken"
            larger = empty_table(2 * len(table) // SLOTS_PER_ROW, listed=listed)
            fill(*larger, self.rows_of(table, owners))
            table, owners = larger
        self.rows = self.rows_of(table, owners)
        sizes = self.progress[[BEGUN, ENDED, REFUSED]].tolist()
        self.written = [some[:size] for some, size in zip((begun, ended, refused), sizes, strict=True)]

    def rows_of(self, table, owners):
        """The open rows, in the order of the list, if there is one."""
        return table[owners[: self.progress[COUNT]] if owners.size else table[:, HANDLE] >= 0, :PLACE]


@settings(max_examples=200, deadline=None)
@given(histories, st.booleans(), st.sets(st.integers(0, 39)), st.integers(0, 1), st.booleans())
@example([(1, 0, True), (1, 0, False), (1, 0, True)], False, set(), 1, True)
@example([(1, 0, False), (1, 1, True), (1, 0, True), (2, 0, True)], True, {1}, 0, False)
def test_like_a_dict(history, numbered, late, delay, listed):
    numbers = [LATE if at in late else 3 + at for at in range(len(history))] if numbered else []
    taken = Taken(history, numbers, delay, listed=listed)
    found = taken.rows
    verdicts, opened, handles = expected_of(history, taken.order.tolist(), numbers)
    begun, ended, refused = taken.written
    assert dict(refused.tolist()) == verdicts
    assert {key: (handle, start) for key, handle, start in found.tolist()} == opened
    assert len(found) == len(opened) == taken.progress[COUNT]
    assert taken.progress[NEXT_HANDLE] == handles
    used = [at for at in taken.order.tolist() if at not in verdicts]
    for marks, starting in ((begun, True), (ended, False)):
        own = [at for at in used if history[at][2] == starting]
        assert marks[:, MARK_TIME].tolist() == [history[at][0] for at in own]
        if numbers:
            assert marks[:, MARK_NUMBER].tolist() == [numbers[at] for at in own]
        else:
            assert marks[:, MARK_NAME].tolist() == [history[at][1] for at in own]
    began = dict(zip(begun[:, MARK_NAME].tolist(), begun[:, MARK_START].tolist(), strict=True))
    if numbered:
        assert ended[:, MARK_START].tolist() == [began[name] for name in ended[:, MARK_NAME].tolist()]
    if listed:
        check_steps(taken, found, [taken.known[at] + delay * history[at][2] for at in used])


def check_steps(taken, found, times):
    """The steps alone make the list."""
    listed, steps = [], taken.steps[: len(times)]
    for step in steps:
        listed[step[STEP_PLACE] : step[STEP_PLACE] + 1] = [(step[STEP_NAME], step[STEP_START])]
        listed = listed[: step[LENGTH]]
    assert listed == [(row[taken.by], row[START]) for row in found]
    assert steps[:, STEP_TIME].tolist() == times == sorted(times)


def test_a_list_that_grows_keeps_its_rows():
    some = np.array([[7, 0, 3], [-1, 1, 4], [2**40, 2, 5], [39, 3, 6]])
    table, owners = empty_table(4, listed=True)
    fill(table, owners, some)
    assert table[owners[:4], :PLACE].tolist() == some.tolist()
    assert table[owners[:4], PLACE].tolist() == [0, 1, 2, 3]
    larger, more = empty_table(8, listed=True)
    fill(larger, more, table[owners[:4], :PLACE])
    assert larger[more[:4], :PLACE].tolist() == some.tolist()
