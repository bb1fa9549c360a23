"""Whether the state of a stream on Spark stays flat: an hour of events, or more, in many micro-batches.

Rows come at an even rate over some keys, which change as time goes on, and about 1,000 are active at any time. After
each micro-batch it is noted how many states there are, how many bytes of pages they have, how much RocksDB holds in
memory, and how much memory the Python workers and the JVM have. The first fifth fills everything up and does not
count; told are means over fifths, and what the last one is of the second.
"""

import argparse
import os
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench_stream_spark import ACTIVE, BEGIN, HOUR, KEYS, endpoints, session, write_files
from timeloom.operators.stream_coalesce import stream_coalesce
from timeloom.operators.stream_count import stream_count
from timeloom.operators.stream_join import stream_join

SCALES = {"small": (30_000, 60), "full": (120_000, 240)}
"""Rows of a side in an hour, and micro-batches."""

PARTS = 5
SCHEMA = "id LONG, key LONG, time TIMESTAMP, event BOOLEAN"
VERBS = {
    "join": lambda left, right: stream_join(left, right, "intersects", on="key"),
    "count": lambda left, right: stream_count(left, right, "overlaps", on="key"),
    "coalesce": lambda left, right: stream_coalesce(left.union(right), by="key", max_gap="1 second"),
}


def rows_of(rows: int, hours: float, seed: int) -> dict[str, np.ndarray]:
    """Rows at an even rate; each minute other keys are in use."""
    random = np.random.default_rng(seed)
    count = int(rows * hours)
    start = np.sort(random.uniform(0, HOUR * hours, count))
    length = random.exponential(ACTIVE * HOUR / rows, count) + 1e-3
    keys = (start // 60).astype(np.int64) * KEYS + random.integers(0, KEYS, count)
    first, last = ((ticks * 1e6).astype("timedelta64[us]") for ticks in (start, start + length))
    return {"id": np.arange(count) * 2 + seed, "key": keys, "start": BEGIN + first, "end": BEGIN + last}


def resident(name: str) -> list[int]:
    """Bytes in memory of each process below this one whose command line has a word in it."""
    parents, found = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = dict(
                line.split(":\t", 1) for line in (folder / "status").read_text().splitlines() if ":\t" in line
            )
            parents[int(folder.name)] = int(status["PPid"])
            if name in (folder / "cmdline").read_bytes().decode(errors="replace") and "VmRSS" in status:
                found[int(folder.name)] = int(status["VmRSS"].split()[0]) * 1024
        except (OSError, ValueError, KeyError):
            continue  # it is over

    def is_below(process: int) -> bool:
        while process > 1 and process != os.getpid():
            process = parents.get(process, 0)
        return process == os.getpid()

    return [size for process, size in found.items() if is_below(process)]


class Watch(threading.Thread):
    """Notes after each micro-batch what the state and the processes take."""

    def __init__(self, query: Any) -> None:
        super().__init__(daemon=True)
        self.query, self.seen = query, {}

    def run(self) -> None:
        """Look until the query is over."""
        while self.query.isActive:
            told = self.query.lastProgress
            if told is not None and told["batchId"] not in self.seen and told["stateOperators"]:
                state = told["stateOperators"][0]
                workers, jvm = resident("pyspark.daemon"), resident("java")
                self.seen[told["batchId"]] = (
                    state["numRowsTotal"],
                    state["memoryUsedBytes"] / 1e6,
                    max(workers, default=0) / 1e6,
                    sum(jvm) / 1e6,
                    told["durationMs"]["triggerExecution"] / 1e3,
                )
            time.sleep(0.1)


def kept_bytes(spark: Any, checkpoint: Path, batches: list[int]) -> list[int]:
    """How many bytes pages have after each of these micro-batches."""
    sizes = []
    for batch in batches:
        stored = spark.read.format("statestore").option("stateVarName", "pages").option("batchId", batch)
        rows = stored.load(str(checkpoint)).selectExpr("sum(length(user_map_value.body))").collect()
        sizes.append(rows[0][0] or 0)
    return sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=sorted(SCALES), default="small")
    parser.add_argument("--hours", type=float, default=1.0, help="of event time")
    parser.add_argument("--verb", choices=sorted(VERBS), default="join")
    chosen = parser.parse_args()
    rows, batches = SCALES[chosen.scale]
    batches = int(batches * chosen.hours)
    here = Path(tempfile.mkdtemp(prefix="timeloom-hour-"))
    spark = session()
    try:
        streams = []
        for seed, side in enumerate(("left", "right")):
            events = endpoints(rows_of(rows, chosen.hours, seed))
            write_files(here / side, events, "time", batches, HOUR * chosen.hours)
            read = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
            streams.append(read.parquet(str(here / side)))
        writer = VERBS[chosen.verb](*streams).writeStream.format("noop").trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(here / "state")).start()
        watch = Watch(query)
        watch.start()
        query.awaitTermination()
        watch.join()
        numbers = sorted(watch.seen)[:batches]
        print(f"{chosen.verb}: {chosen.hours:g} h of events, {rows:,} rows a side and hour, {batches} micro-batches")
        report(spark, here / "state", numbers, watch.seen)
    finally:
        spark.stop()
        shutil.rmtree(here, ignore_errors=True)


def report(spark: Any, checkpoint: Path, numbers: list[int], seen: dict[int, tuple[float, ...]]) -> None:
    names = ("states", "RocksDB MB", "largest worker MB", "JVM MB", "seconds")
    parts = np.array_split(np.array(numbers[:-1]), PARTS)  # the last file has all that ends after the hour
    means = [np.mean([seen[number] for number in part.tolist()], axis=0) for part in parts]
    recent = [number for part in parts for number in part[[0, len(part) // 2]].tolist() if number > numbers[-1] - 95]
    for part, mean in zip(parts, means, strict=True):
        told = ", ".join(f"{name} {value:,.1f}" for name, value in zip(names, mean, strict=True))
        print(f"  micro-batches {part[0]} to {part[-1]}: {told}")
    sizes = kept_bytes(spark, checkpoint, recent)
    print("  bytes of pages: " + ", ".join(f"{size:,} after {at}" for at, size in zip(recent, sizes, strict=True)))
    ratios = ", ".join(
        f"{name} {last / first:.2f} x" for name, first, last in zip(names, means[1], means[-1], strict=True)
    )
    print(f"  last fifth against second: {ratios}")


if __name__ == "__main__":
    main()
