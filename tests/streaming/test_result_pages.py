"""Memory of results: shared by large ones, and never written to again."""

import pickle

import numpy as np

from timeloom.streaming.result_pages import KEPT, PAGE, SMALL, ResultPages, WorkingMemory


def test_results_lie_one_behind_the_other_and_stay_as_they_are() -> None:
    pages, kept = ResultPages(), []
    for number in range(300):
        room = pages.room(SMALL + number)
        assert room.shape[1] >= SMALL + number
        room[:, :SMALL] = number
        kept.append(pages.written(room, SMALL))
    assert all((result == number).all() and result.shape == (3, SMALL) for number, result in enumerate(kept))
    assert kept[0].base is kept[1].base
    assert kept[0].base is not kept[-1].base


def test_small_results_keep_no_page_and_large_ones_have_their_own_memory() -> None:
    pages = ResultPages()
    for pairs in (0, SMALL - 1, PAGE + 1):
        result = pages.written(pages.room(pairs), pairs)
        assert result.shape == (3, pairs)
        assert result.base is None or result.base.shape == (3, pairs)


def test_room_that_was_exchanged_for_more_is_free_again() -> None:
    pages = ResultPages()
    first = pages.room(SMALL)
    larger = pages.room(PAGE // 2)
    assert np.shares_memory(first, larger)
    larger[:, :2] = 1
    assert pages.written(larger, 2).tolist() == [[1, 1]] * 3
    assert not np.shares_memory(pages.room(SMALL), larger[:, :2])


def test_a_copy_takes_no_page_along() -> None:
    pages = ResultPages()
    pages.room(SMALL)
    assert len(pickle.dumps(pages)) < 1000
    assert pickle.loads(pickle.dumps(pages)).room(3).shape == (3, 3)


def test_working_memory_is_used_again_unless_it_is_much() -> None:
    memory = WorkingMemory()
    some = memory.room("steps", 100, 5)
    assert some.shape == (100, 5)
    assert np.shares_memory(some, memory.room("steps", 20, 4))
    assert not np.shares_memory(some, memory.room("marks", 20, 4))
    assert not np.shares_memory(memory.room("steps", KEPT + 1), memory.room("steps", KEPT + 1))
    assert pickle.loads(pickle.dumps(memory)).room("steps", 0, 3).shape == (0, 3)
