"""The sequenced verbs: DIP against its peers on the data of its paper, and the verbs against DuckDB."""

import argparse
import math
from functools import partial

import duckdb
import numpy as np
import pyarrow as pa

import timeloom as tl
from benchmarks.data.histories import feed
from benchmarks.measuring import Line, show, side_by_side, timed
from benchmarks.peers import interval_joins as peers
from timeloom.kernels.sequenced.dip import number_rows
from timeloom.kernels.sequenced.dip_join import count_joined

EVENTS = """
    with events as (select "start" as t, 1 as c, v from t union all select "end", -1, -v from t),
         grouped as (select t, sum(c) as c, sum(v) as v from events group by t),
         running as (select t, lead(t) over w as u, sum(c) over w as n, sum(v) over w as s from grouped
                     window w as (order by t))
    select t as "start", u as "end", n, s as total, s / n as mean from running where n > 0
"""
EXTREMES = """
    with points as (select "start" as p from t union select "end" from t),
         steps as (select p as a, lead(p) over (order by p) as b from points)
    select a as "start", b as "end", min(v) as low, max(v) as high
    from steps join t on t."start" <= a and a < t."end" where b is not null group by a, b
"""
PIECES = """
    with reach as (select "start", max("end") over (order by "start" rows between unbounded preceding and 1 preceding)
                   as before from r),
         leads as (select before as a, "start" as b from reach where before is null or before < "start"
                   union all select max("end"), null from r)
    select id, greatest(l."start", coalesce(a, l."start")) as "start", least(l."end", coalesce(b, l."end")) as "end"
    from l join leads on l."start" < coalesce(b, 9223372036854775807) and coalesce(a, -9223372036854775808) < l."end"
"""


