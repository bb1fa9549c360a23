"""The stress of bitemporal indexes and tables by threads, for a moment."""

import threading

import numpy as np
import pyarrow as pa
import pytest

import timeloom as tl
from threads.bitemporal import stress_index, stress_table
from timeloom.kernels.bitemporal.buckets import BLOCK


@pytest.mark.parametrize("stress", [stress_index, stress_table])
def test_readers_beside_a_writer_see_whole_states(stress):
    assert stress(1.0) > 0


@pytest.mark.parametrize("bucket", [None, 1])
def test_what_a_pinned_state_reads_is_never_written_again(bucket):
    def rows(count, now):
        starts = np.arange(count) % 7
        ends = pa.array(np.full(count, now + 1), mask=starts != 3)
        times = {"sys_start": np.full(count, now), "sys_end": ends, "app_start": starts, "app_end": starts + 4}
        return pa.table(times)

    def read(state):
        found = [state.ended, state.view.sys_start, state.view.sys_ends, state.view.app_start, state.view.app_end]
        for buckets in (state.starts, state.ends):
            found += [buckets.newest, buckets.filled, buckets.earlier[: buckets.blocks]]
            for number, (block, filled) in enumerate(zip(buckets.newest, buckets.filled, strict=True)):
                last = (filled - 1) % BLOCK + 1
                found.append(buckets.pool[block * BLOCK : block * BLOCK + last] if filled else number)
        return [np.array(part) for part in found]

    index = tl.BitemporalIndex(rows(1000, 0), bucket=bucket)
    pinned = index.windows(sys=tl.Slide(0, 1, 1), app=tl.Slide(0, 2, 1), steps=4)._state
    before = read(pinned)
    for now in range(2, 60, 2):
        index.apply(rows(37, now), {now * 7: now, now * 7 + 1: now})
    assert all(np.array_equal(one, other) for one, other in zip(before, read(pinned), strict=True))


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
        patch.setattr("timeloom.bitemporal.buckets.Buckets.filed", interrupted)
        with pytest.raises(KeyboardInterrupt):
            index.apply(later, {0: 2})
    assert (len(index), index.latest, index.as_of(app=2).tolist()) == (2, 1, [0, 1])
    index.apply(later, {0: 4})
    assert index.as_of(app=2).tolist() == [1, 2, 3]
    assert index.as_of(sys=2, app=2).tolist() == [0, 1]
