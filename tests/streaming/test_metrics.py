"""What is told of a running query: refused events of each side, and how far results are behind."""

from datetime import UTC, datetime, timedelta

from timeloom.streaming import StreamMetrics
from timeloom.streaming.intake import REASONS

LATE = REASONS.index("late: its instant was complete")


def told(batch: int, newest: str | None, watermark: str, *, seconds: int, spent: int = 500, **observed: int) -> dict:
    """What Spark tells of a micro-batch that began so many seconds after midnight."""
    return {
        "batchId": batch,
        "timestamp": f"2026-03-01T00:00:{seconds:02}.000Z",
        "sources": [{"numInputRows": 3}, {"numInputRows": 2}],
        "observedMetrics": {"timeloom": {"results": 1, **observed}},
        "stateOperators": [{"numRowsTotal": 4, "memoryUsedBytes": 2_000_000}],
        "eventTime": {"watermark": f"2026-01-01T{watermark}.000Z"}
        | ({} if newest is None else {"max": f"2026-01-01T{newest}.000Z"}),
        "durationMs": {"addBatch": 1, "triggerExecution": spent},
    }


def test_refused_events_are_told_by_reason_and_by_side():
    metrics = StreamMetrics()
    refused = {f"refused_{LATE}": 2, "refused_6": 1, "refused_of_left": 2, "refused_of_right": 0}
    assert metrics.take(told(0, "08:00:00", "07:00:00", seconds=0, **refused))
    assert metrics.take(told(1, "08:10:00", "07:10:00", seconds=5, refused_of_right=1, refused_1=1))
    assert not metrics.take(told(1, "08:10:00", "07:10:00", seconds=5))
    assert (metrics.refused, metrics.late, metrics.refused_of) == (4, 2, {"left": 2, "right": 1})
    assert "4 refused (2 late, 2 left, 1 right)" in metrics.words()
    assert metrics.facts()["events refused (left)"] == 2
    assert metrics.facts()["events refused"] == 4


def test_each_micro_batch_counts_once():
    """Spark tells of the last hundred micro-batches whenever it is asked, and more than once while it is idle."""
    metrics, batches = StreamMetrics(), []
    for number in range(8):
        batches.append(told(number, f"08:0{number}:00", "07:00:00", seconds=number, refused_of_left=1, refused_1=1))
        assert [metrics.take(batch) for batch in batches] == [False] * number + [True]
    assert (metrics.batches, metrics.events, metrics.results, metrics.refused) == (8, [24, 16], 8, 8)
    assert metrics.refused_of == {"left": 8}
    assert metrics.words().startswith("batch 7, 40 events in, 8 results out, 8 refused")
    idle = told(7, None, "07:00:00", seconds=9) | {"durationMs": {"triggerExecution": 1}, "observedMetrics": {}}
    assert not metrics.take(idle)
    assert metrics.batches == 8


def test_the_lag_is_that_of_results_behind_the_arrival_of_events():
    metrics = StreamMetrics()
    metrics.take(told(0, "08:00:00", "00:00:00", seconds=0))
    metrics.take(told(1, "08:10:00", "07:50:00", seconds=10))
    assert metrics.behind == timedelta(minutes=20)
    assert metrics.lag == timedelta(seconds=10.5)  # 07:50 is behind all that the first micro-batch has brought
    metrics.take(told(2, "08:20:00", "08:00:00", seconds=20))
    assert metrics.lag == timedelta(seconds=20.5)  # events of 08:00 came at the very beginning
    metrics.take(told(3, "08:30:00", "08:10:00", seconds=30, spent=2000))
    assert metrics.lag == timedelta(seconds=22)  # those of 08:10 in the second micro-batch, ten seconds after that
    assert "1,200.0 s behind the newest event, lag 22.0 s" in metrics.words()


def test_the_delay_is_that_of_the_first_result_behind_its_instant():
    metrics = StreamMetrics()
    assert (metrics.delay, metrics.lag, metrics.behind) == (None, None, None)
    left = datetime(2026, 3, 1, 0, 0, 1, tzinfo=UTC)
    metrics.take(told(0, None, "08:00:00", seconds=1, first_at=int(left.timestamp() * 10**6)))
    assert metrics.delay == timedelta(seconds=0.5)
