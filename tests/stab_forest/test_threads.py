"""Threads on one stab-forest: a few seconds of the stress, and the cases that used to crash, one by one."""

import threading
import time

import numpy as np
import pyarrow as pa

from threads.stab_forest import stress
from timeloom import InvalidInputError, StabForest, UsageError
from timeloom.stab_forest import persistence, sharing
from timeloom.stab_forest.journal import records as journal_records
from timeloom.streaming import LiveForest


def in_threads(count, work):
    faults = []

    def guarded(number):
        try:
            work(number)
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]


def test_readers_beside_a_writer_see_one_complete_state():
    assert stress(3.0) > 100


def test_counts_after_appends_in_four_threads():
    for _ in range(20):
        forest = StabForest()
        for start in range(3000):
            forest.append(start, start + 10)
        found = [0] * 4
        in_threads(4, lambda number, forest=forest, found=found: found.__setitem__(number, forest.count(2000)))
        assert found == [10] * 4


def test_many_writers_lose_nothing():
    forest = StabForest(order="watermark")
    given = [[] for _ in range(4)]

    def write(number):
        for start in range(500):
            given[number].append((forest.append(start, start + number + 1), start))

    in_threads(4, write)
    forest.advance(10**6)
    starts, ends = forest.events()
    assert sorted(event for part in given for event, _ in part) == list(range(2000))
    for number, part in enumerate(given):
        for event, start in part:
            assert (starts[event], ends[event]) == (start, start + number + 1)


def test_one_handle_is_finished_once_by_many():
    for _ in range(50):
        forest = StabForest()
        handle = forest.begin(3)
        outcomes = []

        def finish(number, forest=forest, handle=handle, outcomes=outcomes):
            try:
                forest.finish(handle, 10 + number)
                outcomes.append(number)
            except InvalidInputError:
                pass

        in_threads(4, finish)
        assert len(outcomes) == 1
        assert forest.events()[1].tolist() == [10 + outcomes[0]]


def test_one_handle_is_finished_once_by_many_who_wait_for_a_reader():
    forest, outcomes = StabForest.build(np.arange(100), np.full(100, 2**63 - 1)), []
    handle, long_read = forest.handle(3), forest._shared.pin()

    def finish(number):
        try:
            forest.finish(handle, 1000 + number)
            outcomes.append(1000 + number)
        except InvalidInputError:
            pass

    in_threads(4, finish)
    forest._shared.release(long_read)
    assert forest.events()[1][3] == outcomes[0]
    assert len(outcomes) == 1


def test_the_first_event_decides_the_axis_in_one_thread_only():
    for _ in range(50):
        forest, refused = StabForest(order="watermark"), []

        def append(number, forest=forest, refused=refused):
            try:
                forest.append(np.datetime64(number, "D") if number % 2 else number)
            except (UsageError, InvalidInputError):
                refused.append(number)

        in_threads(4, append)
        assert len(refused) == 2
        assert len({number % 2 for number in refused}) == 1


def test_a_long_read_costs_one_copy_and_holds_nobody_up():
    forest = StabForest.build(np.arange(1000), np.arange(1000) + 1)
    long_read = forest._shared.pin()
    forest.append(1000, 1001)
    for start in range(1001, 1101):
        forest.append(start, start + 1)
        assert forest.stab(start).tolist() == [start]
    assert len(long_read) == 1000
    assert forest._shared.index is not long_read
    kept = forest._shared.index
    forest.append(2000, 2001)
    forest.stab(2000)
    assert forest._shared.index is kept, "nobody reads it, so it changes in place"
    forest._shared.release(long_read)


def test_two_forests_that_are_joined_with_each_other_do_not_wait_for_ever():
    one, two = StabForest(), StabForest()

    def join(number):
        mine, other = (one, two) if number % 2 else (two, one)
        for _ in range(100):
            left, right = mine.skip_join(other)
            assert left.size == right.size
            if number < 2:
                mine.append(len(mine), len(mine) + 3)

    in_threads(4, join)
    assert len(one) == len(two) == 100


def test_live_rows_are_read_while_others_come():
    live, rounds = LiveForest(), 300
    live.push(pa.table({"id": [0], "time": [0], "event": ["start"]}), until=0)

    def work(number):
        for row in range(1, rounds) if number == 0 else range(rounds):
            if number == 0:
                events = pa.table({"id": [row, row - 1], "time": [row, row], "event": ["start", "end"]})
                assert live.push(events, until=row) == 0
            else:
                assert live.count() == 1
                assert len(live.active()) == 1

    in_threads(3, work)


def test_a_save_while_a_writer_waits_for_a_reader_holds_one_state(tmp_path, monkeypatch):
    monkeypatch.setattr(sharing, "PATIENCE", 60.0)
    packing = threading.Event()

    def packed(shared):
        found = real_packed(shared)
        packing.set()
        return found

    real_packed = persistence.packed
    monkeypatch.setattr(persistence, "packed", packed)
    forest = StabForest.build(np.arange(100), np.full(100, 2**63 - 1))
    handle, long_read = forest.handle(3), forest._shared.pin()
    writer = threading.Thread(target=forest.finish, args=(handle, 1000))
    writer.start()
    while not forest._shared._waiting:
        time.sleep(0.001)
    saver = threading.Thread(target=forest.save, args=(tmp_path / "f.idx",))
    saver.start()
    packing.wait(0.3)
    forest._shared.release(long_read)
    writer.join()
    saver.join()
    assert StabForest.load(tmp_path / "f.idx").count(2000) == forest.count(2000) == 99


def test_no_record_is_lost_when_many_save_incrementally(tmp_path):
    for number in range(10):
        forest, path = StabForest(order="watermark"), tmp_path / f"{number}.idx"

        def work(number, forest=forest, path=path):
            for start in range(20):
                forest.append(start, start + number + 1)
                forest.save(path, incremental=True)

        in_threads(4, work)
        loaded = StabForest.load(path)
        for each in (forest, loaded):
            each.advance(10**6)
        assert [part.tolist() for part in loaded.events()] == [part.tolist() for part in forest.events()]


def test_a_file_that_is_replaced_while_it_is_loaded_is_read_again(tmp_path, monkeypatch):
    path = tmp_path / "f.idx"
    forest = StabForest.build([1, 2], [5, 9])
    forest.save(path, incremental=True)
    forest.append(3, 4)
    forest.save(path, incremental=True)

    def records(journal):
        monkeypatch.setattr(persistence, "records", journal_records)
        forest.save(path)
        return journal_records(journal)

    monkeypatch.setattr(persistence, "records", records)
    loaded = StabForest.load(path)
    assert len(loaded) == 3
    loaded.append(10, 11)
    loaded.save(path, incremental=True)
    assert len(StabForest.load(path)) == 4
