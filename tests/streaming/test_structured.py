"""The streaming join on Structured Streaming: files in, Parquet out, restarts, late events, refused ones, state."""

import time
from datetime import datetime
from itertools import pairwise

import pytest
from pyspark.sql import functions as F
from pyspark.sql import types as T

from reference.certainty import alone_from, certain_from
from reference.relations import RELATIONS, anti_rows, join_pairs, semi_rows
from stream_files import (
    END,
    LEFT,
    RIGHT,
    SCHEMA,
    certain_pairs,
    endpoints,
    found_in,
    instant,
    minute_of,
    run_to_files,
    stream,
    write,
    write_lines,
)
from timeloom.errors import InvalidInputError, UsageError
from timeloom.operators.stream_join import stream_join

pytestmark = pytest.mark.spark


def test_keys_and_a_restart(session, tmp_path):
    """Stopped after two micro-batches and started again from the checkpoint: each pair once, at its instant."""
    left, right = tmp_path / "left", tmp_path / "right"
    for first, last, number in ((0, 2, 0), (3, 4, 1)):
        write(left, number, endpoints(LEFT, first, last))
        write(right, number, endpoints(RIGHT, first, last))

    def joined():
        return stream_join(stream(session, left), stream(session, right), "overlaps", on="key")

    run_to_files(joined(), tmp_path / "out", tmp_path / "checkpoint")
    write(left, 2, [*endpoints(LEFT, 5, END), (None, 77, 5, "start")])
    write(right, 2, endpoints(RIGHT, 5, END))
    run_to_files(joined(), tmp_path / "out", tmp_path / "checkpoint")
    found = found_in(session, tmp_path / "out")
    assert [row for row in found if row[4] is None] == certain_pairs("overlaps")
    assert [row for row in found if row[4] is not None] == [(None, 77, None, 5, "has no key")]


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
    run_to_files(frame, tmp_path / "out", tmp_path / "checkpoint")
    found = session.read.parquet(str(tmp_path / "out")).collect()
    alone = alone_from(RELATIONS["iseql.start_preceding"], (1, 10), [(10, 25)], END)
    assert {(row.left_id, row.right_id, row.reason): minute_of(row.at) for row in found} == {
        (1, 7, None): 10,
        (99, 99, None): END,
        (2, None, None): alone,
        (3, None, "late: its instant was complete"): 5,
        (None, None, "has no time or no id"): None,
    }


@pytest.mark.parametrize("how", ["semi", "anti", "full"])
def test_single_rows(session, tmp_path, how):
    left, right = tmp_path / "left", tmp_path / "right"
    write(left, 0, endpoints(LEFT, 0, END))
    write(right, 0, endpoints(RIGHT, 0, END))
    frame = stream_join(stream(session, left), stream(session, right), "contains", on="key", how=how)
    run_to_files(frame, tmp_path / "out", tmp_path / "checkpoint")
    holds, expected = RELATIONS["contains"], []
    for key, spans in LEFT.items():
        pairs = join_pairs(spans, RIGHT[key], holds)
        if how == "full":
            expected += [(key, i, j, certain_from(holds, spans[i], RIGHT[key][j]), None) for i, j in pairs]
            # the right row by which the stream ends starts with the left one, so that none contains it
            expected.append((key, None, 99, END, None))
            for j in anti_rows([pair[::-1] for pair in pairs], len(RIGHT[key])):
                at = alone_from(lambda s, r: holds(r, s), RIGHT[key][j], spans, END)
                expected.append((key, None, j, at, None))
        for i in semi_rows(pairs) if how == "semi" else anti_rows(pairs, len(spans)):
            if how == "semi":
                at = min(certain_from(holds, spans[i], RIGHT[key][j]) for a, j in pairs if a == i)
            else:
                at = alone_from(holds, spans[i], RIGHT[key], END)
            expected.append((key, i, None, at, None))
    assert found_in(session, tmp_path / "out") == sorted(expected, key=repr)


def test_refused_events_have_reasons(session, tmp_path):
    """A start given twice, an end without a start, an unknown kind of event; a row that never ends takes part."""
    left, right = tmp_path / "left", tmp_path / "right"
    write(left, 0, [("a", 1, 0, "start"), ("a", 1, 2, "start"), ("a", 5, 3, "end"), ("a", 6, 4, "middle")])
    spans = [(7, 1, 8), (8, 9, 6), (9, 10, None), (99, END, None)]
    lines = [
        {"id": row, "start": instant(start).isoformat(), "end": end and instant(end).isoformat()}
        for row, start, end in spans
    ]
    write_lines(right, 0, lines)
    write(left, 1, [("a", 99, END, "start")])
    rows = stream(session, right, "id LONG, start TIMESTAMP, end TIMESTAMP")
    frame = stream_join(stream(session, left), rows, "intersects", right_arrives="start")
    run_to_files(frame, tmp_path / "out", tmp_path / "checkpoint")
    found = found_in(session, tmp_path / "out")
    pairs = [row for row in found if row[3] is None and row[2] < END]
    assert pairs == [(1, 7, 1, None), (1, 9, 10, None)]
    assert {row for row in found if row[3] is not None} == {
        (1, None, 2, "a row with this id is open already"),
        (5, None, 3, "ends without having started"),
        (6, None, 4, "is neither a start nor an end"),
        (None, 8, 9, "ends before it starts"),
    }


