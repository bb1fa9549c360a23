"""One-file storage: what is saved comes back; whatever is not whole is refused with words that help."""

import json
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest

from timeloom import StabForest, storage
from timeloom.errors import StorageError
from timeloom.kernels.stab_forest.layout import FOREVER
from timeloom.stab_forest.persistence import packed
from timeloom.storage import digest, layout, replacing

ARRAYS = {
    "starts": np.arange(1000, dtype=np.int64),
    "weights": np.linspace(0, 1, 7),
    "open": np.array([True, False, True]),
    "none": np.zeros(0, dtype=np.int64),
    "small": np.array([1, 2], dtype=np.int32),
}


def test_arrays_and_metadata_come_back(tmp_path):
    path = tmp_path / "index.arrow"
    storage.save(path, "stab-forest", 1, ARRAYS, {"height": 3, "names": ["a"]})
    arrays, meta = storage.load(path, "stab-forest")
    assert meta == {"height": 3, "names": ["a"]}
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype


def test_changes_to_loaded_arrays_stay_private(tmp_path):
    path = tmp_path / "index.arrow"
    storage.save(path, "k", 1, {"a": np.arange(3)}, {})
    arrays, _ = storage.load(path, "k")
    arrays["a"][0] = 99
    assert storage.load(path, "k")[0]["a"].tolist() == [0, 1, 2]


def test_any_arrow_reader_opens_the_file(tmp_path):
    path = tmp_path / "index.arrow"
    storage.save(path, "k", 1, ARRAYS, {})
    table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    assert table["small"].to_pylist() == [[1, 2]]


def test_a_flipped_byte_anywhere_in_the_data_is_found(tmp_path):
    path = tmp_path / "index.arrow"
    storage.save(path, "k", 1, {"a": np.full(512, 7, dtype=np.int64)}, {})
    whole = path.read_bytes()
    at = whole.index((7).to_bytes(8, "little") * 4) + 80
    path.write_bytes(whole[:at] + b"\x09" + whole[at + 1 :])
    with pytest.raises(StorageError, match="damaged: its checksum does not match"):
        storage.load(path, "k")


@pytest.mark.parametrize("keep", [0, 3, 100, 0.5, 0.99])
def test_a_truncated_file_is_refused(tmp_path, keep):
    path = tmp_path / "index.arrow"
    storage.save(path, "k", 1, ARRAYS, {})
    whole = path.read_bytes()
    path.write_bytes(whole[: keep if isinstance(keep, int) else int(len(whole) * keep)])
    with pytest.raises(StorageError, match="damaged"):
        storage.load(path, "k")


def test_another_kind_a_later_version_and_a_missing_file_are_told_apart(tmp_path):
    path = tmp_path / "index.arrow"
    storage.save(path, "bitemporal-index", 2, ARRAYS, {})
    with pytest.raises(StorageError, match="holds 'bitemporal-index', expected 'stab-forest'"):
        storage.load(path, "stab-forest")
    with pytest.raises(StorageError, match=r"has version 2 .* reads up to 1"):
        storage.load(path, "bitemporal-index", version=1)
    with pytest.raises(StorageError, match="does not exist"):
        storage.load(tmp_path / "absent.arrow", "k")


def test_a_failed_save_keeps_the_old_file_and_leaves_no_scratch(tmp_path, monkeypatch):
    path = tmp_path / "index.arrow"
    storage.save(path, "k", 1, {"a": np.array([1])}, {})

    def fail(*_):
        raise OSError("no room")

    monkeypatch.setattr(replacing.os, "replace", fail)  # type: ignore[attr-defined]
    with pytest.raises(StorageError, match="no room"):
        storage.save(path, "k", 1, {"a": np.array([2])}, {})
    monkeypatch.undo()
    assert storage.load(path, "k")[0]["a"].tolist() == [1]
    assert [p.name for p in tmp_path.iterdir()] == ["index.arrow"]


def test_unsuitable_arrays_and_places_are_refused(tmp_path):
    with pytest.raises(StorageError, match="2 dimensions"):
        storage.save(tmp_path / "x", "k", 1, {"a": np.zeros((2, 2))}, {})
    with pytest.raises(StorageError, match="check that the directory exists"):
        storage.save(tmp_path / "absent" / "x", "k", 1, ARRAYS, {})


def first_format(path, kind, version, arrays, meta):
    """A file as the first format had it: a sum of blocks over header and arrays."""
    header = {"kind": kind, "version": version, "meta": meta, "dtypes": {k: v.dtype.str for k, v in arrays.items()}}
    text = json.dumps(header, sort_keys=True)
    columns = [layout._column(array) for array in arrays.values()]
    metadata = {"timeloom": text, "timeloom.checksum": digest.sum_of_blocks(text, arrays)}
    schema = pa.schema([(name, column.type) for name, column in zip(arrays, columns, strict=True)], metadata=metadata)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        writer.write_batch(pa.record_batch(columns, schema=schema))


