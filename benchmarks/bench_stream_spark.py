"""Structured Streaming: endpoint events per second against Spark's own stream-stream join, and the size of the state.

Both sides hold 1,000 active rows spread over some keys. Spark's join needs whole rows, so it gets each row once, at its
start, with its end; Timeloom gets a start and an end. Both answer the same pairs of the same files, in the same
micro-batches, with the state in RocksDB. Timeloom's answer is compared with the join of the tables before times are
reported; a first turn, which starts workers and compilers, is not.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from timeloom.operators.join import join
from timeloom.operators.stream_join import stream_join

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SCALES = {"small": (20_000, 6), "full": (100_000, 5)}
ACTIVE, KEYS, HOUR = 1000, 20, 3600.0
BEGIN = np.datetime64("2024-01-01", "us")


def rows_of(rows: int, seed: int) -> dict[str, np.ndarray]:
    """Rows over an hour, of which 1,000 are active at any time on average."""
    random = np.random.default_rng(seed)
    start = np.sort(random.uniform(0, HOUR, rows))
    length = random.exponential(ACTIVE * HOUR / rows, rows) + 1e-3
    micros = (start * 1e6).astype("timedelta64[us]"), ((start + length) * 1e6).astype("timedelta64[us]")
    keys = random.integers(0, KEYS, rows)
    return {"id": np.arange(rows), "key": keys, "start": BEGIN + micros[0], "end": BEGIN + micros[1]}


def write_files(folder: Path, columns: dict[str, np.ndarray], clock: str, batches: int) -> None:
    """One file for each micro-batch: the rows of one stretch of the hour."""
    folder.mkdir(parents=True)
    edges = BEGIN + (np.linspace(0, HOUR, batches + 1) * 1e6).astype("timedelta64[us]")
    edges[-1] = np.datetime64("2100-01-01", "us")
    for number in range(batches):
        now = (columns[clock] >= edges[number]) & (columns[clock] < edges[number + 1])
        table = pa.table({name: values[now] for name, values in columns.items()})
        for name in ("time", "start", "end"):
            if name in columns:
                at = table.schema.get_field_index(name)
                table = table.set_column(at, name, table[name].cast(pa.timestamp("us", "UTC")))
        path = folder / f"{number:03}.parquet"
        parquet.write_table(table, path)
        os.utime(path, (1_700_000_000 + number,) * 2)


def endpoints(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    time = np.concatenate([columns["start"], columns["end"]])
    order = np.argsort(time, kind="stable")
    starting = np.arange(time.size) < columns["id"].size
    both = {name: np.concatenate([columns[name]] * 2)[order] for name in ("id", "key")}
    return {**both, "time": time[order], "event": starting[order]}


def session() -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "50000")
        .config("spark.driver.memory", "3g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    return spark


def run(frame: Any, scratch: Path) -> tuple[np.ndarray, list[Any], float]:
    """The pairs, what Spark told of the batches, and the seconds that the batches took."""
    shutil.rmtree(scratch, ignore_errors=True)
    writer = frame.writeStream.format("parquet").option("path", str(scratch / "out"))
    begun = time.perf_counter()
    query = writer.option("checkpointLocation", str(scratch / "state")).trigger(availableNow=True).start()
    query.awaitTermination()
    took = time.perf_counter() - begun
    found = parquet.read_table(scratch / "out", columns=["left_id", "right_id"])
    pairs = np.unique(np.asarray(found["left_id"]) << 32 | np.asarray(found["right_id"]))
    if pairs.size != len(found):
        raise SystemExit("a pair came twice")
    return pairs, list(query.recentProgress), took


def peer(spark: Any, here: Path) -> Any:
    """Spark's own inner join with the predicate of intersects. It answers a few pairs less; how many is reported."""
    from pyspark.sql import functions as F  # noqa: N812

    sides = []
    for side in ("left", "right"):
        stream = spark.readStream.schema("id LONG, key LONG, start TIMESTAMP, end TIMESTAMP")
        rows = stream.option("maxFilesPerTrigger", 1).parquet(str(here / f"{side}_rows"))
        names = {name: f"{side}_{name}" for name in ("id", "key", "start", "end")}
        sides.append(rows.withColumnsRenamed(names).withWatermark(f"{side}_start", "10 seconds"))
    same = F.col("left_key") == F.col("right_key")
    active = (F.col("left_start") < F.col("right_end")) & (F.col("right_start") < F.col("left_end"))
    return sides[0].join(sides[1], same & active).select("left_id", "right_id")


def ours(spark: Any, here: Path) -> Any:
    sides = [
        spark.readStream.schema("id LONG, key LONG, time TIMESTAMP, event BOOLEAN")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(here / f"{side}_events"))
        for side in ("left", "right")
    ]
    return stream_join(*sides, "intersects", on="key")


def state_bytes(spark: Any, checkpoint: Path, batches: int) -> list[int]:
    """How many bytes the joins of all keys take, after each batch of the simulated hour."""
    sizes = []
    for batch in range(batches):
        stored = spark.read.format("statestore").option("stateVarName", "join").option("batchId", batch)
        rows = stored.load(str(checkpoint)).selectExpr("sum(length(value.body))").collect()
        sizes.append(rows[0][0] or 0)
    return sizes


def rate(told: list[Any]) -> float:
    """Input rows per second in the batches after the first one, which starts everything up."""
    later = [progress for progress in told if progress["numInputRows"] and progress["batchId"] > 0]
    return sum(p["numInputRows"] for p in later) / (sum(p["durationMs"]["triggerExecution"] for p in later) / 1e3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=sorted(SCALES), default="small")
    parser.add_argument("--runs", type=int, default=1)
    chosen = parser.parse_args()
    rows, batches = SCALES[chosen.scale]
    spark, here = session(), Path(tempfile.mkdtemp(prefix="timeloom-stream-"))
    try:
        tables = {side: rows_of(rows, seed) for seed, side in enumerate(("left", "right"))}
        whole = [pa.table(columns) for columns in tables.values()]
        expected = join(*whole, "intersects", on="key", columns=["id"]).num_rows
        for side, columns in tables.items():
            write_files(here / f"{side}_rows", columns, "start", batches)
            write_files(here / f"{side}_events", endpoints(columns), "time", batches)
        for turn in range(chosen.runs + 1):
            found, told, took = run(ours(spark, here), here / "ours")
            state = [progress["stateOperators"][0] for progress in told if progress["numInputRows"]]
            theirs, peer_told, peer_took = run(peer(spark, here), here / "peer")
            if found.size != expected:
                raise SystemExit(f"{found.size:,} pairs, but the join of the tables has {expected:,}")
            if turn == 0:
                continue
            print(f"{rows:,} rows a side, {batches} batches, {ACTIVE:,} active, {KEYS} keys, {expected:,} pairs")
            print(f"  Timeloom: {rate(told):>10,.0f} endpoint events/s   {took:.1f} s")
            print(f"  Spark:    {2 * rate(peer_told):>10,.0f} endpoint events/s   {peer_took:.1f} s (two a row)")
            print(f"  ratio {rate(told) / (2 * rate(peer_told)):.2f}; Spark has less pairs: {expected - theirs.size:,}")
            print(f"  state rows by batch: {[each['numRowsTotal'] for each in state]}")
            print(f"  bytes of state by batch: {state_bytes(spark, here / 'ours/state', batches)}")
    finally:
        spark.stop()
        shutil.rmtree(here, ignore_errors=True)


if __name__ == "__main__":
    main()
