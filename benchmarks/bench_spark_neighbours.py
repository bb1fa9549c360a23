"""As-of joins on Spark against the union and window that users write today, and against what no such plan can save.

One session, plans side by side, answers checked; inputs are Parquet files, cached, and results go to a sink that takes
nothing. The floor is the same rows through one exchange into Python, where nothing is done with them.
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

import timeloom as tl
from benchmarks.measuring import Line, show, side_by_side, timed
from timeloom.engines.spark.cluster.versions import sent_by_number
from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.exchange.blocks import BLOCKS, TASK, Destination, block_row, chunks, received

PARTITIONS, BATCH = 4, 65_536


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


def floor(left: DataFrame, right: DataFrame) -> DataFrame:
    """The rows of both sides sent to tasks evenly, in blocks; these return each left row with one number more.

    However many keys there are, that is the way of the rows of both sides to tasks in Python and back.
    """
    names = "id", "at", "key", "side"
    both = left.selectExpr("lid", "at", "key", "0").toDF(*names).unionAll(right.selectExpr("rid", "at", "key", "1"))
    return mapped(sent_by_number(mapped(both, _sent, BLOCKS), PARTITIONS, TASK), _returned, "lid bigint, rid bigint")


def _sent(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for rows in chunks(batches):
        tasks = (rows["at"].to_numpy() % PARTITIONS).astype(np.int8)
        order = np.argsort(tasks, kind="stable")
        edges = np.searchsorted(tasks[order], np.arange(PARTITIONS + 1)).tolist()
        arranged = rows.combine_chunks().take(pa.array(order))
        for task in range(PARTITIONS):
            yield block_row(arranged.slice(edges[task], edges[task + 1] - edges[task]), 0, Destination(task))


def _returned(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for block in received(batches):
        lefts = block.rows["id"].filter(pa.compute.equal(block.rows["side"], 0))
        yield from pa.table([lefts, lefts], ["lid", "rid"]).to_batches(max_chunksize=BATCH)


def as_of(spark: SparkSession, rows: int, keys: int, folder: Path) -> list[Line]:
    """One case, and its floor."""
    frames = []
    for seed, name in ((1, "lid"), (2, "rid")):
        pq.write_table(instants(rows, keys, seed, name), folder / f"{name}.parquet")
        frames.append(spark.read.parquet(str(folder / f"{name}.parquet")).repartition(4).persist())
        frames[-1].count()

    def ours() -> DataFrame:
        return tl.as_of(*frames, on="key", columns=["lid", "rid"])

    def checksum(found: DataFrame) -> tuple[int, ...]:
        row = found.agg(F.count("rid"), F.sum(F.expr("xxhash64(lid, rid) % 1000003"))).collect()[0]
        return tuple(row)

    assert checksum(ours()) == checksum(by_window(*frames))
    for warming in (ours, lambda: by_window(*frames), lambda: floor(*frames)):
        timed(lambda plan=warming: _run(plan()), 3)
    times = side_by_side(lambda: _run(ours()), lambda: _run(by_window(*frames)), 5)
    least, _ = side_by_side(lambda: _run(floor(*frames)), lambda: _run(ours()), 5)
    for frame in frames:
        frame.unpersist()
    case = f"as_of {rows:,} x {rows:,}, {keys:,} keys"
    lines = [
        Line(case, times[0], "union and window", times[1], "3 x"),
        Line(f"the floor of {case}", least, "union and window", times[1]),
    ]
    print("; ".join(f"{line.case}: {line.ours:.2f} s, {line.ratio:.2f} x" for line in lines), flush=True)
    return lines


def _run(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def main() -> None:
    """Run from the root of the repository: ``python -m benchmarks.bench_spark_neighbours``."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, nargs="*", default=[1000, 10, 1])
    given = parser.parse_args()
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        with tempfile.TemporaryDirectory() as folder:
            lines = [line for keys in given.keys for line in as_of(spark, given.rows, keys, Path(folder))]
        show("Neighbours in time on Spark", lines)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
