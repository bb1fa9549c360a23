"""What stands in for methods that older versions of Spark do not have does the same."""

import re
from pathlib import Path

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql import types as T

import timeloom
from timeloom.engines.spark.cluster import versions

PACKAGE = Path(timeloom.__file__).parent


class Older:
    """A DataFrame without the methods of later versions."""

    def __init__(self, frame):
        self.repartition = frame.repartition


def test_integers_are_hashed_as_spark_does(spark):
    values = [0, 1, 2, 7, 41, 10_000, 2**31 - 1, -1, -(2**31)]
    frame = spark.createDataFrame([(value,) for value in values], "value int")
    found = {row["value"]: row["hash"] for row in frame.withColumn("hash", F.hash("value")).collect()}
    assert {value: versions.murmur3(value & 0xFFFFFFFF) for value in values} == found


def test_rows_are_sent_by_number_without_the_method_for_it(spark):
    rows = spark.range(60).select((F.col("id") % 7).cast("int").alias("task"))
    for sent in (rows, Older(rows)):
        placed = versions.sent_by_number(sent, 7, "task").withColumn("here", F.spark_partition_id())
        assert placed.where("task <> here").count() == 0
        assert placed.count() == 60


def test_functions_of_arrays_are_those_of_columns(spark, monkeypatch):
    from pyspark.sql.pandas import functions

    def lengths(lists, more):
        return pa.array([len(one) + two for one, two in zip(lists.to_pylist(), more.to_pylist(), strict=True)])

    frame = spark.createDataFrame([([1, 2], 3), ([], 4)], "lists array<bigint>, more bigint")
    for _ in range(2):
        found = frame.select(versions.arrow_function(lengths, T.LongType())("lists", "more").alias("x"))
        assert sorted(row["x"] for row in found.collect()) == [4, 5]
        monkeypatch.delattr(functions, "arrow_udf", raising=False)


def test_what_differs_stands_in_one_module():
    """Whoever goes around it works on one version only."""
    told = re.compile(r"pyspark\.sql\.pandas|repartitionById|arrow_udf")
    found = {file.name for file in PACKAGE.rglob("*.py") if told.search(file.read_text())}
    assert found == {"versions.py"}
