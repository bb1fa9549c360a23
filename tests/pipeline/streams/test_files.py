"""Streams from files: checked whole, started, stopped by signals, killed and taken up again, reported."""

import json
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta

import pytest

from stream_files import END, LEFT, RIGHT, certain_pairs, endpoints, found_in, write
from timeloom.cli import main
from timeloom.errors import UsageError
from timeloom.pipeline.definition.faults import PipelineError
from timeloom.pipeline.definition.secrets import Secrets
from timeloom.pipeline.execution import run_file
from timeloom.pipeline.streams import kafka
from timeloom.pipeline.streams.check import load_file
from timeloom.pipeline.streams.models import Stream
from tree import ROOT

MINUTE = timedelta(minutes=1)
STREAM = """\
name: crossings
stream:
  left: &side
    format: json
    path: left
    schema: {key: string, id: bigint, time: timestamp, event: string}
    options: {maxFilesPerTrigger: 1}
  right: {<<: *side, path: right}
  join: {relation: overlaps, on: key, watermark: 0 seconds}
  sink: {path: out/pairs}
  checkpoint: out/checkpoint
  trigger: available-now
report: out/report
spark: {master: "local[2]", conf: {spark.sql.shuffle.partitions: 2}}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yml").write_text(STREAM)
    return tmp_path


def faults_of(tmp_path, text):
    (tmp_path / "s.yml").write_text(text)
    with pytest.raises(PipelineError) as caught:
        load_file(str(tmp_path / "s.yml"), Secrets({}))
    return [fault.shown("s.yml") for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("stream:\n", "sources: {}\nstream:\n", "sources: unknown key"),
        (
            "  checkpoint: out",
            "  chekpoint: out",
            "s.yml:11:3: stream.chekpoint: unknown key. Did you mean 'checkpoint'?",
        ),
        ("  checkpoint: out/checkpoint\n", "", "checkpoint is missing"),
        ("  sink: {path: out/pairs}\n", "", "stream: sink is missing"),
        ("out/pairs", "left/pairs", "this path and that of the left source overlap"),
        ("out/checkpoint", "out", "this path and that of the sink overlap"),
        ("relation: overlaps", "relation: overlap", "unknown relation 'overlap'. Did you mean"),
        ("on: key", "on: kee", "the left side has no column 'kee'"),
        ("watermark: 0 seconds", "watermark: 5", "is no length of time"),
        ("available-now", "sometimes", "stream.trigger: duration='sometimes' is no span"),
        ("time: timestamp", "time: bigint", "stream.left.schema.time: time is bigint; expected timestamp"),
        ("id: bigint, ", "", "there is no column 'id'"),
        ("format: json", "format: rate", "a rate source has no path and no schema"),
        ("format: json", "format: pulsar", "Input should be 'csv', 'json', 'parquet', 'rate' or 'kafka'"),
        ("format: json", "format: kafka", "a kafka source has no path; options name its servers and topics"),
        ("relation: overlaps, on", "relation: overlaps}\n  count: {on", "the stream calls join and count"),
        ("join: {relation: overlaps", "pattern: {relations: []", "left: unknown key"),
        ("{path: out/pairs}", "{format: memory}", "a memory sink needs table"),
        ("{path: out/pairs}", "{format: console, path: x}", "a console sink has no path"),
    ],
)
def test_a_fault_is_told_with_its_place(tmp_path, old, new, expected):
    assert old in STREAM
    assert any(expected in fault for fault in faults_of(tmp_path, STREAM.replace(old, new, 1)))


def test_validate_knows_streams(here, capsys):
    assert main(["validate", "s.yml"]) == 0
    assert capsys.readouterr().out == "s.yml: sound; a stream into parquet\n"
    assert main(["validate", "s.yml", "--engine", "local"]) == 2
    (here / "p.yml").write_text("sources: {a: {path: a.csv}}\nsinks: {a: {path: b.csv}}\n")
    assert main(["stream", "p.yml"]) == 2
    assert "is a pipeline and no stream" in capsys.readouterr().err


def test_the_documented_example_is_sound(tmp_path):
    document = (ROOT / "docs/streaming.md").read_text()
    (tmp_path / "s.yml").write_text(document.split("```yaml\n")[1].split("```")[0])
    stream = load_file(str(tmp_path / "s.yml"), Secrets({}))
    assert isinstance(stream, Stream)
    told = stream.sources["right"].arrives, stream.call.watermark, stream.trigger
    assert told == ("start", 10 * MINUTE, MINUTE / 6)


@pytest.mark.spark
def test_a_stream_runs_goes_on_and_reports(here, session):
    for number, (first, last) in enumerate(((0, 3), (4, 5))):
        write(here / "left", number, endpoints(LEFT, first, last))
        write(here / "right", number, endpoints(RIGHT, first, last))
    run_file("s.yml", spark=session)
    write(here / "left", 2, [*endpoints(LEFT, 6, END), ("a", 50, 1, "start"), ("b", 51, 2, "start")])
    write(here / "right", 2, endpoints(RIGHT, 6, END))
    record = run_file("s.yml", spark=session).record
    late = "late: its instant was complete"
    found = found_in(session, here / "out/pairs")
    assert [row for row in found if row[4] is None] == certain_pairs("overlaps")
    assert [row[1] for row in found if row[4] == late] == [50, 51]
    (join,) = record["steps"]
    assert (join["quarantined"], join["plan"]["late"], join["note"]) == (2, 2, f"2 × {late}")
    assert join["plan"]["watermark"] == "2024-01-01T00:40:00+00:00"
    assert (join["plan"]["events refused (left)"], "events refused (right)" in join["plan"]) == (2, False)
    assert [source["note"] for source in record["sources"]] == ["2 of these events refused", ""]
    assert join["plan"]["lag (s)"] >= 0
    rows = [len(endpoints(LEFT, 6, END)) + 2, len(endpoints(RIGHT, 6, END))]
    assert [source["rows"] for source in record["sources"]] == rows
    assert json.loads((here / "out/report/report.json").read_text())["status"] == "done"


@pytest.mark.spark
def test_a_stream_without_events_or_without_results_ends_well(here, session):
    for side in ("left", "right"):
        (here / side).mkdir()
    record = run_file("s.yml", spark=session).record
    assert (record["status"], record["steps"][0]["plan"]["events in"], record["sinks"][0]["rows"]) == ("done", 0, 0)
    write(here / "left", 0, [("a", 1, 0, "start"), ("a", 1, 3, "end")])
    record = run_file("s.yml", spark=session).record
    assert (record["status"], record["steps"][0]["plan"]["events in"], record["sinks"][0]["rows"]) == ("done", 2, 0)
    assert record["sinks"][0]["columns"] == ["key", "left_id", "right_id", "at", "reason"]
    assert json.loads((here / "out/report/report.json").read_text())["status"] == "done"


@pytest.mark.spark
def test_a_session_without_rocksdb_is_told(here, spark):
    for side in ("left", "right"):
        (here / side).mkdir()
    with pytest.raises(UsageError, match="keep their state in RocksDB"):
        run_file("s.yml", spark=spark.newSession())
    assert json.loads((here / "out/report/report.json").read_text())["status"] == "failed"


KAFKA = """\
stream:
  left: &side
    format: kafka
    schema: {key: string, id: bigint, time: timestamp, event: string}
    options: {kafka.bootstrap.servers: "localhost:9092", subscribe: gates}
  right: {<<: *side, select: {key: key, id: offset, time: timestamp, event: event}}
  count: {on: key}
  sink: {format: console}
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("kafka.bootstrap.servers: ", "servers: ", "needs options with kafka.bootstrap.servers"),
        ("subscribe: gates", "topics: gates", "needs one of the options subscribe, subscribePattern, assign"),
        ("    schema: {key: string, id: bigint, time: timestamp, event: string}\n", "", "needs schema, of the JSON"),
        ("count: {on: key}", "count: {on: key, name: left_id}", "more than one column named 'left_id'"),
    ],
)
def test_faults_of_a_kafka_source(tmp_path, old, new, expected):
    text = KAFKA.replace(", select: {key: key, id: offset, time: timestamp, event: event}", "")
    assert expected in "\n".join(faults_of(tmp_path, text.replace(old, new)))


