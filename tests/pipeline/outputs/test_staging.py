"""Outputs of pipelines change all at once, whatever happens, and in the mode that was asked for."""

import errno
import os
import resource
import signal
import subprocess
import sys

import pyarrow as pa
import pytest
from pyarrow import parquet

from shift_pipeline import SHIFTS, contents, report
from timeloom.cli import main
from timeloom.errors import StorageError
from timeloom.pipeline.definition.secrets import Secrets
from timeloom.pipeline.execution import run_file
from timeloom.pipeline.outputs.staging import Outputs, Target
from timeloom.pipeline.tables.files import read_table


def test_a_full_disk_leaves_the_old_output(here, monkeypatch):
    run_file("p.yml")
    before = contents(here / "out")
    written = []

    def full(path, batches, schema, form=None, **how):
        written.append(path)
        if len(written) > 2:
            raise StorageError(f"{path!r} cannot be written: {os.strerror(errno.ENOSPC)}")
        return write(path, batches, schema, form, **how)

    from timeloom.pipeline.engines import local

    write = local.write_table  # type: ignore[attr-defined]
    monkeypatch.setattr(local, "write_table", full)
    with pytest.raises(StorageError, match="No space left on device"):
        run_file("p.yml")
    assert len(written) == 3
    assert contents(here / "out") == before


@pytest.fixture
def small_disk(here):
    """A directory with little room: a tmpfs where it can be mounted, otherwise a limit on the size of files."""
    place = here / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode == 0:
        yield place, "No space left on device"
        subprocess.run(["umount", str(place)], check=True)
    else:
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, limits[1]))
        yield place, "File too large"
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_really_full_disk(here, small_disk):
    small, words = small_disk
    rows = 20_000
    parquet.write_table(pa.table({"call": [1] * rows, "from": [2] * rows, "to": [3] * rows}), "calls.parquet")
    (here / "full.yml").write_text(
        "engine: local\nsources: {calls: {path: calls.parquet}}\nsinks: {calls: {path: small/calls.csv}}\nreport: r\n"
    )
    (small / "calls.csv").write_text("old")
    with pytest.raises(StorageError, match=words):
        run_file("full.yml")
    assert [file.name for file in small.iterdir()] == ["calls.csv"]
    assert (small / "calls.csv").read_text() == "old"


def test_a_run_killed_in_mid_write_leaves_the_old_output_and_the_next_one_cleans_up(here):
    run_file("p.yml")
    before = contents(here / "out")
    program = (
        "import time; from timeloom.pipeline.engines import local; write = local.write_table\n"
        "def slow(path, *rest, **how):\n"
        "    rows = write(path, *rest, **how)\n"
        "    if 'busy' in path: print('written', flush=True); time.sleep(600)\n"
        "    return rows\n"
        "local.write_table = slow\n"
        "from timeloom.pipeline.execution import run_file; run_file('p.yml')\n"
    )
    (here / "shifts.csv").write_text(SHIFTS.replace("Ann", "Zoe"))
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "written\n"
        with pytest.raises(StorageError, match="another run is writing"):
            run_file("p.yml")
        running.send_signal(signal.SIGKILL)
    left = [file.name for file in (here / "out").iterdir() if file.name.startswith(".")]
    assert any("staging" in name for name in left)
    assert {name: data for name, data in contents(here / "out").items() if "timeloom-" not in name} == before
    run_file("p.yml")
    assert not [file.name for file in (here / "out").rglob(".*")]
    assert "Zoe" in (here / "out/busy.csv").read_text()


def test_a_directory_is_swapped_also_where_paths_cannot_change_places_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("timeloom.pipeline.outputs.journal.exchange", lambda one, other: False)
    for round_ in ("old", "new"):
        with Outputs() as outputs:
            staging = outputs.add(str(tmp_path / "t")).staging
            staging.mkdir()
            (staging / "x").write_text(round_)
            outputs.commit()
    assert (tmp_path / "t/x").read_text() == "new"
    (tmp_path / "t").rename(tmp_path / ".t.timeloom-old")
    target = Target(str(tmp_path / "t"))
    target.open()
    target.close()
    assert [file.name for file in tmp_path.iterdir()] == ["t"]