def sparse(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Short rows on a long axis, so that their union leaves gaps."""
    random = np.random.default_rng(seed)
    starts = random.integers(0, 10 * rows, rows)
    return starts, starts + random.integers(1, 20, rows)


def dip_join(left: tuple, right: tuple) -> tuple[int, int]:
    """DIP, counting only, as its peers do."""
    found = count_joined(number_rows(*left), number_rows(*right))
    return found.results, found.unproductive


def joins(sizes: list[int], timeless: int) -> None:
    """Unproductive comparisons and times over growing histories, without or with rows that last for ever."""
    ways = {
        "sort-merge": peers.sort_merge,
        "OIP": peers.overlap_partitions,
        "timeline index": peers.timeline_index,
        "sweepline": peers.sweepline,
    }
    for rows in sizes:
        left, right = feed(rows, 1), feed(rows, 2, timeless=timeless)
        pairs, wasted = dip_join(left, right)
        ours = timed(partial(dip_join, left, right), 2)
        lines = []
        for name, join in ways.items():
            found, waste = join(left, right)
            assert found == pairs, (name, found, pairs)
            case = f"unproductive: DIP {wasted:,}, {name} {waste:,}"
            lines.append(Line(case, ours, name, timed(partial(join, left, right), 2)))
        show(f"DIP join, history of {rows:,}, {timeless} timeless rows: {pairs:,} pairs", lines)


def paper(rows: int) -> None:
    """The paper's largest history: all work included, and with partitions made beforehand (figures 22c and 22d)."""
    left, right = feed(rows, 1), feed(rows, 2)
    parts = number_rows(*left), number_rows(*right)
    found = count_joined(*parts)
    ours = timed(partial(dip_join, left, right), 1)
    merge = timed(partial(count_joined, *parts), 1)
    lines = []
    for name, join in {"timeline index": peers.timeline_index, "sweepline": peers.sweepline}.items():
        pairs, _ = join(left, right)
        assert pairs == found.results, (name, pairs, found.results)
        theirs = timed(partial(join, left, right), 1)
        lines.append(Line("DIP, partitioning included", ours, name, theirs))
        lines.append(Line("DIP, partitions made beforehand", merge, name, theirs))
    depths = f"depth {parts[0].depth} and {parts[1].depth}, {found.unproductive:,} unproductive comparisons"
    show(f"DIP join, history of {rows:,}: {found.results:,} pairs, {depths}", lines)


def aggregates(rows: int, extreme_rows: int) -> list[Line]:
    lines = []
    session = duckdb.connect(config={"threads": 2})
    for kind in ("int64", "double"):
        starts, ends = feed(rows, 3)
        values = np.random.default_rng(4).integers(1, 10_000, rows)
        numbers = values if kind == "int64" else values / 100
        table = pa.table({"start": starts, "end": ends, "v": numbers})
        _load(session, "t", table)
        ours = partial(tl.temporal_aggregate, table, {"n": "count", "total": ("v", "sum"), "mean": ("v", "avg")})
        theirs = partial(_run, session, EVENTS)
        _check(session, ours(), theirs(), 'sum(hash("start", "end", n)), round(sum(total)/1e6), count(*)')
        lines.append(Line(f"count, sum, avg of {kind}: {rows:,} rows", *_raced(ours, theirs), "4 x"))
    starts, ends = feed(extreme_rows, 3)
    table = pa.table({"start": starts, "end": ends, "v": np.random.default_rng(4).random(extreme_rows)})
    _load(session, "t", table)
    ours = partial(tl.temporal_aggregate, table, {"low": ("v", "min"), "high": ("v", "max")})
    theirs = partial(_run, session, EXTREMES)
    _check(session, ours(), theirs(), 'sum(hash("start", "end", low, high)), count(*)')
    lines.append(Line(f"min, max: {extreme_rows:,} rows", *_raced(ours, theirs), "12 x"))
    return lines


def against_dip(rows: int) -> list[Line]:
    """The default algorithms against DIP, which does the same work for all rows that overlap."""
    left, right = (pa.table(dict(zip(("start", "end"), feed(rows, seed), strict=True))) for seed in (1, 2))
    lines = []
    for name, call in (
        ("join", partial(tl.temporal_join, left, right)),
        ("full join", partial(tl.temporal_join, left, right, how="full")),
        ("anti-join", partial(tl.temporal_antijoin, left, right)),
        ("count", partial(tl.temporal_aggregate, left, {"n": "count"})),
    ):
        order = [("start", "ascending"), ("end", "ascending")]
        assert call().sort_by(order) == call(algorithm="dip").sort_by(order)
        ours, theirs = timed(call), timed(partial(call, algorithm="dip"), 1)
        lines.append(Line(f"{name} by default: {rows:,} rows", ours, "DIP", theirs))
    return lines


def antijoins(rows: int) -> list[Line]:
    lines = []
    session = duckdb.connect(config={"threads": 2})
    for name, make in (("sparse", sparse), ("feed", feed)):
        left, right = make(rows, 5), make(rows, 6)
        outer = pa.table({"start": left[0], "end": left[1], "id": np.arange(rows)})
        inner = pa.table({"start": right[0], "end": right[1]})
        _load(session, "l", outer)
        _load(session, "r", inner)
        ours, theirs = partial(tl.temporal_antijoin, outer, inner), partial(_run, session, PIECES)
        _check(session, ours(), theirs(), 'sum(hash(id, "start", "end")), count(*)')
        lines.append(Line(f"anti-join, {name}: {rows:,} x {rows:,}", *_raced(ours, theirs), "5 x"))
    return lines


def outer(rows: int) -> list[Line]:
    """The full outer join against its parts: the inner join and both anti-joins."""
    lines = []
    for name, make in (("sparse", sparse), ("feed", feed)):
        size = rows if name == "sparse" else rows // 10
        left, right = (
            pa.table({**dict(zip(("start", "end"), make(size, seed), strict=True)), f"id{seed}": np.arange(size)})
            for seed in (11, 12)
        )
        whole, inner = partial(tl.temporal_join, left, right, how="full"), partial(tl.temporal_join, left, right)
        rest = [partial(tl.temporal_antijoin, left, right), partial(tl.temporal_antijoin, right, left)]
        assert whole().num_rows == inner().num_rows + sum(part().num_rows for part in rest)
        ours, parts = side_by_side(whole, lambda inner=inner, rest=rest: [inner(), *(part() for part in rest)])
        case = f"full outer join, {name}: {size:,} x {size:,}; the inner one alone takes {timed(inner):.3f} s"
        lines.append(Line(case, ours, "inner join and both anti-joins", parts, "0.67 x"))
    return lines


def cancelling(rows: int) -> Line:
    """Large values come and go over a small one that stays; nothing of them may remain."""
    starts = np.arange(rows)
    values = np.where(starts % 2 == 0, 1e16, 0.1) * np.where(starts % 4 < 2, 1.0, -1.0)
    table = pa.table(
        {"start": np.append(starts, 0), "end": np.append(starts + 3, 2 * rows), "v": np.append(values, 0.1)}
    )
    ours = partial(tl.temporal_aggregate, table, {"total": ("v", "sum")})
    totals = ours()["total"].to_numpy()
    assert totals[-1] == 0.1
    assert totals[rows // 2] == math.fsum([*values[rows // 2 - 2 : rows // 2 + 1], 0.1])
    return Line(f"double sums that cancel out: {rows:,} rows, nothing left over", timed(ours, 1), "", 0.0)


def doubling(rows: int) -> list[Line]:
    lines = []
    for size in (rows // 2, rows, 2 * rows):
        starts, ends = feed(size, 7)
        table = pa.table({"start": starts, "end": ends, "v": np.random.default_rng(8).random(size)})
        ours = partial(tl.temporal_aggregate, table, {"n": "count", "total": ("v", "sum"), "top": ("v", "max")})
        lines.append(Line(f"doubling, aggregate: {size:,}", timed(ours), "", 0.0, "time at most 2.3 x"))
        short, other = (pa.table(dict(zip(("start", "end"), sparse(size, seed), strict=True))) for seed in (9, 10))
        ours = partial(tl.temporal_antijoin, short, other)
        lines.append(Line(f"doubling, anti-join: {size:,}", timed(ours), "", 0.0, "time at most 2.3 x"))
    return lines


def _load(session: duckdb.DuckDBPyConnection, name: str, table: pa.Table) -> None:
    session.register("incoming", table)
    session.sql(f"create or replace table {name} as from incoming")
    session.unregister("incoming")


def _run(session: duckdb.DuckDBPyConnection, query: str) -> pa.Table:
    return session.sql(query).to_arrow_table()


def _check(session: duckdb.DuckDBPyConnection, ours: pa.Table, theirs: pa.Table, summary: str) -> None:
    found = []
    for result in (ours, theirs):
        session.register("result", result)
        found.append(session.sql(f"select {summary} from result").fetchall())
        session.unregister("result")
    assert found[0] == found[1], found


def _raced(ours, theirs) -> tuple[float, str, float]:
    mine, peer = side_by_side(ours, theirs)
    return mine, "DuckDB", peer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=["small", "full"], default="small")
    small = parser.parse_args().scale == "small"
    joins([10_000, 20_000, 40_000] if small else [100_000, 200_000, 400_000, 800_000], timeless=0)
    joins([10_000, 20_000] if small else [50_000, 100_000, 200_000], timeless=1)
    paper(200_000 if small else 8_000_000)
    lines = aggregates(10**6, 50_000) if small else aggregates(10**7, 500_000)
    lines += antijoins(200_000 if small else 10**6)
    lines += against_dip(20_000 if small else 200_000)
    lines += outer(200_000 if small else 10**6)
    lines += doubling(250_000 if small else 2 * 10**6)
    lines.append(cancelling(10**6 if small else 10**7))
    show("Sequenced verbs on local tables", lines)


if __name__ == "__main__":
    main()
