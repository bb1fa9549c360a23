"""Outputs change together: whatever step a run is killed at, all outputs are new or all are old after recovery."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from shift_pipeline import contents, report
from timeloom.cli import main
from timeloom.errors import StorageError
from timeloom.pipeline.execution import run_file
from timeloom.pipeline.outputs import journal
from timeloom.pipeline.outputs.journal import Entry, Journal, beside, find_journal
from timeloom.pipeline.outputs.recovery import recover
from timeloom.pipeline.outputs.staging import Outputs, Target

KILLER = Path(__file__).with_name("commit_killer.py")
OLD, NEW = ["old", "old", None, "old"], ["new"] * 4


@pytest.mark.parametrize("how", [(), ("run",), ("slow",), ("slow", "run")], ids=str)
def test_a_commit_killed_at_any_step_is_completed_or_never_was(tmp_path, how):
    program = [sys.executable, str(KILLER), str(tmp_path / "root"), *how]
    ended = subprocess.run(program, capture_output=True, text=True, check=False, timeout=300)
    assert ended.stderr == ""
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    assert len(found) > 40
    for step in found:
        assert step["recovered"] in (OLD, NEW), step
        assert step["left"] == [], step
        # A folder that cannot change places with another is missing for an instant; nothing else ever is.
        allowed = (("old", "new"), ("old", "new", *([None] if "slow" in how else [])), (None, "new"), ("old", "new"))
        assert all(value in values for value, values in zip(step["killed"], allowed, strict=True)), step
    recovered = [step["recovered"] for step in found]
    assert recovered == sorted(recovered, key=lambda outputs: outputs == NEW)
    assert any(step["killed"] not in (OLD, NEW) for step in found)
    assert found[-1]["killed"] == NEW


def stage(outputs, place, text="new"):
    target = outputs.add(str(place), is_file=True)
    target.staging.write_text(text)
    return target


def test_a_rename_that_fails_puts_everything_back(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).write_text("old")
    before = journal.exchange  # type: ignore[attr-defined]

    def fail_second(one, other):
        if other.name == "two":
            raise OSError(16, "Device or resource busy")
        return before(one, other)

    monkeypatch.setattr(journal, "exchange", fail_second)
    with Outputs() as outputs:
        for name in ("one", "two", "three"):
            stage(outputs, tmp_path / name)
        with pytest.raises(StorageError, match="cannot be replaced, and stay as they were: .*busy"):
            outputs.commit()
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {"one": "old", "two": "old"}


def test_what_cannot_be_put_back_is_left_to_recovery(tmp_path, monkeypatch):
    (tmp_path / "one").write_text("old")
    with monkeypatch.context() as patched, Outputs() as outputs:
        stage(outputs, tmp_path / "one")
        stage(outputs, tmp_path / "two")
        before = os.rename
        patched.setattr(Journal, "revert", lambda self: before("/nowhere", "/elsewhere"))
        patched.setattr(os, "rename", lambda *_: before("/nowhere", "/elsewhere"))
        with pytest.raises(StorageError, match="not put back either .*timeloom recover"):
            outputs.commit()
    assert len(recover(str(tmp_path))) >= 2
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {"one": "new", "two": "new"}


def test_recover_does_what_the_command_line_asks(here, capsys):
    run_file("p.yml")
    before = contents(here / "out")
    (here / "out/.busy.csv.timeloom-staging-123").write_text("half")
    (here / "out/..busy.csv.timeloom-staging-123.456.part").write_text("half")
    (here / "out/.gone.timeloom-scratch-123").mkdir()
    assert main(["recover", "p.yml"]) == 0
    assert [file.name for file in (here / "out").rglob(".*")] == [".gone.timeloom-scratch-123"]
    assert main(["recover", "out"]) == 0
    assert main(["recover", "out"]) == 0
    assert capsys.readouterr().err.splitlines()[-1] == "nothing was left to do"
    assert contents(here / "out") == before
    assert main(["recover", "nowhere"]) == 1
    lock = Target(str(here / "out/busy.csv"), is_file=True)
    lock.open()
    assert main(["recover", "out"]) == 0
    assert "another run is writing" in capsys.readouterr().err
    lock.close()


def test_journals_move_nothing_but_staged_outputs(tmp_path):
    (tmp_path / "mine").write_text("mine")
    forged = {"path": str(tmp_path / "x"), "staging": str(tmp_path / "mine"), "number": 1}
    place = beside(tmp_path / "x", "journal")
    place.write_text(json.dumps({"version": 1, "run": "r", "entries": [forged]}))
    with pytest.raises(StorageError, match="no staging place"):
        find_journal(tmp_path / "x")
    for text in ("", "[]", "{}", '{"version": 2, "run": "r"}', '{"version": 1, "run": "r", "entries": [{}]}'):
        place.write_text(text)
        with pytest.raises(StorageError, match="cannot be read"):
            find_journal(tmp_path / "x")


def test_a_note_whose_journal_cannot_be_reached_is_told(tmp_path):
    note = {"version": 1, "run": "r", "journal": "/nowhere/at/all/.x.timeloom-journal"}
    beside(tmp_path / "x", "journal").write_text(json.dumps(note))
    with pytest.raises(StorageError, match="cannot be reached"):
        Target(str(tmp_path / "x")).open()


def test_a_staged_output_that_is_gone_is_told(tmp_path):
    staging = beside(tmp_path / "x", "staging-1")
    staging.write_text("new")
    unfinished = Journal("r", (Entry.of(tmp_path / "x", staging),))
    unfinished.write()
    staging.unlink()
    with pytest.raises(StorageError, match="what was staged at .* is gone"):
        recover(str(tmp_path))


def test_links_are_written_through_and_permissions_stay(here):
    run_file("p.yml")
    (here / "real").mkdir()
    (here / "out/busy.csv").rename(here / "real/busy.csv")
    (here / "out/busy.csv").symlink_to("../real/busy.csv")
    (here / "real/busy.csv").write_text("old")
    (here / "out/rejected/shifts").chmod(0o750)
    os.chmod(here / "real/busy.csv", 0o640)
    if os.geteuid() == 0:
        os.chown(here / "real/busy.csv", 12, 34)
        os.chown(here / "out/rejected/shifts/part-0.jsonl", 12, 34)
    os.chmod(here / "out/report/report.json", 0o600)
    run_file("p.yml")
    assert (here / "out/busy.csv").is_symlink()
    status = (here / "real/busy.csv").stat()
    assert "Ann" in (here / "real/busy.csv").read_text()
    assert stat.S_IMODE(status.st_mode) == 0o640
    assert stat.S_IMODE((here / "out/rejected/shifts").stat().st_mode) == 0o750
    assert stat.S_IMODE((here / "out/report/report.json").stat().st_mode) == 0o600
    if os.geteuid() == 0:
        part = (here / "out/rejected/shifts/part-0.jsonl").stat()
        assert (status.st_uid, status.st_gid, part.st_uid, part.st_gid) == (12, 34, 12, 34)
    assert not list(here.rglob(".*"))


PLACES = """\
engine: local
sources: {a: {path: calls.parquet}}
sinks:
  one: {from: a, path: out/one.parquet}
  two: {from: a, path: PLACE}