MODES = """\
engine: local
sources: {days: {path: days.csv}}
sinks:
  days: {path: out/days, format: parquet, SETTINGS}
report: r
"""


def run_days(here, settings, days, **environment):
    (here / "m.yml").write_text(MODES.replace("SETTINGS", settings))
    (here / "days.csv").write_text("day,n\n" + "".join(f"{day},{n}\n" for day, n in days))
    run_file("m.yml", secrets=Secrets(environment))
    return sorted((row["day"], row["n"]) for row in read_table("out/days", "parquet").to_pylist())


def test_append_adds_a_batch_and_a_rerun_replaces_it(here):
    settings = "mode: append, batch: '${BATCH}'"
    assert run_days(here, settings, [("mo", 1)], BATCH="b1") == [("mo", 1)]
    assert run_days(here, settings, [("tu", 2)], BATCH="b2") == [("mo", 1), ("tu", 2)]
    assert run_days(here, settings, [("tu", 3)], BATCH="b2") == [("mo", 1), ("tu", 3)]


def test_replace_partitions_touches_only_those_that_come(here):
    settings = "mode: replace_partitions, partition_by: day"
    assert run_days(here, settings, [("mo", 1), ("tu", 2)]) == [("mo", 1), ("tu", 2)]
    assert run_days(here, settings, [("tu", 3), ("we", 4)]) == [("mo", 1), ("tu", 3), ("we", 4)]


def test_mode_error_refuses_an_existing_output(here):
    assert run_days(here, "mode: error", [("mo", 1)]) == [("mo", 1)]
    with pytest.raises(StorageError, match="exists already"):
        run_days(here, "mode: error", [("mo", 2)])


def test_an_interrupted_run_cleans_up(here, monkeypatch, capsys):
    from timeloom.pipeline.engines import local

    def interrupt(*_, **how):
        raise KeyboardInterrupt

    monkeypatch.setattr(local, "write_table", interrupt)
    assert main(["run", "p.yml"]) == 130
    assert report(here)["status"] == "interrupted"
    assert not [file for file in (here / "out").rglob("*") if "timeloom" in file.name or "answered" in file.name]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_run_that_is_asked_to_end_cleans_up_and_writes_its_report(here, number, code):
    run_file("p.yml")
    before = contents(here / "out")
    program = (
        "import sys, time; from timeloom.pipeline.engines import local; write = local.write_table\n"
        "def slow(path, *rest, **how):\n"
        "    if 'busy' in path: print('writing', flush=True); time.sleep(600)\n"
        "    return write(path, *rest, **how)\n"
        "local.write_table = slow\n"
        "from timeloom.cli import main; sys.exit(main(['run', 'p.yml']))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout.readline() == "writing\n"
        running.send_signal(number)
        assert running.wait(60) == code
        told = running.stderr.read()
    assert "Traceback" not in told
    assert "nothing half-written was left behind" in told
    assert contents(here / "out") == before
    assert report(here)["status"] == "interrupted"
    assert not list(here.rglob(".*"))


def test_signals_that_come_while_outputs_change_come_too_late(tmp_path, monkeypatch):
    from timeloom.pipeline.outputs.journal import Journal

    complete = Journal.complete

    def interrupted(journal):
        os.kill(os.getpid(), signal.SIGINT)
        complete(journal)

    monkeypatch.setattr(Journal, "complete", interrupted)
    with Outputs() as outputs:
        outputs.add(str(tmp_path / "t"), is_file=True).staging.write_text("new")
        outputs.commit()
    assert (tmp_path / "t").read_text() == "new"
