"""Single appends beside the lock: what an intake takes, what closes it, and threads that still know a closed one."""

import threading

import numpy as np
import pytest

from timeloom import StabForest
from timeloom.kernels.stab_forest.layout import FOREVER
from timeloom.stab_forest.intake import ROOM, Intake


def opened(first=7, last_start=10, last_end=12):
    intake = Intake(first)
    intake.open(last_start, last_end)
    return intake


@pytest.mark.parametrize("event", [(9, 20), (10, 11), (11, 11), (12, 11), (13, FOREVER)])
def test_only_whole_events_in_order_are_taken(event):
    intake = opened()
    assert intake.push(10, 12) == 7
    assert intake.push(*event) is None
    assert intake.push(11, 12) == 8
    assert (intake.starts, intake.ends, intake.following) == ([10, 11], [12, 12], 9)


def test_a_full_or_closed_intake_takes_nothing():
    intake = opened(0, -1, -1)
    assert [intake.push(start, start + 1) for start in range(ROOM + 1)] == [*range(ROOM), None]
    shut = opened()
    shut.close()
    shut.close()
    assert shut.push(11, 12) is None
    assert Intake(3).push(11, 12) is None


def test_an_event_whose_thread_is_interrupted_is_in_both_lists_or_in_none():
    class Interrupted(list):
        def append(self, item):
            raise KeyboardInterrupt

    intake = opened()
    whole, intake.ends = intake.ends, Interrupted()
    with pytest.raises(KeyboardInterrupt):
        intake.push(11, 12)
    intake.ends = whole
    assert (intake.starts, intake.ends) == ([], [])
    assert intake.push(11, 12) == 7


def test_an_interrupt_before_the_event_is_looked_at_loses_no_token():
    class Interrupted(list):
        def __len__(self):
            raise KeyboardInterrupt

    intake = opened()
    assert intake.push(10, 12) == 7
    whole, intake.ends = intake.ends, Interrupted([12])
    with pytest.raises(KeyboardInterrupt):
        intake.push(11, 12)
    intake.ends = whole
    assert intake.push(11, 12) == 8
    assert (intake.starts, intake.ends) == ([10, 11], [12, 12])
    intake.close()


def test_many_threads_that_append_lose_nothing_beside_readers():
    forest, given, read = StabForest(order="start"), [[] for _ in range(3)], []

    def write(number):
        for step in range(3_000):
            given[number].append((forest.append(5, 6 + number + step), 6 + number + step))

    def ask():
        while any(thread.is_alive() for thread in writers):
            known = len(forest)
            found = forest.stab(5)
            assert known <= found.size == np.unique(found).size <= len(forest)
            read.append(found.size)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    reader = threading.Thread(target=ask)
    for thread in [*writers, reader]:
        thread.start()
    for thread in [*writers, reader]:
        thread.join()
    ends = forest.events()[1]
    assert sorted(event for part in given for event, _ in part) == list(range(9_000))
    assert all(ends[event] == end for part in given for event, end in part)
    assert read == sorted(read)
