"""Temporal aggregation on Spark against the best that Spark SQL does: events, grouped, running sums over a window."""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import timeloom as tl
from benchmarks.measuring import Line, show, side_by_side, timed
from timeloom.engines.spark.cluster.workers import mapped

MEASURES = {"n": "count", "total": ("price", "sum"), "mean": ("price", "avg")}

EVENTS = {
    "one scan": "SELECT key, e.* FROM stays LATERAL VIEW inline(array(named_struct('t', start, 'd', 1L, 'p', price), "
    "named_struct('t', end, 'd', -1L, 'p', -price))) e",
    "two scans": "SELECT key, start AS t, 1L AS d, price AS p FROM stays "
    "UNION ALL SELECT key, end, -1L, -price FROM stays",
}
"""Two ways to make events; the faster one counts."""


def session() -> SparkSession:
    """A session of two cores whose shuffles suit the peers: few partitions."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    settings = {
        "spark.sql.shuffle.partitions": "4",
        "spark.driver.memory": "4g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def stays(rows: int, keys: int, hot: float) -> pa.Table:
    """Feed-like rows: one starts at each tick, and 0.5 % are long; a share of them has one and the same key."""
    draw = np.random.default_rng(7)
    kind = draw.random(rows)
    lengths = np.where(kind < 0.9, draw.integers(1, 10, rows), draw.integers(10, 1000, rows))
    lengths = np.where(kind > 0.995, draw.integers(1000, 10_000, rows), lengths)
    starts = draw.permutation(rows).astype(np.int64)
    key = np.where(draw.random(rows) < hot, 0, draw.integers(0, keys, rows))
    price = draw.integers(1, 1000, rows)
    return pa.table({"key": key, "start": starts, "end": starts + lengths, "price": price})


def in_sql(spark: SparkSession, events: str, by: str | None) -> DataFrame:
    """The aggregation as a query."""
    group, first = (f"{by}, ", f"PARTITION BY {by} ") if by else ("", "")
    running = f"OVER ({first}ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    return spark.sql(
        f"WITH events AS ({events}), "
        f"changes AS (SELECT {group}t, sum(d) AS d, sum(p) AS p FROM events GROUP BY {group}t), "
        f"sums AS (SELECT {group}t AS start, lead(t) OVER ({first}ORDER BY t) AS end, sum(d) {running} AS n, "
        f"sum(p) {running} AS total FROM changes) "
        f"SELECT {group}start, end, n, total, total / n AS mean FROM sums WHERE n > 0"
    )


def extremes_in_sql(spark: SparkSession, width: int) -> DataFrame:
    """Minima and maxima as a query: no running sum helps, so each period is joined to the rows that cover it.

    Rows and periods are matched by buckets of so many ticks, without which Spark compares every row with every period.
    """
    return spark.sql(
        "WITH instants AS (SELECT start AS t FROM stays UNION SELECT end FROM stays), "
        "periods AS (SELECT t AS start, lead(t) OVER (ORDER BY t) AS end FROM instants), "
        "cells AS (SELECT start, end, price, b FROM stays LATERAL VIEW "
        f"explode(sequence(start div {width}, (end - 1) div {width})) AS b) "
        "SELECT p.start, p.end, count(*) AS n, min(price) AS total, max(price) AS mean "
        f"FROM periods p JOIN cells c ON p.start div {width} = c.b AND c.start <= p.start AND p.start < c.end "
        "GROUP BY p.start, p.end"
    )


def digest(frame: DataFrame) -> tuple[Any, ...]:
    """What two equal results have in common."""
    sums = "sum(CAST(hash(start, end, n, total) AS BIGINT))", "round(sum(mean), 3)"
    return tuple(frame.selectExpr("count(*)", *sums).first() or ())


def run(frame: DataFrame) -> Callable[[], None]:
    """Compute every row of a result and throw it away."""
    return lambda: frame.write.format("noop").mode("overwrite").save()


class Bench:
    """A session, and rows as Parquet files in four parts; each line is shown as soon as it is known."""

    def __init__(self, spark: SparkSession, folder: str, rows: int) -> None:
        self.spark, self.folder, self.rows = spark, Path(folder), rows
        self.lines: list[Line] = []

    def load(self, keys: int, hot: float) -> DataFrame:
        """Write rows in parts, and read them with Spark."""
        rows, folder = stays(self.rows, keys, hot), self.folder / f"{keys}-{hot}"
        folder.mkdir(exist_ok=True)
        for part in range(4):
            first, last = self.rows * part // 4, self.rows * (part + 1) // 4
            pq.write_table(rows.slice(first, last - first), folder / f"{part}.parquet")
        frame = self.spark.read.parquet(str(folder))
        frame.createOrReplaceTempView("stays")
        return frame

    def compare(self, case: str, ours: DataFrame, peers: dict[str, DataFrame], wanted: str, turns: int) -> None:
        """Find the best peer by its second run, compare results, and time both in turns."""
        found = {name: timed(run(peer), 2) for name, peer in peers.items()}
        best = min(found, key=lambda name: found[name])
        assert digest(peers[best]) == digest(ours), f"{case}: {best} gives other rows"
        timed(run(ours), turns)
        mine, theirs = side_by_side(run(ours), run(peers[best]), turns)
        self.lines.append(Line(f"{case}, {self.rows:,} rows", mine, f"Spark SQL, {best}", theirs, wanted))
        print(f"{case}: {mine:.3f} s, {best} {theirs:.3f} s", flush=True)

    def sums(self, case: str, keys: int, hot: float, by: str | None) -> None:
        """Count, sum and average."""
        frame = self.load(keys, hot)
        peers = {text: in_sql(self.spark, events, by) for text, events in EVENTS.items()}
        self.compare(case, tl.temporal_aggregate(frame, MEASURES, by=by), peers, ">= 4 x", 5)
        self.floor(case, frame.select(*([by] if by else []), "start", "end", "price"))

    def extremes(self, case: str) -> None:
        """Minimum and maximum."""
        frame = self.load(1, 0.0)
        ours = tl.temporal_aggregate(frame, {"n": "count", "total": ("price", "min"), "mean": ("price", "max")})
        peers = {f"join by buckets of {width}": extremes_in_sql(self.spark, width) for width in (30, 100, 300)}
        self.compare(case, ours, peers, ">= 8 x", 2)

    def floor(self, case: str, frame: DataFrame) -> None:
        """What no plan that goes through Python can save: the rows into it, and as many of five columns back."""
        frame.write.format("noop").mode("overwrite").save()
        back = mapped(frame, returned, "start long, end long, n long, total long, mean double")
        print(f"{case}: {timed(run(frame), 5):.3f} s read, {timed(run(back), 5):.3f} s to Python and back", flush=True)


def returned(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """As many rows of a result as there are rows."""
    count = sum(batch.num_rows for batch in batches)
    numbers, means = pa.array(np.arange(count)), pa.array(np.zeros(count))
    made = pa.RecordBatch.from_arrays([numbers] * 4 + [means], names=["start", "end", "n", "total", "mean"])
    for first in range(0, count, 1 << 18):
        yield made.slice(first, 1 << 18)


CASES: dict[str, Callable[[Bench, str], None]] = {
    "no groups": lambda bench, case: bench.sums(case, 1, 0.0, None),
    "1,000 groups": lambda bench, case: bench.sums(case, 1000, 0.0, "key"),
    "a hot group": lambda bench, case: bench.sums(case, 1000, 0.5, "key"),
    "min and max": lambda bench, case: bench.extremes(case),
}


def main() -> None:
    """Compare without groups, with many groups, and with one that half of the rows have; and minima and maxima."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=["small", "full"], default="small")
    parser.add_argument("--cases", nargs="*", choices=list(CASES), default=list(CASES))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(session(), folder, {"small": 100_000, "full": 1_000_000}[given.scale])
        for case in given.cases:
            CASES[case](bench, case)
        show("Temporal aggregate on Spark: count, sum, avg", bench.lines)
        bench.spark.stop()


if __name__ == "__main__":
    main()
