"""The stress of bitemporal indexes and tables by threads, for a moment."""

import threading

import pyarrow as pa
import pytest

import timeloom as tl
from threads.bitemporal import stress_index, stress_table


@pytest.mark.parametrize("stress", [stress_index, stress_table])
def test_readers_beside_a_writer_see_whole_states(stress):
    assert stress(1.5) > 20


def test_batches_of_several_threads_follow_one_another():
    table = tl.BitemporalTable(key="k")

    def insert(first):
        for number in range(first, first + 20):
            with table.batch() as batch:
                batch.insert({"k": number, "app_start": 0, "app_end": None}, sys=1)
                batch.update(number, {}, sys=1)

    threads = [threading.Thread(target=insert, args=(first,)) for first in (0, 100, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(table.history()["k"].to_pylist()) == [*range(20), *range(100, 120), *range(200, 220)]


def test_a_batch_that_waits_does_not_hold_up_readers():
    table = tl.BitemporalTable(key="k")
    table.insert({"k": 1, "app_start": 0, "app_end": None}, sys=1)
    seen = []
    with table.batch() as batch:
        batch.insert({"k": 2, "app_start": 0, "app_end": None}, sys=2)
        reader = threading.Thread(target=lambda: seen.append((len(table), table.history().num_rows, table.latest)))
        reader.start()
        reader.join(10)
        assert seen == [(1, 1, 1)]
    assert len(table) == 2


def test_an_interrupted_batch_changes_nothing(monkeypatch):
    rows = pa.table({"sys_start": [1, 1], "sys_end": pa.array([None, None], pa.int64())})
    rows = rows.append_column("app_start", pa.array([0, 1])).append_column("app_end", pa.array([5, 6]))
    index = tl.BitemporalIndex(rows)
    later = rows.set_column(0, "sys_start", pa.array([3, 3]))

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("timeloom.bitemporal.timelines.Timelines._filed", interrupted)
        with pytest.raises(KeyboardInterrupt):
            index.apply(later, {0: 2})
    assert (len(index), index.latest, index.as_of(app=2).tolist()) == (2, 1, [0, 1])
    index.apply(later, {0: 4})
    assert index.as_of(app=2).tolist() == [1, 2, 3]
    assert index.as_of(sys=2, app=2).tolist() == [0, 1]
