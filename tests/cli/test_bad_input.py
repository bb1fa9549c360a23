"""Bad files and bad options: one line that says what is wrong, an exit code, and never a traceback."""

import json
import os
import random

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import csv, feather, orc, parquet

from timeloom.cli import main
from timeloom.cli.texts import dashed
from timeloom.operators.registry import verbs
from timeloom.pipeline.definition.signatures import options_of

TABLE = pa.table({"key": ["x", "y"], "start": [1, 5], "end": [5, 9], "note": ["a", "b"]})
SUFFIXES = ("csv", "parquet", "arrow", "orc", "jsonl")
TEXTS = {
    "ragged.csv": b"key,start,end\nx,1\ny,1,2,3\n",
    "twice.csv": b"start,start,end\n1,2,3\n",
    "zero.csv": b"start,end\n\x001,2\n",
    "latin.csv": b"st\xffart,end\n1,2\n",
    "quote.csv": b'start,end\n"1,2\n',
    "text.csv": b"start,end\na,b\n",
    "large.csv": b"start,end\n99999999999999999999,1\n",
    "fraction.csv": b"start,end\n1.5,2.5\n",
    "blank.csv": b"\n\n\n",
    "nested.jsonl": b'{"start": [1], "end": {"a": 1}}\n',
    "mixed.jsonl": b'{"start": 1, "end": 2}\n{"start": "x", "end": 2}\n',
    "list.jsonl": b"[1, 2]\n",
    "noending": b"x",
}


def spoiled(whole):
    """A whole file made empty, random, cut, of another format, and with a few other bytes."""
    yield "empty", b""
    yield "random", random.Random(1).randbytes(300)
    yield "cut", whole[: len(whole) // 2]
    for number in range(4):
        chance, bytes_ = random.Random(number), bytearray(whole)
        for _ in range(4):
            bytes_[chance.randrange(len(bytes_))] = chance.randrange(256)
        yield f"changed{number}", bytes(bytes_)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("bad")
    csv.write_csv(TABLE, place / "good.csv")
    parquet.write_table(TABLE, place / "good.parquet")
    feather.write_feather(TABLE, place / "good.arrow")
    orc.write_table(TABLE, place / "good.orc")
    (place / "good.jsonl").write_text("".join(json.dumps(row) + "\n" for row in TABLE.to_pylist()))
    for name, content in TEXTS.items():
        (place / name).write_bytes(content)
    for suffix in SUFFIXES:
        for name, content in spoiled((place / f"good.{suffix}").read_bytes()):
            (place / f"{name}.{suffix}").write_bytes(content)
        other = "csv" if suffix != "csv" else "parquet"
        (place / f"other.{suffix}").write_bytes((place / f"good.{other}").read_bytes())
    (place / "folder.csv").mkdir()
    return place


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def require_plain_answer(code, err, arguments):
    lines = [line for line in err.strip().splitlines() if "warning:" not in line]
    assert "Traceback" not in err, arguments
    assert "--debug shows where" not in err, (arguments, err)
    assert code in (0, 1, 2), arguments
    assert not code or len(lines) == 1, (arguments, err)


def test_bad_files_are_told_in_one_line(here, capsys):
    bad = [name for name in sorted(os.listdir(here)) if not name.startswith("good")] + ["nowhere.csv", "no/where.orc"]
    for name in bad:
        for arguments in (["join", name, "good.csv"], ["depth", name], ["index", "info", name], ["recover", name]):
            code = main([*arguments])
            require_plain_answer(code, capsys.readouterr().err, arguments)
        for command in ("run", "validate", "stream"):
            code, found = main([command, name]), capsys.readouterr()
            assert code == 1, name
            require_plain_answer(0, found.err, [command, name])
    for name in ("empty.parquet", "random.parquet", "cut.orc", "other.arrow", "ragged.csv", "twice.csv", "noending"):
        assert main(["depth", name]) in (1, 2), name


@pytest.mark.parametrize(
    "arguments",
    [
        ["run"],
        ["run", "a", "b"],
        ["run", "good.csv", "--conf", "x"],
        ["run", "good.csv", "--master", "a", "--remote", "b"],
        ["recover", "a", "b"],
        ["explain", "nope"],
        ["index", "build", "good.csv", "-o", "no/where.index"],
        ["index", "build", "good.csv", "-o", "x.index", "--period", "a,b"],
        ["validate", "good.csv", "--engine", "flink"],
        ["version", "x"],
        ["--nope"],
    ],
)
def test_bad_calls_are_told_in_one_line(here, capsys, arguments):
    code = main(arguments)
    assert code in (1, 2)
    require_plain_answer(code, capsys.readouterr().err, arguments)


WORDS = ["", "0", "-1", "1.5", "x", "a,b", "a,b,c", "{}", "[]", "null", '{"a":1}', "start,end", "9" * 20, "5 minutes"]
WORDS += ["=", "a=", "=b", "a=count", "a=start:sum", "a=no:sum", "during", "1:2", "é", "NaN", "2024-01-01", "1,2,3"]


@st.composite
def calls(draw):
    verb = verbs()[draw(st.sampled_from(sorted(verbs())))]
    arguments = [dashed(verb.name), *("good.csv" for _ in verb.inputs)]
    options = [option for option in options_of(verb) if option.name != "batches"]
    for option in draw(st.lists(st.sampled_from(options), max_size=3, unique_by=lambda option: option.name)):
        arguments += [f"--{dashed(option.name)}", draw(st.sampled_from(WORDS))]
    return arguments + draw(
        st.sampled_from([[], ["-o", ""], ["-o", "o.xls"], ["-o", "folder.csv"], ["--option", "on=5"]])
    )


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls())
def test_options_that_mean_nothing_are_told_in_one_line(here, capsys, arguments):
    code = main(arguments)
    require_plain_answer(code, capsys.readouterr().err, arguments)


@pytest.mark.parametrize("group", ["index", "explain"])
def test_a_group_of_commands_without_one_shows_its_help(group, capsys):
    assert main([group]) == 0
    told = capsys.readouterr()
    assert told.out.startswith(f"Usage: timeloom {group}")
    assert "\nCommands:\n" in told.out
    assert not told.err


def test_a_join_without_rows_runs_once(tmp_path, capsys):
    (tmp_path / "bad.csv").write_text("start,end\n5,2\n")
    (tmp_path / "good.csv").write_text("start,end\n1,9\n")
    assert main(["join", str(tmp_path / "bad.csv"), str(tmp_path / "good.csv"), "--on-invalid", "drop"]) == 0
    told = capsys.readouterr()
    assert told.err.count("dropped 1 of 1 rows") == 1
    assert told.out.split() == ['"start","end","start_right","end_right"']