@pytest.mark.spark
def test_kafka_is_refused_by_name_without_its_classes_and_its_values_are_read(tmp_path, session):
    """The values of rows as Kafka has them; one of them is no JSON."""
    (tmp_path / "s.yml").write_text(KAFKA)
    with pytest.raises(UsageError, match=f"classes of kafka are not.*:spark-sql-kafka.*:{session.version}"):
        run_file(str(tmp_path / "s.yml"), spark=session, report=str(tmp_path / "report"))
    stream = load_file(str(tmp_path / "s.yml"), Secrets({}))
    assert isinstance(stream, Stream)
    values = ['{"key": "a", "id": 7, "time": "2024-01-01T00:00:00Z", "event": "start"}', "{nonsense"]
    rows = session.createDataFrame(
        [(value.encode(), at) for at, value in enumerate(values)], "value binary, offset long"
    )
    rows = rows.selectExpr("cast(null as binary) key", "*", "timestamp'2024-01-01 00:00:00Z' timestamp")
    left, right = (kafka.selected(kafka.parsed(rows, source), source) for source in stream.sources.values())
    assert [tuple(row)[:2] for row in left.collect()] == [("a", 7), (None, None)]
    assert [(row.key, row.id, row.event) for row in right.collect()] == [("a", 0, "start"), (None, 1, None)]


