"""The streaming join on Structured Streaming: files in, Parquet out, restarts, late events."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reference.certainty import alone_from, certain_from
from reference.relations import RELATIONS, join_pairs
from timeloom.errors import InvalidInputError, UsageError
from timeloom.operators.stream_join import stream_join

pytestmark = pytest.mark.spark

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
SCHEMA = "key STRING, id LONG, time TIMESTAMP, event STRING"
LEFT = {"a": [(0, 6), (2, 9), (3, 4)], "b": [(1, 5)]}
RIGHT = {"a": [(1, 8), (4, 12), (2, 3)], "b": [(2, 4), (3, 9)]}
END = 40


@pytest.fixture
def session(spark):
    """A session of its own, whose state lies in RocksDB."""
    fresh = spark.newSession()
    fresh.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    fresh.conf.set("spark.sql.shuffle.partitions", "2")
    return fresh


def instant(minute: int) -> datetime:
    return EPOCH + timedelta(minutes=minute)


def minute_of(at: datetime | None) -> int | None:
    return None if at is None else int((at.astimezone(UTC) - EPOCH) / timedelta(minutes=1))


def write(folder: Path, number: int, rows: list[tuple]) -> None:
    """One file of events; the source takes one file per micro-batch, by age."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({"key": key, "id": row, "time": instant(minute).isoformat(), "event": event})
        for key, row, minute, event in rows
    ]
    hidden = folder / f".{number}"
    hidden.write_text("\n".join(lines) + "\n")
    os.utime(hidden, (1_700_000_000 + number,) * 2)
    hidden.rename(folder / f"{number}.json")


def endpoints(table: dict[str, list], first: int, last: int) -> list[tuple]:
    """The events of some minutes; one more row per key at the end lets the watermark pass all others."""
    found = [
        (key, row, minute, event)
        for key, spans in table.items()
        for row, span in enumerate(spans)
        for minute, event in zip(span, ("start", "end"), strict=True)
        if first <= minute <= last
    ]
    return found + [(key, 99, last, "start") for key in table if last == END]


def stream(session, folder: Path):
    return session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder))


def run(frame, out: Path, checkpoint: Path) -> None:
    query = (
        frame.writeStream.format("parquet")
        .option("path", str(out))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def test_keys_and_a_restart(session, tmp_path):
    """Stopped after two micro-batches and started again from the checkpoint: each pair once, at its instant."""
    left, right = tmp_path / "left", tmp_path / "right"
    for first, last, number in ((0, 2, 0), (3, 4, 1)):
        write(left, number, endpoints(LEFT, first, last))
        write(right, number, endpoints(RIGHT, first, last))

    def joined():
        return stream_join(stream(session, left), stream(session, right), "overlaps", on="key")

    run(joined(), tmp_path / "out", tmp_path / "checkpoint")
    write(left, 2, endpoints(LEFT, 5, END))
    write(right, 2, endpoints(RIGHT, 5, END))
    run(joined(), tmp_path / "out", tmp_path / "checkpoint")
    found = [tuple(row) for row in session.read.parquet(str(tmp_path / "out")).collect()]
    expected = [
        (key, i, j, certain_from(RELATIONS["overlaps"], LEFT[key][i], RIGHT[key][j]), None)
        for key in LEFT
        for i, j in join_pairs(LEFT[key], RIGHT[key], RELATIONS["overlaps"])
    ]
    in_minutes = sorted((key, i, j, minute_of(at), reason) for key, i, j, at, reason in found)
    assert in_minutes == sorted(expected)


def test_unmatched_rows_and_late_events_without_keys(session, tmp_path):
    left, right = tmp_path / "left", tmp_path / "right"
    write(left, 0, [("a", 1, 0, "start"), ("a", 2, 1, "start"), ("a", 2, 10, "end")])
    write(right, 0, [("a", 7, 10, "start")])
    write(left, 1, [("a", 1, 20, "end"), ("a", None, 21, "end")])
    write(right, 1, [("a", 7, 25, "end")])
    write(left, 2, [("a", 3, 5, "start"), ("a", 99, END, "start")])
    write(right, 2, [("a", 99, END, "start")])
    frame = stream_join(stream(session, left), stream(session, right), "iseql.start_preceding", how="left")
    assert frame.columns == ["left_id", "right_id", "at", "reason"]
    run(frame, tmp_path / "out", tmp_path / "checkpoint")
    found = session.read.parquet(str(tmp_path / "out")).collect()
    alone = alone_from(RELATIONS["iseql.start_preceding"], (1, 10), [(10, 25)], END)
    assert {(row.left_id, row.right_id, row.reason): minute_of(row.at) for row in found} == {
        (1, 7, None): 10,
        (99, 99, None): END,
        (2, None, None): alone,
        (3, None, "late: its instant was complete"): 5,
        (None, None, "has no time or no id"): None,
    }


def test_what_is_refused_before_it_starts(spark, session, tmp_path):
    (tmp_path / "in").mkdir()
    events = stream(session, tmp_path / "in")
    still = session.createDataFrame([], SCHEMA)
    with pytest.raises(UsageError, match="the right table is no stream"):
        stream_join(events, still)
    with pytest.raises(InvalidInputError, match="expected timestamp"):
        stream_join(events.selectExpr("id", "1 AS time", "event"), events)
    with pytest.raises(UsageError, match="how='full' is unknown"):
        stream_join(events, events, how="full")
    elsewhere = spark.newSession()
    plain = stream(elsewhere, tmp_path / "in")
    with pytest.raises(UsageError, match="keep their state in RocksDB"):
        stream_join(plain, plain)
