"""Pipelines on Spark: the same results and counts as on local tables, a session left as it was, faults on the way."""

import json
import os
import signal
import subprocess
import sys

import pyarrow as pa
import pytest
from pyarrow import parquet

from timeloom.errors import InvalidInputError, StorageError, TimeloomError, UsageError
from timeloom.pipeline.definition.models import Cluster
from timeloom.pipeline.definition.secrets import Secrets
from timeloom.pipeline.engines.session import cause
from timeloom.pipeline.execution import run_file
from timeloom.pipeline.tables.files import read_table

pytestmark = pytest.mark.spark

PIPELINE = """\
name: shifts
engine: spark
sources:
  shifts:
    path: shifts.csv
    schema: {who: string, start: bigint, end: bigint}
    period: [start, end]
    keys: who
    on_invalid: quarantine
  calls: {path: calls.parquet, period: {start: from, end: to, closed: both}}
steps:
  answered:
    join: {left: shifts, right: calls, relation: intersects}
  busy: {sql: "select who, count(*) as calls from answered group by who"}
sinks:
  answered: {path: out/answered, format: parquet}
  busy: {path: out/busy, format: csv}
quarantine: {path: out/rejected, format: parquet}
report: out/report
"""
SHIFTS = "who,start,end\nAnn,1,5\nBob,5,9\nCid,9,\nDan,soon,7\nEve,,7\nFay,7,2\nGus,3,3\n,1,2\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yml").write_text(PIPELINE)
    (tmp_path / "shifts.csv").write_text(SHIFTS)
    parquet.write_table(pa.table({"call": [1, 2, 3], "from": [2, 4, 20], "to": [3, 5, 21]}), "calls.parquet")
    return tmp_path


def rows(path, form):
    return sorted(map(str, read_table(path, form).to_pylist()))


def results(here):
    data = json.loads((here / "out/report/report.json").read_text())
    counts = [
        {name: source[name] for name in ("rows", "admitted", "quarantined", "reasons")} for source in data["sources"]
    ]
    sinks = [(sink["name"], sink["rows"]) for sink in data["sinks"]]
    return (
        counts,
        sinks,
        rows("out/answered", "parquet"),
        rows("out/busy", "csv"),
        rows("out/rejected/shifts", "parquet"),
    )


def test_both_engines_agree_and_a_given_session_stays_as_it_was(here, spark):
    before = dict(spark.conf.getAll), [table.name for table in spark.catalog.listTables()]
    run_file("p.yml", spark=spark)
    on_spark = results(here)
    assert (dict(spark.conf.getAll), [table.name for table in spark.catalog.listTables()]) == before
    run_file("p.yml", spark=spark)
    assert results(here) == on_spark
    run_file("p.yml", engine="local")
    assert results(here) == on_spark
    counts, sinks, answered, _, rejected = on_spark
    assert counts[0] == {
        "rows": 8,
        "admitted": 3,
        "quarantined": 5,
        "reasons": {
            "end is before start": 1,
            "start is no bigint": 1,
            "start is null": 1,
            "the period is empty: start equals end": 1,
            "who is null": 1,
        },
    }
    assert sinks == [("answered", len(answered)), ("busy", 3)]
    assert any("soon" in row for row in rejected)


FAULTS = {
    "missing column": (
        lambda: put("shifts.csv", "who,start\nx,1\n"),
        "no column 'end'",
    ),
    "changed type": (
        lambda: parquet.write_table(pa.table({"call": [1], "from": ["a"], "to": ["b"]}), "calls.parquet"),
        "is text",
    ),
    "corrupt file": (lambda: os.truncate("calls.parquet", 100), "source 'calls' cannot be read"),
    "missing file": (lambda: os.remove("calls.parquet"), "source 'calls' cannot be read: the path does not exist"),
    "ragged file": (lambda: put("shifts.csv", SHIFTS + "a,b,c,d,e\n"), "source 'shifts' cannot be read"),
}


def put(path, text):
    with open(path, "w") as file:
        file.write(text)


@pytest.mark.parametrize("name", list(FAULTS))
def test_a_fault_in_a_source_is_one_line_and_leaves_the_old_output(here, spark, name):
    (here / "out/answered").mkdir(parents=True)
    (here / "out/answered/old").write_text("old")
    spoil, words = FAULTS[name]
    spoil()
    with pytest.raises(TimeloomError, match=words) as caught:
        run_file("p.yml", spark=spark)
    assert "\n" not in str(caught.value)
    assert "Traceback" not in str(caught.value)
    files = [file for file in sorted((here / "out").rglob("*")) if file.is_file() and "report" not in file.parts]
    assert files == [here / "out/answered/old"]


