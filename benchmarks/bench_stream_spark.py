"""Structured Streaming: endpoint events per second against Spark's own stream-stream join, and the size of the state.

Both sides hold 1,000 active rows spread over some keys. Spark's join needs whole rows, so it gets each row once, at its
start, with its end; Timeloom gets a start and an end. Both answer the same pairs of the same files, in the same
micro-batches, with the state in RocksDB. Each has a process of its own, which runs the query twice: cold, with the
start of workers and compilers, and warm. Both answers are compared with the join of the tables before times are
reported. Beside them stands the floor: a stateful processor in Python that takes the same events in the same buckets,
opens a state and does nothing. What it takes is Spark's own, whatever is done with events in such a processor.

Spark lets go of a row by its event time, here its start, also where the predicate speaks of its end: with the bare
predicate it loses the pairs of rows that outlast a micro-batch. So rows have a longest duration, and Spark is told that
starts are no further apart than that; the comparison with the ends is written so that no watermark is derived from it.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from timeloom.kernels.order import distinct
from timeloom.operators.join import join
from timeloom.operators.stream_join import stream_join

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SCALES = {"small": (10_000, 4), "full": (20_000, 6)}
ACTIVE, KEYS, HOUR, LONGEST = 1000, 20, 3600.0, 3
"""Active rows, keys, seconds, and how many mean durations a row lasts at most."""

BEGIN = np.datetime64("2024-01-01", "us")


def mean_duration(rows: int) -> float:
    """In seconds."""
    return ACTIVE * HOUR / rows


def rows_of(rows: int, seed: int) -> dict[str, np.ndarray]:
    """Rows over an hour, of which about 1,000 are active at any time."""
    random = np.random.default_rng(seed)
    start = np.sort(random.uniform(0, HOUR, rows))
    length = np.minimum(random.exponential(mean_duration(rows), rows) + 1e-3, LONGEST * mean_duration(rows))
    micros = (start * 1e6).astype("timedelta64[us]"), ((start + length) * 1e6).astype("timedelta64[us]")
    keys = random.integers(0, KEYS, rows)
    return {"id": np.arange(rows), "key": keys, "start": BEGIN + micros[0], "end": BEGIN + micros[1]}


def write_files(folder: Path, columns: dict[str, np.ndarray], clock: str, batches: int, seconds: float = HOUR) -> None:
    """One file for each micro-batch: the rows of one stretch of the hour."""
    folder.mkdir(parents=True)
    edges = BEGIN + (np.linspace(0, seconds, batches + 1) * 1e6).astype("timedelta64[us]")
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
    if not list((scratch / "out").glob("*.parquet")):
        return np.empty(0, np.int64), list(query.recentProgress), took
    found = parquet.read_table(scratch / "out", columns=["left_id", "right_id"])
    pairs = distinct(np.asarray(found["left_id"]) << 32 | np.asarray(found["right_id"]))
    if pairs.size != len(found):
        raise SystemExit("a pair came twice")
    return pairs, list(query.recentProgress), took


def peer(spark: Any, here: Path, rows: int) -> Any:
    """Spark's own inner join with the predicate of intersects."""
    from pyspark.sql import functions as F  # noqa: N812

    sides = []
    for side in ("left", "right"):
        stream = spark.readStream.schema("id LONG, key LONG, start TIMESTAMP, end TIMESTAMP")
        read = stream.option("maxFilesPerTrigger", 1).parquet(str(here / f"{side}_rows"))
        names = {name: f"{side}_{name}" for name in ("id", "key", "start", "end")}
        sides.append(read.withColumnsRenamed(names).withWatermark(f"{side}_start", "10 seconds"))
    longest = f"INTERVAL {int(LONGEST * mean_duration(rows)) + 1} SECONDS"
    predicate = (
        "left_key = right_key AND unix_micros(left_start) < unix_micros(right_end) "
        "AND unix_micros(right_start) < unix_micros(left_end) "
        f"AND left_start >= right_start - {longest} AND right_start >= left_start - {longest}"
    )
    return sides[0].join(sides[1], F.expr(predicate)).select("left_id", "right_id")


def ours(spark: Any, here: Path, rows: int) -> Any:
    sides = [
        spark.readStream.schema("id LONG, key LONG, time TIMESTAMP, event BOOLEAN")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(here / f"{side}_events"))
        for side in ("left", "right")
    ]
    return stream_join(*sides, "intersects", on="key")


