"""A forest for each key, against brute force and the ordinary join by keys."""

import pickle
import threading

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from rows import table
from timeloom.engines.indexes import keyed

rows = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 12), st.integers(1, 5)), max_size=14)


def keyed_rows(drawn, number):
    periods = [(start, start + length) for _, start, length in drawn]
    return table(periods, [key for key, _, _ in drawn], number)


def listed(result):
    return sorted(map(str, result.to_pylist()))


@settings(max_examples=60, deadline=None)
@given(events=rows, few=rows, how=st.sampled_from(["inner", "left", "right", "full", "semi", "anti"]))
def test_joins_by_key_equal_those_of_tables(events, few, how):
    forest, plain = tl.KeyedForest.build(keyed_rows(events, "j"), by="key"), keyed_rows(events, "j")
    for relation in ("intersects", "meets", "during"):
        ours = tl.join(keyed_rows(few, "i"), forest, relation, on="key", how=how)
        theirs = tl.join(keyed_rows(few, "i"), plain, relation, on="key", how=how).select(ours.column_names)
        assert listed(ours) == listed(theirs)
    for key in "abcd":
        for t in (0, 5, 9):
            active = [i for i, (k, start, length) in enumerate(events) if k == key and start <= t < start + length]
            assert sorted(forest.stab(key, t).tolist()) == active
            assert forest.count(key, t) == len(active)


def test_joins_by_key_go_through_the_index(monkeypatch):
    asked = []

    def through_index(left, right, request):
        asked.append(right)
        return left

    monkeypatch.setattr(keyed, "through_index", through_index)
    forest = tl.KeyedForest.build(keyed_rows([("a", 1, 3), ("b", 2, 3)], "j"), by="key")
    tl.join(keyed_rows([("b", 1, 9)], "i"), forest, on="key")
    assert asked == [forest["b"]]


def test_keys_come_and_go():
    forest = tl.KeyedForest.build(keyed_rows([("a", 1, 3), ("b", 2, 3)], "j"), by="key", order="start")
    assert forest.append("c", 4, 9, j=7) == 2
    assert forest.append("a", 6, 8, j=8) == 3
    assert ("c" in forest, list(forest), len(forest)) == (True, ["a", "b", "c"], 4)
    assert forest.table()["j"].to_pylist() == [0, 8, 1, 7]
    with pytest.raises(tl.InvalidInputError, match="out of order"):
        forest.append("a", 2, 3, j=9)
    with pytest.raises(tl.UsageError, match="no row of this forest"):
        forest.append("a", 9, 10, what=9)
    with pytest.raises(tl.InvalidInputError, match="key is None"):
        forest.append(None, 9, 10)
    with pytest.raises(tl.UsageError, match="no event of key='z'"):
        forest["z"]
    assert forest.forget(before=5) == 2
    assert (list(forest), forest.stab("a", 7).tolist()) == (["a", "c"], [3])
    copied = pickle.loads(pickle.dumps(forest))
    assert copied.append("d", 1, 2) == 4
    assert tl.stab(copied, at=1)["key"].to_pylist() == ["d"]
    assert "d" not in forest


def test_what_is_no_key_is_refused():
    with pytest.raises(tl.InvalidInputError, match="1 nulls"):
        tl.KeyedForest.build(pa.table({"key": ["a", None], "start": [1, 2], "end": [3, 4]}), by="key")
    with pytest.raises(tl.InvalidInputError, match="is double"):
        tl.KeyedForest.build(pa.table({"key": [1.5], "start": [1], "end": [3]}), by="key")
    with pytest.raises(tl.InvalidInputError, match="no column 'kee'"):
        tl.KeyedForest.build(pa.table({"key": [1], "start": [1], "end": [3]}), by="kee")


def test_readers_beside_a_writer_find_whole_events():
    forest, faults = tl.KeyedForest.build(keyed_rows([], "j"), by="key", order="start"), []

    def read():
        try:
            for _ in range(400):
                found = sorted(forest.stab("a", 10**6).tolist())
                assert found == list(range(0, 2 * len(found), 2))
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    ids = [forest.append("ab"[step % 2], step, None, j=step) for step in range(400)]
    for thread in threads:
        thread.join()
    assert not faults
    assert ids == list(range(400))
    assert sorted(forest.stab("a", 10**6).tolist()) == ids[::2]
