"""Pipelines on local tables: results, counts that balance, faults on the way."""

import json
import os
import time

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from shift_pipeline import PIPELINE, contents, report
from timeloom.cli import main
from timeloom.errors import InvalidInputError, StorageError, TimeloomError, UsageError
from timeloom.pipeline.execution import run_file
from timeloom.pipeline.tables.files import read_table


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
    for words in ("shifts", "every row", "start is no timestamp", "forward_scan", "Ann", "out/answered.parquet"):
        assert words in page
    assert str(here) not in page
    data = report(here)
    assert data["status"] == "done"
    assert data["steps"][0]["plan"]["left rows"] == 3
    assert data["sinks"][0]["bars"][0]["spans"][0]["text"].startswith("2024-01-01 08:00:00")
    assert len(data["sinks"][0]["bars"][0]["spans"]) == 2
    assert [sink["picture"]["kind"] for sink in data["sinks"]] == ["lanes", "bars"]
    assert [sink["note"] for sink in data["sinks"]] == ["", ""]


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
    with pytest.raises(UsageError, match="column 8: Referenced column .whom. not found"):
        run_file("p.yml")
    assert not (here / "out/answered.parquet").exists()


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


def test_steps_that_nothing_needs_are_not_run(here):
    (here / "p.yml").write_text(PIPELINE.replace("  busy: {path: out/busy.csv}\n", ""))
    started = time.time()
    run_file("p.yml", report="elsewhere")
    data = json.loads((here / "elsewhere/report.json").read_text())
    assert [step["name"] for step in data["steps"]] == ["answered"]
    assert (here / "elsewhere/report.html").stat().st_mtime >= started - 1


def test_a_source_that_changes_while_it_is_read_fails_the_run(here, monkeypatch):
    run_file("p.yml")
    before = contents(here / "out")
    from timeloom.pipeline.engines import local

    def read_and_spoil(place, *rest):
        table = read_table(place, *rest)
        if place.endswith("shifts.csv"):
            (here / "shifts.csv").write_text("who,start,end\n")
        return table

    monkeypatch.setattr(local, "read_table", read_and_spoil)
    with pytest.raises(StorageError, match="source 'shifts' changed while it was read: .*shifts.csv' changed"):
        run_file("p.yml")
    assert contents(here / "out") == before
