"""The relation join on local tables against DuckDB and Polars: the workload of the sweeping paper."""

import argparse

import duckdb
import numpy as np
import polars as pl

import timeloom as tl
from benchmarks.generators import table, uniform
from benchmarks.measuring import Line, show, side_by_side, timed

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
    ): "l.start <= r.start AND r.start <= least(l.start + 5, l.end - 1) AND l.end <= r.end AND r.end <= l.end + 5",
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


def writing(pairs: int) -> float:
    def write() -> tuple[np.ndarray, np.ndarray]:
        return np.full(pairs, 1, np.int64), np.full(pairs, 2, np.int64)

    return timed(write)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=["small", "full"], default="full")
    parser.add_argument("--only", default="", help="run the cases whose name contains this")
    options = parser.parse_args()
    rows = 10**6 if options.scale == "full" else 10**5
    bench = Bench(rows)
    bench.load(uniform(rows, 10, 1, domain=rows), uniform(rows, 10, 2, domain=rows))
    bench.run("intersects", "4 x", "intersects", INTERSECTS)
    for (name, *limits), condition in CONDITIONS.items():
        if options.only in name:
            bench.run(f"{name}{dict(limits) or ''}", "3 x", name, condition, **dict(limits))
    for name, condition in EQUALITIES.items():
        if options.only in name:
            bench.run(name, "1 x", name, condition)
    bench.load(uniform(rows, 10, 1, domain=rows), uniform(rows, 10, 2, domain=rows, long_lived=0.001))
    bench.run("intersects, long-lived", "15 x", "intersects", INTERSECTS)
    bench.load(uniform(rows, 100, 1, domain=rows), uniform(rows, 100, 2, domain=rows))
    pairs = bench.ours("intersects")().num_rows
    ours, bare = timed(bench.ours("intersects")), writing(pairs)
    bench.lines.append(Line(f"mean 100: {pairs / 1e6:.0f} M pairs", ours, "writing two arrays", bare, "0.33 x"))
    for size in (rows // 2, rows, 2 * rows):
        bench.load(uniform(size, 10, 1, domain=size), uniform(size, 10, 2, domain=size))
        bench.lines.append(Line(f"doubling: {size:,}", timed(bench.ours("intersects")), "", 0.0, "time at most 2.3 x"))
    bench.load(uniform(rows // 10, 10, 1, domain=rows // 10), uniform(rows // 10, 10, 2, domain=rows // 10))
    ours, theirs = side_by_side(bench.ours("intersects"), lambda: polars_join(bench.left, bench.right), 1)
    bench.lines.append(Line(f"intersects, {rows // 10:,} rows", ours, "Polars join_where", theirs))
    show("The relation join on local tables", bench.lines)


if __name__ == "__main__":
    main()
