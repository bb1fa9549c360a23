"""Counts and windows through Spark Connect, run in a process of its own: a session is either classic or Connect."""

import pyarrow as pa
from pyspark.sql import SparkSession

import timeloom as tl


def table(step):
    starts = [(number * step) % 17 for number in range(30)]
    ends = [start + 1 + number % 9 for number, start in enumerate(starts)]
    prices = [number * 0.1 for number in range(30)]
    return pa.table({"start": starts, "end": ends, "key": [number % 3 for number in range(30)], "price": prices})


def rows_of(table):
    return sorted(map(repr, table.to_pylist()))


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
    aggregates = {"total": ("price", "sum"), "mean": ("key", "avg"), "most": ("price", "max")}
    for strategy in ("slices", "broadcast"):
        found = tl.count_join(*frames, strategy=strategy, aggregates=aggregates).toArrow()
        assert rows_of(found) == rows_of(tl.count_join(left, right, aggregates=aggregates)), strategy
    found = tl.top_k(*frames, 2, by="key", ties="all", strategy="slices").toArrow()
    assert rows_of(found) == rows_of(tl.top_k(left, right, 2, by="key", ties="all"))
    windows = {"sys": tl.Slide(2, 3, 1), "app": tl.Slide(1, 3, 1), "steps": 6, "select": {"most": ("price", "max")}}
    periods = {"sys_period": ("start", "end"), "app_period": ("start", "end")}
    found = tl.sliding_windows(frames[0], **windows, **periods).toArrow()
    assert found.to_pylist() == tl.sliding_windows(left, **windows, **periods).to_pylist()
    spark.stop()
    print("the same counts through Connect")


if __name__ == "__main__":
    main()
