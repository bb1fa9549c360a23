"""Pipelines on local tables: results, counts that balance, outputs that change all at once, faults on the way."""

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from timeloom.cli import main
from timeloom.errors import InvalidInputError, StorageError, TimeloomError, UsageError
from timeloom.pipeline.execution import run_file
from timeloom.pipeline.files import read_table
from timeloom.pipeline.secrets import Secrets
from timeloom.pipeline.staging import Outputs, Target

PIPELINE = """\
name: shifts
engine: local
sources:
  shifts:
    path: shifts.csv
    schema: {who: string, start: timestamp, end: timestamp}
    period: [start, end]
    keys: who
    on_invalid: quarantine
  calls: {path: calls.parquet, period: [from, to]}
steps:
  answered:
    join: {left: shifts, right: calls, relation: contains}
  busy: {sql: "select who, count(*) as calls from answered group by who"}
sinks:
  answered: {path: out/answered.parquet}
  busy: {path: out/busy.csv}
quarantine: {path: out/rejected, format: json}
report: out/report
"""
SHIFTS = """\
who,start,end
Ann,2024-01-01 08:00:00,2024-01-01 12:00:00
Bob,2024-01-01T12:00:00Z,2024-01-01T18:00:00+01:00
Cid,2024-01-01 18:00:00,
Dan,yesterday,2024-01-01 18:00:00
Eve,,2024-01-01 18:00:00
Fay,2024-01-01 18:00:00,2024-01-01 08:00:00
Gus,2024-01-01 18:00:00,2024-01-01 18:00:00
,2024-01-01 18:00:00,2024-01-01 19:00:00
"""


def moment(text):
    return pa.scalar(f"2024-01-01 {text}").cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))


def times(*texts):
    return pa.array([moment(text).as_py() for text in texts], pa.timestamp("us", "UTC"))


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yml").write_text(PIPELINE)
    (tmp_path / "shifts.csv").write_text(SHIFTS)
    starts, ends = (
        times("09:00:00", "12:30:00", "20:00:00", "11:00:00"),
        times("09:10:00", "12:40:00", "20:01:00", "13:00:00"),
    )
    parquet.write_table(pa.table({"call": [1, 2, 3, 4], "from": starts, "to": ends}), "calls.parquet")
    return tmp_path


def contents(folder):
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and "report" not in file.parts
    }


def report(here):
    return json.loads((here / "out/report/report.json").read_text())


def test_a_run_from_files_to_files(here, capsys):
    assert main(["run", "p.yml"]) == 0
    busy = {row["who"]: row["calls"] for row in csv.read_csv("out/busy.csv").to_pylist()}
    assert busy == {"Ann": 1, "Bob": 1, "Cid": 1}
    answered = parquet.read_table("out/answered.parquet")
    assert sorted(zip(answered["who"].to_pylist(), answered["call"].to_pylist(), strict=True)) == [
        ("Ann", 1),
        ("Bob", 2),
        ("Cid", 3),
    ]
    told = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in told] == [
        "source shifts",
        "source calls",
        "step answered",
        "sink answered",
        "step busy",
        "sink busy",
        f"done in {report(here)['seconds']:.1f} s; report",
    ]
    assert "8 rows = 3 fit + 5 quarantined + 0 dropped" in told[0]


def test_rejected_rows_are_kept_as_they_were_with_reasons(here):
    run_file("p.yml")
    rejected = read_table("out/rejected/shifts/part-0.jsonl").to_pylist()
    assert {row["who"]: row["reason"] for row in rejected} == {
        "Dan": "start is no timestamp",
        "Eve": "start is null",
        "Fay": "end is before start",
        "Gus": "the period is empty: start equals end",
        None: "who is null",
    }
    assert next(row["start"] for row in rejected if row["who"] == "Dan") == "yesterday"
    (shifts, calls) = report(here)["sources"]
    assert shifts["rows"] == 8 == shifts["admitted"] + shifts["quarantined"]
    assert sum(shifts["reasons"].values()) == shifts["quarantined"] == len(rejected)
    assert (shifts["balanced"], calls["balanced"]) == (True, True)


@pytest.mark.parametrize(
    ("policy", "admitted", "quarantined", "dropped"),
    [
        ("on_invalid: drop", 3, 0, 5),
        ("on_invalid: quarantine\n    empty: point", 4, 4, 0),
        ("on_invalid: quarantine\n    empty: drop", 3, 4, 1),
    ],
)
def test_what_becomes_of_unfit_rows(here, policy, admitted, quarantined, dropped):
    (here / "p.yml").write_text(PIPELINE.replace("on_invalid: quarantine", policy))
    run_file("p.yml")
    source = report(here)["sources"][0]
    assert (source["admitted"], source["quarantined"], source["dropped"]) == (admitted, quarantined, dropped)


@pytest.mark.parametrize("policy", ["on_invalid: error", "on_invalid: quarantine\n    empty: error"])
def test_unfit_rows_may_be_an_error(here, policy):
    (here / "p.yml").write_text(PIPELINE.replace("on_invalid: quarantine", policy))
    with pytest.raises(InvalidInputError, match=r"source 'shifts' has unfit rows: .*1 where the period is empty"):
        run_file("p.yml")


def test_a_rerun_changes_nothing(here):
    run_file("p.yml")
    before = contents(here / "out")
    run_file("p.yml")
    assert contents(here / "out") == before


def test_the_report_is_a_page_with_plans_and_pictures(here):
    done = run_file("p.yml")
    page = done.page.read_text()
    for words in ("shifts", "every row", "start is no timestamp", "forward_scan", "<svg", "Ann", "http-equiv"):
        assert (words in page) is (words != "http-equiv")
    assert "src=" not in page
    assert "href=" not in page
    data = report(here)
    assert data["status"] == "done"
    assert data["steps"][0]["plan"]["left rows"] == 3
    assert data["sinks"][0]["bars"][0]["spans"][0]["text"].startswith("2024-01-01 08:00:00")
    assert len(data["sinks"][0]["bars"][0]["spans"]) == 2