report: REPORT
"""


@pytest.mark.parametrize(
    ("place", "spoil", "words"),
    [
        ("out/two.parquet", lambda place: place.mkdir(), "is a directory, and the output is a file"),
        ("out/two, format: csv", lambda place: place.write_text(""), "is a file, and the output is a directory"),
        ("out/two.parquet", os.mkfifo, "neither a file nor a directory"),
        ("/proc/two.parquet", lambda place: None, "cannot be prepared for writing"),
        ("/proc, format: csv", lambda place: None, "is a mount point"),
        ("calls.parquet/two.parquet", lambda place: None, "this path and that of source a overlap"),
        ("out/one.parquet/two.parquet", lambda place: None, "this path and that of sink one overlap"),
    ],
)
def test_what_can_fail_fails_before_anything_runs(here, monkeypatch, place, spoil, words):
    (here / "out").mkdir()
    (here / "out/one.parquet").write_text("old")
    spoil(here / place.partition(",")[0])
    (here / "q.yml").write_text(PLACES.replace("PLACE", place).replace("REPORT", "r"))
    monkeypatch.setattr("timeloom.pipeline.execution.make_engine", lambda *_: pytest.fail("it ran"))
    with pytest.raises((StorageError, ValueError), match=words):
        run_file("q.yml")
    assert (here / "out/one.parquet").read_text() == "old"
    assert not list(here.rglob(".*"))


def test_a_report_that_cannot_be_written_is_found_before_anything_runs(here, monkeypatch):
    (here / "q.yml").write_text(PLACES.replace("PLACE", "out/two.csv").replace("REPORT", "calls.parquet"))
    with pytest.raises(ValueError, match="report: this path and that of source a overlap"):
        run_file("q.yml")
    monkeypatch.setattr("timeloom.pipeline.execution.make_engine", lambda *_: pytest.fail("it ran"))
    for place in ("/proc/nowhere", "calls.parquet"):
        with pytest.raises(StorageError, match="report.json' cannot be prepared for writing") as caught:
            run_file("p.yml", report=place)
        assert "there is no report of this run" in caught.value.__notes__[0]
    assert not (here / "out").exists() or not contents(here / "out")


def test_home_is_resolved_before_outputs_are_compared_with_inputs(here, monkeypatch):
    monkeypatch.setenv("HOME", str(here))
    (here / "q.yml").write_text(PLACES.replace("PLACE", "~/calls.parquet").replace("REPORT", "r"))
    with pytest.raises(ValueError, match="sinks.two.path: this path and that of source a overlap"):
        run_file("q.yml")


def test_a_report_that_cannot_be_made_leaves_the_outputs(here, monkeypatch, capsys):
    run_file("p.yml")
    before = contents(here / "out")
    monkeypatch.setattr("timeloom.report.page.shares", lambda run: 1 // 0)
    (here / "shifts.csv").write_text("who,start,end\n")
    assert main(["run", "p.yml"]) == 1
    assert "the report cannot be made, so nothing was changed" in capsys.readouterr().err
    assert contents(here / "out") == before
    assert report(here)["status"] == "failed"