def test_timestamps_without_zone_keep_hours_that_the_session_does_not_have(session, tmp_path):
    """02:30 does not exist in New York, the session's zone, on the day that summer time begins."""
    left, right = tmp_path / "left", tmp_path / "right"
    schema = "id LONG, time TIMESTAMP_NTZ, event STRING"
    day = "2024-03-10T"
    write_lines(left, 0, [{"id": 1, "time": day + "01:00:00", "event": "start"}])
    write_lines(right, 0, [{"id": 2, "time": day + "02:30:00.000001", "event": "start"}])
    for folder in (left, right):
        write_lines(folder, 1, [{"id": 99, "time": day + "05:00:00", "event": "start"}])
    frame = stream_join(stream(session, left, schema), stream(session, right, schema), "iseql.start_preceding")
    assert isinstance(frame.schema["at"].dataType, T.TimestampNTZType)
    run_to_files(frame, tmp_path / "out", tmp_path / "checkpoint")
    rows = [tuple(row[:3]) for row in session.read.parquet(str(tmp_path / "out")).where("left_id = 1").collect()]
    assert rows == [(1, 2, datetime(2024, 3, 10, 2, 30, 0, 1)), (1, 99, datetime(2024, 3, 10, 5))]


def test_the_clockwork_into_memory(session):
    """Each side's rows follow each other without a gap, so the pairs are the steps of one staircase."""
    sides = [
        session.readStream.format("rate")
        .option("rowsPerSecond", speed)
        .option("numPartitions", 1)
        .load()
        .select(
            F.col("value").alias("id"),
            F.col("timestamp").alias("start"),
            (F.col("timestamp") + F.expr(f"INTERVAL {1000 // speed} MILLISECONDS")).alias("end"),
        )
        for speed in (4, 5)
    ]
    frame = stream_join(*sides, "intersects", left_arrives="start", right_arrives="start")
    query = frame.writeStream.format("memory").queryName("clockwork").start()
    deadline = time.monotonic() + 60
    while session.table("clockwork").count() < 8 and query.isActive and time.monotonic() < deadline:
        time.sleep(0.2)
    query.stop()
    rows = session.table("clockwork").collect()
    assert len(rows) >= 8
    assert not any(row.reason for row in rows)
    pairs = sorted((row.left_id, row.right_id) for row in rows)
    assert len(set(pairs)) == len(pairs)
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(pairs)]
    assert set(steps) <= {(0, 1), (1, 0), (1, 1)}


def test_state_is_evicted(session, tmp_path):
    """Keys that come and go: the rows of state do not grow with time."""
    left, right = tmp_path / "left", tmp_path / "right"
    for number in range(6):
        begin = number * 10
        for folder, shift in ((left, 0), (right, 1)):
            rows = [(f"k{number}-{key}", key, begin + shift, "start") for key in range(4)]
            write(folder, number, rows + [(key, row, minute + 4, "end") for key, row, minute, _ in rows])
    frame = stream_join(stream(session, left), stream(session, right), "overlaps", on="key", how="left")
    query = run_to_files(frame, tmp_path / "out", tmp_path / "checkpoint")
    sizes = [told["stateOperators"][0]["numRowsTotal"] for told in query.recentProgress if told["numInputRows"]]
    assert len(sizes) == 6
    assert 0 < max(sizes[3:]) <= max(sizes[:3])
    assert len(found_in(session, tmp_path / "out")) >= 5 * 4


def test_what_is_refused_before_it_starts(spark, session, tmp_path):
    (tmp_path / "in").mkdir()
    events = stream(session, tmp_path / "in")
    still = session.createDataFrame([], SCHEMA)
    with pytest.raises(UsageError, match="the right table is no stream"):
        stream_join(events, still)
    with pytest.raises(InvalidInputError, match="expected timestamp"):
        stream_join(events.selectExpr("id", "1 AS time", "event"), events)
    with pytest.raises(InvalidInputError, match="do not share a time axis"):
        stream_join(events.selectExpr("id", "CAST(time AS TIMESTAMP_NTZ) AS time", "event"), events)
    with pytest.raises(UsageError, match="how='sideways' is unknown"):
        stream_join(events, events, how="sideways")
    elsewhere = spark.newSession()
    plain = stream(elsewhere, tmp_path / "in")
    with pytest.raises(UsageError, match="keep their state in RocksDB"):
        stream_join(plain, plain)