def test_files_of_the_first_format_are_read_with_the_checksum_that_they_have(tmp_path):
    path = tmp_path / "old.arrow"
    first_format(path, "k", 1, ARRAYS, {"height": 3})
    arrays, meta = storage.load(path, "k", 2)
    assert meta == {"height": 3}
    np.testing.assert_array_equal(arrays["starts"], ARRAYS["starts"])
    whole = path.read_bytes()
    at = whole.index(np.arange(8).tobytes()) + 8
    path.write_bytes(whole[:at] + b"\x09" + whole[at + 1 :])
    with pytest.raises(StorageError, match="damaged: its checksum does not match"):
        storage.load(path, "k", 2)


def test_forests_of_the_first_format_are_on_the_integer_axis(tmp_path):
    forest = StabForest.build([5, 1, 3], [6, 9, FOREVER])
    arrays, meta = packed(forest._shared)
    del meta["axis"]
    first_format(tmp_path / "old.arrow", "stab-forest", 1, arrays, meta)
    loaded = StabForest.load(tmp_path / "old.arrow")
    assert loaded.axis == "integer"
    assert sorted(loaded.stab(5).tolist()) == [0, 1, 2]
    assert loaded.append(7, 8) == 3
    arrays["starts"][0] += 1
    first_format(tmp_path / "old.arrow", "stab-forest", 1, arrays, meta)
    with pytest.raises(StorageError, match="the nodes do not fit the starts"):
        StabForest.load(tmp_path / "old.arrow")


def test_damage_that_keeps_all_sums_is_found(tmp_path):
    path = tmp_path / "index.arrow"
    storage.save(path, "k", 1, {"a": np.arange(1024)}, {})
    whole = path.read_bytes()
    at = whole.index(np.arange(16).tobytes())
    swapped = whole[:at] + whole[at + 8 : at + 16] + whole[at : at + 8] + whole[at + 16 :]
    paired = bytearray(whole)
    paired[at + 8], paired[at + 16] = 2, 1
    header = whole.replace(b'"kind": "k"', b'"kind": "j"')
    padding = bytearray(whole)
    padding[6] = 1
    for damaged in (swapped, bytes(paired), header, bytes(padding), whole + b"\0", whole[:-1], b"", whole[1:]):
        assert damaged != whole
        path.write_bytes(damaged)
        with pytest.raises(StorageError, match="damaged"):
            storage.load(path, "k")


def test_a_name_like_the_mark_of_the_hash_is_refused(tmp_path):
    with pytest.raises(StorageError, match="marks a file's hash; rename"):
        storage.save(tmp_path / "x", "k", 1, ARRAYS, {"column": (digest.MARK + b"f" * 32).decode()})
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_read_is_told_apart_from_damage(tmp_path):
    with pytest.raises(StorageError, match="cannot be read"):
        storage.load(tmp_path, "k")


KILLED = """
import sys, time
from timeloom.storage.replacing import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    time.sleep(600)
"""


def test_what_a_killed_save_left_is_cleared_by_the_next_and_living_ones_are_left_alone(tmp_path):
    path, other = tmp_path / "index.arrow", tmp_path / "other.arrow"
    savers = [
        subprocess.Popen([sys.executable, "-c", KILLED, str(p)], stdout=subprocess.PIPE) for p in (path, path, other)
    ]
    for saver in savers:
        assert saver.stdout.readline() == b"writing\n"
    assert len(list(tmp_path.glob("*.part"))) == 3
    for saver in (savers[0], savers[2]):
        os.kill(saver.pid, signal.SIGKILL)
        saver.wait()
    storage.save(path, "k", 1, ARRAYS, {})
    assert len(list(tmp_path.glob("index.arrow.*.part"))) == 1, "the one that is still being written"
    assert len(list(tmp_path.glob("other.arrow.*.part"))) == 1, "of another name"
    savers[1].kill()
    savers[1].wait()
    for saver in savers:
        saver.stdout.close()
    storage.save(path, "k", 1, ARRAYS, {})
    storage.save(other, "k", 1, ARRAYS, {})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["index.arrow", "other.arrow"]


def test_saves_of_one_name_in_threads_all_end_well(tmp_path):
    path, faults = tmp_path / "index.arrow", []

    def save(number):
        try:
            for _ in range(5):
                storage.save(path, "k", 1, {"a": np.full(100, number)}, {})
                assert len(set(storage.load(path, "k")[0]["a"].tolist())) == 1
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=save, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert [p.name for p in tmp_path.iterdir()] == ["index.arrow"]


def test_links_are_written_through_and_permissions_stay(tmp_path):
    path, link = tmp_path / "real.arrow", tmp_path / "link.arrow"
    storage.save(path, "k", 1, {"a": np.array([1])}, {})
    path.chmod(0o640)
    link.symlink_to(path)
    storage.save(link, "k", 1, {"a": np.array([2])}, {})
    assert link.is_symlink()
    assert storage.load(path, "k")[0]["a"].tolist() == [2]
    assert path.stat().st_mode & 0o777 == 0o640
