"""Verbs on the command line: options from signatures, files by suffix, exit codes, one-line errors."""

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv, feather, orc, parquet

from timeloom.cli import main
from timeloom.cli.verbs import call_values, make_command
from timeloom.model.period import Period, PeriodLike
from timeloom.model.slide import Slide
from timeloom.model.ticks import Span
from timeloom.operators.registry import Verb, verbs

LEFT = pa.table({"key": ["x", "y"], "start": [1, 5], "end": [5, 9], "note": ["a", "b"]})
RIGHT = pa.table({"key": ["x", "y", "x"], "start": [4, 5, 9], "end": [6, 6, 10], "n": [1, 2, 3]})
PAIRS = [{"note": "a", "n": 1}, {"note": "b", "n": 1}, {"note": "b", "n": 2}]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    csv.write_csv(LEFT, "left.csv")
    csv.write_csv(RIGHT, "right.csv")
    return tmp_path


def rows(table):
    return sorted(table.to_pylist(), key=str)


def read(path):
    if path.endswith("jsonl"):
        with open(path) as lines:
            return pa.Table.from_pylist([json.loads(line) for line in lines])
    readers = {"csv": csv.read_csv, "parquet": parquet.read_table, "arrow": feather.read_table, "orc": orc.read_table}
    return readers[path.rpartition(".")[2]](path)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow", "jsonl", "orc"])
def test_files_of_each_suffix_go_in_and_out(here, suffix):
    assert main(["join", "left.csv", "right.csv", "--how", "semi", "-o", f"left.{suffix}"]) == 0
    assert main(["join", f"left.{suffix}", "right.csv", "--columns", "note,n", "-o", f"out.{suffix}"]) == 0
    assert rows(read(f"out.{suffix}")) == PAIRS
    assert not [name for name in here.iterdir() if name.name.endswith(".part")]


def test_every_kind_of_join_option_reaches_the_verb(here):
    arguments = ["--relation", "iseql.before", "--delta", "3", "--on", "key", "--overlap", "--suffixes", "_l,_r"]
    assert main(["join", "left.csv", "right.csv", *arguments, "-o", "out.parquet"]) == 0
    found = parquet.read_table("out.parquet")
    assert found.num_rows == 0
    assert {"start_l", "start_r", "overlap_start"} <= set(found.column_names)


