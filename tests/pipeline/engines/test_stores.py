"""Sinks in stores: tables, databases, other formats, addresses; what Spark cannot write is refused by name."""

import json

import pytest

from timeloom.errors import TimeloomError, UsageError
from timeloom.pipeline.definition.check import load
from timeloom.pipeline.definition.models import Source
from timeloom.pipeline.definition.secrets import Secrets
from timeloom.pipeline.definition.stores import Store
from timeloom.pipeline.engines.spark_sources import read_source
from timeloom.pipeline.engines.stores import deliver
from timeloom.pipeline.execution import run_file

PIPELINE = """\
name: duty
engine: spark
sources:
  shifts:
    path: shifts.csv
    schema: {who: string, start: bigint, end: bigint}
    period: [start, end]
steps:
  people: {depth: {df: shifts, name: people}}
sinks:
  files: {from: people, path: out/files, format: parquet}
  people: SINK
report: out/report
"""
ROWS = [(8, 10, 1), (10, 12, 2), (12, 16, 1)]


@pytest.fixture
def run(tmp_path, monkeypatch, spark):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shifts.csv").write_text("who,start,end\nAnn,8,12\nBob,10,16\n")

    def go(sink):
        (tmp_path / "p.yml").write_text(PIPELINE.replace("SINK", sink))
        return run_file("p.yml", spark=spark).record

    return go


def rows(frame):
    return sorted(map(tuple, frame.collect()))


def test_tables_of_the_catalog_are_written_and_accounted_for(run, spark, tmp_path):
    record = run("{table: duty_people, mode: overwrite, title: People}")
    assert rows(spark.table("duty_people")) == ROWS
    sink = next(sink for sink in record["sinks"] if sink["name"] == "people")
    assert (sink["rows"], sink["place"], sink["title"], sink["picture"]["kind"]) == (
        3,
        "duty_people",
        "People",
        "steps",
    )
    run("{table: duty_people, mode: append}")
    assert len(rows(spark.table("duty_people"))) == 6
    before = (tmp_path / "out/report/report.json").read_text()
    with pytest.raises(TimeloomError, match=r"'duty_people' cannot be written.*already exists"):
        run("{table: duty_people}")
    assert (tmp_path / "out/report/report.json").read_text() != before
    assert json.loads((tmp_path / "out/report/report.json").read_text())["status"] == "failed"
    spark.sql("drop table duty_people")


def test_a_database_is_written_in_one_transaction(run, spark):
    url = "jdbc:derby:memory:timeloom;create=true"
    options = "options: {driver: org.apache.derby.iapi.jdbc.AutoloadedDriver}"
    reader = spark.read.format("jdbc").options(url=url, dbtable="people")
    for mode, times in (("overwrite", 1), ("overwrite", 1), ("append", 2)):
        run(f"{{url: '{url}', table: people, mode: {mode}, {options}}}")
        assert rows(reader.load()) == sorted(ROWS * times)


def test_addresses_and_formats_that_spark_has(run, spark, tmp_path):
    place = (tmp_path / "out/lake").as_uri()
    run(f"{{path: '{place}', format: parquet}}")
    assert rows(spark.read.parquet(place)) == ROWS
    with pytest.raises(TimeloomError, match="already exists"):
        run(f"{{path: '{place}', format: parquet}}")
    run("{path: out/people.xml, format: xml, options: {rowTag: row}}")
    assert spark.read.format("xml").options(rowTag="row").load((tmp_path / "out/people.xml").as_uri()).count() == 3


def test_batches_of_files_are_appended_whole_and_replaced_by_a_rerun(run, spark, tmp_path):
    place = (tmp_path / "out/lake").as_uri()
    for batch, times in (("monday", 1), ("tuesday", 2), ("monday", 2)):
        run(f"{{path: '{place}', format: parquet, mode: append, batch: {batch}}}")
        assert rows(spark.read.parquet(place).drop("batch")) == sorted(ROWS * times)
    assert sorted(path.name for path in (tmp_path / "out/lake").glob("[!._]*")) == ["batch=monday", "batch=tuesday"]
    (tmp_path / "shifts.csv").write_text("who,start,end\n")
    run(f"{{path: '{place}', format: parquet, mode: append, batch: sunday}}")
    with pytest.raises(TimeloomError, match="was to get 0 rows, and 3 can be read back"):
        run(f"{{path: '{place}', format: parquet, mode: append, batch: monday}}")


