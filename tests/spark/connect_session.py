"""Joins through Spark Connect, run in a process of its own: a session is either classic or Connect."""

import os
import sys

import pyarrow as pa
from pyspark.sql import SparkSession

import timeloom as tl

os.environ["PYSPARK_PYTHON"] = sys.executable


def rows_of(result):
    return sorted(map(repr, (tuple(row) for row in result)))


def table(step):
    starts = [(number * step) % 17 for number in range(30)]
    ends = [start + 1 + number % 5 for number, start in enumerate(starts)]
    return pa.table({"start": starts, "end": ends, "key": [number % 3 for number in range(30)], "id": range(30)})


def main():
    spark = (
        SparkSession.builder.remote("local[2]")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    tl.install(spark)
    left, right = table(5), table(7)
    frames = spark.createDataFrame(left), spark.createDataFrame(right)
    for strategy, how in (("slices", "inner"), ("keys", "full"), ("broadcast", "left"), ("auto", "anti")):
        call = {"relation": "overlaps | during", "on": "key", "how": how, "strategy": strategy}
        found = tl.join(*frames, **call).toArrow().to_pylist()
        expected = tl.join(left, right, **{**call, "strategy": "auto"}).to_pylist()
        assert rows_of(map(dict.values, found)) == rows_of(map(dict.values, expected)), call
    assert tl.explain(tl.join, *frames)["strategy"] in ("broadcast", "slices")
    good, rejected = tl.join(*frames, on_invalid="quarantine")
    assert good.count() > 0
    assert rejected.count() == 0
    one = [(tl.coalesce, {}), (tl.gaps, {"within": (0, 30)}), (tl.temporal_aggregate, {"aggregates": {"n": "count"}})]
    for verb, options in one:
        found, expected = (verb(rows, by="key", **options) for rows in (frames[0], left))
        assert rows_of(found.collect()) == rows_of(map(dict.values, expected.to_pylist())), verb
    for verb, options in ((tl.temporal_antijoin, {}), (tl.temporal_join, {"how": "full"})):
        found, expected = (verb(*rows, on="key", **options) for rows in (frames, (left, right)))
        assert rows_of(found.collect()) == rows_of(map(dict.values, expected.to_pylist())), verb
    spark.stop()
    print("the same rows through Connect")


if __name__ == "__main__":
    main()
