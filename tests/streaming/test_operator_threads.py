"""A streaming join on arrays, and one with keys, that threads ask while one pushes."""

from functools import partial
from itertools import count

import numpy as np

from threads.crowd import crowd
from timeloom.model.names import relation
from timeloom.streaming.intake import Events
from timeloom.streaming.keyed import KeyedJoin
from timeloom.streaming.operator import EndpointJoin

ROWS = 50
IDS = np.arange(ROWS)


def batch(step: int) -> Events:
    return Events.endpoints(IDS, np.full(ROWS, step), np.full(ROWS, step % 2 == 0))


def stress(seconds: float) -> int:
    """All rows start at even instants and end at odd ones; a snapshot, too, is that of a whole push."""
    wanted = relation("overlaps | during | contains")
    join, steps = EndpointJoin(wanted, how="left"), count()

    def write() -> None:
        step = next(steps)
        join.push(batch(step), batch(step), until=step)

    def ask() -> None:
        assert join.open_rows in (0, 2 * ROWS)
        assert join.used_ids(0).size % ROWS == 0
        assert join.next_instant > 0
        assert join.state_size <= 2 * ROWS

    def store() -> None:
        copy = EndpointJoin(wanted, how="left")
        copy.restore(join.snapshot())
        assert copy.open_rows in (0, 2 * ROWS)

    return crowd(seconds, write, ask, store) + stress_keys(seconds)


def stress_keys(seconds: float) -> int:
    """The keys in use are those of a whole push."""
    join, steps = KeyedJoin(partial(EndpointJoin, relation("intersects"))), count()
    keys = IDS % 5

    def write() -> None:
        step = next(steps)
        join.push((batch(step), batch(step)), (keys, keys), until=step)

    def ask() -> None:
        assert len(join.keys) in (0, 5)
        assert join.state_size in (0, 2 * ROWS)
        assert join.used_ids(1).size in (0, ROWS)

    return crowd(seconds, write, ask)


def test_reads_beside_pushes():
    assert stress(0.4) > 0
