"""Counts, aggregates and sessions on Structured Streaming: restarts, late events, strange columns, exact accounting."""

from itertools import product
from pathlib import Path

import pytest
from pyspark.sql import functions as F

import timeloom as tl
from reference.certainty import certain_from
from reference.finality import lineages, sessions
from reference.relations import RELATIONS, join_pairs
from stream_files import END, LEFT, RIGHT, endpoints, minute_of, run_to_files, stream, write
from timeloom.errors import InvalidInputError, UsageError

pytestmark = pytest.mark.spark

LATE = "late: its instant was complete"
BEFORE, AFTER = 3, 12


def write_both(folder: Path) -> int:
    """Two files of each stream, and a third in which a late event, and one without a key, come; how many lines."""
    lines = 0
    for side, table in (("left", LEFT), ("right", RIGHT)):
        parts = [endpoints(table, 0, BEFORE), endpoints(table, BEFORE + 1, AFTER), endpoints(table, AFTER + 1, END)]
        parts[2] += [("a", 50, BEFORE, "start"), ("a", 51, 30, "end")]
        for number, part in enumerate(parts):
            write(folder / side, number, part)
            lines += len(part)
    return lines


def taken(query) -> int:
    return sum(source["numInputRows"] for told in query.recentProgress for source in told["sources"])


def results(session, folder: Path) -> tuple[list, list]:
    rows = session.read.parquet(str(folder)).collect()
    return [row for row in rows if row.reason is None], [row for row in rows if row.reason is not None]


def test_counts_of_a_stream_that_is_stopped_and_started_again(session, tmp_path):
    """Keys, a left column, an aggregate, late events and strays; every event is used, held or refused."""
    lines = write_both(tmp_path)
    whole = tmp_path / "left" / "2.json", tmp_path / "right" / "2.json"
    kept = [file.read_text() for file in whole]
    for file in whole:
        file.unlink()

    def counted():
        left = stream(session, tmp_path / "left").withColumn("twice", F.col("id") * 2)
        right = stream(session, tmp_path / "right")
        options = {"aggregates": {"most": ("id", "max")}, "columns": ["twice"]}
        return tl.stream_count(left, right, "overlaps", on="key", name="n", **options)

    assert counted().columns == ["key", "left_id", "twice", "n", "most", "at", "right_id", "reason"]
    first = run_to_files(counted(), tmp_path / "out", tmp_path / "checkpoint")
    for file, text in zip(whole, kept, strict=True):
        file.write_text(text)
    second = run_to_files(counted(), tmp_path / "out", tmp_path / "checkpoint")
    assert taken(first) + taken(second) == lines
    found, refused = results(session, tmp_path / "out")
    holds, expected = RELATIONS["overlaps"], []
    for key, spans in LEFT.items():
        pairs = join_pairs(spans, RIGHT[key], holds)
        for i, span in enumerate(spans):
            partners = [j for a, j in pairs if a == i]
            expected.append((key, i, 2 * i, len(partners), max(partners, default=None), span[1]))
    assert sorted((r.key, r.left_id, r.twice, r.n, r.most, minute_of(r.at)) for r in found) == sorted(expected)
    assert {(r.left_id, r.right_id, minute_of(r.at), r.reason) for r in refused} == {
        *((left, right, BEFORE, LATE) for left, right in ((50, None), (None, 50))),
        *((left, right, 30, "ends without having started") for left, right in ((51, None), (None, 51))),
    }


@pytest.mark.parametrize("verb", ["aggregate", "coalesce"])
def test_periods_of_a_stream(session, tmp_path, verb):
    write_both(tmp_path)
    frame = stream(session, tmp_path / "left").withColumnRenamed("id", "of `it`")
    roles = {"id": "of `it`"}
    if verb == "aggregate":
        frame = tl.stream_aggregate(frame, {"n": "count", "sum": ("of `it`", "sum")}, by="key", event_columns=roles)
    else:
        frame = tl.stream_coalesce(frame, by="key", max_gap="2 minutes", event_columns=roles)
    run_to_files(frame, tmp_path / "out", tmp_path / "checkpoint")
    found, refused = results(session, tmp_path / "out")
    mine = [(r.key, minute_of(r.start), minute_of(r.end), minute_of(r.at)) for r in found]
    expected = [
        (key, start, end, end if verb == "aggregate" else end + 2)
        for key, spans in LEFT.items()
        for start, end, *_ in (lineages(spans) if verb == "aggregate" else sessions(spans, 2))
    ]
    assert sorted(mine) == sorted(expected)
    assert sorted((r.id, minute_of(r.at), r.reason) for r in refused) == [
        (50, BEFORE, LATE),
        (51, 30, "ends without having started"),
    ]
    if verb == "aggregate":
        sums = {(r.key, minute_of(r.start)): (r.n, r.sum) for r in found}
        assert sums["a", BEFORE] == (3, 0 + 1 + 2)


