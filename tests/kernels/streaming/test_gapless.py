"""The gapless hash map: the paper's example, and behaviour equal to a dict under any history."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timeloom.kernels.streaming.gapless import (
    AFTER,
    BEFORE,
    COUNT,
    HEAD,
    KEY,
    MARK,
    START,
    Cells,
    append,
    empty_maps,
    find,
    remove_element,
    with_room,
)
from tree import worked_examples


def chained(storage: list[int], chains: list[list[int]]) -> Cells:
    """A map laid out by hand; chain b hangs from bucket b."""
    maps = empty_maps(1, len(storage))
    maps[0, COUNT, 0] = len(storage)
    maps[0, KEY] = storage
    maps[0, AFTER] = -1
    for bucket, chain in enumerate(chains):
        holder = -1 - bucket
        for key in chain:
            element = storage.index(key)
            if holder < 0:
                maps[0, HEAD, bucket] = element
            else:
                maps[0, AFTER, holder] = element
            maps[0, BEFORE, element] = holder
            holder = element
    return maps


def chains_of(maps: Cells, which: int = 0) -> list[list[int]]:
    chains = []
    for head in maps[which, HEAD]:
        chain, element = [], head
        while element >= 0:
            chain.append(int(maps[which, KEY, element]))
            element = maps[which, AFTER, element]
        if chain:
            chains.append(chain)
    return chains


def test_example_of_the_paper():
    (case,) = [case for case in worked_examples("sweeping").values() if case["operator"] == "gapless_remove"]
    storage = case["input"]["storage"]
    maps = chained(storage, case["input"]["chains"])
    place = storage.index(case["input"]["remove"])
    remove_element(maps, 0, place)
    expected, tail = case["expected"], int(maps[0, COUNT, 0])
    assert maps[0, KEY, :tail].tolist() == expected["storage"]
    assert maps[0, KEY, tail - 1] == expected["tail_key"]
    assert maps[0, KEY, place] == expected["moved_key"]
    assert chains_of(maps) == expected["chains"]


@pytest.mark.parametrize("stride", [1, 2, 64])
@settings(max_examples=60, deadline=None)
@given(history=st.lists(st.tuples(st.integers(0, 1), st.booleans(), st.integers(0, 12)), max_size=60))
def test_behaves_as_dicts(stride: int, history: list[tuple[int, bool, int]]):
    """Strides of 64 make all keys of a small map collide."""
    maps = empty_maps(2, 2)
    models: list[dict[int, tuple[int, ...]]] = [{}, {}]
    for which, adds, number in history:
        key, model = number * stride, models[which]
        if adds and key not in model:
            model[key] = (number, number + 1, -number, number % 3)
            maps = with_room(maps, 1)
            append(maps, which, key, number, number + 1, -number)
            maps[which, MARK, find(maps, which, key)] = number % 3
        elif not adds and model.pop(key, None) is not None:
            remove_element(maps, which, find(maps, which, key))
        assert (find(maps, which, key) >= 0) == (key in model)
        tail = int(maps[which, COUNT, 0])
        keys = maps[which, KEY, :tail].tolist()
        stored = zip(*(maps[which, row, :tail].tolist() for row in range(START, MARK + 1)), strict=True)
        assert dict(zip(keys, stored, strict=True)) == model
        assert tail == len(model)
        assert sorted(key for chain in chains_of(maps, which) for key in chain) == sorted(model)
    assert maps[:, COUNT, 0].tolist() == [len(model) for model in models]
