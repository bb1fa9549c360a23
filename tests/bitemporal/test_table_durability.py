"""Tables that last: after a crash at any instant every finished batch is there, and none by half."""

import os
import random
import signal
import subprocess
import sys

import pytest

import timeloom as tl
from timeloom.bitemporal.ledger import log_of

WRITER = """
import sys, timeloom as tl
from timeloom.bitemporal import ledger
ledger.LEAST = 3000
with tl.BitemporalTable.open(sys.argv[1], "k") as table:
    for at in range(0 if table.latest is None else table.latest + 1, 10**6):
        with table.batch() as batch:
            batch.insert({"k": at, "v": "x" * (at % 50), "app_start": at, "app_end": None}, sys=at)
            if at % 3 == 2:
                batch.update(at - 1, {"v": "later"}, sys=at, portion=(at, at + 5))
        print(at, flush=True)
"""


def rows(table):
    return table.history().to_pylist()


def changes(table):
    """Batches of every kind, among them some that take versions back; the history after each."""
    yield []
    table.insert([{"k": k, "v": k, "app_start": 0, "app_end": None} for k in range(3)], sys=1)
    yield rows(table)
    table.update(1, {"v": 7}, sys=2, portion=(4, 9))
    yield rows(table)
    table.update(1, {"v": 8}, sys=2, portion=(5, 6))
    yield rows(table)
    with table.batch() as batch:
        batch.delete(2, sys=3)
        batch.insert({"k": 2, "v": None, "app_start": 3, "app_end": 4}, sys=3)
        batch.update(0, {"app_end": 12}, sys=5)
    yield rows(table)


@pytest.mark.parametrize("settling", [1024, 2])
def test_any_prefix_of_the_log_is_a_state_between_two_batches(tmp_path, monkeypatch, settling):
    monkeypatch.setattr("timeloom.bitemporal.draft.SETTLING", settling)
    path = tmp_path / "t"
    with tl.BitemporalTable.open(path, "k") as table:
        expected, ends = [], []
        for state in changes(table):
            expected.append(state)
            ends.append(table._ledger._log.offset)
        assert table.latest == 5
    whole = log_of(path).read_bytes()
    assert ends[-1] == len(whole)
    for size in {*range(0, len(whole), 101), *ends, *(end - 1 for end in ends[1:]), *(end + 1 for end in ends[:-1])}:
        log_of(path).write_bytes(whole[:size])
        with tl.BitemporalTable.open(path) as table:
            last = max(k for k, end in enumerate(ends) if end <= size)
            assert (rows(table) if last else []) == expected[last], size
            if last == len(ends) - 1:
                continue
            table.insert({"k": 9, "v": 9, "app_start": 0, "app_end": 1}, sys=9)
        with tl.BitemporalTable.open(path) as again:
            assert rows(again)[-1]["k"] == 9
            assert len(again) == len(expected[last]) + 1


def test_killed_writers_leave_whole_batches(tmp_path):
    path, acknowledged, draw = tmp_path / "t", -1, random.Random(5)
    for _ in range(2):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
        for _ in range(draw.randrange(20, 120)):
            acknowledged = int(writer.stdout.readline())
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged = max([acknowledged, *map(int, writer.stdout.read().split())])
        writer.wait()
        writer.stdout.close()
        with tl.BitemporalTable.open(path) as table:
            known = table.as_of(app=10**9)
            newest = max(known["k"].to_pylist())
            assert newest in (acknowledged, acknowledged + 1)
            assert sorted(known["k"].to_pylist()) == list(range(newest + 1))
            assert table.latest == newest
            updates = [row for row in rows(table) if row["v"] == "later"]
            assert [row["k"] for row in updates] == list(range(1, newest, 3))


class CrashError(Exception):
    """Stands for the end of the process."""


@pytest.mark.parametrize("crash", range(12))
def test_a_crash_while_the_file_is_written_anew_loses_nothing(tmp_path, monkeypatch, crash):
    path = tmp_path / "t"
    with tl.BitemporalTable.open(path, "k") as table:
        *_, expected = changes(table)
    calls, reached = iter(range(crash, -1, -1)), []

    def counted(function):
        def call(*args):
            if next(calls, 1) == 0 and not reached:
                reached.append(True)
                raise CrashError
            return function(*args)

        return call

    for name in ("fsync", "replace", "open", "chmod"):
        monkeypatch.setattr(os, name, counted(getattr(os, name)))
    table = tl.BitemporalTable.open(path)
    try:
        table.compact()
        table.insert({"k": 5, "v": 5, "app_start": 0, "app_end": 1}, sys=6)
    except CrashError:
        pass
    table._ledger.close()
    monkeypatch.undo()
    with tl.BitemporalTable.open(path) as again:
        assert rows(again)[: len(expected)] == expected
        assert len(again) in (len(expected), len(expected) + 1)
        again.insert({"k": 6, "v": 6, "app_start": 0, "app_end": 1}, sys=7)


def test_damage_another_process_and_misuse_are_refused(tmp_path):
    path = tmp_path / "t"
    with pytest.raises(tl.UsageError, match="say by key="):
        tl.BitemporalTable.open(path)
    with tl.BitemporalTable.open(path, "k", without_overlaps=True) as table:
        table.insert({"k": 1, "v": 1, "app_start": 0, "app_end": None}, sys=1)
        with pytest.raises(tl.StorageError, match="by another process"):
            tl.BitemporalTable.open(path)
    with pytest.raises(tl.UsageError, match="was closed"):
        table.delete(1, sys=2)
    with pytest.raises(tl.UsageError, match="has the key"):
        tl.BitemporalTable.open(path, "j")
    with tl.BitemporalTable.open(path) as again:
        assert again.without_overlaps
    content = bytearray(log_of(path).read_bytes())
    content[-3] ^= 1
    log_of(path).write_bytes(content)
    with pytest.raises(tl.StorageError, match="damaged at byte"):
        tl.BitemporalTable.open(path)
    with pytest.raises(tl.UsageError, match="not open on a file"):
        tl.BitemporalTable("k").compact()


def test_a_batch_that_cannot_be_written_leaves_no_trace(tmp_path, monkeypatch):
    with tl.BitemporalTable.open(tmp_path / "t", "k") as table:
        table.insert({"k": 1, "v": 1, "app_start": 0, "app_end": None}, sys=1)
        before, index = rows(table), table.index()

        def full(_):
            raise OSError("no space left")

        monkeypatch.setattr(os, "fsync", full)
        for change in (lambda: table.delete(1, sys=2), lambda: table.update(1, {"v": 2}, sys=1)):
            with pytest.raises(tl.StorageError, match="no space left"):
                change()
        monkeypatch.undo()
        assert rows(table) == before
        assert index.as_of(app=0).tolist() == [0]
        table.update(1, {"v": 3}, sys=3)
    with tl.BitemporalTable.open(tmp_path / "t") as again:
        assert [row["v"] for row in rows(again)] == [1, 3]


def test_long_logs_are_written_anew(tmp_path, monkeypatch):
    monkeypatch.setattr("timeloom.bitemporal.ledger.LEAST", 2000)
    path = tmp_path / "t"
    with tl.BitemporalTable.open(path, "k") as table:
        for at in range(30):
            table.insert({"k": at, "v": at, "app_start": 0, "app_end": None}, sys=at)
        assert log_of(path).stat().st_size < 10_000
    with tl.BitemporalTable.open(path) as again:
        assert len(again) == 30
        assert len(tl.BitemporalTable.load(path)) <= 30
