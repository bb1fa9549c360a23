"""Counts on Spark against the sorting of both tables; all results go to the noop sink."""

import argparse
import tempfile
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

import timeloom as tl
from benchmarks.bench_spark_join import Bench
from benchmarks.data.statistics import COUNTING
from benchmarks.data.uniform import table, uniform
from benchmarks.measuring import Line, show, side_by_side
from benchmarks.spark_session import run, session

LASTING = COUNTING["BOOKS"]


def sorted_twice(*frames: DataFrame) -> Any:
    """Sort the tables by start, and once more."""
    runs = [run(frame.orderBy("start")) for frame in (*frames, *frames)]
    return lambda: [sort() for sort in runs]


def check(counted: DataFrame, left: pa.Table, right: pa.Table) -> None:
    """The same counts as on local tables, row by row."""
    found = counted.select("rid", "count").toArrow().sort_by("rid")
    assert found["count"].combine_chunks().equals(tl.count_join(left, right)["count"].combine_chunks())


def compare(bench: Bench, case: str, columns: list[dict[str, np.ndarray]], repeat: int) -> list[Line]:
    """Counts and the highest counts of two tables."""
    names = ("rid", "sid")
    left, right = (table(side, name) for side, name in zip(columns, names, strict=True))
    frames = [bench.load(f"{case} {name}", side, name) for side, name in zip(columns, names, strict=True)]
    counted = tl.count_join(*frames, strategy="slices")
    check(counted, left, right)
    lines = []
    for what, ours in (("count_join", counted), ("top_k", tl.top_k(*frames, 10, strategy="slices"))):
        mine, theirs = side_by_side(run(ours), sorted_twice(*frames), repeat)
        title = f"{what}, {case}, {left.num_rows:,} x {right.num_rows:,}"
        lines.append(Line(title, mine, "both sorted, twice over", theirs, "1 x" if what == "count_join" else ""))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=["small", "full"], default="full")
    options = parser.parse_args()
    full = options.scale == "full"
    rows = 10**7 if full else 10**5
    with tempfile.TemporaryDirectory() as folder:
        spark = session(folder)
        bench = Bench(spark, folder)
        lines = compare(bench, "short", [uniform(rows, 10, seed, domain=rows) for seed in (1, 2)], 3 if full else 1)
        drawn = [LASTING.scaled(rows).draw(seed) for seed in (3, 4)]
        lasting = [{"start": start, "end": end} for start, end in drawn]
        lines += compare(bench, "long-lived", lasting, 2 if full else 1)
        spark.stop()
    show("Counts on Spark", lines)


if __name__ == "__main__":
    main()
