"""Every kind of verb through Spark Connect, run in a process of its own: a session is either classic or Connect."""

import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import timeloom as tl
from stream_files import END, LEFT, RIGHT, ROCKSDB, certain_pairs, endpoints, found_in, run_to_files, stream, write
from timeloom.engines.spark.matching import index_probe as probing

AGGREGATES = {"total": ("price", "sum"), "mean": ("key", "avg"), "most": ("price", "max")}
WINDOWS = {
    "sys": tl.Slide(2, 3, 1),
    "app": tl.Slide(1, 3, 1),
    "steps": 6,
    "select": {"most": ("price", "max")},
    "sys_period": ("start", "end"),
    "app_period": ("start", "end"),
}
CALLS: list[tuple[Any, int, dict[str, Any]]] = [
    (tl.join, 2, {"relation": "overlaps | during", "on": "key", "how": "inner", "strategy": "slices"}),
    (tl.join, 2, {"relation": "overlaps | during", "on": "key", "how": "full", "strategy": "keys"}),
    (tl.join, 2, {"relation": "overlaps | during", "on": "key", "how": "left", "strategy": "broadcast"}),
    (tl.join, 2, {"relation": "overlaps | during", "on": "key", "how": "anti"}),
    (tl.join, 2, {"algorithm": "skip"}),
    (tl.stab, 1, {"at": [3, 9, 3]}),
    (tl.coalesce, 1, {"by": "key"}),
    (tl.gaps, 1, {"by": "key", "within": (0, 30)}),
    (tl.temporal_aggregate, 1, {"by": "key", "aggregates": {"n": "count"}}),
    (tl.temporal_antijoin, 2, {"on": "key"}),
    (tl.temporal_join, 2, {"on": "key", "how": "full"}),
    (tl.count_join, 2, {"strategy": "slices", "aggregates": AGGREGATES}),
    (tl.count_join, 2, {"strategy": "broadcast", "aggregates": AGGREGATES}),
    (tl.top_k, 2, {"k": 2, "by": "key", "ties": "all", "strategy": "slices"}),
    (tl.sliding_windows, 1, WINDOWS),
]
TEXTS = [
    """with c as (select * from a for valid_time as of 5)
       select c.id, b.id as other from c left join b on c.period overlaps b.period and c.key = b.key and b.id > 4""",
    "select key, count(*) as n from a where id <> 3 group by period, key",
]


def rows_of(table):
    return sorted(map(repr, table.to_pylist()))


def spaced_rows(step):
    starts = [(number * step) % 17 for number in range(30)]
    return pa.table(
        {
            "start": starts,
            "end": [start + 1 + number % 9 for number, start in enumerate(starts)],
            "key": [number % 3 for number in range(30)],
            "price": [number * 0.1 for number in range(30)],
            "id": range(30),
        }
    )


def check_verbs(spark):
    tables = spaced_rows(5), spaced_rows(7)
    frames = [spark.createDataFrame(rows) for rows in tables]
    for verb, inputs, options in CALLS:
        found = verb(*frames[:inputs], **options).toArrow()
        local = {name: option for name, option in options.items() if name != "strategy"}
        assert rows_of(found) == rows_of(verb(*tables[:inputs], **local)), (verb, options)
    assert tl.explain(tl.join, *frames)["strategy"] in ("broadcast", "slices")
    probing.LARGE_BYTES = probing.TIMES_LARGER = 0
    assert "in SQL" in str(tl.explain(tl.join, *frames))
    assert rows_of(tl.join(*frames).toArrow()) == rows_of(tl.join(*tables))
    good, rejected = tl.join(*frames, on_invalid="quarantine")
    assert good.count() > 0
    assert rejected.count() == 0


def check_queries(spark):
    tables = {"a": spaced_rows(5), "b": spaced_rows(7)}
    frames = {name: spark.createDataFrame(rows) for name, rows in tables.items()}
    for text in TEXTS:
        assert rows_of(tl.sql(text, **frames).toArrow()) == rows_of(tl.sql(text, **tables)), text


def check_a_stream(spark, folder):
    write(folder / "left", 0, endpoints(LEFT, 0, END))
    write(folder / "right", 0, endpoints(RIGHT, 0, END))
    frame = tl.stream_join(stream(spark, folder / "left"), stream(spark, folder / "right"), "overlaps", on="key")
    run_to_files(frame, folder / "out", folder / "checkpoint")
    assert found_in(spark, folder / "out") == certain_pairs("overlaps")


def main():
    spark = (
        SparkSession.builder.remote("local[2]")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        .getOrCreate()
    )
    tl.install(spark)
    check_verbs(spark)
    check_queries(spark)
    with tempfile.TemporaryDirectory() as folder:
        check_a_stream(spark, Path(folder))
    spark.stop()
    print("the same through Connect")


if __name__ == "__main__":
    sys.exit(main())
