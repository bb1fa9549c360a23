"""`BitemporalTable`: transactions, batches, and snapshots against the SQL that users write over a history."""

import argparse
import os
import tempfile
import time
from functools import partial
from itertools import count
from pathlib import Path
from sys import executable

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import timeloom as tl
from benchmarks.measuring import Line, peak_memory, show, side_by_side, timed

VERSIONS_OF_A_KEY = 10
SPAN = 100_000
"""How long both times are."""


def history(versions: int, seed: int = 7) -> pa.Table:
    """Facts of many keys, corrected at random times: some versions are replaced at once, others never."""
    rng = np.random.default_rng(seed)
    keys = versions // VERSIONS_OF_A_KEY
    key, at = np.repeat(np.arange(keys), VERSIONS_OF_A_KEY), rng.integers(0, SPAN, keys * VERSIONS_OF_A_KEY)
    order = np.lexsort((at, key))
    starts = at[order] + np.tile(np.arange(VERSIONS_OF_A_KEY), keys)
    ends = np.append(starts[1:], 0)
    last = np.arange(starts.size) % VERSIONS_OF_A_KEY == VERSIONS_OF_A_KEY - 1
    app = rng.integers(0, SPAN, starts.size)
    length = np.minimum(rng.geometric(500 / SPAN, starts.size), SPAN)
    by_time = np.argsort(starts, kind="stable")
    columns = {"key": key, "value": rng.random(starts.size), "app_start": app, "app_end": app + length}
    columns |= {"sys_start": starts}
    found = {name: column[by_time] for name, column in columns.items()}
    return pa.table(found | {"sys_end": pa.array(ends[by_time], mask=last[by_time])})


def snapshots(table: tl.BitemporalTable, versions: pa.Table) -> list[Line]:
    """As-of snapshots against DuckDB, over the Arrow history and over a table of its own."""
    connection = duckdb.connect()
    connection.register("arrow", versions)
    connection.execute("create table own as select * from arrow")
    lines = []
    for sys, app in ((SPAN // 2, SPAN // 2), (SPAN // 10, SPAN // 3), (SPAN * 2, SPAN // 2), (SPAN // 2, None)):
        ours = partial(table.as_of, sys=sys, app=app)
        rows = ours().num_rows
        about = "" if app is None else f" and app_start <= {app} and app_end > {app}"
        for peer, name in (("DuckDB over Arrow", "arrow"), ("DuckDB's own table", "own")):
            text = f"select * from {name} where sys_start <= {sys} and (sys_end > {sys} or sys_end is null){about}"

            def theirs(text: str = text) -> pa.Table:
                return connection.sql(text).to_arrow_table()

            assert theirs().num_rows == rows
            case = f"as of sys {sys:,}" + ("" if app is None else f", app {app:,}") + f": {rows:,} rows (ms)"
            found = side_by_side(ours, theirs, 5)
            lines.append(Line(case, found[0] * 1e3, peer, found[1] * 1e3, "20 x" if app is not None else ""))
    return lines


def transactions(table: tl.BitemporalTable) -> None:
    """Single transactions on a long history, alone and with a log."""
    times, keys, calls = count(10 * SPAN), len(table) // VERSIONS_OF_A_KEY, 2000
    table.update(0, {"value": 0.0}, sys=next(times))

    def updates() -> None:
        for number in range(calls):
            table.update(number % keys, {"value": 1.0}, sys=next(times))

    def inserts() -> None:
        for number in range(calls):
            at = next(times)
            table.insert({"key": 10**12 + at, "value": 1.0, "app_start": number, "app_end": None}, sys=at)

    print(f"on {len(table):,} versions: update {timed(updates) / calls * 1e6:.1f} µs (wanted 20), ", end="")
    print(f"insert {timed(inserts) / calls * 1e6:.1f} µs (wanted 20)")
    with tempfile.TemporaryDirectory() as scratch, tl.BitemporalTable.open(Path(scratch, "t"), "key") as logged:
        began = time.perf_counter()
        for at in range(100):
            logged.insert({"key": at, "value": 1.0, "app_start": 0, "app_end": None}, sys=at)
        print(f"with a log, each on the disk: {(time.perf_counter() - began) / 100 * 1e3:.2f} ms")


def batches(rows: int) -> None:
    """Batches of many rows into a table that has as many."""
    rng = np.random.default_rng(3)
    times = {"app_start": rng.integers(0, SPAN, rows), "app_end": rng.integers(SPAN, 2 * SPAN, rows)}
    for strict in (False, True):
        table, spent = tl.BitemporalTable("key", without_overlaps=strict), []
        for number in range(3):
            facts = pa.table({"key": np.arange(rows) + number * rows, "value": rng.random(rows)} | times)
            began = time.perf_counter()
            table.insert(facts, sys=number)
            spent.append(time.perf_counter() - began)
        how = ", without overlaps" if strict else ""
        print(f"batches of {rows:,} rows{how}: {rows / min(spent):,.0f} rows a second (wanted 1,000,000)")


def on_spark(versions: pa.Table, changes: int) -> None:
    """A snapshot, and a merge of late corrections, of a history in Parquet, with the memory that Spark takes itself."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = executable
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    feed = pa.table({"op": ["update"] * changes, "sys": np.arange(changes) + 10 * SPAN, "key": np.arange(changes)})
    feed = feed.append_column("value", pa.array(np.ones(changes)))
    nothing = pa.nulls(changes, pa.int64())
    feed = feed.append_column("app_start", nothing).append_column("app_end", nothing)
    with tempfile.TemporaryDirectory() as scratch:
        for name, table in (("history", versions), ("feed", feed)):
            pq.write_table(table, f"{scratch}/{name}.parquet", row_group_size=1_000_000)
        past, news = (spark.read.parquet(f"{scratch}/{name}.parquet") for name in ("history", "feed"))
        found = timed(lambda: tl.as_of(past, sys=SPAN // 2, app=SPAN // 2).count(), 2)
        print(f"as of one instant on both axes: {found:.1f} s")
        began = time.perf_counter()
        count = tl.merge(past, news, "key").count()
        print(f"merge of {changes:,} changes, {count:,} versions after it: {time.perf_counter() - began:.1f} s")
    print(f"the driver's process has held {peak_memory() / 2**20:,.0f} MiB")
    spark.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=["small", "full"], default="full")
    parser.add_argument("--spark", action="store_true", help="the cases on Spark, and nothing else")
    options = parser.parse_args()
    versions = history(10_000_000 if options.scale == "full" else 200_000)
    if options.spark:
        on_spark(versions, versions.num_rows // 100)
        return
    began = time.perf_counter()
    table = tl.BitemporalTable.from_history(versions, "key")
    print(f"from_history: {versions.num_rows:,} versions in {time.perf_counter() - began:.1f} s")
    show("Snapshots", snapshots(table, versions))
    transactions(table)
    batches(1_000_000 if versions.num_rows > 10**6 else 50_000)


if __name__ == "__main__":
    main()
