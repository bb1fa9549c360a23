"""Columns on Structured Streaming: carried through the state, judged by a condition, of every type."""

import pytest
from pyspark.sql import functions as F

from stream_files import END, instant, minute_of, run_to_files, stream, write_lines
from timeloom.errors import InvalidInputError, UsageError
from timeloom.operators.stream_join import stream_join

pytestmark = pytest.mark.spark

SCHEMA = "key STRING, id LONG, time TIMESTAMP, event STRING, price DOUBLE, note STRING"


def line(key, row, minute, event, price=None, note=None):
    time = instant(minute).isoformat()
    return {"key": key, "id": row, "time": time, "event": event, "price": price, "note": note}


def started(left, right, number: int) -> None:
    """Two files of each side: the state is stored between them."""
    files = {
        (left, 0): [line("a", 1, 0, "start", 1.5, "x"), line("a", 2, 1, "start", 9.0), line("b", 1, 1, "start", 2.0)],
        (right, 0): [line("a", 7, 2, "start", 4.0, "y"), line("b", 8, 2, "start", 1.0), line("b", 9, 3, "start", 3.5)],
        (left, 1): [line("a", 1, 5, "end"), line("a", 2, 6, "end", None, "late note"), line("b", 1, 9, "end")],
        (right, 1): [line("a", 7, 12, "end"), line("b", 8, 13, "end"), line("b", 9, 14, "end")],
        (left, 2): [line(key, 99, END, "start") for key in "ab"],
        (right, 2): [line(key, 99, END, "start") for key in "ab"],
    }
    for (folder, at), lines in files.items():
        if at in ((0, 1), (2,))[number]:
            write_lines(folder, at, lines)


@pytest.mark.parametrize(("how", "where"), [("full", "price < price_right"), ("inner", None), ("anti", "key = 'a'")])
def test_columns_survive_a_restart(session, tmp_path, how, where):
    left, right = tmp_path / "left", tmp_path / "right"

    def joined():
        sides = (stream(session, folder, SCHEMA) for folder in (left, right))
        columns = ["price"] if how == "anti" else ["price", "price_right", "note", "start", "overlap_end"]
        return stream_join(
            *sides,
            "overlaps",
            on="key",
            how=how,
            where=where,
            columns=columns,
            overlap=how != "anti",
            suffixes=["", "_right"],
        )

    for number in (0, 1):
        started(left, right, number)
        run_to_files(joined(), tmp_path / "out", tmp_path / "checkpoint")
    rows = session.read.parquet(str(tmp_path / "out")).where("coalesce(left_id, right_id) <> 99").collect()
    if how == "anti":
        assert sorted((row.key, row.left_id, row.price, row.reason) for row in rows) == [("b", 1, 2.0, None)]
        return
    found = {
        (row.key, row.left_id, row.right_id): (
            row.price,
            row.price_right,
            row.note,
            minute_of(row.start),
            minute_of(row.overlap_end),
        )
        for row in rows
    }
    assert not any(row.reason for row in rows)
    pairs = {
        ("a", 1, 7): (1.5, 4.0, "x", 0, 5),
        ("a", 2, 7): (9.0, 4.0, "late note", 1, 6),
        ("b", 1, 8): (2.0, 1.0, None, 1, 9),
        ("b", 1, 9): (2.0, 3.5, None, 1, 9),
    }
    if how == "full":
        alone = {("a", 2, None): (9.0, None, "late note", 1, None), ("b", None, 8): (None, 1.0, None, None, None)}
        pairs = {key: row for key, row in pairs.items() if row[0] < row[1]} | alone
    assert found == pairs