def test_a_query_that_fails_is_told(here, spark):
    (here / "p.yml").write_text(PIPELINE.replace("select who", "select whom"))
    with pytest.raises(UsageError, match="the query failed: .*whom"):
        run_file("p.yml", spark=spark)


def test_a_session_is_never_taken_unasked(here, spark):
    with pytest.raises(UsageError, match="pass it as spark="):
        run_file("p.yml")


def test_catalog_tables_partitions_and_batches(here, spark):
    spark.createDataFrame([("mo", 1, 2), ("tu", 2, 3)], "day string, start int, end int").write.saveAsTable("days")
    text = """\
        sources: {days: {table: days, period: [start, end]}}
        sinks:
          parts: {from: days, path: out/parts, format: parquet, mode: replace_partitions, partition_by: day}
          batches: {from: days, path: out/batches, format: json, mode: append, batch: b1}
        report: r
        """
    (here / "t.yml").write_text(text)
    run_file("t.yml", spark=spark)
    spark.createDataFrame([("tu", 5, 6)], "day string, start int, end int").write.mode("overwrite").saveAsTable("days")
    run_file("t.yml", spark=spark)
    assert sorted((row["day"], row["start"]) for row in read_table("out/parts", "parquet").to_pylist()) == [
        ("mo", 1),
        ("tu", 5),
    ]
    assert sorted((row["day"], row["start"]) for row in read_table("out/batches", "json").to_pylist()) == [("tu", 5)]
    spark.sql("drop table days")


JDBC = """\
sources:
  people:
    url: "jdbc:derby:memory:people;create=true"
    table: TABLE
    options: {user: app, password: "${PASSWORD}", driver: org.apache.derby.jdbc.EmbeddedDriver}
    period: [since, until]
sinks: {people: {path: out/people, format: orc}}
report: r
"""


def test_a_database_table_and_its_password(here, spark):
    people = spark.createDataFrame([("Ann", 1, 5), ("Bob", 3, 7)], "who string, since int, until int")
    settings = {"url": "jdbc:derby:memory:people;create=true", "dbtable": "people"}
    people.write.format("jdbc").options(driver="org.apache.derby.jdbc.EmbeddedDriver", **settings).save()
    secrets = Secrets({"PASSWORD": "open sesame"})
    (here / "db.yml").write_text(JDBC.replace("TABLE", "people"))
    run_file("db.yml", spark=spark, secrets=secrets)
    assert sorted(row["who"] for row in read_table("out/people", "orc").to_pylist()) == ["Ann", "Bob"]
    (here / "db.yml").write_text(JDBC.replace("TABLE", "nobody"))
    with pytest.raises(TimeloomError, match="source 'people' cannot be read"):
        run_file("db.yml", spark=spark, secrets=secrets)
    assert not [file for file in (here / "r").iterdir() if "sesame" in file.read_text()]


