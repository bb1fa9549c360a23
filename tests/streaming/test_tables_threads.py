"""A streaming join on tables that threads ask while one pushes: its rows are those of whole pushes."""

from itertools import count

import pyarrow as pa

from threads.crowd import crowd
from timeloom.streaming import StreamJoin

ROWS = 20


def stress(seconds: float) -> int:
    """Each push starts as many rows on both sides, or ends them: between pushes all are live or none is."""
    join = StreamJoin("intersects", on="key")
    steps, refused, pairs = count(), [0], [0]

    def write() -> None:
        step = next(steps)
        table = pa.table(
            {
                "key": [row % 3 for row in range(ROWS)],
                "id": [f"row {row}" for row in range(ROWS)],
                "time": [step] * ROWS,
                "event": [step % 2 == 0] * ROWS,
            }
        )
        stray = table.slice(0, 1).set_column(1, "id", pa.array([None], pa.string()))
        pairs[0] += join.push(pa.concat_tables([table, stray]), table, until=step).num_rows

    def ask_size() -> None:
        assert join.state_size in (0, 2 * ROWS)

    def take() -> None:
        refused[0] += join.take_rejected().num_rows

    calls = crowd(seconds, write, ask_size)
    take()
    done = next(steps)
    assert refused[0] == done
    assert pairs[0] == (done + 1) // 2 * sum(len(range(key, ROWS, 3)) ** 2 for key in range(3))
    return calls + crowd(seconds / 4, write, ask_size, lambda: join.take_rejected().validate())


def test_reads_beside_pushes():
    assert stress(0.6) > 0
