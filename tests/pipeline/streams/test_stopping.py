"""Stopping a stream by signals, and its line on a terminal; without Spark."""

import io
import json
import signal
import sys
from typing import Any

import pytest

from timeloom.cli import main
from timeloom.cli.screen import progress
from timeloom.pipeline.definition.secrets import Secrets
from timeloom.pipeline.engines import session
from timeloom.pipeline.signals import SIGNALS, StopSignals
from timeloom.pipeline.streams import execution as stream_execution
from timeloom.pipeline.streams.check import load_file
from timeloom.pipeline.streams.runner import StreamRun

STREAM = """\
name: crossings
stream:
  left: {format: json, path: left, schema: {id: bigint, time: timestamp, event: string}}
  right: {format: json, path: right, schema: {id: bigint, time: timestamp, event: string}}
  join: {relation: overlaps, watermark: 0 seconds}
  sink: {path: pairs}
  checkpoint: checkpoint
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_asks_and_the_second_one_ends(number):
    before = [signal.getsignal(one) for one in SIGNALS]
    with StopSignals() as signals:
        signal.raise_signal(number)
        assert signals.asked
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert [signal.getsignal(one) for one in SIGNALS] == before


def test_a_second_signal_ends_the_program_with_130(tmp_path, monkeypatch):
    def interrupted(*_, **__):
        with StopSignals():
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGINT)

    (tmp_path / "s.yml").write_text(STREAM)
    monkeypatch.setattr(stream_execution, "run_stream", interrupted)
    assert main(["stream", str(tmp_path / "s.yml")]) == 130


class Said:
    """A watcher that remembers."""

    def __init__(self):
        self.texts = []

    def go_on(self, text):
        self.texts.append(text)


class Query:
    """A query that is in the middle of a micro-batch when the signal comes, and ends that batch a look later."""

    def __init__(self):
        self.looks, self.stopped, self.status = 0, False, {"isTriggerActive": True}

    def awaitTermination(self, _):
        self.looks += 1
        if self.looks == 1:
            signal.raise_signal(signal.SIGTERM)
        return self.stopped

    @property
    def recentProgress(self):
        return [
            {
                "batchId": batch,
                "timestamp": f"2026-01-01T00:00:0{batch}.000Z",
                "sources": [{"numInputRows": 2}, {"numInputRows": 1}],
                "observedMetrics": {},
                "stateOperators": [],
                "eventTime": {},
                "durationMs": {"addBatch": 1},
            }
            for batch in range(1 if self.looks < 3 else 2)
        ]

    def stop(self):
        self.stopped = True


def test_the_running_micro_batch_is_waited_for():
    watcher, query = Said(), Query()
    run = StreamRun(None, None, watcher)
    with StopSignals() as signals:
        run._follow(query, signals)
    assert run.stopped
    assert query.looks == 4
    assert [text.split(",")[0] for text in watcher.texts] == [
        "batch 0",
        "stopping after this micro-batch; once more to stop at once",
        "batch 1",
    ]
    assert (run.progress.batches, run.progress.events) == (2, [4, 2])


class Session:
    """A session that takes signals while it starts, and remembers that it was stopped."""

    version, stopped = "4", False

    def stop(self):
        self.stopped = True


@pytest.fixture
def starting(tmp_path, monkeypatch):
    """A stream whose session hears these signals before it is there."""
    (tmp_path / "s.yml").write_text(STREAM)
    found = load_file(str(tmp_path / "s.yml"), Secrets({}))
    sessions = []

    def begin(*signals):
        def start_session(*_):
            for number in signals:
                signal.raise_signal(number)
            sessions.append(Session())
            return sessions[0]

        monkeypatch.setattr(session, "start_session", start_session)
        monkeypatch.setattr(StreamRun, "_called", lambda _: None)
        monkeypatch.setattr(StreamRun, "_start", lambda *_: pytest.fail("it must not begin"))
        watcher: Any = Said()
        watcher.end = watcher.go_on
        try:
            stream_execution.run_stream(found, "s.yml", report=str(tmp_path / "report"), watcher=watcher)
        finally:
            begin.status = json.loads((tmp_path / "report/report.json").read_text())["status"]  # type: ignore[attr-defined]
        return sessions[0].stopped, watcher.texts

    return begin


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_before_the_stream_begins_leaves_a_report_and_no_session(starting, number):
    assert starting(number) == (True, ["stream crossings stopped before it began"])
    assert starting.status == "done"


def test_a_second_signal_before_it_begins_leaves_a_report_too(starting):
    with pytest.raises(KeyboardInterrupt):
        starting(signal.SIGTERM, signal.SIGTERM)
    assert starting.status == "interrupted"


class Terminal(io.StringIO):
    """Standard error that says it is a terminal."""

    def isatty(self):
        return True


def test_a_terminal_shows_a_live_line_that_goes_away(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress(lambda text: text.replace("secret", "***")) as lines:
        watcher: Any = lines
        watcher.begin("stream secret")
        watcher.line.refresh()
        watcher.go_on("batch 7 of [secret]")
        watcher.line.refresh()
        watcher.end("stream secret stopped")
    shown = terminal.getvalue()
    assert "stream ***" in shown
    assert "batch 7 of [***]" in shown
    assert shown.index("batch 7") < shown.index("✓ stream *** stopped")
    assert "secret" not in shown
    assert "\x1b[2K" in shown.split("✓")[1]
