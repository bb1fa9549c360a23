"""``timeloom sql``: queries over files."""

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import timeloom as tl
from timeloom.cli import main

LEFT = pa.table({"k": ["x", "y"], "start": [1, 5], "end": [5, 9]})
RIGHT = pa.table({"k": ["x", "y"], "n": [1, 2], "start": [4, 5], "end": [6, 6]})
TEXT = "select a.k, sum(n) as n from a join b on a.period intersects b.period group by a.k order by a.k"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    csv.write_csv(LEFT, "a.csv")
    parquet.write_table(RIGHT, "b.parquet")
    return tmp_path


def test_a_query_over_files(here, capsys):
    assert main(["sql", TEXT, "a=a.csv", "b=b.parquet", "-o", "out.parquet"]) == 0
    assert parquet.read_table("out.parquet").to_pylist() == tl.sql(TEXT, a=LEFT, b=RIGHT).to_pylist()
    assert "2 rows to out.parquet" in capsys.readouterr().err


def test_to_the_screen_and_as_a_plan(here, capsys):
    assert main(["sql", TEXT, "a=a.csv", "b=b.parquet"]) == 0
    assert capsys.readouterr().out.replace('"', "").split() == ["k,n", "x,1", "y,3"]
    assert main(["sql", TEXT, "a=a.csv", "b=b.parquet", "--explain"]) == 0
    assert "join(tables=['a', 'b']" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["select * from a", "a.csv"], "give NAME=FILE"),
        (["select * from a", "a=a.csv", "a=b.parquet"], "was given before"),
        (["select * from c", "a=a.csv"], "there is no table 'c'"),
        (["select * from a", "a=a.csv", "-o", "x.doc"], "no suffix"),
        (["selct", "a=a.csv"], "expected SELECT"),
    ],
)
def test_what_cannot_be_is_a_usage_error(here, capsys, arguments, words):
    assert main(["sql", *arguments]) == 2
    assert words in capsys.readouterr().err
