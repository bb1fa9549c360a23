"""Windows over a stream of versions: every step once, as a query over the whole history has it."""

import os
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import timeloom as tl
from reference.bitemporal import MEANINGS, slide_query
from stream_files import run_to_files
from timeloom.streaming.final.windows import StreamWindows

TIMES = st.integers(0, 9)
VERSIONS = st.lists(st.tuples(TIMES, st.integers(1, 5), TIMES, st.integers(1, 6), st.integers(1, 4)), max_size=8)
SCHEMA = pa.schema(
    [("id", pa.int64()), ("time", pa.int64()), ("event", pa.string())]
    + [(name, pa.int64()) for name in ("app_start", "app_end", "v")]
)


def history(drawn):
    return [(a, a + n, s, None if life == 6 else s + life, v) for a, n, s, life, v in drawn]


def events(rows):
    found = []
    for number, (app_start, app_end, begin, end, v) in enumerate(rows):
        found.append((begin, 1, {"app_start": app_start, "app_end": app_end, "v": v, "event": "start", "id": number}))
        if end is not None:
            found.append((end, 0, {"event": "end", "id": number}))
    found.sort(key=lambda one: one[:2])
    return [{"time": time} | rest for time, _, rest in found]


@given(
    VERSIONS,
    st.tuples(st.integers(-2, 4), st.integers(0, 3), st.integers(1, 2)),
    st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(-1, 2)),
    st.sampled_from([(1, 0), (1, 1), (2, 1), (1, 2)]),
    st.sampled_from(MEANINGS),
    st.lists(st.integers(0, 20), max_size=3),
)
@settings(max_examples=80, deadline=None)
def test_steps_are_those_of_the_whole_history(drawn, sys, app, ratio, meaning, cuts):
    rows = history(drawn)
    listed = events(rows)
    select = {"n": "count", "s": ("v", "sum"), "most": ("v", "max")}
    stream = StreamWindows(tl.Slide(*sys), tl.Slide(*app), ratio=ratio, meaning=meaning, select=select)
    found, edges = [], [0, *sorted(min(cut, len(listed)) for cut in cuts), len(listed)]
    for begin, end in pairwise(edges):
        found += stream.push(pa.Table.from_pylist(listed[begin:end], SCHEMA)).to_pylist()
        if end:
            assert all(row["sys_last"] < listed[end - 1]["time"] for row in found)
    found += stream.close().to_pylist()
    assert stream.take_rejected().num_rows == 0
    expected = slide_query([row[:4] for row in rows], (*sys, sys[2]), (*app, app[2]), ratio, len(found) + 3, meaning)
    assert [row["step"] for row in found] == list(range(len(found)))
    if listed:
        latest = listed[-1]["time"]
        assert all(row["sys_last"] <= latest for row in found)
        assert found or sys[0] + sys[1] > latest
    for row, (_, _, valid) in zip(found, expected, strict=False):
        values = [rows[one][4] for one in valid]
        assert (row["n"], row["s"], row["most"]) == (
            len(values),
            sum(values) if values else None,
            max(values, default=None),
        )
        assert row["at"] == row["sys_last"]


def test_misuse_and_late_events_are_told():
    slides = tl.Slide(0, 0, 1), tl.Slide(0, 0, 0)
    for options, words in (
        ({"ratio": (0, 1)}, "keeps system time still"),
        ({"select": {"x": ("v", "first")}}, "have no order"),
        ({"arrives": "end"}, "reach back"),
    ):
        with pytest.raises(tl.UsageError, match=words):
            StreamWindows(*slides, **options)
    stream = StreamWindows(*slides, ratio=(1, 0))
    stream.push(pa.Table.from_pylist(events([(0, 9, 5, None, 1)]), SCHEMA))
    stream.push(pa.Table.from_pylist(events([(0, 9, 1, None, 1)]), SCHEMA))
    assert stream.take_rejected()["reason"].to_pylist() == ["late: its instant was complete"]
    with pytest.raises(tl.UsageError, match="does not move forward"):
        StreamWindows(tl.Slide(0, 0, -1), slides[1]).push(pa.Table.from_pylist(events([(0, 9, 5, None, 1)]), SCHEMA))


def test_a_stream_is_saved_and_goes_on(tmp_path):
    listed = events([(0, 9, 1, 4, 1), (2, 5, 2, None, 3)])
    slides = tl.Slide(0, 1, 1), tl.Slide(3, 0, 0)
    whole = tl.stream_windows(pa.Table.from_pylist(listed, SCHEMA), *slides, ratio=(1, 0))
    stream = StreamWindows(*slides, ratio=(1, 0))
    found = stream.push(pa.Table.from_pylist(listed[:2], SCHEMA)).to_pylist()
    stream.save(tmp_path / "state")
    again = StreamWindows(*slides, ratio=(1, 0))
    again.resume(tmp_path / "state")
    found += again.push(pa.Table.from_pylist(listed[2:], SCHEMA)).to_pylist() + again.close().to_pylist()
    assert [row["n"] for row in found] == whole["n"].to_pylist()


BEGIN = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.mark.spark
def test_structured_streaming_gives_the_steps_of_a_table(session, tmp_path):
    listed = events([(0, 9, 1, 4, 1), (2, 5, 2, None, 3), (1, 4, 3, 9, 5), (0, 2, 6, None, 7)])
    folder = Path(tmp_path, "in")
    folder.mkdir()
    for number, part in enumerate((listed[:3], listed[3:])):
        rows = [row | {"time": BEGIN + timedelta(minutes=row["time"])} for row in part]
        schema = SCHEMA.set(1, pa.field("time", pa.timestamp("us", "UTC")))
        parquet.write_table(pa.Table.from_pylist(rows, schema), folder / f"{number}.parquet")
        os.utime(folder / f"{number}.parquet", (1_700_000_000 + number,) * 2)  # the source takes the oldest file first
    minute = timedelta(minutes=1)
    slides = tl.Slide(BEGIN, 2 * minute, minute), tl.Slide(3, 0, 0)
    options = {"ratio": (1, 0), "select": {"n": "count", "s": ("v", "sum")}}
    schema = "id LONG, time TIMESTAMP, event STRING, app_start LONG, app_end LONG, v LONG"
    stream = session.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    run_to_files(tl.stream_windows(stream, *slides, **options), tmp_path / "out", tmp_path / "checkpoint")
    found = sorted(session.read.parquet(str(tmp_path / "out")).collect(), key=lambda row: row.step)
    expected = tl.stream_windows(pa.Table.from_pylist(listed, SCHEMA), tl.Slide(0, 2, 1), tl.Slide(3, 0, 0), **options)
    wanted = [(row["step"], row["n"], row["s"]) for row in expected.to_pylist()]
    assert len(found) >= 5
    assert [(row.step, row.n, row.s) for row in found] == wanted[: len(found)]
