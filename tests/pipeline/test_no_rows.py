"""Files without rows: with their types they are empty tables, without they say what to add."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import timeloom as tl
from timeloom.cli import main
from timeloom.errors import InvalidInputError, StorageError
from timeloom.pipeline.execution import run_file

FILES = {
    "none.csv": "id,start,end\n",
    "none.tsv": "id\tstart\tend\n",
    "none.jsonl": "",
    "none.json": "[]\n",
}
TYPES = ["--type", "start=timestamp_ntz", "--type", "end=timestamp_ntz", "--type", "id=bigint"]
SOME = "id,start,end\n7,2024-01-01 00:00:00,2024-01-02 00:00:00\n"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    Path("some.csv").write_text(SOME)
    parquet.write_table(pa.table({name: pa.nulls(0) for name in ("id", "start", "end")}), "none.parquet")


@pytest.mark.parametrize("name", [*FILES, "none.parquet"])
def test_commands_take_their_types(name, capsys):
    assert main(["coalesce", name, *TYPES, "-o", "out.parquet"]) == 0
    found = parquet.read_table("out.parquet")
    assert (found.num_rows, found.schema.field("start").type) == (0, pa.timestamp("us"))
    assert main(["join", "some.csv", name, "--on", "id", "--how", "left", *TYPES, "-o", "out.csv"]) == 0
    assert csv.read_csv("out.csv")["id"].to_pylist() == [7]
    assert main(["sql", "select count(*) as n, max(start) as t from x", f"x={name}", *TYPES, "-o", "out.csv"]) == 0
    assert csv.read_csv("out.csv").to_pylist() == [{"n": 0, "t": None}]


@pytest.mark.parametrize("name", [*FILES, "none.parquet"])
def test_commands_say_what_to_add(name, capsys):
    assert main(["join", "some.csv", name]) == 1
    said = capsys.readouterr().err
    assert f"'{name}'" in said
    assert "--type" in said
    assert "no objects" in said or "no rows that tell the type of its column 'start'" in said


@pytest.mark.parametrize(
    ("types", "code", "said"),
    [
        (["start=sometime"], 2, "unknown type 'sometime'"),
        (["start"], 2, "names no type; give NAME=TYPE"),
        (["start=array<int>"], 2, "give a simple type"),
        (["begin=date"], 2, "no table has this column"),
        (["id=date"], 1, "1 of 1 values in column 'id' of 'some.csv' are no date, the first is '7'"),
    ],
)
def test_types_that_do_not_fit_are_refused(types, code, said, capsys):
    assert main(["coalesce", "some.csv", "--type", *types]) == code
    assert said in capsys.readouterr().err


def pipeline(name, engine, schema):
    told = ", schema: {id: bigint, start: timestamp, end: timestamp}" if schema else ""
    Path("p.yml").write_text(f"""
engine: {engine}
sources: {{rows: {{path: {name}, period: [start, end]{told}}}}}
steps: {{merged: {{coalesce: {{df: rows, by: id}}}}}}
sinks: {{merged: {{path: out.parquet}}}}
report: report
""")
    return "p.yml"


@pytest.mark.parametrize("name", FILES)
def test_pipelines_take_a_schema(name):
    with pytest.raises((InvalidInputError, StorageError), match="schema"):
        run_file(pipeline(name, "local", schema=False))
    form = "json_array" if name.endswith(".json") else None
    run_file(pipeline(f"{name}, format: {form}" if form else name, "local", schema=True))
    found = parquet.read_table("out.parquet")
    assert (found.num_rows, found.schema.field("start").type) == (0, pa.timestamp("us", "UTC"))


@pytest.mark.spark
def test_pipelines_on_spark_take_a_schema(spark):
    for name in ("none.csv", "none.jsonl", "none.json, format: json_array"):
        run_file(pipeline(name, "spark", schema=True), spark=spark)
        found = parquet.read_table("out.parquet")
        assert (found.column_names, found.num_rows) == (["id", "start", "end"], 0), name


def test_verbs_ask_for_a_type_since_rows_never_tell_it():
    table = pa.table({"start": pa.nulls(0), "end": pa.nulls(0)})
    with pytest.raises(InvalidInputError, match=r"'start' of the input table has no values and no type \(null\); cast"):
        tl.coalesce(table)
    typed = table.cast(pa.schema({"start": pa.int64(), "end": pa.null()}))
    assert tl.coalesce(typed).num_rows == tl.join(typed, typed).num_rows == 0
