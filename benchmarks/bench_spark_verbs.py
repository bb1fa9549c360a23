"""Every verb on Spark against the SQL that people write in its stead, and lanes against pandas; into the noop sink."""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import timeloom as tl
from benchmarks.bench_verbs import lanes_by_heap
from benchmarks.measuring import Line, show, side_by_side, timed
from benchmarks.spark_session import run, session
from benchmarks.verb_cases import CASES, DATA, PERIOD, Case, digest

PARTS = 4


class Bench:
    """Two tables as Parquet files in several parts; each line is shown as soon as it is known."""

    def __init__(self, spark: SparkSession, folder: str, rows: int) -> None:
        self.spark, self.folder, self.rows = spark, Path(folder), rows
        self.lines: list[Line] = []
        self._loaded: dict[str, list[DataFrame]] = {}

    def load(self, data: str) -> list[DataFrame]:
        """Write the tables, and read them with Spark: as instants, since months of its SQL are those of a zone."""
        if data not in self._loaded:
            self._loaded[data] = [self._written(data, seed) for seed in (1, 2)]
        for name, frame in zip("tu", self._loaded[data], strict=True):
            frame.createOrReplaceTempView(name)
        return self._loaded[data]

    def _written(self, data: str, seed: int) -> DataFrame:
        table, folder = DATA[data](self.rows, seed), self.folder / f"{data}-{seed}"
        folder.mkdir()
        edges = [self.rows * part // PARTS for part in range(PARTS + 1)]
        for part in range(PARTS):
            pq.write_table(table.slice(edges[part], edges[part + 1] - edges[part]), folder / f"{part}.parquet")
        frame = self.spark.read.parquet(str(folder))
        return frame if data == "keyed" else frame.withColumns({name: F.col(name).cast("timestamp") for name in PERIOD})

    def run(self, name: str, case: Case) -> None:
        """Compare answers, then times."""
        frames = self.load(case.data)
        ours, theirs = case.call(*frames), self.spark.sql(case.sql("Spark"))
        assert _digest(ours.select(*case.compared)) == _digest(theirs), name
        self.add(name, ours, "Spark SQL", theirs)

    def lanes(self) -> None:
        """Lanes, in a function of pandas for each key."""
        frame, _ = self.load("keyed")
        theirs = frame.groupBy("key").applyInPandas(_with_lanes, "id long, key long, s long, e long, v long, lane long")
        ours = tl.lanes(frame, by="key", period=PERIOD)
        counted = [found.groupBy("key").agg(F.max("lane").alias("n")) for found in (ours, theirs)]
        assert _digest(counted[0]) == _digest(counted[1])
        self.add("lanes", ours, "applyInPandas and a heap", theirs)

    def add(self, name: str, ours: DataFrame, peer: str, theirs: DataFrame) -> None:
        """Warm both, and time them in turns."""
        for plan in (ours, theirs):
            timed(run(plan), 1)
        mine, others = side_by_side(run(ours), run(theirs))
        self.lines.append(Line(f"{name}: {self.rows:,} rows", mine, peer, others))
        print(f"{name}: {mine:.2f} s, {peer} {others:.2f} s, {others / mine:.1f} x", flush=True)


def _with_lanes(rows: pd.DataFrame) -> pd.DataFrame:
    rows = rows.reset_index(drop=True)
    rows["lane"] = lanes_by_heap(rows)
    return rows


def _digest(found: DataFrame) -> Any:
    names = ["mean" if name == "mean" else f"c{at}" for at, name in enumerate(found.columns)]
    sums = digest(names, "xxhash64({0})").removeprefix("count(*), ")
    return found.toDF(*names).selectExpr("count(*)", sums).first()


def main() -> None:
    """Run from the root of the repository: ``python -m benchmarks.bench_spark_verbs --only gaps``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="*", default=[""], help="run the cases whose names contain one of these")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spark = session(folder)
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        bench = Bench(spark, folder, given.rows)
        for name, case in CASES.items():
            if any(part in name for part in given.only):
                bench.run(name, case)
        if any(part in "lanes" for part in given.only):
            bench.lanes()
        show("Verbs on Spark", bench.lines)
        spark.stop()


if __name__ == "__main__":
    main()
