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
    MARK_NAME,
    MARK_POSITION,
    MARK_SIZE,
    MARK_START,
    MARK_TIME,
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
from timeloom.kernels.streaming.table_steps import empty_table, fill_table, match_ends
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


class Taken:
    """The events of a history as one side takes them, with room for one row at first."""

    def __init__(self, history, numbers):
        self.known, keys, starting = (np.array([event[at] for event in history], np.int64) for at in range(3))
        self.order, self.progress = np.empty(self.known.size, np.int64), np.zeros(PROGRESS_SIZE, np.int64)
        ends_first(self.known, starting.astype(np.bool_), self.order)
        self.by = HANDLE if numbers else ID
        room = self.known.size + 1
        self.steps, self._begun, self._ended = (
            np.empty((room, width), np.int64) for width in (STEP_SIZE, MARK_SIZE, MARK_SIZE)
        )
        self._refused = np.empty((self.known.size, 2), np.int64)
        self.events = (keys, self.known, starting.astype(np.bool_), np.array(numbers, np.int64), self.order, self.by)

    @property
    def written(self):
        """The marks of starts and of ends, and what is refused."""
        sizes = self.progress[[BEGUN, ENDED, REFUSED]].tolist()
        return [some[:size] for some, size in zip((self._begun, self._ended, self._refused), sizes, strict=True)]

    def in_list(self, delay):
        """Take them into a list; answers its rows."""
        rows, slots = empty_list(1)
        marks = (self.steps, self._begun, self._ended, self._refused)
        while not take_steps(*self.events, delay, rows, slots, self.progress, *marks):
            assert self.progress[COUNT] == len(rows), "it stops only where the list is full"
            larger = empty_list(2 * len(rows))
            fill(*larger, rows)
            rows, slots = larger
        return rows[: self.progress[COUNT], : START + 1]

    def in_table(self):
        """Take them into a table; answers its rows."""
        table = empty_table(1)
        while not match_ends(*self.events, table, self.progress, self._begun, self._ended, self._refused):
            assert self.progress[COUNT] == len(table) // 2, "it stops only where half of the slots are taken"
            larger = empty_table(len(table) // 2)
            fill_table(larger, table[table[:, HANDLE] >= 0])
            table = larger
        return table[table[:, HANDLE] >= 0]


@settings(max_examples=200, deadline=None)
@given(histories, st.booleans(), st.sets(st.integers(0, 39)), st.integers(0, 1), st.booleans())
@example([(1, 0, True), (1, 0, False), (1, 0, True)], False, set(), 1, True)
@example([(1, 0, False), (1, 1, True), (1, 0, True), (2, 0, True)], True, {1}, 0, False)
def test_like_a_dict(history, numbered, late, delay, listed):
    numbers = [LATE if at in late else 3 + at for at in range(len(history))] if numbered else []
    taken = Taken(history, numbers)
    found = taken.in_list(delay) if listed else taken.in_table()
    verdicts, opened, handles = expected_of(history, taken.order.tolist(), numbers)
    begun, ended, refused = taken.written
    assert dict(refused.tolist()) == verdicts
    assert {key: (handle, start) for key, handle, start in found.tolist()} == opened
    assert len(found) == len(opened) == taken.progress[COUNT]
    assert taken.progress[NEXT_HANDLE] == handles
    used = [at for at in taken.order.tolist() if at not in verdicts]
    assert begun[:, MARK_POSITION].tolist() == [at for at in used if history[at][2]]
    assert ended[:, MARK_POSITION].tolist() == [at for at in used if not history[at][2]]
    for marks in (begun, ended):
        assert marks[:, MARK_TIME].tolist() == [history[at][0] for at in marks[:, MARK_POSITION]]
        if not numbered:
            assert marks[:, MARK_NAME].tolist() == [history[at][1] for at in marks[:, MARK_POSITION]]
    began = dict(zip(begun[:, MARK_NAME].tolist(), begun[:, MARK_START].tolist(), strict=True))
    if numbered:
        assert ended[:, MARK_START].tolist() == [began[name] for name in ended[:, MARK_NAME].tolist()]
    if listed:
        check_steps(taken, found, [taken.known[at] + delay * history[at][2] for at in used])


def check_steps(taken, found, times):
    """The steps alone make the list."""
    listed, steps = [], taken.steps[: taken.progress[STEPS]]
    for step in steps:
        listed[step[PLACE] : step[PLACE] + 1] = [(step[STEP_NAME], step[STEP_START])]
        listed = listed[: step[LENGTH]]
    assert listed == [(row[taken.by], row[START]) for row in found]
    assert steps[:, STEP_TIME].tolist() == times == sorted(times)


def test_a_list_that_grows_keeps_its_rows():
    rows, slots = empty_list(4)
    some = np.array([[7, 0, 3], [-1, 1, 4], [2**40, 2, 5], [39, 3, 6]])
    fill(rows, slots, some)
    larger, more = empty_list(8)
    fill(larger, more, rows)
    assert larger[:4, : START + 1].tolist() == some.tolist()
    assert sorted(more[more >= 0].tolist()) == [0, 1, 2, 3]
