"""A live index that threads ask while one pushes: all rows of an instant are active, or none is."""

from itertools import count

import pyarrow as pa

from threads.crowd import crowd
from timeloom.errors import UsageError
from timeloom.streaming import LiveForest

ROWS = 20


def stress(seconds: float) -> int:
    """All rows start at even instants and end at odd ones."""
    live, steps = LiveForest(), count()

    def write() -> None:
        step = next(steps)
        ids = [f"row {row}" for row in range(ROWS)]
        table = pa.table({"id": ids, "time": [step] * ROWS, "event": [step % 2 == 0] * ROWS})
        assert live.push(table, until=step) == 0

    def ask() -> None:
        try:
            assert live.count() in (0, ROWS)
            assert len(live.active()) in (0, ROWS)
            assert live.count(at=0) == ROWS
        except UsageError as fault:
            assert "no instant is complete yet" in str(fault)  # noqa: PT017

    return crowd(seconds, write, ask)


def test_reads_beside_pushes():
    assert stress(0.4) > 0
