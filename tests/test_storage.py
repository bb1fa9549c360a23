"""One-file storage: what is saved comes back; whatever is not whole is refused with words that help."""

import numpy as np
import pyarrow as pa
import pytest

from timeloom import storage
from timeloom.errors import StorageError
from timeloom.storage import replacing

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

    monkeypatch.setattr(replacing.os, "replace", fail)
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
