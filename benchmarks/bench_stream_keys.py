"""Structured Streaming over many keys at rest: what a micro-batch costs that touches a part of them.

Each of 16,000 keys has an open left row, which the first micro-batch brings. Every later one has 2,000 events, or as
many as asked for: right rows that start and end within it, on keys drawn at random. The pairs are compared with the
join of the tables before times are reported; the first batches start everything up and do not count. With ``--verb
count`` right rows count the left ones that they are in, which is a stream of final results.
"""

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from benchmarks.bench_stream_spark import BEGIN, endpoints, ours, run, session, write_files
from timeloom.operators.join import join
from timeloom.operators.stream_count import stream_count

SCALES = {"small": 16_000, "full": 64_000, "large": 512_000}
EVENTS, BATCHES, STEP = 2_000, 12, 60.0
"""Events of a batch, batches, and the seconds of a batch in the time of events."""

FIRST = 6
"""The first batch that counts: before it, pages grow in number."""


def instants(seconds: np.ndarray) -> np.ndarray:
    return BEGIN + (seconds * 1e6).astype("timedelta64[us]")


def tables(keys: int, events: int) -> dict[str, dict[str, np.ndarray]]:
    """A left row for each key, open beyond the end, and one more a batch, which lets time pass; short right rows."""
    random = np.random.default_rng(3)
    begins = np.concatenate([random.uniform(0, STEP / 2, keys), STEP * np.arange(1, BATCHES) + STEP / 4])
    left = {"id": np.arange(begins.size), "key": np.append(np.arange(keys), np.full(BATCHES - 1, -1))}
    left |= {"start": instants(begins), "end": instants(np.full(begins.size, STEP * (BATCHES + 1)))}
    rows = events // 2
    starts = np.concatenate([STEP * (at + random.uniform(0, 0.7, rows)) for at in range(1, BATCHES)])
    right = {"id": np.arange(starts.size), "key": random.integers(0, keys, starts.size)}
    return {"left": left, "right": right | {"start": instants(starts), "end": instants(starts + STEP / 5)}}


def write_batches(here: Path, sides: dict[str, dict[str, np.ndarray]]) -> None:
    for side, columns in sides.items():
        write_files(here / f"{side}_events", endpoints(columns), "time", BATCHES, STEP * BATCHES)


def seconds_of(told: list[Any]) -> list[float]:
    """What each batch with events took."""
    return [round(each["durationMs"]["triggerExecution"] / 1e3, 2) for each in told if each["numInputRows"]]


def counted(spark: Any, here: Path, rows: int, scratch: Path) -> tuple[bool, list[Any], float]:
    """Whether each right row that left counts one, what Spark told of the batches, and what they took."""
    left, right = (
        spark.readStream.schema("id LONG, key LONG, time TIMESTAMP, event BOOLEAN")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(here / f"{side}_events"))
        for side in ("left", "right")
    )
    shutil.rmtree(scratch, ignore_errors=True)
    writer = stream_count(right, left, "during", on="key").writeStream.option("path", str(scratch / "out"))
    begun = time.perf_counter()
    query = writer.option("checkpointLocation", str(scratch / "state")).trigger(availableNow=True).start()
    query.awaitTermination()
    took = time.perf_counter() - begun
    found = parquet.read_table(scratch / "out", columns=["left_id", "count"])
    is_right = np.asarray(found["count"]) == 1
    return bool(is_right.all() and is_right.size >= rows * (BATCHES - 2) // BATCHES), list(query.recentProgress), took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=sorted(SCALES), default="small")
    parser.add_argument("--events", type=int, default=EVENTS, help="of a micro-batch")
    parser.add_argument("--verb", choices=("join", "count"), default="join")
    chosen = parser.parse_args()
    keys = SCALES[chosen.scale]
    here = Path(tempfile.mkdtemp(prefix="timeloom-keys-"))
    spark = session()
    try:
        sides = tables(keys, chosen.events)
        write_batches(here, sides)
        whole = [pa.table(columns) for columns in sides.values()]
        joined = join(*whole, "intersects", on="key", columns=["id", "id_right"])
        expected = np.sort(np.asarray(joined["id"]) << 32 | np.asarray(joined["id_right"]))
        print(f"{keys:,} keys at rest, {BATCHES} batches of {chosen.events:,} events, {expected.size:,} pairs")
        for label in ("cold", "warm"):
            if chosen.verb == "count":
                complete, told, took = counted(spark, here, sides["right"]["id"].size, here / "query")
            else:
                pairs, told, took = run(ours(spark, here, keys), here / "query")
                known = np.isin(pairs, expected).all()
                complete = known and pairs.size >= expected.size * (BATCHES - 2) // (BATCHES - 1)
            if not complete:
                raise SystemExit("not the pairs of the tables")
            later = seconds_of(told)[FIRST:]
            state = told[-1]["stateOperators"][0]
            print(f"  {label}: {np.median(later):.2f} s a batch (best {min(later):.2f} s), whole query {took:.1f} s")
        print(f"  state: {state['numRowsTotal']:,} rows, {state['memoryUsedBytes'] / 1e6:.1f} MB")
    finally:
        spark.stop()
        shutil.rmtree(here, ignore_errors=True)


if __name__ == "__main__":
    main()
