"""How Spark plans grow: one size a run, tables made by arithmetic, two workers of 2 GiB, what was paid in one line.

Each case of each size is a line of a file of results, written as soon as it is known. What is there already is not run
again, so that a campaign goes on where it stopped; ``--table`` prints all lines, and how much more a doubling costs.
"""

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

import timeloom as tl
from benchmarks.spark_counters import Footprint, spent

PAIRS = 2
"""Pairs of a row in the joins, on average."""

LONGEST = 200
"""Periods last from 1 to so many ticks."""

HEAP = "1g"
"""Of the 2 GiB of a worker the JVM has this; the rest is for Python, and watched."""

RESULTS = Path(tempfile.gettempdir()) / "timeloom-scale.jsonl"


def session(folder: str) -> SparkSession:
    """Two workers of one core and 2 GiB each, as processes of their own."""
    os.environ["SPARK_LOCAL_DIRS"] = folder
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    settings = {
        "spark.executor.memory": HEAP,
        "spark.executor.instances": "2",
        "spark.executor.cores": "1",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "1000",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,2048]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def periods(spark: SparkSession, rows: int, name: str, domain: int, key: str = "") -> DataFrame:
    """So many periods anywhere in a domain, by arithmetic: nothing is read, and every run has the same."""
    columns = [
        f"id AS {name}",
        f"pmod(xxhash64(id, '{name}'), {domain}) AS start",
        f"pmod(xxhash64(id, '{name}'), {domain}) + 1 + pmod(xxhash64(id, '{name} end'), {LONGEST}) AS end",
    ]
    return spark.range(rows, numPartitions=max(4, rows // 2_000_000)).selectExpr(*columns, *([key] if key else []))


def _two(spark: SparkSession, rows: int, key: str = "", keys: int = 1) -> tuple[DataFrame, DataFrame]:
    domain = rows * LONGEST // (PAIRS * keys)
    return periods(spark, rows, "rid", domain, key), periods(spark, rows, "sid", domain, key)


def join(spark: SparkSession, rows: int) -> int:
    """Two tables of three columns, two pairs a row."""
    left, right = _two(spark, rows)
    return _counted(tl.join(left, right, columns=["rid", "sid"], strategy="slices"), PAIRS * rows)


def hot_key(spark: SparkSession, rows: int) -> int:
    """The same by key, where a tenth of all rows have one key; the others have a hundred rows a key."""
    hot = rows // 10
    key = f"CASE WHEN id < {hot} THEN -1 ELSE id % {max(1, rows // 100)} END AS key"
    domain = hot * LONGEST // PAIRS
    left, right = periods(spark, rows, "rid", domain, key), periods(spark, rows, "sid", domain, key)
    few = (rows - hot) ** 2 * 100 * PAIRS // (rows * hot)
    return _counted(tl.join(left, right, on="key", columns=["rid", "sid"], strategy="keys"), PAIRS * hot + few)


def stab(spark: SparkSession, rows: int) -> int:
    """The rows of one table that are active at any of three instants."""
    table = periods(spark, rows, "rid", rows * LONGEST // (2 * PAIRS))
    middle = rows * LONGEST // (4 * PAIRS)
    return _counted(tl.stab(table, at=[middle - 10_000, middle, middle + 10_000]), 6 * PAIRS)


def count(spark: SparkSession, rows: int) -> int:
    """How many rows of one table each of a thousand long windows meets."""
    domain = rows * LONGEST // PAIRS
    span = domain // 1000
    windows = spark.range(1000).selectExpr("id AS w", f"id * {span} AS start", f"(id + 1) * {span} AS end")
    found = tl.count_join(windows, periods(spark, rows, "rid", domain))
    return _checked(int((found.selectExpr("sum(count)").first() or (0,))[0]), rows)


def aggregate(spark: SparkSession, rows: int) -> int:
    """How many rows of one table, and which sum, there are at each of a million ticks."""
    domain = min(1_000_000, rows)
    found = tl.temporal_aggregate(periods(spark, rows, "rid", domain), {"n": "count", "total": ("rid", "sum")})
    ticks = found.selectExpr("sum(n * (end - start))").first() or (0,)
    return _checked(int(ticks[0]), rows * (LONGEST + 1) // 2, LONGEST)


CASES: dict[str, Callable[[SparkSession, int], int]] = {
    "join": join,
    "hot_key": hot_key,
    "stab": stab,
    "count": count,
    "aggregate": aggregate,
}


def _counted(frame: DataFrame, expected: int) -> int:
    """Compute every row, and count them."""
    return _checked(int((frame.selectExpr("count(*)", "max(rid)").first() or (0,))[0]), expected)


def _checked(found: int, expected: int, spread: int = 1) -> int:
    """What was found, if it is what arithmetic expects: values that differ by so much each, drawn at random."""
    assert abs(found - expected) <= 10 * math.sqrt(expected * spread) + expected / 1000, (found, expected)
    return found


def measured(name: str, rows: int) -> dict[str, Any]:
    """One case in a session of its own: seconds, what Spark counted, and the most memory that a worker held."""
    with tempfile.TemporaryDirectory() as folder:
        spark = session(folder)
        try:
            CASES[name](spark, 100_000)
            with Footprint() as memory:
                began = time.perf_counter()
                paid = spent(spark, lambda: CASES[name](spark, rows))
                seconds = time.perf_counter() - began
        finally:
            spark.stop()
    return {"case": name, "rows": rows, "seconds": round(seconds, 1), **paid, **memory.most}


def shown(lines: list[dict[str, Any]]) -> None:
    """Print lines, and the growth per doubling from one size of a case to the next."""
    output = Table(title="Scale on Spark, two workers of one core and 2 GiB")
    names = ["case", "rows", "seconds", "shuffled", "spilled", "tasks", "python", "executor"]
    for name in [*names, "time x per doubling", "shuffled x per doubling"]:
        output.add_column(name, justify="left" if name == "case" else "right")
    before: dict[str, dict[str, Any]] = {}
    for line in sorted(lines, key=lambda line: (list(CASES).index(line["case"]), line["rows"])):
        last = before.get(line["case"])
        growth = [_growth(last, line, name) for name in ("seconds", "shuffled")]
        cells = [f"{line[name] / 2**20:,.0f} MiB" for name in ("shuffled", "spilled")]
        most = [f"{line[name] / 2**20:,.0f} MiB" for name in ("python", "executor")]
        seconds = f"{line['seconds']:,.1f}"
        output.add_row(line["case"], f"{line['rows']:,}", seconds, *cells, f"{line['tasks']:,}", *most, *growth)
        before[line["case"]] = line
    Console(width=150).print(output)


def _growth(before: dict[str, Any] | None, line: dict[str, Any], name: str) -> str:
    if before is None or not before[name]:
        return ""
    return f"{(line[name] / before[name]) ** (1 / math.log2(line['rows'] / before['rows'])):.2f}"


def main() -> None:
    """Run the cases that are not known yet, and print what is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="*", type=float, default=[1e6])
    parser.add_argument("--cases", nargs="*", choices=list(CASES), default=list(CASES))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true", help="run nothing, print what is known")
    given = parser.parse_args()
    lines = [json.loads(line) for line in given.results.read_text().splitlines()] if given.results.exists() else []
    known = {(line["case"], line["rows"]) for line in lines}
    for rows in [] if given.table else map(int, given.rows):
        for name in given.cases:
            if (name, rows) in known:
                continue
            lines.append(measured(name, rows))
            with given.results.open("a") as output:
                output.write(json.dumps(lines[-1]) + "\n")
            print(lines[-1], flush=True)
    shown(lines)


if __name__ == "__main__":
    main()
