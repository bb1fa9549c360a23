"""A streaming join through Spark Connect, run in a process of its own: a session is either classic or Connect."""

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from stream_files import END, LEFT, RIGHT, ROCKSDB, certain_pairs, endpoints, found_in, run_to_files, stream, write
from timeloom.operators.install import install
from timeloom.operators.stream_join import stream_join


def main():
    here = Path(sys.argv[1])
    spark = (
        SparkSession.builder.remote("local[2]")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        .getOrCreate()
    )
    install(spark)
    write(here / "left", 0, endpoints(LEFT, 0, END))
    write(here / "right", 0, endpoints(RIGHT, 0, END))
    frame = stream_join(stream(spark, here / "left"), stream(spark, here / "right"), "overlaps", on="key")
    run_to_files(frame, here / "out", here / "checkpoint")
    assert found_in(spark, here / "out") == certain_pairs("overlaps")
    spark.stop()
    print("the same pairs through Connect")


if __name__ == "__main__":
    main()
