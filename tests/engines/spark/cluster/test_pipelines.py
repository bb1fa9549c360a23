"""Verbs in dataset functions of Spark's declarative pipelines, where plans are made and not looked at."""

import os
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyspark.sql import types as T

import timeloom as tl
from timeloom.engines.spark.cluster import pipelines
from timeloom.engines.spark.cluster.schema_texts import schema_of
from tree import ROOT

EXAMPLE = ROOT / "examples/declarative"


def rows(table):
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    """What the example and some more datasets write, by their names."""
    here = tmp_path_factory.mktemp("pipeline")
    shutil.copytree(EXAMPLE, here, dirs_exist_ok=True)
    shutil.copy(Path(__file__).with_name("other_datasets.py"), here / "transformations")
    spec = here / "spark-pipeline.yml"
    spec.write_text(spec.read_text().replace("file:///tmp/timeloom-declarative", (here / "storage").as_uri()))
    own = Path(sys.executable).parent
    environment = os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PATH": f"{own}:{os.environ['PATH']}",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(here),
        "SPARK_TESTING": "1",  # any free port, so that two runs do not meet
        "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # plans run once, as in the shared session
    }
    command = [str(own / "spark-pipelines"), "run", "--spec", str(spec)]
    run = subprocess.run(command, env=environment, cwd=here, capture_output=True, text=True, check=False)
    assert run.returncode == 0, (run.stdout + run.stderr)[-3000:]
    return {path.name: ds.dataset(path, format="parquet").to_table() for path in (here / "spark-warehouse").iterdir()}


@pytest.mark.spark
@pytest.mark.processes
@pytest.mark.timeout(600)
def test_a_pipeline_of_spark_writes_what_the_local_engine_finds(datasets):
    shifts, calls = datasets["shifts"], datasets["calls"]
    assert rows(datasets["answered"]) == rows(tl.join(calls, shifts, "during", how="left"))
    assert rows(datasets["on_duty"]) == rows(tl.temporal_aggregate(shifts, {"people": "count"}))
    assert rows(datasets["presence"]) == rows(tl.coalesce(shifts))
    assert sorted(datasets["at_noon"]["who"].to_pylist()) == ["Ann", "Bob"]
    assert rows(datasets["sent_to_all"]) == rows(tl.join(calls, shifts, "during", how="full"))
    assert rows(datasets["in_force"]) == rows(tl.as_of(calls, shifts, at="start"))
    answered = tl.join(calls, shifts, "during", columns=["call", "who", "start", "end"])
    assert rows(datasets["laid_out"]) == rows(tl.lanes(tl.coalesce(answered), by="who"))
    assert rows(datasets["faults"]) == rows(tl.check(shifts, by="who", gaps=True))
    relations = [("a", "during", "b"), ("a", "before", "c")]
    assert rows(datasets["in_a_row"]) == rows(tl.pattern({"a": calls, "b": shifts, "c": calls}, relations))
    times = ["start", "end"]
    assert rows(datasets["unanswered"]) == rows(tl.temporal_except(calls.select(times), shifts.select(times)))
    untold, pattern = (datasets["refusals"][name][0].as_py() for name in ("untold", "pattern"))
    assert "columns of the input table are not known" in untold
    assert "tl.with_schema(df, " in untold
    assert "columns of the shifts table are not known" in pattern


@pytest.fixture
def defining(monkeypatch):
    """As if datasets were being defined, on a session that could be asked."""
    registry = SimpleNamespace(get_active_graph_element_registry=lambda: None)
    monkeypatch.setitem(sys.modules, "pyspark.pipelines.graph_element_registry", registry)


