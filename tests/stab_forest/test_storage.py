"""Stab-forests in files: what is saved comes back, grows on, and damage is refused."""

import numpy as np
import pytest

from reference.stabbing import check_shape, read_shape
from timeloom import InvalidInputError, StabForest, StorageError
from timeloom.kernels.stab_forest.layout import FOREVER


def some_forest(order="start"):
    random = np.random.default_rng(11)
    starts = random.integers(0, 200, 300)
    ends = starts + random.integers(1, 40, 300)
    ends[random.random(300) < 0.05] = FOREVER
    return StabForest.build(starts, ends, order=order)


def assert_same(one, other):
    assert len(one) == len(other)
    assert read_shape(one._shared.settled().forest) == read_shape(other._shared.settled().forest)
    for t in range(-1, 245, 5):
        np.testing.assert_array_equal(one.stab(t), other.stab(t))


def test_a_loaded_forest_answers_and_grows_like_the_saved_one(tmp_path):
    forest = some_forest()
    forest.save(tmp_path / "visits.arrow")
    loaded = StabForest.load(tmp_path / "visits.arrow")
    assert_same(forest, loaded)
    open_event = int(np.flatnonzero(forest.events()[1] == FOREVER)[0])
    for each in (forest, loaded):
        each.finish(each.handle(open_event), 300)
        each.append(210, 215)
        each.extend([220, 220], [230, 225])
    check_shape(read_shape(loaded._shared.settled().forest))
    assert_same(forest, loaded)
    assert_same(some_forest(), StabForest.load(tmp_path / "visits.arrow"))


def test_an_empty_forest_and_a_sorted_one_come_back(tmp_path):
    for forest in (StabForest(), StabForest.build([1, 2, 3], [4, 4, 4])):
        forest.save(tmp_path / "f.arrow")
        loaded = StabForest.load(tmp_path / "f.arrow")
        assert_same(forest, loaded)
        assert loaded.append(9, 10) == len(forest)


def test_unsettled_events_and_the_watermark_are_saved(tmp_path):
    forest = StabForest(order="watermark")
    forest.extend([5, 1, 9], [7, 3, FOREVER])
    forest.advance(4)
    forest.save(tmp_path / "f.arrow")
    loaded = StabForest.load(tmp_path / "f.arrow")
    loaded.finish(loaded.handle(2), 12)
    loaded.advance(10)
    assert [part.tolist() for part in loaded.events()] == [[5, 1, 9], [7, 3, 12]]


def test_order_is_saved(tmp_path):
    some_forest("start_end").save(tmp_path / "f.arrow")
    loaded = StabForest.load(tmp_path / "f.arrow")
    with pytest.raises(ValueError, match="order='start'"):
        loaded.append(int(loaded.events()[0].max()), int(loaded.events()[0].max()) + 1)


def test_damaged_truncated_and_foreign_files_are_refused(tmp_path):
    path = tmp_path / "f.arrow"
    some_forest().save(path)
    whole = path.read_bytes()
    for at in (len(whole) // 3, len(whole) // 2):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(StorageError, match="damaged"):
            StabForest.load(path)
    for keep in (0, 10, len(whole) // 2, len(whole) - 8):
        path.write_bytes(whole[:keep])
        with pytest.raises(StorageError, match="damaged"):
            StabForest.load(path)
    with pytest.raises(StorageError, match="does not exist"):
        StabForest.load(tmp_path / "none.arrow")


@pytest.mark.parametrize("order", ["start", "start_end", "watermark"])
@pytest.mark.parametrize("incremental", [False, True])
def test_a_forest_that_has_forgotten_its_last_event_comes_back(order, incremental, tmp_path):
    """Events are appended after the last one ever, not after the last one that is left."""
    path = tmp_path / "forest"
    forest = StabForest(order=order)
    for start, end in ((0, 90), (1, 5), (4, 6)):
        forest.append(start, end)
    if order == "watermark":
        forest.advance(5)
    if incremental:
        forest.save(path, incremental=True)
    assert forest.forget(before=6) == 2
    forest.save(path, incremental=incremental)
    again = StabForest.load(path)
    assert again.stab(6).tolist() == forest.stab(6).tolist() == [0]
    assert again.append(7, 9) == forest.append(7, 9) == 3
    if order != "watermark":
        with pytest.raises(InvalidInputError, match="out of order"):
            StabForest.load(path).append(3, 9)


def test_a_last_start_that_no_event_had_is_refused(tmp_path):
    """Only forgotten events may have started after those that are left."""
    forest = StabForest.build([0, 2], [3, 4])
    forest._shared.arrivals.last_start = 9
    forest.save(tmp_path / "forest")
    with pytest.raises(StorageError, match="the last start is another one"):
        StabForest.load(tmp_path / "forest")
