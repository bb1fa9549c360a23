"""Temporal aggregation on Spark against the best that Spark SQL does: events, grouped, running sums over a window."""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import timeloom as tl
from benchmarks.measuring import Line, show, side_by_side

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


def extremes_in_sql(spark: SparkSession) -> DataFrame:
    """Minima and maxima as a query: no running sum helps, so each period is joined to the rows that cover it.

    Rows and periods are matched by buckets of 1,000 ticks, without which Spark compares every row with every period.
    """
    return spark.sql(
        "WITH instants AS (SELECT start AS t FROM stays UNION SELECT end FROM stays), "
        "periods AS (SELECT t AS start, lead(t) OVER (ORDER BY t) AS end FROM instants), "
        "cells AS (SELECT start, end, price, b FROM stays LATERAL VIEW "
        "explode(sequence(start div 1000, (end - 1) div 1000)) AS b) "
        "SELECT p.start, p.end, count(*) AS n, min(price) AS total, max(price) AS mean "
        "FROM periods p JOIN cells c ON p.start div 1000 = c.b AND c.start <= p.start AND p.start < c.end "
        "GROUP BY p.start, p.end"
    )


def digest(frame: DataFrame) -> tuple[Any, ...]:
    """What two equal results have in common."""
    sums = "sum(CAST(hash(start, end, n, total) AS BIGINT))", "round(sum(mean), 3)"
    return tuple(frame.selectExpr("count(*)", *sums).first() or ())


def run(frame: DataFrame) -> Callable[[], None]:
    """Compute every row of a result and throw it away."""
    return lambda: frame.write.format("noop").mode("overwrite").save()


def main() -> None:
    """Compare without groups, with many groups, and with one that half of the rows have; and minima and maxima."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=["small", "full"], default="small")
    rows = {"small": 100_000, "full": 1_000_000}[parser.parse_args().scale]
    spark, lines = session(), []
    cases = {"no groups": (1, 0.0, None), "1,000 groups": (1000, 0.0, "key"), "a hot group": (1000, 0.5, "key")}
    with tempfile.TemporaryDirectory() as folder:
        for name, (keys, hot, by) in cases.items():
            path = os.path.join(folder, f"{keys}-{hot}.parquet")
            pq.write_table(stays(rows, keys, hot), path, row_group_size=rows // 4)
            frame = spark.read.parquet(path)
            frame.createOrReplaceTempView("stays")
            ours = tl.temporal_aggregate(frame, MEASURES, by=by)
            peers = {text: in_sql(spark, events, by) for text, events in EVENTS.items()}
            expected = digest(ours)
            for text, peer in peers.items():
                assert digest(peer) == expected, f"{name}: {text} gives other rows"
            for text, peer in peers.items():
                mine, theirs = side_by_side(run(ours), run(peer))
                lines.append(Line(f"{name}, {rows:,} rows", mine, f"Spark SQL, {text}", theirs, "5 x"))
        path = os.path.join(folder, "extremes.parquet")
        pq.write_table(stays(rows, 1, 0.0), path, row_group_size=rows // 4)
        frame = spark.read.parquet(path)
        frame.createOrReplaceTempView("stays")
        ours = tl.temporal_aggregate(frame, {"n": "count", "total": ("price", "min"), "mean": ("price", "max")})
        peer = extremes_in_sql(spark)
        assert digest(peer) == digest(ours), "minima and maxima differ"
        mine, theirs = side_by_side(run(ours), run(peer), 1)
        lines.append(Line(f"min and max, {rows:,} rows", mine, "Spark SQL, join by buckets", theirs, "5 x"))
    show("Temporal aggregate on Spark: count, sum, avg", lines)
    spark.stop()


if __name__ == "__main__":
    main()
