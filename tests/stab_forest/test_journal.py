"""Saving a stab-forest by a log: what it holds, torn records, damage, and logs of earlier files."""

import numpy as np
import pytest

from timeloom import StabForest, StorageError


def logged(tmp_path):
    path = tmp_path / "f.idx"
    forest = StabForest.build(np.arange(2_000), np.arange(2_000) + 5)
    forest.save(path, incremental=True)
    return path, forest


def test_an_incremental_save_leaves_the_file_alone(tmp_path):
    path, forest = logged(tmp_path)
    before = path.read_bytes()
    for step in range(5):
        forest.append(3_000 + step, 4_000)
        forest.save(path, incremental=True)
    assert path.read_bytes() == before
    log = tmp_path / "f.idx.log"
    assert 0 < log.stat().st_size < 20_000
    assert StabForest.load(path).count(3_500) == 5
    forest.save(path)
    assert not log.exists()
    assert StabForest.load(path).count(3_500) == 5


def test_a_long_log_becomes_part_of_the_file(tmp_path):
    path, forest = logged(tmp_path)
    sizes = []
    for step in range(4):
        starts = np.arange(30_000) + 3_000 + 30_000 * step
        forest.extend(starts, starts + 5)
        forest.save(path, incremental=True)
        sizes.append(path.stat().st_size)
        assert len(StabForest.load(path)) == len(forest)
    assert sizes[-1] > sizes[0]


def two_records(tmp_path):
    """A file, and its log with one record and with two."""
    path, forest = logged(tmp_path)
    logs = []
    for start in (3_000, 3_001):
        forest.append(start, 4_000)
        forest.save(path, incremental=True)
        logs.append((tmp_path / "f.idx.log").read_bytes())
    return path, *logs


def goes_on_after_one(path):
    """The second record counts for nothing, and others follow the first."""
    torn = StabForest.load(path)
    assert torn.count(3_500) == 1
    torn.append(3_002, 4_000)
    torn.save(path, incremental=True)
    assert StabForest.load(path).count(3_500) == 2


def test_a_torn_record_was_never_written_and_damage_is_refused(tmp_path):
    path, whole, both = two_records(tmp_path)
    log = tmp_path / "f.idx.log"
    for cut in (len(whole) + 3, len(whole) + 60, len(both) - 1):
        log.write_bytes(both[:cut])
        goes_on_after_one(path)
    for at in (len(whole) - 5, len(both) - 5):
        log.write_bytes(both[:at] + bytes([both[at] ^ 1]) + both[at + 1 :])
        with pytest.raises(StorageError, match="damaged at byte"):
            StabForest.load(path)
    log.write_bytes(both)
    assert StabForest.load(path).count(3_500) == 2


def test_a_tail_of_zeros_after_a_power_cut_was_never_written(tmp_path):
    """The file has grown, but of its last record nothing reached the disk, or only the beginning."""
    path, whole, both = two_records(tmp_path)
    log = tmp_path / "f.idx.log"
    for written in (len(whole), len(whole) + 3, len(whole) + 60, len(both) - 8):
        for more in (0, 4096):
            log.write_bytes(both[:written] + bytes(len(both) - written + more))
            goes_on_after_one(path)
    log.write_bytes(whole[:-60] + bytes(60) + both[len(whole) :])
    with pytest.raises(StorageError, match="damaged at byte"):
        StabForest.load(path)


def test_the_log_of_an_earlier_file_is_not_read(tmp_path):
    """A crash after the file was replaced and before its log was removed leaves a log of another edition."""
    path, forest = logged(tmp_path)
    forest.append(3_000, 4_000)
    forest.save(path, incremental=True)
    log = tmp_path / "f.idx.log"
    stale = log.read_bytes()
    forest.save(path, incremental=False)
    log.write_bytes(stale)
    assert StabForest.load(path).count(3_500) == 1
