"""Stored states of streaming joins that are damaged or forged, and what becomes of them."""

import random
import sys

import numpy as np

from timeloom.errors import StorageError
from timeloom.model.names import relation
from timeloom.streaming.intake import Events
from timeloom.streaming.operator import EndpointJoin
from timeloom.streaming.storage import seal, unseal

JOINS = (
    ("intersects", "inner", "events", "events"),
    ("iseql.start_preceding", "left", "events", "events"),
    ("during | after", "anti", "start", "events"),
    ("overlaps | meets", "semi", "events", "end"),
    ("equals", "left", "events", "events"),
    ("iseql.before", "inner", "start", "start"),
    ("during | equals", "full", "events", "events"),
)
ODD = (-(2**63), -(2**62), -2, -1, 0, 1, 2, 3, 63, 64, 2**31, 2**62, 2**63 - 2, 2**63 - 1)


def events(rng: random.Random, arrival: str, first: int, last: int, size: int = 12) -> Events:
    times = np.sort(np.array([rng.randrange(first, last) for _ in range(size)], np.int64))
    ids = np.array([rng.randrange(8) for _ in range(size)], np.int64)
    if arrival == "events":
        return Events.endpoints(ids, times, np.array([rng.random() < 0.6 for _ in range(size)], np.bool_))
    ends = times + np.array([rng.randrange(1, 9) for _ in range(size)], np.int64)
    return Events.rows(ids, times, ends)


def make(kind: tuple[str, str, str, str]) -> EndpointJoin:
    name, how, left, right = kind
    limits = {"delta": 5} if name.startswith("iseql") else {}
    return EndpointJoin(relation(name, **limits), how=how, left=left, right=right)


def begun(rng: random.Random, kind: tuple[str, str, str, str]) -> EndpointJoin:
    """A join in the middle of its work."""
    join = make(kind)
    join.push(events(rng, kind[2], 0, 30), events(rng, kind[3], 0, 30), until=20)
    return join


def go_on(rng: random.Random, join: EndpointJoin, kind: tuple[str, str, str, str]) -> None:
    """Whatever the state says, the join comes to an end."""
    join.push(events(rng, kind[2], 10, 60), events(rng, kind[3], 10, 60), until=40)
    assert join.state_size >= 0
    join.used_ids(0)
    join.snapshot()
    join.close()


def damaged(rng: random.Random, stored: bytes) -> bytes:
    """Flip a bit or several, swap words, cut off, put in, repeat or blank a part."""
    content = bytearray(stored)
    way, words = rng.randrange(6), len(stored) // 8
    if way == 0:
        for _ in range(rng.randrange(1, 4)):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    elif way == 1:
        one, other = (8 * rng.randrange(words) for _ in range(2))
        content[one : one + 8], content[other : other + 8] = content[other : other + 8], content[one : one + 8]
    elif way == 2:
        del content[rng.randrange(len(content)) :]
    elif way == 3:
        at = rng.randrange(len(content))
        content[at:at] = bytes(rng.randrange(1, 17))
    elif way == 4:
        content += content[-8 * rng.randrange(1, 9) :]
    else:
        at = 8 * rng.randrange(words)
        content[at : at + 64] = bytes(len(content[at : at + 64]))
    return bytes(content)


def forged(rng: random.Random, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The same arrays with numbers that nobody wrote, with another shape, or in another order."""
    arrays = [array.copy() for array in arrays]
    for _ in range(rng.randrange(1, 4)):
        at, way = rng.randrange(len(arrays)), rng.randrange(8)
        array = arrays[at]
        if way < 5 and array.size:
            number = rng.choice(ODD) if way < 4 else int(array.flat[rng.randrange(array.size)]) + rng.choice((-1, 1))
            array.flat[rng.randrange(array.size)] = np.int64(max(-(2**63), min(2**63 - 1, number)))
        elif way == 5:
            arrays[at] = np.concatenate([array, array], axis=array.ndim - 1)
        elif way == 6:
            other = rng.randrange(len(arrays))
            arrays[at], arrays[other] = arrays[other], arrays[at]
        else:
            arrays[at] = array.reshape(-1) if rng.random() < 0.5 else array[:-1]
    return arrays


def campaign(seed: int, rounds: int) -> tuple[int, int]:
    """Forge states with a right hash: each is refused, or goes on to an end. Answers how many were which."""
    rng, refused, went_on = random.Random(seed), 0, 0
    for _ in range(rounds):
        kind = rng.choice(JOINS)
        join = begun(rng, kind)
        stored = seal(forged(rng, join.snapshot()), join.query)
        fresh = make(kind)
        try:
            fresh.restore(unseal(stored, fresh.query))
        except StorageError:
            refused += 1
            continue
        go_on(rng, fresh, kind)
        went_on += 1
    return refused, went_on


if __name__ == "__main__":
    print(*campaign(int(sys.argv[1]), int(sys.argv[2])))