FINAL = {
    "count: {on: key, aggregates: {most: [id, max]}}": ("count", 4, ["key", "left_id", "count", "most"]),
    "aggregate: {by: key, aggregates: {n: count}}": ("aggregate", 6, ["key", "start", "end", "n"]),
    "coalesce: {by: key, max_gap: 1 minute}": ("coalesce", 2, ["key", "start", "end"]),
    "pattern: {on: key, relations: [[a, overlaps, b]]}": ("pattern", len(certain_pairs("overlaps")), ["key", "a_id"]),
}
"""Calls, and what they make of the streams: the verb, how many results, the first columns."""


@pytest.mark.spark
def test_files_call_the_other_verbs(here, session):
    """Each verb by a file of its own, on what is there; the report counts the results and the refused events."""
    write(here / "left", 0, [*endpoints(LEFT, 0, END), ("a", 51, 30, "end")])
    write(here / "right", 0, [*endpoints(RIGHT, 0, END), ("b", 51, 30, "end")])
    side = "{format: json, path: %s, schema: {key: string, id: bigint, time: timestamp, event: string}}"
    for number, (call, (verb, results, columns)) in enumerate(FINAL.items()):
        left, right = side % "left", side % "right"
        sources = [f"  left: {left}", f"  right: {right}"] if verb == "count" else [f"  input: {left}"]
        if verb == "pattern":
            sources = ["  streams:", f"    a: {left}", f"    b: {right}"]
        lines = ["stream:", *sources, f"  {call}", f"  sink: {{path: out/{number}}}", f"  checkpoint: state/{number}"]
        (here / "verb.yml").write_text("\n".join(lines))
        record = run_file("verb.yml", spark=session).record
        (step,) = record["steps"]
        assert (step["name"], step["plan"]["results out"]) == (verb, results)
        assert step["plan"]["events refused"] == len(record["sources"])
        assert record["sinks"][0]["columns"][: len(columns)] == columns


def started(here, *arguments):
    """The program in a process group of its own, so that all of it can be killed."""
    environment = {**os.environ, "SPARK_LOCAL_DIRS": str(here / "scratch")}
    return subprocess.Popen(
        [sys.executable, "-m", "timeloom.cli", "stream", "s.yml", *arguments],
        cwd=here,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(condition, process, seconds=240):
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.002)


@pytest.mark.spark
@pytest.mark.processes
def test_killed_in_the_middle_of_a_batch_and_stopped_by_a_signal(here, session):
    """Killed while a batch is under way, started again, stopped by SIGTERM: no pair is lost, and none comes twice."""
    cuts = [(0, 2), (3, 4), (5, 8), (9, END)]
    for number, (first, last) in enumerate(cuts):
        write(here / "left", number, endpoints(LEFT, first, last))
        write(here / "right", number, endpoints(RIGHT, first, last))
    checkpoint = here / "out/checkpoint"
    process = started(here)
    wait_for((checkpoint / "offsets/2").exists, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not (checkpoint / "commits/2").exists()
    (here / "s.yml").write_text(STREAM.replace("available-now", "100 milliseconds"))
    process = started(here)
    wait_for((checkpoint / f"commits/{len(cuts)}").exists, process)
    process.terminate()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert "stream crossings stopped: batch" in said
    assert "events in" in said
    assert found_in(session, here / "out/pairs") == certain_pairs("overlaps")