FAULTS = {
    "missing column": (
        lambda: csv.write_csv(pa.table({"who": ["x"], "start": ["y"]}), "shifts.csv"),
        "no column 'end'",
    ),
    "changed type": (
        lambda: parquet.write_table(pa.table({"call": [1], "from": ["a"], "to": ["b"]}), "calls.parquet"),
        "source 'calls'.*is text",
    ),
    "corrupt file": (
        lambda: os.truncate("calls.parquet", 200),
        r"calls.parquet' cannot be read as parquet",
    ),
    "missing file": (lambda: os.remove("calls.parquet"), "calls.parquet' does not exist"),
}


@pytest.mark.parametrize("name", list(FAULTS))
def test_a_fault_in_a_source_is_told_and_leaves_the_old_output(here, name, capsys):
    run_file("p.yml")
    before = contents(here / "out")
    spoil, words = FAULTS[name]
    spoil()
    with pytest.raises(TimeloomError, match=words):
        run_file("p.yml")
    assert main(["run", "p.yml"]) in (1, 2)
    assert len(capsys.readouterr().err.splitlines()[-1:]) == 1
    assert contents(here / "out") == before
    assert report(here)["status"] == "failed"
    assert report(here)["error"]


def test_a_declared_schema_that_no_longer_holds(here):
    text = PIPELINE.replace(
        "period: [from, to]}", "period: [from, to], schema: {from: timestamp, to: timestamp, call: date}}"
    )
    (here / "p.yml").write_text(text)
    with pytest.raises(InvalidInputError, match="'calls' has changed: column 'call' is bigint, declared is date"):
        run_file("p.yml")


def test_temporal_queries(here):
    (here / "plans.csv").write_text(
        "plan,fee,sys_start,sys_end,app_start,app_end\na,5,1,4,10,20\nb,7,2,,12,14\nc,9,4,,11,13\n"
    )
    (here / "q.yml").write_text(
        "engine: local\nsources: {plans: {path: plans.csv}}\nsinks: {fees: {path: fees.csv}}\nreport: r\n"
        "steps:\n  fees:\n    sql: >-\n      select count(*) as n, sum(fee) as fees from plans\n"
        "      [SYS, START 1, RANGE 2, SLIDE 1] [APP, START 10, RANGE 2, SLIDE 1] STEPS 2 where fee > 5\n"
    )
    run_file("q.yml")
    assert csv.read_csv("fees.csv").to_pylist() == [
        {"step": 0, "n": 1, "fees": 7},
        {"step": 1, "n": 2, "fees": 16},
        {"step": 2, "n": 1, "fees": 7},
    ]


def test_a_failing_query_is_told(here):
    (here / "p.yml").write_text(PIPELINE.replace("select who", "select whom"))
    with pytest.raises(UsageError, match="column 8: .whom. is neither aggregated"):
        run_file("p.yml")
    assert not (here / "out/answered.parquet").exists()


def test_a_full_disk_leaves_the_old_output(here, monkeypatch):
    run_file("p.yml")
    before = contents(here / "out")
    written = []

    def full(path, batches, schema, form=None):
        written.append(path)
        if len(written) > 2:
            raise StorageError(f"{path!r} cannot be written: {os.strerror(errno.ENOSPC)}")
        return write(path, batches, schema, form)

    from timeloom.pipeline import local

    write = local.write_table
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
        "import time; from timeloom.pipeline import local; write = local.write_table\n"
        "def slow(path, *rest):\n"
        "    rows = write(path, *rest)\n"
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
    monkeypatch.setattr("timeloom.pipeline.staging.exchange", lambda one, other: False)
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


def test_secrets_never_appear(here, capsys, monkeypatch):
    monkeypatch.setenv("FOLDER", "very-secret-place")
    text = PIPELINE.replace("path: calls.parquet", "path: '${FOLDER}/calls.parquet'").replace(
        "path: out/busy.csv", "path: '${FOLDER}/busy.csv'"
    )
    (here / "p.yml").write_text(text)
    assert main(["run", "p.yml", "--debug"]) == 1
    found = capsys.readouterr()
    assert "${FOLDER}/calls.parquet' does not exist" in found.err
    (here / "very-secret-place").mkdir(exist_ok=True)
    (here / "calls.parquet").rename(here / "very-secret-place/calls.parquet")
    assert main(["run", "p.yml"]) == 0
    found_later = capsys.readouterr()
    texts = [found.err, found.out, found_later.err, found_later.out]
    texts += [(here / "out/report" / name).read_text() for name in ("report.json", "report.html")]
    assert not [text for text in texts if "very-secret" in text]


def test_an_interrupted_run_cleans_up(here, monkeypatch, capsys):
    from timeloom.pipeline import local

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(local, "write_table", interrupt)
    assert main(["run", "p.yml"]) == 130
    assert report(here)["status"] == "interrupted"
    assert not [file for file in (here / "out").rglob("*") if "timeloom" in file.name or "answered" in file.name]


def test_steps_that_nothing_needs_are_not_run(here):
    (here / "p.yml").write_text(PIPELINE.replace("  busy: {path: out/busy.csv}\n", ""))
    started = time.time()
    run_file("p.yml", report="elsewhere")
    data = json.loads((here / "elsewhere/report.json").read_text())
    assert [step["name"] for step in data["steps"]] == ["answered"]
    assert (here / "elsewhere/report.html").stat().st_mtime >= started - 1
