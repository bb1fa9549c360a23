"""A streaming count that threads ask while one pushes."""

from itertools import count

import numpy as np

from threads.crowd import crowd
from timeloom.streaming import EndpointCount
from timeloom.streaming.intake import Events

ROWS = 50
IDS = np.arange(ROWS)


def stress(seconds: float) -> int:
    """All rows start at even instants and end at odd ones, where their counts are final."""
    counted, steps, totals = EndpointCount(), count(), [0]

    def write() -> None:
        step = next(steps)
        events = Events.endpoints(IDS, np.full(ROWS, step), np.full(ROWS, step % 2 == 0))
        found = counted.push(events, events, until=step)
        assert (found.counts == ROWS).all()
        totals[0] += found.ids.size

    def ask() -> None:
        assert counted.state_size in (0, ROWS)

    calls = crowd(seconds, write, ask)
    assert totals[0] == next(steps) // 2 * ROWS
    return calls


def test_reads_beside_pushes():
    assert stress(0.4) > 0
