"""Stored states: what is damaged is refused, and what is forged never crashes, hangs or reads elsewhere."""

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from streaming.forging import JOINS, begun, damaged, make
from timeloom.errors import StorageError
from timeloom.streaming.names import Names
from timeloom.streaming.storage import seal, unseal


@pytest.mark.parametrize("kind", JOINS)
def test_every_damage_is_found(kind):
    rng = random.Random(repr(kind))
    join = begun(rng, kind)
    stored = seal(join.snapshot(), join.query, "names")
    assert all(np.array_equal(*pair) for pair in zip(unseal(stored, join.query, "names"), join.snapshot(), strict=True))
    for _ in range(300):
        changed = damaged(rng, stored)
        if changed != stored:
            with pytest.raises(StorageError, match="damaged"):
                unseal(changed, join.query, "names")
    with pytest.raises(StorageError, match="damaged"):
        unseal(stored, join.query, "other names")


def test_another_query_is_refused():
    first, second = make(JOINS[0]), make(JOINS[1])
    with pytest.raises(StorageError, match="another query"):
        unseal(seal(first.snapshot(), first.query), second.query)


def test_forged_states_end_well():
    """In a process of its own: a crash would be one of the process, and a hang one that its time limit ends."""
    program = Path(__file__).with_name("forging.py")
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(program), "7", "200"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    refused, went_on = map(int, done.stdout.split())
    assert (refused + went_on, min(refused, went_on) > 0) == (200, True)


@pytest.mark.parametrize(
    "dumped",
    [
        None,
        [1],
        [1, {}],
        ["1", []],
        [1, [[1, "a"], [1, "b"]]],
        [2, [[1, "a"], [2, "a"]]],
        [1, [[2, "a"]]],
        [1, [["1", "a"]]],
        [1, [[1, ["a"]]]],
        [True, []],
        [0, []],
    ],
)
def test_forged_ids_are_refused(dumped):
    names = Names("left")
    names.type = pa.string()
    with pytest.raises(StorageError, match="malformed"):
        names.load(dumped, np.array([1]))
