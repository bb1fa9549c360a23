"""Bitemporal indexes and tables on the command line."""

import json

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import timeloom as tl
from timeloom.cli import main

WINDOWS = "[SYS, START 1, RANGE 2, SLIDE 1] [APP, START 10, RANGE 2, SLIDE 1] STEPS 2"


@pytest.fixture
def plans(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    times = {"sys_start": [1, 2, 4], "sys_end": [4, None, None], "app_start": [10, 12, 11], "app_end": [20, 14, 13]}
    table = pa.table({"plan": ["a", "b", "c"], "fee": [5, 7, 9]} | times)
    parquet.write_table(table, "plans.parquet")
    assert main(["index", "history", "plans.parquet", "-o", "plans.index"]) == 0
    return table


def test_an_index_of_a_history_answers_commands_and_queries(plans, capsys):
    assert main(["as-of", "plans.index", "--sys", "3", "--app", "12", "-o", "out.csv"]) == 0
    assert csv.read_csv("out.csv")["plan"].to_pylist() == ["a", "b"]
    assert main(["as-of", "plans.parquet", "--sys", "3", "--app", "12", "-o", "again.csv"]) == 0
    assert csv.read_csv("again.csv") == csv.read_csv("out.csv")
    slides = ["--sys", "1,2,1", "--app", "10,2,1", "--steps", "2", "--meaning", "began,snapshot"]
    assert main(["sliding-windows", "plans.index", *slides, "-o", "out.csv"]) == 0
    expected = tl.sliding_windows(plans, tl.Slide(1, 2, 1), tl.Slide(10, 2, 1), steps=2, meaning=("began", "snapshot"))
    assert csv.read_csv("out.csv") == expected
    text = f"select sum(fee) as fees from p {WINDOWS} where fee > 5"
    assert main(["sql", text, "p=plans.index", "-o", "out.csv"]) == 0
    assert csv.read_csv("out.csv")["fees"].to_pylist() == [7, 16, 7]
    capsys.readouterr()
    assert main(["sql", text, "p=plans.index", "--explain"]) == 0
    assert "by=index, where=fee > 5" in capsys.readouterr().out


def test_it_is_described_and_grows(plans, capsys):
    capsys.readouterr()
    assert main(["index", "info", "plans.index", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["rows"], facts["latest"], facts["retroactive"]) == (3, 4, True)
    more = plans.slice(1, 1).set_column(2, "sys_start", pa.array([9]))
    parquet.write_table(more, "more.parquet")
    assert main(["index", "append", "plans.index", "more.parquet"]) == 0
    assert len(tl.BitemporalIndex.load("plans.index")) == 4
    assert main(["index", "append", "plans.index", "plans.parquet"]) == 1
    assert "goes backwards" in capsys.readouterr().err
    assert main(["index", "stab", "plans.index", "--at", "3"]) == 1
    assert "expected 'stab-forest'" in capsys.readouterr().err
    assert main(["index", "history", "plans.parquet", "-o", "now.index", "--present"]) == 0
    assert main(["index", "info", "now.index"]) == 0
    assert "retroactive       False" in capsys.readouterr().out


def test_tables_are_read_by_queries_and_commands(plans):
    tl.BitemporalTable.from_history(plans, "plan").save("plans.index")
    assert main(["sql", "select plan from p for system_time as of 2", "p=plans.index", "-o", "out.csv"]) == 0
    assert csv.read_csv("out.csv")["plan"].to_pylist() == ["a", "b"]


def test_a_second_table_may_be_left_out_only_where_a_verb_allows_it(plans, capsys):
    assert main(["join", "plans.parquet"]) == 2
    assert main(["as-of", "plans.parquet"]) == 2
    assert "as_of needs a right table" in capsys.readouterr().err
