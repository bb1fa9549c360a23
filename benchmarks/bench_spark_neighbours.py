"""As-of joins on Spark against the union and window that users write today.

One session, both plans side by side, answers checked; results go to a sink that takes nothing.
"""

import argparse

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

import timeloom as tl
from benchmarks.measuring import Line, show, side_by_side


def instants(rows: int, keys: int, seed: int, name: str) -> pa.Table:
    """Instants in no order; no two of a side and key are level in time."""
    draw = np.random.default_rng(seed)
    return pa.table(
        {name: np.arange(rows), "at": draw.permutation(4 * rows)[:rows], "key": draw.integers(0, keys, rows)}
    )


def by_window(left: DataFrame, right: DataFrame) -> DataFrame:
    """Both tables in one, and for each left row the last right row before it, or at its instant."""
    ours = left.select("key", "at", "lid", F.lit(None).cast("bigint").alias("rid"), F.lit(1).alias("side"))
    theirs = right.select("key", "at", F.lit(None).cast("bigint").alias("lid"), "rid", F.lit(0).alias("side"))
    before = Window.partitionBy("key").orderBy("at", "side").rowsBetween(Window.unboundedPreceding, 0)
    found = ours.unionByName(theirs).withColumn("rid", F.last("rid", ignorenulls=True).over(before))
    return found.where("side = 1").select("lid", "rid")


def as_of(spark: SparkSession, rows: int, keys: int) -> Line:
    """One case."""
    frames = [
        spark.createDataFrame(instants(rows, keys, seed, name)).repartition(4).persist()
        for seed, name in ((1, "lid"), (2, "rid"))
    ]
    for frame in frames:
        frame.count()

    def ours() -> DataFrame:
        return tl.as_of(*frames, on="key", columns=["lid", "rid"])

    def checksum(found: DataFrame) -> tuple[int, ...]:
        row = found.agg(F.count("rid"), F.sum(F.expr("xxhash64(lid, rid) % 1000003"))).collect()[0]
        return tuple(row)

    assert checksum(ours()) == checksum(by_window(*frames))
    times = side_by_side(lambda: _run(ours()), lambda: _run(by_window(*frames)))
    for frame in frames:
        frame.unpersist()
    return Line(f"as_of {rows:,} x {rows:,}, {keys:,} keys", times[0], "union and window", times[1], "3 x")


def _run(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def main() -> None:
    """Run from the root of the repository: ``python -m benchmarks.bench_spark_neighbours``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--keys", type=int, nargs="*", default=[1000, 10, 1])
    given = parser.parse_args()
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        show("Neighbours in time on Spark", [as_of(spark, given.rows, keys) for keys in given.keys])
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
