"""Joins on a cluster, in a process of its own; tells when the last one runs, so that a worker can be killed then."""

import os
import sys
import time
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import timeloom as tl


def drawn_rows(seed, rows):
    starts = [(number * seed) % 9973 for number in range(rows)]
    ends = [start + 1 + (number * 31) % 40 for number, start in enumerate(starts)]
    return pa.table({"start": starts, "end": ends, "id": range(rows)})


def slowed(begun):
    """A function for tasks that says when it is called first, and takes its time."""

    def slow(batches):
        Path(begun).touch()
        for batch in batches:
            time.sleep(0.3)
            yield batch

    return slow


def main(master, begun):
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master(master)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.executor.memory", "512m")
        .config("spark.executor.cores", "1")
        .config("spark.sql.shuffle.partitions", "6")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    left, right = drawn_rows(7, 3000), drawn_rows(11, 2000)
    frames = [spark.createDataFrame(rows).repartition(4) for rows in (left, right)]
    call = {"how": "full", "columns": ["id", "id_right"]}
    expected = sorted(map(repr, tl.join(left, right, **call).to_pylist()))
    slow = frames[0].mapInArrow(slowed(begun), frames[0].schema)
    for first, told in ((frames[0], "the same rows on the cluster"), (slow, "the same rows with a worker lost")):
        found = tl.join(first, frames[1], strategy="slices", **call).toArrow().to_pylist()
        assert sorted(map(repr, found)) == expected
        print(told)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
