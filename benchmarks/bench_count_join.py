"""Counting joins: the set-up of the count semi-join paper, and counts against polars-bio and DuckDB."""

import argparse
import time

import duckdb
import numpy as np
import polars as pl
import polars_bio as pb
import pyarrow as pa

import timeloom as tl
from benchmarks.data.statistics import COUNTING, Statistics
from benchmarks.data.uniform import table, uniform
from benchmarks.measuring import Line, show, side_by_side, timed
from timeloom.kernels.counts.endpoints import merge_endpoints
from timeloom.kernels.counts.sweeps import naive_count, simple_count, smart_count

DURING = """SELECT l.rid, count(r.sid) AS count FROM l LEFT JOIN r
    ON r.start < l.start AND l.end < r.end GROUP BY l.rid"""
BY_JOIN = """SELECT l.rid, count(r.sid) AS count FROM l LEFT JOIN r
    ON l.start < r.end AND r.start < l.end GROUP BY l.rid"""
BY_RANKS = """WITH begun AS (SELECT start AS tick, sum(count(*)) OVER (ORDER BY start) AS n FROM r GROUP BY start),
    gone AS (SELECT "end" AS tick, sum(count(*)) OVER (ORDER BY "end") AS n FROM r GROUP BY "end")
    SELECT l.rid, (coalesce(begun.n, 0) - coalesce(gone.n, 0))::BIGINT AS count
    FROM l ASOF LEFT JOIN begun ON l.end > begun.tick ASOF LEFT JOIN gone ON l.start >= gone.tick"""


def sweeps(workload: Statistics, ratio: float, limit: float) -> list[Line]:
    """Smart counting against its own sorting, simple and (where there are not too many pairs) naive counting."""
    starts, ends = workload.draw(7)
    picked = np.random.default_rng(8).permutation(starts.size)[: round(starts.size * ratio)]
    left = starts[picked], ends[picked]
    case = f"{workload.name} {workload.rows:,}, |R|/|S| = {ratio}"
    sorting = timed(lambda: merge_endpoints(*left, starts, ends))
    endpoints = merge_endpoints(*left, starts, ends)
    counts = smart_count(endpoints, picked.size)
    smart = timed(lambda: smart_count(endpoints, picked.size))
    began = time.perf_counter()
    found, _ = simple_count(endpoints, picked.size)
    simple = time.perf_counter() - began
    assert np.array_equal(found, counts)
    heavy = workload.name in ("BOOKS", "WEBKIT")
    lines = [
        Line(f"{case}: smart joining", smart, "sorting", sorting, "1 x"),
        Line(f"{case}: smart joining", smart, "simple joining", simple, "10 x" if heavy else ""),
        Line(f"{case}: smart in all", smart + sorting, "simple", simple + sorting, "10 x" if heavy else ""),
    ]
    if counts.sum() <= limit:
        assert np.array_equal(naive_count(endpoints, picked.size, starts.size), counts)
        naive = timed(lambda: naive_count(endpoints, picked.size, starts.size), 1)
        lines.append(Line(f"{case}: smart in all", smart + sorting, "naive", naive + sorting))
    return lines


class Bench:
    """Two tables in every peer's own form."""

    def __init__(self, left: pa.Table, right: pa.Table) -> None:
        self.left, self.right = left, right
        self.session = duckdb.connect(config={"threads": 2})
        for name, rows in (("l", left), ("r", right)):
            self.session.register("rows", rows)
            self.session.sql(f"CREATE TABLE {name} AS FROM rows")
        self.genomic = [self._genomic(rows) for rows in (left, right)]

    def _genomic(self, rows: pa.Table) -> pl.DataFrame:
        frame = pl.from_arrow(rows).select(pl.lit("t").alias("chrom"), "start", "end")
        frame.config_meta.set(coordinate_system_zero_based=True)
        return frame

    def ours(self, relation: str = "intersects"):
        return lambda: tl.count_join(self.left, self.right, relation)

    def polars_bio(self, naive: bool):
        return lambda: pb.count_overlaps(*self.genomic, naive_query=naive, output_type="polars.DataFrame")

    def duckdb(self, query: str):
        return lambda: self.session.sql(query).to_arrow_table()

    def check(self, relation: str, query: str) -> None:
        """The same counts as DuckDB, row by row; and as polars-bio, as a multiset."""
        mine = self.ours(relation)().select(["rid", "count"])
        peer = self.duckdb(query)().sort_by("rid")
        assert mine["count"].to_pylist() == peer["count"].to_pylist(), relation
        if relation == "intersects":
            for naive in (False, True):
                other = np.sort(self.polars_bio(naive)()["count"].to_numpy())
                assert np.array_equal(np.sort(mine["count"].to_numpy()), other)


def peers(rows: int) -> list[Line]:
    """Counts of intersecting rows, and of rows during which others hold."""
    bench = Bench(table(uniform(rows, 10, 1, domain=rows), "rid"), table(uniform(rows, 10, 2, domain=rows), "sid"))
    bench.check("intersects", BY_RANKS)
    bench.check("intersects", BY_JOIN)
    bench.check("during", DURING)
    lines = []
    for peer, run, target in (
        ("polars-bio", bench.polars_bio(False), "3 x"),
        ("polars-bio, naive", bench.polars_bio(True), "3 x"),
        ("DuckDB, ASOF", bench.duckdb(BY_RANKS), "5 x"),
        ("DuckDB, join", bench.duckdb(BY_JOIN), "5 x"),
    ):
        ours, theirs = side_by_side(bench.ours(), run)
        lines.append(Line(f"intersects {rows:,} x {rows:,}", ours, peer, theirs, target))
    ours, theirs = side_by_side(bench.ours("during"), bench.duckdb(DURING))
    lines.append(Line(f"during {rows:,} x {rows:,}", ours, "DuckDB, join", theirs))
    during, plain = side_by_side(bench.ours("during"), bench.ours())
    lines.append(Line("during", during, "intersects", plain, "0.17 x"))
    for name in ("overlaps", "equals", "iseql.during"):
        ours, plain = side_by_side(bench.ours(name), bench.ours())
        lines.append(Line(name, ours, "intersects", plain, "0.17 x"))
    return lines


def growth(rows: int) -> Line:
    """Ten times the rows."""
    few = Bench(table(uniform(rows, 10, 1, domain=rows), "rid"), table(uniform(rows, 10, 2, domain=rows), "sid"))
    small = timed(few.ours(), 5)
    rows *= 10
    left, right = (table(uniform(rows, 10, seed, domain=rows), "rid") for seed in (1, 2))
    large = timed(lambda: tl.count_join(left, right))
    return Line(f"intersects, {rows:,}", large, f"{rows // 10:,}", small, "1/11 x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=["small", "full"], default="full")
    options = parser.parse_args()
    full = options.scale == "full"
    lines = []
    for workload in COUNTING.values():
        drawn = workload.scaled(10**7 if full else 50_000)
        for ratio in (0.25, 0.5, 0.75, 1) if full else (1,):
            lines += sweeps(drawn, ratio, 5e8 if full else 1e7)
    show("Counting sweeps on the paper's data", lines)
    lines = peers(10**6 if full else 10**5)
    lines.append(growth(10**6 if full else 10**5))
    show("Counts on local tables", lines)


if __name__ == "__main__":
    main()
