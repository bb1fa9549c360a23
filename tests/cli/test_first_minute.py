"""What a newcomer types first: no arguments, the version, pipes, other formats, texts for times, the tab key."""

import io
import logging
import os
import subprocess
import sys
from types import SimpleNamespace

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from timeloom.cli import main, warming
from timeloom.cli.results import SHOWN
from timeloom.kernels.notice import PATIENCE, TEXT, CompileNotice
from timeloom.operators.registry import verbs

ROWS = "who;start;end\nAnn;01.02.2024;03.02.2024\nBob;02.02.2024;05.02.2024\n"
PIPELINE = """
name: shifts
sources: {shifts: {path: shifts.csv, period: [start, end]}}
steps: {depths: {depth: {df: shifts}}}
sinks: {depths: {path: out.parquet}}
"""
DEPTH = ["2024-02-01,2024-02-02,1", "2024-02-02,2024-02-03,2", "2024-02-03,2024-02-05,1"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shifts.txt").write_text(ROWS)
    return tmp_path


@pytest.fixture
def stdin(monkeypatch):
    def give(content):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))

    return give


def run(capfdbinary, *arguments):
    code = main(list(arguments))
    found = capfdbinary.readouterr()
    return code, found.out.decode(), found.err.decode()


def test_alone_it_tells_what_it_can_do(capfdbinary):
    code, out, _ = run(capfdbinary)
    assert (code, out.startswith("Usage: timeloom")) == (0, True)
    assert all(f"\n  {command} " in out for command in ("join", "sql", "warm", "completion", "run"))
    assert run(capfdbinary, "--version")[:2] == (0, run(capfdbinary, "version")[1])


def test_the_tab_key_completes_commands_and_options():
    for words, expected in (("timeloom count", "count-join"), ("timeloom join --rel", "--relation")):
        asked = {"_TIMELOOM_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        answer = subprocess.run(
            [sys.executable, "-m", "timeloom.cli"], env=os.environ | asked, capture_output=True, text=True, check=True
        )
        assert f"plain,{expected}" in answer.stdout.splitlines()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(shell, capfdbinary):
    code, out, _ = run(capfdbinary, "completion", shell)
    assert (code, f"_TIMELOOM_COMPLETE={shell}_complete" in out) == (0, True)


def test_other_separators_and_dates_are_read_from_a_pipe(here, stdin, capfdbinary):
    stdin(ROWS.encode())
    code, out, _ = run(capfdbinary, "depth", "-", "--delimiter", ";", "--date-format", "%d.%m.%Y")
    assert (code, out.splitlines()[1:]) == (0, DEPTH)


def test_a_format_stands_for_names_that_tell_none(here, stdin, capfdbinary):
    table = pa.table({"start": [1], "end": [5]})
    sink = io.BytesIO()
    parquet.write_table(table, sink)
    stdin(sink.getvalue())
    assert main(["coalesce", "-", "--format", "parquet"]) == 0
    assert parquet.read_table(io.BytesIO(capfdbinary.readouterr().out)).to_pylist() == table.to_pylist()
    code, _, err = run(capfdbinary, "depth", "shifts.txt")
    assert (code, "suffix" in err) == (2, True)
    options = ["--format", "csv", "--delimiter", ";", "--date-format", "%m/%d/%Y", "--date-format", "%d.%m.%Y"]
    assert run(capfdbinary, "depth", "shifts.txt", *options)[1].splitlines()[1:] == DEPTH


def test_a_directory_is_of_the_format_of_its_files(here, capfdbinary):
    (here / "parts").mkdir()
    csv.write_csv(pa.table({"start": [1], "end": [5]}), here / "parts" / "a.csv")
    csv.write_csv(pa.table({"start": [3], "end": [9]}), here / "parts" / "b.csv")
    code, out, _ = run(capfdbinary, "depth", "parts")
    assert (code, out.splitlines()[1:]) == (0, ["1,3,1", "3,5,2", "5,9,1"])
    (here / "parts" / "c.parquet").write_bytes(b"")
    code, _, err = run(capfdbinary, "depth", "parts")
    assert (code, "several formats (csv, parquet)" in err) == (2, True)


def test_texts_where_times_should_be_come_with_what_to_add(here, capfdbinary):
    options = ["--format", "csv", "--delimiter", ";"]
    code, _, err = run(capfdbinary, "depth", "shifts.txt", *options)
    assert (code, "'start' of 'shifts.txt' is text, such as '01.02.2024'" in err) == (1, True)
    assert "--date-format '%d.%m.%Y'" in err
    code, _, err = run(capfdbinary, "depth", "shifts.txt", *options, "--date-format", "%Y")
    assert (code, "fits no text column of 'shifts.txt': who has 'Ann'; start has '01.02.2024'" in err) == (2, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--delimiter", "ab"], "give one character"),
        (["--format", "table", "-o", "out"], "--format table is for the screen"),
        (["--delimiter", ";", "--format", "json"], "--delimiter is for CSV"),
    ],
)
def test_formats_that_cannot_be_are_refused(here, capfdbinary, options, words):
    code, _, err = run(capfdbinary, "depth", "shifts.txt", *options)
    assert (code, words in err) == (2, True)


def test_a_table_for_eyes_has_the_first_rows_and_tells_of_the_others(here, capfdbinary):
    csv.write_csv(pa.table({"start": range(100), "end": range(1, 101)}), here / "many.csv")
    code, out, _ = run(capfdbinary, "depth", "many.csv", "--format", "table")
    assert (code, len(out.splitlines()), "100 rows, the first 40" in out) == (0, SHOWN + 5, True)


