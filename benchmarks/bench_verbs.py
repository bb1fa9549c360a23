"""Every verb on local tables against the SQL that people write in its stead, on DuckDB; lanes against a heap."""

import argparse
import heapq
from collections.abc import Callable
from functools import partial

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import timeloom as tl
from benchmarks.measuring import Line, show, side_by_side
from benchmarks.verb_cases import CASES, DATA, PERIOD, Case, digest, keyed


class Bench:
    """Two tables, and a session of DuckDB with two threads that has them as its own."""

    def __init__(self, rows: int) -> None:
        self.rows, self.lines = rows, list[Line]()
        self.session = duckdb.connect(config={"threads": 2})
        self._loaded = ""

    def load(self, data: str) -> None:
        """Make the tables, unless they are there."""
        if data != self._loaded:
            self.tables = [DATA[data](self.rows, seed) for seed in (1, 2)]
            for name, table in zip("tu", self.tables, strict=True):
                self.session.register("incoming", table)
                self.session.sql(f"create or replace table {name} as from incoming")
                self.session.unregister("incoming")
            self._loaded = data

    def run(self, name: str, case: Case) -> None:
        """Compare answers, then times."""
        self.load(case.data)
        query = case.sql("DuckDB")

        def ours() -> pa.Table:
            return case.call(*self.tables)

        def theirs() -> pa.Table:
            return self.session.sql(query).to_arrow_table()

        assert self._digest(ours().select(list(case.compared))) == self._digest(theirs()), name
        self.add(name, ours, "DuckDB, SQL", theirs)

    def add(self, name: str, ours: Callable[[], object], peer: str, theirs: Callable[[], object]) -> None:
        """Time both in turns."""
        line = Line(f"{name}: {self.rows:,} rows", *_in_between(side_by_side(ours, theirs), peer))
        self.lines.append(line)
        print(f"{line.case}: {line.ratio:.1f} x {peer}", flush=True)

    def _digest(self, found: pa.Table) -> object:
        names = ["mean" if name == "mean" else f"c{at}" for at, name in enumerate(found.column_names)]
        self.session.register("found", found.rename_columns(names))
        return self.session.sql(f"select {digest(names, 'hash({0})')} from found").fetchall()


def _in_between(times: tuple[float, float], peer: str) -> tuple[float, str, float]:
    return times[0], peer, times[1]


def lanes_by_heap(frame: pd.DataFrame) -> np.ndarray:
    """The lanes of each key with a heap of those in use: what one writes in Python."""
    lanes = np.empty(len(frame), np.int64)
    ordered = frame.sort_values(["key", "s", "e"])
    busy: list[tuple[int, int]] = []
    current = None
    for row, key, start, end in zip(ordered.index, ordered["key"], ordered["s"], ordered["e"], strict=True):
        if key != current:
            busy, current = [], key
        if busy and busy[0][0] <= start:
            lane = busy[0][1]
            heapq.heapreplace(busy, (end, lane))
        else:
            lane = len(busy)
            heapq.heappush(busy, (end, lane))
        lanes[row] = lane
    return lanes


def lanes(bench: Bench) -> None:
    """As many lanes of each key, and no two rows of a lane that overlap."""
    table = keyed(bench.rows, 1)
    frame, ours = table.to_pandas(), partial(tl.lanes, table, by="key", period=PERIOD)
    frame["lane"] = lanes_by_heap(frame)
    found = ours().to_pandas()
    assert (found.groupby("key")["lane"].max() == frame.groupby("key")["lane"].max()).all()
    ordered = found.sort_values(["key", "lane", "s"])
    same = (ordered["key"] == ordered["key"].shift()) & (ordered["lane"] == ordered["lane"].shift())
    assert (ordered["s"] >= ordered["e"].shift())[same].all()
    bench.add("lanes", ours, "pandas and a heap", lambda: lanes_by_heap(frame))


def sessions(bench: Bench) -> None:
    """Sessions in Polars: sort, and number the rows that follow too late."""
    table = keyed(bench.rows, 1)
    frame = pl.from_arrow(table)

    def theirs() -> pl.DataFrame:
        reached = pl.col("e").cum_max().over("key").shift().over("key")
        fresh = (pl.col("s") > reached + 50).fill_null(value=True).cum_sum().over("key")
        ordered = frame.lazy().sort("key", "s").with_columns(fresh.alias("island"))
        return ordered.group_by("key", "island").agg(pl.col("s").min(), pl.col("e").max()).collect()

    ours = partial(tl.coalesce, table, by="key", max_gap=50, period=PERIOD)
    wanted = theirs().select("key", "s", "e").sort("key", "s")
    assert pl.from_arrow(ours()).select("key", "s", "e").sort("key", "s").equals(wanted)
    bench.add("coalesce, max_gap", ours, "Polars", theirs)


OTHERS: dict[str, Callable[[Bench], None]] = {"lanes": lanes, "sessions": sessions}


def main() -> None:
    """Run from the root of the repository: ``python -m benchmarks.bench_verbs --only gaps``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", default="", help="run the cases whose name contains this")
    given = parser.parse_args()
    bench = Bench(given.rows)
    for name, case in CASES.items():
        if given.only in name:
            bench.run(name, case)
    for name, other in OTHERS.items():
        if given.only in name:
            other(bench)
    show("Verbs on local tables", bench.lines)


if __name__ == "__main__":
    main()
