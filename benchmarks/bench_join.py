"""The relation join on local tables against DuckDB and Polars: the workload of the sweeping paper."""

import argparse
import subprocess
import sys

import duckdb
import numpy as np
import polars as pl

import timeloom as tl
from benchmarks.data.uniform import table, uniform
from benchmarks.measuring import Line, peak_memory, show, side_by_side, timed

CONDITIONS = {
    ("overlaps",): "l.start < r.start AND r.start < l.end AND l.end < r.end",
    ("overlapped_by",): "r.start < l.start AND l.start < r.end AND r.end < l.end",
    ("during",): "r.start < l.start AND l.end < r.end",
    ("contains",): "l.start < r.start AND r.end < l.end",
    ("iseql.start_preceding",): "l.start <= r.start AND r.start < l.end",
    ("iseql.end_following",): "l.start < r.end AND r.end <= l.end",
    ("iseql.before", ("delta", 10)): "l.end <= r.start AND r.start <= l.end + 10",
    ("iseql.after", ("delta", 10)): "r.end <= l.start AND l.start <= r.end + 10",
    ("iseql.left_overlap",): "l.start <= r.start AND r.start < l.end AND l.end <= r.end",
    ("iseql.right_overlap",): "r.start <= l.start AND l.start < r.end AND r.end <= l.end",
    ("iseql.during",): "r.start <= l.start AND l.end <= r.end",
    ("iseql.contains",): "l.start <= r.start AND r.end <= l.end",
    (
        "iseql.left_overlap",
        ("delta", 5),
        ("epsilon", 5),
    ): "r.start >= l.start AND r.start <= least(l.start + 5, l.end - 1) AND r.end - l.end BETWEEN 0 AND 5",
    (
        "iseql.during",
        ("delta", 5),
        ("epsilon", 5),
    ): "r.start <= l.start AND r.start >= l.start - 5 AND l.end <= r.end AND r.end <= l.end + 5",
}
EQUALITIES = {
    "meets": "l.end = r.start",
    "starts": "l.start = r.start AND l.end < r.end",
    "finishes": "l.end = r.end AND r.start < l.start",
    "equals": "l.start = r.start AND l.end = r.end",
}
INTERSECTS = "l.start < r.end AND r.start < l.end"


