"""The gapless hash map: the paper's example, and behaviour equal to a dict under any history."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timeloom.kernels.gapless import GaplessMap, append, empty_map, find, remove, remove_element, with_room

GOLDEN = Path(__file__).parent.parent / "golden" / "sweeping.json"


def chained(storage: list[int], chains: list[list[int]]) -> GaplessMap:
    """A map laid out by hand; chain b hangs from bucket b."""
    size = len(storage)
    column = lambda values: np.array(values, np.int32)  # noqa: E731
    after, before, heads = [-1] * size, [0] * size, [-1] * size
    for bucket, chain in enumerate(chains):
        holder = -1 - bucket
        for key in chain:
            element = storage.index(key)
            if holder < 0:
                heads[bucket] = element
            else:
                after[holder] = element
            before[element] = holder
            holder = element
    numbers = np.zeros(size, np.int64)
    return GaplessMap(
        np.array(storage),
        numbers,
        numbers.copy(),
        numbers.copy(),
        np.zeros(size, np.int8),
        column(after),
        column(before),
        column(heads),
        np.array([size]),
    )


def chains_of(active: GaplessMap) -> list[list[int]]:
    chains = []
    for head in active.heads:
        chain, element = [], head
        while element >= 0:
            chain.append(int(active.keys[element]))
            element = active.after[element]
        if chain:
            chains.append(chain)
    return chains


def test_example_of_the_paper():
    (case,) = [case for case in json.loads(GOLDEN.read_text()) if case["operator"] == "gapless_remove"]
    active = chained(case["input"]["storage"], case["input"]["chains"])
    remove_element(active, case["input"]["storage"].index(case["input"]["remove"]))
    expected = case["expected"]
    tail = int(active.tail[0])
    assert active.keys[:tail].tolist() == expected["storage"]
    assert active.keys[tail - 1] == expected["tail_key"]
    assert active.keys[case["input"]["storage"].index(case["input"]["remove"])] == expected["moved_key"]
    assert chains_of(active) == expected["chains"]


@pytest.mark.parametrize("stride", [1, 2, 64])
@settings(max_examples=60, deadline=None)
@given(history=st.lists(st.tuples(st.booleans(), st.integers(0, 12)), max_size=60))
def test_behaves_as_a_dict(stride: int, history: list[tuple[bool, int]]):
    """Strides of 64 make all keys of a small map collide."""
    active, model = empty_map(2), {}
    for adds, number in history:
        key = number * stride
        if adds and key not in model:
            model[key] = (number, number + 1, -number, number % 3)
            active = with_room(active, 1)
            append(active, key, number, number + 1, -number)
            active.marks[find(active, key)] = number % 3
        elif not adds:
            assert remove(active, key) == (model.pop(key, None) is not None)
        assert (find(active, key) >= 0) == (key in model)
        tail = int(active.tail[0])
        stored = zip(
            active.starts[:tail].tolist(),
            active.ends[:tail].tolist(),
            active.names[:tail].tolist(),
            active.marks[:tail].tolist(),
            strict=True,
        )
        assert dict(zip(active.keys[:tail].tolist(), stored, strict=True)) == model
        assert tail == len(model)
        assert sorted(key for chain in chains_of(active) for key in chain) == sorted(model)
