"""As-of and nearest joins against Polars, DuckDB, polars-bio and, where it is installed, bioframe."""

import argparse
import importlib
import importlib.util

import duckdb
import numpy as np
import polars as pl
import polars_bio as pb
import pyarrow as pa

import timeloom as tl
from benchmarks.measuring import Line, show, side_by_side

AS_OF = "SELECT l.lid, l.at, l.key, r.rid FROM l ASOF LEFT JOIN r ON l.key = r.key AND l.at >= r.at"


def instants(rows: int, keys: int, seed: int, name: str, ordered: bool) -> pa.Table:
    draw = np.random.default_rng(seed)
    at = draw.integers(0, 20 * rows, rows)
    at = np.sort(at) if ordered else at
    return pa.table({name: np.arange(rows), "at": at, "key": draw.integers(0, keys, rows)})


def as_of(rows: int, ordered: bool) -> list[Line]:
    """One case: both sides as large, a thousand keys; in order of time as feeds are, or not."""
    one, other = instants(rows, 1000, 1, "lid", ordered), instants(rows, 1000, 2, "rid", ordered)
    left, right = pl.from_arrow(one), pl.from_arrow(other)
    con = duckdb.connect()
    con.register("l", one)
    con.register("r", other)

    def ours() -> pa.Table:
        return tl.as_of(one, other, on="key", columns=["lid", "at", "key", "rid"])

    def by_polars() -> pl.DataFrame:
        return left.sort("at").join_asof(right.sort("at"), on="at", by="key", check_sortedness=False)

    def by_duckdb() -> pa.Table:
        return con.sql(AS_OF).to_arrow_table()

    expected = ours().sort_by("lid")["at"].to_pylist()
    at = dict(zip(other["rid"].to_pylist(), other["at"].to_pylist(), strict=True))
    mine = [at.get(row) for row in ours().sort_by("lid")["rid"].to_pylist()]
    for found in (by_polars().sort("lid")["rid"].to_list(), by_duckdb().sort_by("lid")["rid"].to_pylist()):
        assert mine == [at.get(row) for row in found]  # rows level in time may differ
    assert len(expected) == rows
    name = f"as_of {rows:,} x {rows:,}, 1,000 keys, {'in order' if ordered else 'in no order'}"
    lines = []
    for peer, theirs in (("Polars join_asof", by_polars), ("DuckDB ASOF JOIN", by_duckdb)):
        lines.append(Line(name, *_times(ours, theirs, peer), target="2 x"))
    return lines


def _times(ours, theirs, peer):
    mine, others = side_by_side(ours, theirs)
    return mine, peer, others


def spans(rows: int, seed: int) -> pa.Table:
    draw = np.random.default_rng(seed)
    starts = draw.integers(0, 100 * rows, rows)
    ends = starts + draw.integers(1, 50, rows)
    return pa.table({"chrom": np.full(rows, "a"), "start": starts, "end": ends})


def nearest(rows: int, k: int) -> list[Line]:
    one, other = spans(rows, 1), spans(rows, 2)
    left, right = pl.from_arrow(one), pl.from_arrow(other)

    def ours() -> pa.Table:
        return tl.nearest(one, other, k, on="chrom")

    def by_polars_bio() -> pl.DataFrame:
        return pb.nearest(left, right, k=k, output_type="polars.DataFrame")

    mine = np.sort(ours()["distance"].to_numpy())
    theirs = np.sort(by_polars_bio()["distance"].to_numpy())
    assert mine.size == theirs.size
    assert np.abs(mine - theirs).max() <= 1  # its distance of adjacent rows is 1 for some versions
    lines = [Line(f"nearest {rows:,} x {rows:,}, k = {k}", *_times(ours, by_polars_bio, "polars-bio"), _wanted(k))]
    if importlib.util.find_spec("bioframe"):
        bf = importlib.import_module("bioframe")
        frames = one.to_pandas(), other.to_pandas()
        few = min(rows, 100_000)

        def by_bioframe():
            return bf.closest(frames[0].head(few), frames[1].head(few), k=k)

        def ours_few():
            return tl.nearest(one.slice(0, few), other.slice(0, few), k, on="chrom")

        lines.append(
            Line(f"nearest {few:,} x {few:,}, k = {k}", *_times(ours_few, by_bioframe, "bioframe"), _wanted(k))
        )
    return lines


def _wanted(k: int) -> str:
    return "5 x" if k == 1 else "3 x"


def condition(rows: int) -> list[Line]:
    """What a condition costs beside the join that it narrows."""
    draw = np.random.default_rng(3)
    one, other = (
        spans(rows, seed).drop_columns("chrom").append_column("x", pa.array(draw.integers(0, 100, rows)))
        for seed in (1, 2)
    )

    def ours() -> pa.Table:
        return tl.join(one, other, max_gap=500, where="x < x_right")

    def filtered() -> pa.Table:
        found = tl.join(one, other, max_gap=500)
        return found.filter(pa.compute.less(found["x"], found["x_right"]))

    assert ours().num_rows == filtered().num_rows
    return [Line(f"join with where, {rows:,} x {rows:,}", *_times(ours, filtered, "join, then filter"))]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    lines = [*as_of(rows, True), *as_of(rows, False), *nearest(rows, 1), *nearest(rows, 5), *condition(rows // 4)]
    show("Neighbours in time", lines)


if __name__ == "__main__":
    main()