LEFT = pa.table({"a": [1, 2, 3, 4], "k": ["x", "y", "x", None], "start": [0, 3, 5, 9], "end": [4, 6, 9, 12]})
RIGHT = pa.table({"b": [1, 2, 3], "k": ["x", "x", "y"], "start": [1, 4, 20], "end": [5, 7, 22]})
VALUES, OTHERS = LEFT.select(["k", "start", "end"]), RIGHT.select(["k", "start", "end"])
HISTORY = LEFT.slice(0, 3).rename_columns(["a", "k", "sys_start", "sys_end"]).append_column("app_start", [[0, 1, 2]])
HISTORY = HISTORY.append_column("app_end", [[9, 9, 9]])
VERSIONS = HISTORY.set_column(3, "sys_end", pa.array([4, None, None], pa.int64()))
FEED = pa.table({"k": ["x", "z"], "op": ["update", "insert"], "sys": [20, 21], "app_start": [1, 2], "app_end": [3, 4]})
FEED = FEED.append_column("a", [[7, 8]])
VERBS = {
    "slices": lambda left, right: tl.join(left, right, "intersects"),
    "keys": lambda left, right: tl.join(left, right, "intersects", on="k", how="full"),
    "broadcast": lambda left, right: tl.join(left, right, "before", how="left", strategy=_broadcast(left)),
    "anti": lambda left, right: tl.join(left, right, "intersects", how="anti"),
    "count_join": lambda left, right: tl.count_join(left, right, "intersects"),
    "temporal_join": lambda left, right: tl.temporal_join(left, right, how="left"),
    "temporal_antijoin": lambda left, right: tl.temporal_antijoin(left, right, on="k"),
    "temporal_aggregate": lambda left, right: tl.temporal_aggregate(left, {"n": "count", "most": ("a", "max")}),
    "by": lambda left, right: tl.temporal_aggregate(left, {"n": "count"}, by="k"),
    "coalesce": lambda left, right: tl.coalesce(left),
    "gaps": lambda left, right: tl.gaps(right, within=(0, 30)),
    "stab": lambda left, right: tl.stab(left, at=3),
    "split": lambda left, right: tl.split(left, every=2),
    "as_of": lambda left, right: tl.as_of(left, right, at="start", on="k"),
    "as_of without keys": lambda left, right: tl.as_of(left, right, at="start", direction="nearest"),
    "nearest": lambda left, right: tl.nearest(left, right, k=2, on="k"),
    "nearest without keys": lambda left, right: tl.nearest(left, right, how="left", max_distance=2),
    "lanes": lambda left, right: tl.lanes(left),
    "lanes by": lambda left, right: tl.lanes(left, by="k"),
    "check": lambda left, right: tl.check(left, by="k", gaps=True, duplicates=True),
    "temporal_union": lambda left, right: tl.temporal_union(_as(left, VALUES), _as(left, OTHERS)),
    "temporal_intersect": lambda left, right: tl.temporal_intersect(_as(left, VALUES), _as(left, OTHERS)),
    "temporal_except": lambda left, right: tl.temporal_except(_as(left, VALUES), _as(left, OTHERS), all=True),
    "sessions": lambda left, right: tl.coalesce(left, by="k", max_gap=1),
    "buckets": lambda left, right: tl.temporal_aggregate(left, {"n": "count", "busy": "covered"}, every=5, by="k"),
    "windows": lambda left, right: tl.sliding_windows(
        _as(left, HISTORY), tl.Slide(0, 4, 1), tl.Slide(0, 4, 2), steps=5, select={"n": "count", "m": ("a", np.median)}
    ),
    "merge": lambda left, right: tl.merge(_as(left, VERSIONS), _as(left, FEED), "k"),
    "pattern": lambda left, right: tl.pattern(
        {"a": left, "b": right, "c": left}, [("a", "intersects", "b"), ("b", "before", "c")]
    ),
}


def _as(left, table):
    """Another table, of the same kind."""
    return table if isinstance(left, pa.Table) else left.sparkSession.createDataFrame(table)


def _broadcast(left):
    return "auto" if isinstance(left, pa.Table) else "broadcast"


@pytest.mark.parametrize("verb", VERBS)
def test_plans_that_nobody_looked_at_give_the_same_rows(spark, defining, verb):
    left, right = (spark.createDataFrame(table) for table in (LEFT, RIGHT))
    found = VERBS[verb](left, right)
    assert rows(found.toArrow()) == rows(VERBS[verb](LEFT, RIGHT))


def test_nothing_is_asked_where_datasets_are_defined(spark, defining, monkeypatch):
    frame = spark.createDataFrame(LEFT)
    monkeypatch.setattr(type(frame), "explain", lambda *_, **__: pytest.fail("a plan was looked at"))
    tl.join(frame, frame, "intersects", how="full", suffixes=("_l", "_r"))


def test_outside_of_a_pipeline_nothing_changes():
    assert not pipelines.in_pipeline()


def test_told_columns_are_those_of_the_rows(spark):
    frame = spark.sql("select 5 as `a b`, 'x' as k, 3 as other, timestamp_ntz'2024-01-01 00:00:00' as t")
    told = tl.with_schema(frame, "k string, `a b` bigint NOT NULL, t timestamp_ntz")
    assert told.schema.simpleString() == "struct<k:string,a b:bigint,t:timestamp_ntz>"
    assert told.collect() == [("x", 5, datetime(2024, 1, 1))]
    for schema in (told.schema, pa.schema([("k", pa.string()), ("a b", pa.int64()), ("t", pa.timestamp("us"))])):
        assert tl.with_schema(frame, schema).schema.simpleString() == told.schema.simpleString()


def test_schemas_that_cannot_be_read_are_refused(spark):
    frame = spark.range(1)
    for schema, words in (
        ("id struct<a:int>", "cannot be read at 'id struct"),
        ("id bigint, ", "cannot be read at ''"),
        ("", "cannot be read at ''"),
        ("id oops", "'oops' is no plain type"),
        (3, "expected a StructType"),
    ):
        with pytest.raises(tl.UsageError, match=words):
            tl.with_schema(frame, schema)
    with pytest.raises(tl.UsageError, match="takes a Spark DataFrame, not a Table"):
        tl.with_schema(LEFT, "a int")


def test_texts_are_read_as_spark_reads_them(spark):
    for text in (
        "task int, block binary, many array<int>",
        "`a``b` decimal(10, 2) NOT NULL, c: double, d timestamp",
        "a date, b boolean, c smallint, d tinyint, e float, f string, g decimal",
    ):
        assert schema_of(text) == T._parse_datatype_string(text)