def floor(spark: Any, here: Path, rows: int) -> Any:
    """The plan of ours with a processor that does nothing."""
    from unittest.mock import patch

    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Nothing(StatefulProcessor):
        def __init__(self, plan: object) -> None:
            pass

        def init(self, handle: Any) -> None:
            self.state = handle.getMapState("pages", "page INT", "version INT, body BINARY, names STRING")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: N802, N803
            for _ in rows:
                pass
            return iter([])

        def close(self) -> None:
            pass

    with patch("timeloom.streaming.structured.JoinProcessor", Nothing):
        return ours(spark, here, rows)


CONTENDERS = {"Timeloom": (ours, 1), "Spark": (peer, 2), "floor": (floor, 1)}
"""How each makes its query, and how many events a row of its input stands for."""


def state_bytes(spark: Any, checkpoint: Path, batches: int) -> list[int]:
    """How many bytes the joins of all keys take, after each batch of the simulated hour."""
    sizes = []
    for batch in range(batches):
        stored = spark.read.format("statestore").option("stateVarName", "pages").option("batchId", batch)
        rows = stored.load(str(checkpoint)).selectExpr("sum(length(user_map_value.body))").collect()
        sizes.append(rows[0][0] or 0)
    return sizes


def rate(told: list[Any]) -> float:
    """Input rows per second in the batches after the first one, which starts everything up."""
    later = [progress for progress in told if progress["numInputRows"] and progress["batchId"] > 0]
    return sum(p["numInputRows"] for p in later) / (sum(p["durationMs"]["triggerExecution"] for p in later) / 1e3)


def contender(which: str, here: Path, rows: int, batches: int, runs: int) -> dict[str, Any]:
    """The pairs; seconds, endpoint events per second and seconds of each batch, for every run; the state by batch."""
    spark, (frame, per_row) = session(), CONTENDERS[which]
    try:
        seen: dict[str, Any] = {"seconds": [], "rate": [], "batches": []}
        for _ in range(runs + 1):
            seen["pairs"], told, took = run(frame(spark, here, rows), here / which)
            fed = [progress for progress in told if progress["numInputRows"]]
            seen["seconds"].append(took)
            seen["rate"].append(per_row * rate(told))
            seen["batches"].append([round(each["durationMs"]["triggerExecution"] / 1e3, 1) for each in fed])
            seen["rows kept"] = [each["stateOperators"][0]["numRowsTotal"] for each in fed]
        if which == "Timeloom":
            seen["bytes kept"] = state_bytes(spark, here / which / "state", batches)
        return seen
    finally:
        spark.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=sorted(SCALES), default="small")
    parser.add_argument("--runs", type=int, default=1)
    chosen = parser.parse_args()
    rows, batches = SCALES[chosen.scale]
    here = Path(tempfile.mkdtemp(prefix="timeloom-stream-"))
    try:
        tables = {side: rows_of(rows, seed) for seed, side in enumerate(("left", "right"))}
        whole = [pa.table(columns) for columns in tables.values()]
        joined = join(*whole, "intersects", on="key", columns=["id", "id_right"])
        expected = np.sort(np.asarray(joined["id"]) << 32 | np.asarray(joined["id_right"]))
        for side, columns in tables.items():
            write_files(here / f"{side}_rows", columns, "start", batches)
            write_files(here / f"{side}_events", endpoints(columns), "time", batches)
        print(f"{rows:,} rows a side, {batches} batches, {ACTIVE:,} active, {KEYS} keys, {expected.size:,} pairs")
        seen = {}
        for which in CONTENDERS:
            with ProcessPoolExecutor(1, get_context("spawn")) as process:
                seen[which] = process.submit(contender, which, here, rows, batches, chosen.runs).result()
            if not np.array_equal(seen[which].pop("pairs"), expected) and which != "floor":
                raise SystemExit(f"{which}: not the pairs of the tables")
            print(f"  {which}: " + ", ".join(f"{name} {told}" for name, told in seen[which].items()), flush=True)
        for label, one in (("cold", [0]), ("warm", range(1, chosen.runs + 1))):
            rates = [max(seen[which]["rate"][at] for at in one) for which in CONTENDERS]
            took = [min(seen[which]["seconds"][at] for at in one) for which in CONTENDERS]
            print(f"  {label}: {rates[0]:,.0f} against {rates[1]:,.0f} endpoint events/s, {rates[0] / rates[1]:.2f} x;")
            print(f"        whole query {took[0]:.1f} s against {took[1]:.1f} s, {took[1] / took[0]:.2f} x;")
            told = f"{rates[2]:,.0f} events/s, {rates[2] / rates[1]:.2f} x; {took[2]:.1f} s, {took[1] / took[2]:.2f} x"
            print(f"        floor {told}")
    finally:
        shutil.rmtree(here, ignore_errors=True)


if __name__ == "__main__":
    main()