def test_without_pyspark_the_extra_and_the_other_engine_are_named(here, capfdbinary, monkeypatch):
    (here / "p.yml").write_text(PIPELINE)
    monkeypatch.setattr("timeloom.pipeline.engines.engine.find_spec", lambda name: None)
    code, _, err = run(capfdbinary, "run", "p.yml")
    assert (code, "pip install 'timeloom[spark]'" in err, "--engine local" in err) == (2, True, True), err


def test_long_compiling_is_told_once(caplog, monkeypatch):
    ours = SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=compile_a_kernel)})
    notice, clock = CompileNotice(), [0.0]
    begun = []

    def timer(wait, act):
        begun.append((wait, act))
        return timers

    timers = SimpleNamespace(start=lambda: None, cancel=lambda: None, daemon=False)
    monkeypatch.setattr("timeloom.kernels.notice.time.monotonic", lambda: clock[0])
    monkeypatch.setattr("timeloom.kernels.notice.threading.Timer", timer)
    with caplog.at_level(logging.WARNING, "timeloom"):
        for seconds in (0.4, 0.7, 0.5):
            notice.on_start(ours)
            notice.on_start(ours)
            clock[0] += seconds
            notice.on_end(ours)
            notice.on_end(ours)
        assert [round(wait, 1) for wait, _ in begun] == [PATIENCE, 0.6, 0.0]
        begun[1][1]()
        begun[2][1]()
        notice.on_start(ours)
    assert [record.message for record in caplog.records] == [TEXT]
    assert len(begun) == 3


def test_warming_makes_each_call_once_and_says_where_kernels_are(capfdbinary, monkeypatch):
    made = []
    calls = {name: (lambda name=name: made.append(name)) for name in ("one", "two")}
    monkeypatch.setattr("timeloom.cli.warming.calls", lambda: calls)
    code, _, err = run(capfdbinary, "warm")
    assert (code, made) == (0, ["one", "two"])
    assert "2 kinds of calls are ready" in err
    assert "kept in" in err


def test_calls_to_warm_cover_every_verb():
    titles = " ".join(warming.calls())
    assert [name for name in verbs() if name not in titles] == []


def compile_a_kernel():
    """Stands for a kernel."""


compile_a_kernel.__module__ = "timeloom.kernels.order"


BARE = """
import sys

class Bare:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "pyspark", "duckdb", "polars", "vl_convert"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Bare())
from timeloom.cli import main
from timeloom.cli.warming import calls

seen = set()
for title, call in calls().items():
    if title.partition(",")[0] not in seen:
        seen.add(title.partition(",")[0])
        call()
assert main(["run", "p.yml", "--engine", "local"]) == 0
"""


def test_every_verb_and_a_pipeline_work_where_no_extra_is_installed(here):
    (here / "shifts.csv").write_text("start,end\n1,5\n3,9\n")
    (here / "p.yml").write_text(PIPELINE)
    subprocess.run([sys.executable, "-c", BARE], cwd=here, check=True)


def test_formats_agree_on_days_and_iso_months_are_buckets(here, capfdbinary):
    (here / "a.json").write_text('[{"start": "2024-01-30", "end": "2024-02-02"}]')
    (here / "b.tsv").write_text("start\tend\n2024-02-01\t2024-02-03\n")
    code, out, _ = run(capfdbinary, "join", "a.json", "b.tsv")
    assert (code, out.splitlines()[1:]) == (0, ["2024-01-30,2024-02-02,2024-02-01,2024-02-03"])
    code, out, _ = run(capfdbinary, "temporal-aggregate", "a.json", "--every", "P1M", "--aggregates", "n=count")
    assert (code, out.splitlines()[1:]) == (0, ["2024-01-01,2024-02-01,1", "2024-02-01,2024-03-01,1"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["stab", "a.csv", "--at", "30.1.2024"], "write it like '2024-01-31'"),
        (["sql", "select * from read_csv('a.csv')"], "command line timeloom sql 'select * from a' a=FILE\n"),
        (["coalesce", "b.csv"], "or pass --on-invalid quarantine"),
        (["temporal-aggregate", "a.csv", "--aggregates", "n=count,m=count"], "give --aggregates once for each"),
    ],
)
def test_words_are_those_of_the_command_line(here, capfdbinary, arguments, words):
    (here / "a.csv").write_text("start,end\n2024-01-30,2024-02-02\n")
    (here / "b.csv").write_text("start,end\n5,2\n")
    code, _, err = run(capfdbinary, *arguments)
    assert code in (1, 2)
    assert words in err


def test_warnings_of_expectations_are_seen(here, capfdbinary):
    (here / "shifts.csv").write_text("start,end\n1,5\n2,6\n")
    (here / "p.yml").write_text(
        PIPELINE.replace("period: [start, end]", "period: [start, end], expect: {otherwise: warn}")
    )
    code, _, err = run(capfdbinary, "run", "p.yml", "--engine", "local")
    assert (code, "warning: 'shifts' does not meet its expectations: 1 × overlap" in err) == (0, True)
    (here / "p.yml").write_text(
        PIPELINE.replace("period: [start, end]", "period: [start, end], expect: {overlap: yes}")
    )
    code, out, err = run(capfdbinary, "validate", "p.yml", "--engine", "local")
    assert (code, "unknown key. Did you mean 'overlaps'?" in out + err) == (1, True)
