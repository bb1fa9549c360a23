"""``timeloom index`` and ``timeloom stab`` on the command line."""

import json

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from timeloom import StabForest
from timeloom.cli import main


@pytest.fixture
def events(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pa.table({"start": [5, 1, 8], "end": [9, 6, None], "what": ["b", "a", "c"]})
    parquet.write_table(table, "events.parquet")
    return table


def test_an_index_is_built_and_described(events, capsys):
    assert main(["index", "build", "events.parquet", "-o", "events.index"]) == 0
    assert sorted(StabForest.load("events.index").stab(5).tolist()) == [0, 1]
    assert main(["index", "info", "events.index", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts.pop("bytes") > 0
    assert facts == {
        "events": 3,
        "forgotten": 0,
        "not settled": 0,
        "open": 1,
        "axis": "integer",
        "order": "start",
        "first start": 1,
        "last start": 8,
        "last end": 9,
        "distinct starts": 3,
        "heights": [2],
    }
    assert main(["index", "info", "events.index"]) == 0
    assert "distinct starts  3" in capsys.readouterr().out


def test_closed_periods_are_indexed_with_their_last_instant(events):
    arguments = ["--period", "start,end", "--closed", "both", "-o", "events.index"]
    assert main(["index", "build", "events.parquet", *arguments]) == 0
    assert sorted(StabForest.load("events.index").stab(6).tolist()) == [0, 1]


def test_what_is_no_index_is_refused(events, capsys):
    assert main(["index", "info", "events.parquet"]) == 1
    assert "damaged or no file of Timeloom" in capsys.readouterr().err
    assert main(["index", "build", "none.parquet", "-o", "x.index"]) == 1


def test_stab_takes_instants_as_people_type_them(events, capsys):
    assert main(["stab", "events.parquet", "--at", "1,9", "-o", "out.csv"]) == 0
    assert csv.read_csv("out.csv")["what"].to_pylist() == ["a", "c"]
    days = pa.table({"start": ["2024-01-01", "2024-02-01"], "end": ["2024-01-05", None], "n": [0, 1]})
    schema = pa.schema({"start": pa.date32(), "end": pa.date32(), "n": pa.int64()})
    parquet.write_table(days.cast(schema), "days.parquet")
    assert main(["stab", "days.parquet", "--at", "2024-01-04,2024-01-05", "-o", "out.csv"]) == 0
    assert csv.read_csv("out.csv")["n"].to_pylist() == [0]
    assert main(["stab", "events.parquet", "-o", "out.csv"]) == 2
    assert "--at is missing" in capsys.readouterr().err


def test_times_are_shown_as_times(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    days = pa.table({"start": ["2024-01-01", "2024-02-01"], "end": ["2024-01-05", None]})
    parquet.write_table(days.cast(pa.schema({"start": pa.date32(), "end": pa.date32()})), "days.parquet")
    zoned = pa.schema({"start": pa.timestamp("ms", "Europe/Paris"), "end": pa.timestamp("ms", "Europe/Paris")})
    hours = pa.table({"start": ["2024-01-01 00:00Z"], "end": ["2024-01-01 12:30Z"]}).cast(zoned)
    parquet.write_table(hours, "hours.parquet")
    for name, axis, last in (
        ("days", "date", "2024-02-01"),
        ("hours", "timestamp with zone", "2024-01-01 01:00:00+01:00"),
    ):
        assert main(["index", "build", f"{name}.parquet", "-o", f"{name}.index"]) == 0
        assert main(["index", "info", f"{name}.index", "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)
        assert (facts["axis"], facts["last start"]) == (axis, last)
        assert main(["index", "info", f"{name}.index"]) == 0
        assert last in capsys.readouterr().out


def test_bad_files_are_refused_in_a_line_of_words(events, tmp_path, capsys):
    assert main(["index", "build", "events.parquet", "-o", "good.index"]) == 0
    whole = (tmp_path / "good.index").read_bytes()
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "text").write_text("no index at all")
    (tmp_path / "cut").write_bytes(whole[:-9])
    (tmp_path / "flipped").write_bytes(whole[:700] + bytes([whole[700] ^ 4]) + whole[701:])
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 this is none PAR1")
    (tmp_path / "directory").mkdir()
    capsys.readouterr()
    for arguments in (
        ["info", "empty"],
        ["info", "text"],
        ["info", "cut"],
        ["info", "flipped"],
        ["info", "directory"],
        ["info", "absent"],
        ["info", "events.parquet"],
        ["build", "bad.parquet", "-o", "x.index"],
        ["build", "events.parquet", "-o", "absent/x.index"],
        ["build", "events.parquet", "-o", "directory"],
        ["build", "events.parquet", "-o", "x.index", "--period", "start,nothing"],
    ):
        assert main(["index", *arguments]) in (1, 2), arguments
        words = capsys.readouterr().err
        assert "Traceback" not in words
        assert "--debug" not in words, f"{arguments} raised what is not ours: {words}"
        assert "timeloom" in words
    assert sorted(p.name for p in tmp_path.glob("*.part")) == []