class Bench:
    """A session of DuckDB with two threads, beside Timeloom."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.session = duckdb.connect(config={"threads": 2})
        self.lines: list[Line] = []

    def load(self, left: dict[str, np.ndarray], right: dict[str, np.ndarray]) -> None:
        self.left, self.right = table(left, "rid"), table(right, "sid")
        self.session.sql("DROP TABLE IF EXISTS l; DROP TABLE IF EXISTS r")
        self.session.register("l_in", self.left)
        self.session.register("r_in", self.right)
        self.session.sql("CREATE TABLE l AS FROM l_in")
        self.session.sql("CREATE TABLE r AS FROM r_in")

    def ours(self, relation: str, **limits: int):
        return lambda: tl.join(self.left, self.right, relation, columns=["rid", "sid"], **limits)

    def theirs(self, condition: str):
        return lambda: self.session.sql(f"SELECT rid, sid FROM l JOIN r ON {condition}").to_arrow_table()

    def check(self, relation: str, condition: str, **limits: int) -> int:
        """The same pairs, by count and by sums that depend on the pairing."""
        summary = "count(*), sum(rid), sum(sid), sum(hash(rid * 1000003 + sid) % 1000003)"
        found = self.ours(relation, **limits)()
        self.session.register("found", found)
        mine = self.session.sql(f"SELECT {summary} FROM found").fetchall()
        peer = self.session.sql(f"SELECT {summary} FROM l JOIN r ON {condition}").fetchall()
        assert mine == peer, (relation, mine, peer)
        self.session.unregister("found")
        return mine[0][0]

    def run(self, case: str, target: str, relation: str, condition: str, **limits: int) -> None:
        pairs = self.check(relation, condition, **limits)
        ours, theirs = side_by_side(self.ours(relation, **limits), self.theirs(condition))
        self.lines.append(Line(f"{case}: {pairs / 1e6:.1f} M pairs", ours, "DuckDB", theirs, target))
        print(f"{case}: {theirs / ours:.1f} x", flush=True)


def polars_join(left, right) -> pl.DataFrame:
    other = pl.from_arrow(right).lazy()
    return (
        pl.from_arrow(left)
        .lazy()
        .join_where(other, pl.col("start") < pl.col("end_right"), pl.col("start_right") < pl.col("end"))
        .select("rid", "sid")
        .collect()
    )


def writing(pairs: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full(pairs, 1, np.int64), np.full(pairs, 2, np.int64)


def growth(bench: Bench, rows: int) -> None:
    """Time and memory at constant density, each size in a process of its own; every line is set against the one above.

    Memory is what the join adds to a process that holds its input, less the output: at most 12 times the input.
    """
    before = 0.0
    for size in (rows // 2, rows, 2 * rows):
        seconds, memory = _in_a_new_process(size)
        case = f"doubling: {size:,} rows, {memory:.1f} x input beside the output"
        bench.lines.append(Line(case, seconds, "half as many", before, "at least 0.43 x; at most 12 x input"))
        before = seconds


def _in_a_new_process(rows: int) -> tuple[float, float]:
    command = [sys.executable, "-m", "benchmarks.bench_join", "--measure-one", str(rows)]
    seconds, memory = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(seconds), float(memory)


def measure_one(rows: int) -> None:
    """Print the time of a join, and the memory that it takes as a multiple of its input."""
    left, right = (table(uniform(rows, 10, seed, domain=rows), name) for seed, name in ((1, "rid"), (2, "sid")))
    tl.join(left.slice(0, 1000), right.slice(0, 1000), columns=["rid", "sid"])
    held = peak_memory()
    result = tl.join(left, right, columns=["rid", "sid"])
    added = peak_memory() - held - result.nbytes
    del result
    print(timed(lambda: tl.join(left, right, columns=["rid", "sid"]), 5), added / (left.nbytes + right.nbytes))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=["small", "full"], default="full")
    parser.add_argument("--only", default="", help="run the cases whose name contains this")
    parser.add_argument("--measure-one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure_one:
        measure_one(options.measure_one)
        return
    rows = 10**6 if options.scale == "full" else 10**5
    bench = Bench(rows)
    bench.load(uniform(rows, 10, 1, domain=rows), uniform(rows, 10, 2, domain=rows))
    cases = {"intersects": ("4 x", INTERSECTS, {})}
    cases |= {f"{name}{dict(limits) or ''}": ("3 x", sql, dict(limits)) for (name, *limits), sql in CONDITIONS.items()}
    cases |= {name: ("1 x", sql, {}) for name, sql in EQUALITIES.items()}
    for case, (target, condition, limits) in cases.items():
        if options.only in case:
            bench.run(case, target, case.split("{")[0], condition, **limits)
    if options.only in "long-lived":
        lasting = uniform(rows, 10, 2, domain=rows, long_lived=0.001, longest=0.1)
        bench.load(uniform(rows, 10, 1, domain=rows), lasting)
        bench.run("intersects, long-lived", "15 x", "intersects", INTERSECTS)
    if options.only in "mean 100":
        bench.load(uniform(rows, 100, 1, domain=rows), uniform(rows, 100, 2, domain=rows))
        pairs = bench.ours("intersects")().num_rows
        ours, bare = side_by_side(bench.ours("intersects"), lambda: writing(pairs))
        bench.lines.append(Line(f"mean 100: {pairs / 1e6:.0f} M pairs", ours, "writing two arrays", bare, "0.33 x"))
    if options.only in "doubling":
        growth(bench, rows)
    if options.only in "polars":
        bench.load(uniform(rows // 10, 10, 1, domain=rows // 10), uniform(rows // 10, 10, 2, domain=rows // 10))
        ours, theirs = side_by_side(bench.ours("intersects"), lambda: polars_join(bench.left, bench.right))
        bench.lines.append(Line(f"intersects, {rows // 10:,} rows", ours, "Polars join_where", theirs))
    show("The relation join on local tables", bench.lines)


if __name__ == "__main__":
    main()
