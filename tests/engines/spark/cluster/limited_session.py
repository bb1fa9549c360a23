"""A join whose result is a hundred times its input, in workers that may take 1 GiB, run in a process of its own."""

import os
import resource
import sys

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import timeloom as tl

os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable

ROWS, LENGTH = 50_000, 101


def limits(batches):
    """The most memory that a worker may have."""
    list(batches)
    yield pa.RecordBatch.from_pydict({"bytes": [resource.getrlimit(resource.RLIMIT_AS)[0]]})


def crowded_rows():
    """One row starts at each tick, so each meets about twice as many as it is long."""
    starts = np.random.default_rng(1).permutation(ROWS)
    payload = pa.array([f"{start:0100d}" for start in starts])
    return pa.table({"start": starts, "end": starts + LENGTH, "payload": payload})


def main():
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.executor.pyspark.memory", "2g")  # for all cores
        .config("spark.executor.cores", "2")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    (limit,) = spark.range(1).mapInArrow(limits, "bytes long").first()
    assert limit == 1 << 30, limit
    frame = spark.createDataFrame(crowded_rows())
    expected = ROWS * (2 * LENGTH - 1) - LENGTH * (LENGTH - 1)
    assert expected > 100 * 2 * ROWS * 0.99
    for strategy in ("slices", "broadcast"):
        assert tl.join(frame, frame, strategy=strategy).selectExpr("count(payload_right)").first()[0] == expected
    spark.stop()
    print("all pairs within the limit")


if __name__ == "__main__":
    main()
