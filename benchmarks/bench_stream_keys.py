"""Structured Streaming over many keys at rest: what a micro-batch costs that touches a part of them.

Each of 16,000 keys has an open left row, which the first micro-batch brings. Every later one has 2,000 events: right
rows that start and end within it, on keys drawn at random. The pairs are compared with the join of the tables before
times are reported; the first two batches start everything up and do not count.
"""

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.bench_stream_spark import BEGIN, endpoints, ours, run, session, write_files
from timeloom.operators.join import join

SCALES = {"small": 16_000, "full": 64_000}
EVENTS, BATCHES, STEP = 2_000, 8, 60.0
"""Events of a batch, batches, and the seconds of a batch in the time of events."""


def instants(seconds: np.ndarray) -> np.ndarray:
    return BEGIN + (seconds * 1e6).astype("timedelta64[us]")


def tables(keys: int) -> dict[str, dict[str, np.ndarray]]:
    """A left row for each key, open beyond the end, and one more a batch, which lets time pass; short right rows."""
    random = np.random.default_rng(3)
    begins = np.concatenate([random.uniform(0, STEP / 2, keys), STEP * np.arange(1, BATCHES) + STEP / 4])
    left = {"id": np.arange(begins.size), "key": np.append(np.arange(keys), np.full(BATCHES - 1, -1))}
    left |= {"start": instants(begins), "end": instants(np.full(begins.size, STEP * (BATCHES + 1)))}
    rows = EVENTS // 2
    starts = np.concatenate([STEP * (at + random.uniform(0, 0.7, rows)) for at in range(1, BATCHES)])
    right = {"id": np.arange(starts.size), "key": random.integers(0, keys, starts.size)}
    return {"left": left, "right": right | {"start": instants(starts), "end": instants(starts + STEP / 5)}}


def write_batches(here: Path, sides: dict[str, dict[str, np.ndarray]]) -> None:
    for side, columns in sides.items():
        write_files(here / f"{side}_events", endpoints(columns), "time", BATCHES, STEP * BATCHES)


def seconds_of(told: list[Any]) -> list[float]:
    """What each batch with events took."""
    return [round(each["durationMs"]["triggerExecution"] / 1e3, 2) for each in told if each["numInputRows"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=sorted(SCALES), default="small")
    chosen = parser.parse_args()
    keys = SCALES[chosen.scale]
    here = Path(tempfile.mkdtemp(prefix="timeloom-keys-"))
    spark = session()
    try:
        sides = tables(keys)
        write_batches(here, sides)
        whole = [pa.table(columns) for columns in sides.values()]
        joined = join(*whole, "intersects", on="key", columns=["id", "id_right"])
        expected = np.sort(np.asarray(joined["id"]) << 32 | np.asarray(joined["id_right"]))
        print(f"{keys:,} keys at rest, {BATCHES} batches of {EVENTS:,} events, {expected.size:,} pairs")
        for label in ("cold", "warm"):
            pairs, told, took = run(ours(spark, here, keys), here / "query")
            complete = np.isin(pairs, expected).all() and pairs.size >= expected.size * (BATCHES - 2) // (BATCHES - 1)
            if not complete:
                raise SystemExit("not the pairs of the tables")
            later = seconds_of(told)[2:]
            state = told[-1]["stateOperators"][0]
            print(f"  {label}: {np.median(later):.2f} s a batch (best {min(later):.2f} s), whole query {took:.1f} s")
        print(f"  state: {state['numRowsTotal']:,} rows, {state['memoryUsedBytes'] / 1e6:.1f} MB")
    finally:
        spark.stop()
        shutil.rmtree(here, ignore_errors=True)


if __name__ == "__main__":
    main()