TYPES = {
    "flag": "id = 1",
    "small": "CAST(7 AS TINYINT)",
    "large": "CAST(9007199254740993 AS BIGINT)",
    "exact": "CAST('12345678901234567890.123456' AS DECIMAL(38, 6))",
    "zero": "CAST('-0.0' AS DOUBLE)",
    "nan": "CAST('NaN' AS FLOAT)",
    "bytes": "X'00FF'",
    "day": "DATE '2024-02-29'",
    "moment": "TIMESTAMP '2024-03-10 12:00:00.000001'",
    "clock": "TIMESTAMP_NTZ '2024-03-10 02:30:00.000001'",
    "list": "array(1, NULL, 3)",
    "record": "named_struct('a b', 1.5D, 'when', TIMESTAMP '2024-03-10 12:00:00.000001')",
    "lookup": "map('k', DATE '2024-02-29')",
    "void": "CAST(NULL AS STRING)",
}


def test_values_of_every_type_come_out_as_they_went_in(session, tmp_path):
    folder = tmp_path / "in"
    write_lines(folder, 0, [{"id": 1, "time": instant(0).isoformat(), "event": "start"}])
    write_lines(folder, 1, [{"id": 2, "time": instant(9).isoformat(), "event": "start"}])
    plain = stream(session, folder, "id LONG, time TIMESTAMP, event STRING")
    rich = plain.select("*", *(F.expr(sql).alias(name) for name, sql in TYPES.items()))
    condition = "large > 9007199254740992 AND day = '2024-02-29' AND exact > 1 AND left_id = right_id"
    frame = stream_join(rich, plain, "intersects", where=condition, columns="*")
    assert [field.dataType.simpleString() for field in frame.select(*TYPES).schema] == [
        field.dataType.simpleString() for field in rich.select(*TYPES).schema
    ]
    run_to_files(frame, tmp_path / "out", tmp_path / "checkpoint")
    found = session.read.parquet(str(tmp_path / "out"))
    expected = session.range(1, 2).select(*(F.expr(sql).alias(name) for name, sql in TYPES.items()))
    rows = [frame.where("left_id = 1" if frame is found else "true").select(*TYPES) for frame in (found, expected)]
    assert repr(rows[0].collect()) == repr(rows[1].collect())


def test_what_cannot_be_carried_is_refused(session, tmp_path):
    (tmp_path / "in").mkdir()
    events = stream(session, tmp_path / "in", SCHEMA)
    with pytest.raises(UsageError, match="columns= asks for 'prize', which the result does not have. Did you mean"):
        stream_join(events, events, columns=["prize"])
    with pytest.raises(
        InvalidInputError, match="'span' of the left stream is interval .* which a stream does not carry"
    ):
        stream_join(events.select("*", F.expr("INTERVAL '1' DAY AS span")), events, columns="*")
    with pytest.raises(InvalidInputError, match="where= reads column 'list' of the left stream, which is array<int>"):
        stream_join(events.select("*", F.expr("array(1) AS list")), events, where="list = 1")
    with pytest.raises(UsageError, match="watermark= names 'lefty', which is no side"):
        stream_join(events, events, watermark={"lefty": "1 minute"})


def test_a_stream_that_runs_ahead_does_not_make_the_other_late(session, tmp_path):
    """Each stream has its own watermark; an instant is complete when both have passed it."""
    left, right = tmp_path / "left", tmp_path / "right"
    write_lines(left, 0, [line("a", 1, 0, "start"), line("a", 2, 30, "start")])
    write_lines(right, 0, [line("a", 7, 0, "start")])
    write_lines(left, 1, [line("a", 3, 25, "start"), line("a", 4, 10, "start"), line("a", 99, END, "start")])
    write_lines(right, 1, [line("a", 8, 5, "start"), line("a", 99, END, "start")])
    sides = (stream(session, folder, SCHEMA) for folder in (left, right))
    frame = stream_join(
        *sides, "iseql.start_preceding", on="key", columns=[], watermark={"left": "10 minutes", "right": "0 seconds"}
    )
    run_to_files(frame, tmp_path / "out", tmp_path / "checkpoint")
    rows = session.read.parquet(str(tmp_path / "out")).collect()
    assert not any(row.reason for row in rows)
    assert {(row.left_id, row.right_id, minute_of(row.at)) for row in rows} == {(1, 8, 5), (1, 7, 0)}
