"""``timeloom index`` asks, grows and thins out indexes, and verbs take them where they take tables."""

from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from timeloom import StabForest
from timeloom.cli.main import main


@pytest.fixture
def stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pa.table(
        {
            "guest": ["Ann", "Bob", "Cem"],
            "start": [date(2024, 5, 1), date(2024, 5, 3), date(2024, 5, 8)],
            "end": [date(2024, 5, 4), date(2024, 5, 9), None],
        }
    )
    parquet.write_table(table, "stays.parquet")
    assert main(["index", "build", "stays.parquet", "-o", "stays.idx", "--payload"]) == 0
    assert main(["index", "build", "stays.parquet", "-o", "bare.idx"]) == 0
    return table


def printed(capsys, *arguments):
    capsys.readouterr()
    assert main([*arguments]) == 0
    return capsys.readouterr().out.replace('"', "").splitlines()


@pytest.mark.usefixtures("stays")
def test_an_index_is_asked(capsys):
    assert printed(capsys, "index", "stab", "stays.idx", "--at", "2024-05-03") == [
        "guest,start,end",
        "Ann,2024-05-01,2024-05-04",
        "Bob,2024-05-03,2024-05-09",
    ]
    assert printed(capsys, "index", "stab", "bare.idx", "--at", "2024-05-08, 2024-05-01")[1:] == [
        "0,2024-05-01,2024-05-04",
        "1,2024-05-03,2024-05-09",
        "2,2024-05-08,",
    ]
    assert printed(capsys, "index", "window", "bare.idx", "--from", "2024-05-04", "--to", "2024-05-08") == [
        "id,start,end",
        "1,2024-05-03,2024-05-09",
    ]
    assert len(printed(capsys, "index", "window", "bare.idx", "--from", "2024-05-04")) == 3
    assert printed(capsys, "index", "count", "bare.idx", "--at", "2024-05-03,2024-06-01") == [
        "at,count",
        "2024-05-03,2",
        "2024-06-01,1",
    ]
    assert "2024-05-08" in "".join(printed(capsys, "index", "info", "bare.idx"))


@pytest.mark.usefixtures("stays")
def test_instants_are_shown_as_times_and_refused_by_the_name_of_their_option(capsys):
    assert main(["index", "count", "bare.idx", "--at", "2024-05-03,2024-06-01"]) == 0
    assert capsys.readouterr().out.splitlines() == ['"at","count"', "2024-05-03,2", "2024-06-01,1"]
    for command in ("stab", "count"):
        for text in ("noon", "5", "2024-05-03,noon"):
            assert main(["index", command, "bare.idx", "--at", text]) != 0
            told = capsys.readouterr().err
            assert "--at=" in told
            assert "expected a date" in told


@pytest.mark.usefixtures("stays")
def test_an_index_grows_and_forgets(capsys):
    more = pa.table({"guest": ["Eve"], "start": [date(2024, 5, 9)], "end": [date(2024, 5, 10)]})
    parquet.write_table(more, "more.parquet")
    for name in ("stays.idx", "bare.idx"):
        before = Path(name).read_bytes()
        assert main(["index", "append", name, "more.parquet"]) == 0
        assert Path(name).read_bytes() == before, "only the log grows"
        assert len(StabForest.load(name)) == 4
        assert main(["index", "forget", name, "--before", "2024-05-09"]) == 0
        assert len(StabForest.load(name)) == 2
    assert printed(capsys, "index", "stab", "stays.idx", "--at", "2024-05-09")[1:] == [
        "Cem,2024-05-08,",
        "Eve,2024-05-09,2024-05-10",
    ]
    assert main(["index", "append", "bare.idx", "stays.parquet"]) == 1
    assert "out of order" in capsys.readouterr().err


@pytest.mark.usefixtures("stays")
def test_verbs_take_indexes(capsys):
    (parquet.read_table("stays.parquet").slice(0, 1)).to_pandas().to_csv("few.csv", index=False)
    lines = printed(capsys, "join", "few.csv", "bare.idx", "--columns", "guest,id")
    assert sorted(lines) == ["Ann,0", "Ann,1", "guest,id"]
    assert "Ann,2024-05-01,2024-05-04,1,2024-05-03,2024-05-09" in printed(capsys, "join", "few.csv", "bare.idx")
    assert "2,2024-05-08,,,," in printed(capsys, "join", "bare.idx", "few.csv", "--how", "left")
    assert printed(capsys, "stab", "stays.idx", "--at", "2024-06-01")[1:] == ["Cem,2024-05-08,"]
    assert printed(capsys, "join", "few.csv", "bare.idx", "--columns", "id", "--window", "2024-05-01,2024-05-02") == [
        "id",
        "0",
    ]


@pytest.mark.usefixtures("stays")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["stab", "bare.idx", "--at", "5"], "the forest's axis is"),
        (["stab", "none.idx", "--at", "5"], "does not exist"),
        (["window", "bare.idx", "--from", "2024-05-04", "--to", "2024-05-04"], "is empty"),
        (["count", "bare.idx", "--at", "soon"], "is no"),
        (["stab", "bare.idx", "--at", "2024-05-04", "-o", "x.what"], "suffix"),
        (["forget", "bare.idx", "--before", "x"], "is no"),
    ],
)
def test_bad_requests_are_refused(arguments, words, capsys):
    assert main(["index", *arguments]) in (1, 2)
    assert words in capsys.readouterr().err.replace("\n", " ")