def test_files_at_an_address_are_replaced_at_once(run, spark, tmp_path):
    place = (tmp_path / "out/lake").as_uri()
    sink = f"{{path: '{place}', format: parquet, mode: overwrite}}"
    run(sink)
    (tmp_path / "shifts.csv").write_text("who,start,end\nAnn,8,12\n")
    run(sink)
    assert rows(spark.read.parquet(place)) == [(8, 12, 1)]
    aside = tmp_path / "out/.lake.timeloom"
    aside.mkdir()
    (tmp_path / "out/lake").rename(aside / "old")
    (tmp_path / "shifts.csv").write_text("who,start,end\nBob,1,2\n")
    run(f"{{path: '{place}', format: parquet, mode: overwrite, partition_by: people}}")
    assert rows(spark.read.parquet(place)) == [(1, 2, 1)]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["files", "lake", "report"]


def test_rows_that_are_not_all_there_replace_nothing(spark, tmp_path):
    place = (tmp_path / "lake").as_uri()
    store = Store.model_validate({"from": "x", "path": place, "format": "parquet", "mode": "overwrite"})
    deliver(spark, spark.range(3), store, place, 3)
    with pytest.raises(TimeloomError, match="was to get 5 rows, and 4 can be read back"):
        deliver(spark, spark.range(4), store, place, 5)
    assert spark.read.parquet(place).count() == 3
    assert [path.name for path in tmp_path.iterdir()] == ["lake"]


@pytest.mark.parametrize(
    ("sink", "words"),
    [
        ("{path: 'hdfs://nowhere/x', format: parquet, mode: overwrite}", "does not reach its store.*hadoop classpath"),
        ("{path: out/people, format: delta}", "classes of delta.*io.delta:delta-spark_2.13"),
        ("{path: out/people, format: sometimes}", "classes of sometimes are not on Spark's path"),
        ("{url: 'jdbc:postgresql://nowhere/hr', table: people}", "driver of its database.*org.postgresql:postgresql"),
    ],
)
def test_what_is_not_on_the_path_is_refused_by_name_before_anything_runs(run, tmp_path, sink, words):
    with pytest.raises(UsageError, match=words):
        run(sink)
    assert not (tmp_path / "out/files").exists()


def test_a_database_that_is_read_is_refused_in_the_same_words(spark):
    source = Source.model_validate({"url": "jdbc:postgresql://nowhere/hr", "table": "people"})
    with pytest.raises(UsageError, match=r"'people': the driver of its database.*'org\.postgresql:postgresql:VER"):
        read_source(spark, source, "")


@pytest.mark.parametrize(
    ("sink", "words"),
    [
        ("{path: 's3a://lake/people', format: parquet, mode: overwrite}", "of s3a cannot be replaced at once.*batch"),
        (
            "{path: 's3a://lake/people', format: parquet, mode: append, batch: x}",
            "renaming a directory, which s3a does",
        ),
        ("{path: 'hdfs://nn/people', format: parquet, mode: append}", "mode append of files needs batch"),
        ("{path: 'hdfs://nn/people', format: parquet, batch: x}", "no other mode takes one"),
        ("{path: 'hdfs://nn/x', format: orc, mode: append, batch: x, partition_by: who}", "give no partition_by"),
        ("{table: people, mode: append, batch: x}", "store's own commit"),
        ("{url: 'jdbc:postgresql://db/hr', path: out/x}", "a database needs table"),
        ("{url: 'jdbc:postgresql://db/hr', table: people, partition_by: x}", "has no partition_by"),
    ],
)
def test_stores_that_cannot_mean_anything_are_faults(tmp_path, sink, words):
    (tmp_path / "p.yml").write_text(PIPELINE.replace("SINK", sink))
    with pytest.raises(TimeloomError, match=words):
        load(str(tmp_path / "p.yml"), Secrets({}))


def test_the_local_engine_writes_files_only(tmp_path):
    (tmp_path / "p.yml").write_text(
        PIPELINE.replace("SINK", "{table: people}").replace("engine: spark", "engine: local")
    )
    with pytest.raises(TimeloomError, match="written by Spark"):
        load(str(tmp_path / "p.yml"), Secrets({}))