@pytest.mark.processes
def test_a_driver_killed_in_mid_write_leaves_the_old_output(here):
    (here / "out/answered").mkdir(parents=True)
    (here / "out/answered/old").write_text("old")
    program = (
        "import time; from timeloom.pipeline.engines.spark import SparkEngine\n"
        "def stop(self, frame, sink, staging, rows): print('written', flush=True); time.sleep(600)\n"
        "SparkEngine.sample = stop\n"
        "from timeloom.pipeline.execution import run_file; run_file('p.yml')\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "written\n"
        running.send_signal(signal.SIGKILL)
    assert [file.name for file in (here / "out/answered").iterdir()] == ["old"]
    assert [file.name for file in (here / "out").iterdir() if "staging" in file.name]
    run_file("p.yml", engine="local")
    assert not [file.name for file in (here / "out").rglob(".*timeloom*")]
    assert len(rows("out/answered", "parquet")) == 4


def test_a_session_that_cannot_start_is_told(monkeypatch, here):
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
    with pytest.raises((StorageError, InvalidInputError), match="Spark cannot start"):
        run_file("p.yml", cluster=Cluster(remote="sc://127.0.0.1:1"))


def test_causes_are_found_in_what_spark_says():
    assert cause("[A_B] no such thing: x\n\nJVM stacktrace:\norg.x") == "[A_B] no such thing: x"
    assert cause("An exception\n  File\nValueError: bad\n") == "ValueError: bad"


SINKS = """\
sources: {t: {path: t.parquet}}
steps: {r: {sql: "QUERY"}}
sinks: {r: {path: out/r, SETTINGS}}
report: r
"""


def test_rows_written_are_rows_meant(here, spark):
    numbers = [0.0, -0.0, float("nan"), float("nan"), None, 1.5]
    parquet.write_table(pa.table({"x": numbers, "n": range(6), "s": ["a", "b/c", "", None, "%", "d=e"]}), "t.parquet")
    cases = [
        ("select x, n from t", "format: parquet, partition_by: x", 6),
        ("select s, n from t where s > ''", "format: csv, partition_by: s", 4),
        ("select x, n from t where n < 0", "format: parquet, partition_by: x", 0),
        ("select n from t limit 0", "format: json", 0),
        ("select s, n from t", "format: parquet, partition_by: s", "'s' has the empty text in 1 rows"),
        ("select '__HIVE_DEFAULT_PARTITION__' as s, n from t", "format: json, partition_by: s", "DEFAULT.* in 6 rows"),
        ("select concat('a', chr(10), n) as s, n from t", "format: csv", "was to get 6 rows of 'r', but 12 can be"),
        ("select concat('a', chr(10), n) as s, n from t", "format: csv, options: {multiLine: true}", 6),
        ("select nullif(n, 3) as n from t", "format: csv", "was to get 6 rows of 'r', but 5 can be read back"),
        ("select n from t", "format: parquet, partition_by: n", "partitioned by all its columns"),
    ]
    for query, settings, expected in cases:
        (here / "s.yml").write_text(SINKS.replace("QUERY", query).replace("SETTINGS", settings))
        if isinstance(expected, int):
            assert run_file("s.yml", spark=spark).record["sinks"][0]["rows"] == expected, query
        else:
            before = sorted((here / "out/r").rglob("*"))
            with pytest.raises(TimeloomError, match=expected):
                run_file("s.yml", spark=spark)
            assert sorted((here / "out/r").rglob("*")) == before


DICE = """\
sources:
  thrown: {table: dice, period: [start, end], on_invalid: quarantine}
  t: {path: t.parquet}
steps:
  dealt: {sql: "select uuid() as id, n as start, n + 1 as end from t"}
  pairs: {join: {left: dealt, right: dealt, relation: equals, how: full}}
  nothing: {sql: "select null as x, id from thrown"}
sinks:
  one: {from: thrown, path: out/one, format: parquet}
  two: {from: thrown, path: out/two, format: json}
  pairs: {path: out/pairs, format: parquet}
  empty: {from: nothing, path: out/empty, format: json}
  void: {from: nothing, path: out/void, format: json}
quarantine: {path: out/rejected}
report: r
"""


def test_what_a_run_reads_it_reads_once(here, spark, monkeypatch):
    spark.range(0, 40, 1, 3).selectExpr(
        "uuid() as id", "if(rand() < 0.5, null, 1L) as start", "2L as end"
    ).createTempView("dice")
    parquet.write_table(pa.table({"n": range(30)}), "t.parquet")
    (here / "d.yml").write_text(DICE)
    source = run_file("d.yml", spark=spark).record["sources"][0]
    one, two, rejected = (
        {row["id"] for row in read_table(f"out/{name}", form).to_pylist()}
        for name, form in (("one", "parquet"), ("two", "json"), ("rejected/thrown", "parquet"))
    )
    assert one == two == {row["id"] for row in read_table("out/empty", "json").to_pylist()}
    assert not one & rejected
    assert (len(one), len(rejected), len(one | rejected)) == (source["admitted"], source["quarantined"], 40)
    pairs = read_table("out/pairs", "parquet").to_pylist()
    assert len(pairs) == 30
    assert all(row["id"] == row["id_right"] for row in pairs)
    assert not list((here / "out").glob(".*"))
    spark.catalog.dropTempView("dice")

    from timeloom.pipeline.engines.spark import SparkEngine

    columns = SparkEngine.columns
    monkeypatch.setattr(
        SparkEngine, "columns", lambda self, frame: (put("shifts.csv", "who,start,end\n"), columns(self, frame))[1]
    )
    (here / "c.yml").write_text("sources: {s: {path: shifts.csv}}\nsinks: {s: {path: out/s, format: csv}}\nreport: r\n")
    with pytest.raises(StorageError, match="source 's' (changed while it was read|had 8 fit rows)"):
        run_file("c.yml", spark=spark)
    assert not (here / "out/s").exists()
