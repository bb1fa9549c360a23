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
        ("format: json", "format: kafka", "Input should be 'csv', 'json', 'parquet' or 'rate'"),
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
    assert (stream.right.arrives, stream.join.watermark, stream.trigger) == ("start", 10 * MINUTE, MINUTE / 6)


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