def test_a_pattern_over_three_streams(session, tmp_path):
    """Left, right and, a third time, left rows; matches at the instants of brute force."""
    write_both(tmp_path)
    frames = {name: stream(session, tmp_path / side) for name, side in (("a", "left"), ("b", "right"), ("c", "left"))}
    relations = [("a", "overlaps", "b"), ("c", "during", "b"), ("a", "contains | overlaps", "c")]
    frame = tl.stream_pattern(frames, relations, on="key", columns=["b_event"])
    assert frame.columns == ["key", "a_id", "b_id", "c_id", "b_event", "at", "reason"]
    run_to_files(frame, tmp_path / "out", tmp_path / "checkpoint")
    found, refused = results(session, tmp_path / "out")
    ways = [(RELATIONS["overlaps"], 0, 1), (RELATIONS["during"], 2, 1)]
    ways.append((lambda r, s: RELATIONS["contains"](r, s) or RELATIONS["overlaps"](r, s), 0, 2))
    expected = [
        (key, *ids, max(certain_from(holds, rows[i], rows[j]) for holds, i, j in ways))
        for key in LEFT
        for ids in product(range(len(LEFT[key])), range(len(RIGHT[key])), range(len(LEFT[key])))
        for rows in [(LEFT[key][ids[0]], RIGHT[key][ids[1]], LEFT[key][ids[2]])]
        if all(holds(rows[i], rows[j]) for holds, i, j in ways)
    ]
    assert expected
    assert sorted((r.key, r.a_id, r.b_id, r.c_id, minute_of(r.at)) for r in found) == sorted(expected)
    assert {r.b_event for r in found} == {"start"}
    assert len(refused) == 6


def test_local_tables_have_the_same_columns(session, tmp_path):
    write_both(tmp_path)
    frame = stream(session, tmp_path / "left")
    table = session.read.schema(frame.schema).json(str(tmp_path / "left")).filter("id < 50").toArrow()
    for run in (
        lambda rows: tl.stream_count(rows, rows, on="key", aggregates={"mean": ("time", "min")}, columns=["event"]),
        lambda rows: tl.stream_aggregate(rows, {"last": ("id", "last"), "n": "count"}, by=["key", "event"]),
        lambda rows: tl.stream_aggregate(rows, {"n": "count", "busy": "covered"}, every="1 hour"),
        lambda rows: tl.stream_coalesce(rows, by="key"),
    ):
        assert run(frame).columns == run(table).column_names


def test_what_cannot_be_is_refused(session, tmp_path):
    write_both(tmp_path)
    frame = stream(session, tmp_path / "left")
    with pytest.raises(UsageError, match="arrives='end'.*nothing would be final"):
        tl.stream_aggregate(frame, {"n": "count"}, arrives="end")
    with pytest.raises(UsageError, match="is no stream"):
        tl.stream_coalesce(session.range(3))
    with pytest.raises(InvalidInputError, match="column 'time' of the input stream is bigint; expected timestamp"):
        tl.stream_coalesce(frame.withColumn("time", F.col("id")))
    with pytest.raises(InvalidInputError, match="has no column 'price'"):
        tl.stream_aggregate(frame, {"n": ("price", "sum")})
    with pytest.raises(InvalidInputError, match="cannot be equal"):
        tl.stream_count(frame, frame.withColumn("key", F.col("id")), on="key")
    with pytest.raises(UsageError, match="different families"):
        tl.stream_count(frame, frame.schema)
    session.conf.set("spark.sql.streaming.stateStore.providerClass", "other")
    with pytest.raises(UsageError, match="keep their state in RocksDB"):
        tl.stream_coalesce(frame)