def test_closed_periods_and_open_ends(here, capsys):
    assert main(["join", "left.csv", "right.csv", "--closed", "both", "--columns", "note,n"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 5
    assert main(["join", "left.csv", "right.csv", "--open-end", "9", "--columns", "note,n"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 4


def test_an_empty_result_is_written_with_its_columns(here, capsys):
    assert main(["join", "left.csv", "right.csv", "--relation", "equals", "--columns", "note,n"]) == 0
    assert capsys.readouterr().out == '"note","n"\n'


def test_invalid_rows_go_to_the_rejected_file(here, capsys):
    (here / "bad.csv").write_text("key,start,end\nx,1,5\ny,,3\nz,9,2\n")
    assert main(["join", "bad.csv", "right.csv", "--rejected", "no.jsonl", "-o", "out.csv"]) == 0
    assert "2 invalid rows to no.jsonl" in capsys.readouterr().err
    reasons = {row["key"]: row["reason"] for row in read("no.jsonl").to_pylist()}
    assert reasons == {"y": "start is null", "z": "end is before start"}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["join", "left.csv", "nowhere.csv"], 1, "'nowhere.csv' does not exist"),
        (["join", "left.csv", "broken.parquet"], 1, "'broken.parquet' cannot be read as parquet"),
        (["join", "left.csv", "right.csv", "--on", "kye"], 1, "no column 'kye'. Did you mean 'key'?"),
        (["join", "left.csv", "right.csv", "--relation", "durng"], 2, "Did you mean 'during'"),
        (["join", "left.csv", "right.csv", "--relation", "during", "--relation", "meets"], 2, "given 2 times"),
        (["join", "left.csv", "right.csv", "--period", "a,b,c"], 2, "a,b,c"),
        (["join", "left.csv", "right.csv", "--on-invalid", "quarantine"], 2, "needs --rejected FILE"),
        (["join", "left.csv", "right.csv", "--columns", "note,n,note"], 2, "columns= names 'note' twice"),
        (["nearest", "left.csv", "right.csv", "--k", "0"], 2, "k=0 is no number of rows; give 1 or more"),
        (["check", "nowhere.csv"], 1, "'nowhere.csv' does not exist"),
        (["check", "left.csv", "--by", "kye"], 1, "no column 'kye'"),
        (["join", "left.csv", "right.csv", "--option", "nope=1"], 2, "give name=json with one of: relation"),
        (["join", "left.csv", "right.csv", "-o", "out.xls"], 2, "no suffix that tells its format"),
        (["join", "left.csv", "right.csv", "-o", "no/such/out.csv"], 1, "there is no directory 'no/such'"),
        (["join", "left.csv"], 2, "Missing argument 'RIGHT'"),
        (["join", "left.csv", "right.csv", "--nope"], 2, "--nope"),
        (["jion", "left.csv"], 2, "Did you mean 'join'?"),
        (["explain", "nope", "left.csv"], 2, "nope"),
    ],
)
def test_an_error_is_one_line_and_an_exit_code(here, capsys, arguments, code, words):
    (here / "broken.parquet").write_bytes(b"PAR1 no table at all")
    assert main(arguments) == code
    found = capsys.readouterr()
    assert words in found.err
    assert len(found.err.splitlines()) == 1
    assert not found.out
    assert not (here / "out.csv").exists()


@pytest.mark.parametrize("target", ["-", "faults.csv"])
def test_a_check_that_finds_faults_tells_scripts(here, capsys, target):
    assert main(["check", "left.csv", "--by", "key", "-o", target]) == 0
    assert main(["check", "right.csv", "--by", "key", "-o", target]) == 0
    assert main(["check", "right.csv", "-o", target]) == 3
    text = capsys.readouterr().out if target == "-" else (here / target).read_text()
    assert text.endswith('"overlap",5,6,2\n')
    assert main(["explain", "check", "right.csv"]) == 0
    assert main(["check", "--help"]) == 0
    assert "The exit code is 3 if there are faults, and 0 if all is well." in capsys.readouterr().out


def test_debug_shows_the_traceback(here, capsys):
    assert main(["join", "left.csv", "nowhere.csv", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_dropped_rows_are_told(here, capsys):
    (here / "bad.csv").write_text("key,start,end\nx,1,5\ny,,3\n")
    assert main(["join", "bad.csv", "right.csv", "--on-invalid", "drop", "-o", "out.csv"]) == 0
    assert "warning: dropped 1 of 2 rows of the left table" in capsys.readouterr().err


def test_a_failed_write_leaves_the_old_file(here, monkeypatch, capsys):
    (here / "out.csv").write_text("old")

    def full(self, batch):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("timeloom.pipeline.formats.columnar.ParquetBatches.write", full)
    (here / "out.parquet").write_text("old")
    assert main(["join", "left.csv", "right.csv", "-o", "out.parquet"]) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert (here / "out.parquet").read_text() == "old"
    assert not [name for name in here.iterdir() if name.name.endswith(".part")]


def test_interruption(here, monkeypatch, capsys):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("timeloom.cli.verbs.read_inputs", interrupt)
    assert main(["join", "left.csv", "right.csv"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_explain_prints_the_plan(here, capsys):
    assert main(["explain", "join", "left.csv", "right.csv", "--on", "key"]) == 0
    assert "forward_scan" in capsys.readouterr().out
    assert main(["explain", "join", "left.csv", "right.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["left rows"] == 2


def test_help_names_every_verb_and_option(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    for name in [*verbs(), "explain", "run", "validate", "version"]:
        assert f"  {name.replace('_', '-')} " in text
    for name, verb in verbs().items():
        assert main([name.replace("_", "-"), "--help"]) == 0
        text = capsys.readouterr().out
        for option in inspect.signature(verb.function).parameters:
            assert option in verb.inputs or option == "batches" or f"--{option.replace('_', '-')}" in text


def test_version(capsys):
    assert main(["version"]) == 0
    assert capsys.readouterr().out.startswith("timeloom 0.")


def made_up(
    df: Any,
    aggregates: dict[str, Any],
    k: int,
    *,
    by: "str | list[str] | None" = None,
    within: "Span | str | None" = None,
    sys: Slide,
    ratio: tuple[int, int] = (1, 1),
    at: Any = None,
    period: PeriodLike = ("start", "end"),
    share: float = 0.5,
    exact: bool = True,
) -> None:
    """Take one option of each kind."""


def test_options_of_each_kind_are_derived_from_annotations():
    verb = Verb("made_up", made_up, ("df",), made_up, explains=False)
    seen = {}
    command = make_command(verb, lambda **given: seen.update(call_values(verb, given)), [])
    typed = "t.csv --aggregate n=count --aggregates total=price:sum --k 3 --by a,b --by c --within 5min --sys 100,4,1"
    typed += " --ratio 1:2 --at 1,5,9 --period from,to --closed both --share 0.25 --no-exact"
    command.main(typed.split(), standalone_mode=False)
    assert seen == {
        "aggregates": {"n": "count", "total": ("price", "sum")},
        "k": 3,
        "by": ["a", "b", "c"],
        "within": "5min",
        "sys": Slide(100, 4, 1),
        "ratio": (1, 2),
        "at": [1, 5, 9],
        "period": Period("from", "to", closed="both"),
        "share": 0.25,
        "exact": False,
    }


def test_help_loads_nothing_heavy():
    program = (
        "import sys; from timeloom.cli import main; main(['--help']); "
        "sys.exit(','.join({'numba', 'pyarrow', 'pyspark', 'pandas', 'pydantic'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.stderr == "\n"
    assert "join" in ended.stdout


def test_standard_streams_and_a_full_disk_behind_them(here):
    shell = (
        f"cat left.csv | {sys.executable} -m timeloom.cli join - right.csv --columns note,n; "
        f"{sys.executable} -m timeloom.cli join left.csv right.csv > /dev/full"
    )
    ended = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert sorted(ended.stdout.splitlines()) == ['"a",1', '"b",1', '"b",2', '"note","n"']
    assert ended.returncode == 1
    assert "No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_pipe_that_closes_early_is_no_error_to_talk_about(here):
    rows = 20_000
    parquet.write_table(pa.table({"start": range(rows), "end": range(20, rows + 20)}), "big.parquet")
    shell = f"{sys.executable} -m timeloom.cli join big.parquet big.parquet | head -1; echo ${{PIPESTATUS[0]}}"
    ended = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert ended.stdout.splitlines() == ['"start","end","start_right","end_right"', "141"]
    assert ended.stderr == ""


def test_outputs_keep_links_permissions_and_pipes(here):
    (here / "real.csv").write_text("old")
    (here / "real.csv").chmod(0o600)
    (here / "link.csv").symlink_to("real.csv")
    (here / ".real.csv.timeloom-staging-dead").write_text("left by a killed command")
    (here / "null.csv").symlink_to("/dev/null")
    for output in ("link.csv", "null.csv"):
        assert main(["join", "left.csv", "right.csv", "--columns", "note,n", "-o", output]) == 0
    assert rows(read("real.csv")) == PAIRS
    assert (here / "real.csv").stat().st_mode & 0o777 == 0o600
    assert (here / "link.csv").is_symlink()
    assert Path("/dev/null").is_char_device()
    assert not list(here.glob(".*"))


def test_an_output_in_no_directory_is_told(here, capsys):
    assert main(["join", "left.csv", "right.csv", "-o", "no/where.csv"]) == 1
    assert "there is no directory 'no'; make it" in capsys.readouterr().err
    (here / "folder.csv").mkdir()
    assert main(["join", "left.csv", "right.csv", "-o", "folder.csv"]) == 1
    assert "is a directory, and the output is a file" in capsys.readouterr().err
