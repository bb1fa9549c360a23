"""Bitemporal sliding windows: the index against the thesis's peers (its chapter 5), on a history of orders."""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import timeloom as tl
from benchmarks.data.orders import Orders, orders
from benchmarks.measuring import Line, show, side_by_side, timed
from benchmarks.peers.bitemporal import Delta, RTree, Scan, TimelineIndex, Trees
from timeloom.bitemporal.timelines import Timelines
from timeloom.model.ticks import FOREVER

TRANSACTIONS = 1000
QUICK = ("timeline index", "search trees")
"""The peers that can make as many slides as ours; the others make a few."""
"""A batch of the dispatcher."""


def loaded_timeline(data: Orders) -> TimelineIndex:
    index = TimelineIndex(data)
    ended = np.flatnonzero(data.sys_end != FOREVER)
    ended = ended[np.argsort(data.sys_end[ended], kind="stable")]
    index.append(np.arange(len(data)), data.sys_start, ended, data.sys_end[ended])
    return index


def turns(ratio: tuple[int, int]) -> Iterator[str]:
    while True:
        yield from ["sys"] * ratio[0] + ["app"] * ratio[1]


def peer_slides(peer: Any, ratio: tuple[int, int], steps: int) -> list[Delta]:
    slide = {"sys": peer.slide_sys, "app": peer.slide_app}
    return [slide[axis]() for axis, _ in zip(turns(ratio), range(steps), strict=False)]


def our_query(index: tl.BitemporalIndex, sys: int, app: int, ratio: tuple[int, int], steps: int):
    return index.windows(
        sys=tl.Slide(sys - 1, 1, 1 if ratio[0] else 0),
        app=tl.Slide(app - 1, 1, 1 if ratio[1] else 0),
        ratio=ratio,
        steps=steps,
    )


def same(ours: list, theirs: list[Delta]) -> None:
    for step, (entered, left) in zip(ours, theirs, strict=True):
        assert step.entered.tolist() == sorted(entered.tolist())
        assert step.left.tolist() == sorted(left.tolist())


def sliding(index: tl.BitemporalIndex, sys: int, app: int, ratio: tuple[int, int], steps: int) -> float:
    """Seconds for all slides, without the initial window."""
    best = float("inf")
    for _ in range(3):
        found = iter(our_query(index, sys, app, ratio, steps))
        next(found)
        began = time.perf_counter()
        for _ in found:
            pass
        best = min(best, time.perf_counter() - began)
    return best


def peer_sliding(peer: Any, sys: int, app: int, ratio: tuple[int, int], steps: int) -> float:
    peer.initial(sys, app)
    began = time.perf_counter()
    peer_slides(peer, ratio, steps)
    return time.perf_counter() - began


def initial_windows(data: Orders, indexes: dict, peers: dict) -> list[Line]:
    """Figures 5.1 and 5.2."""
    lines = []
    app = data.instants // 2
    for name, index in indexes.items():
        sys = data.latest // 2 if name == "retroactive" else data.latest
        expected = Scan(data).initial(sys, app)

        def ask(index=index, sys=sys):
            return next(iter(our_query(index, sys, app, (1, 1), 0))).entered

        assert np.array_equal(ask(), expected)
        ours = timed(ask, 5)
        for peer_name, peer in peers.items():
            assert np.array_equal(peer.initial(sys, app), expected), peer_name
            target = "10 x" if peer_name == "timeline index" else ""
            lines.append(
                Line(f"initial window, {name}", ours, peer_name, timed(partial(peer.initial, sys, app), 2), target)
            )
    return lines


def slides(data: Orders, index: tl.BitemporalIndex, peers: dict, budget: int) -> list[Line]:
    """Figures 5.3, 5.4, 5.5 and 5.6: seconds for one slide on average."""
    lines = []
    middle, app = data.latest // 2, data.instants // 2
    cases = [
        ("system slide", middle, (1, 0), 50, "5 x"),
        ("application slides", data.latest, (0, 1), budget, "1/1.3 x"),
    ]
    cases += [(f"both, 1:{n}", middle, (1, n), max(200, 2 * n), "1 x") for n in (1, 4, 10, 100)]
    for case, at, ratio, steps, target in cases:
        for name, peer in peers.items():
            count = steps if name in QUICK else min(steps, 20)
            peer.initial(at, app)
            same(list(our_query(index, at, app, ratio, min(count, 50)))[1:], peer_slides(peer, ratio, min(count, 50)))
            ours = sliding(index, at, app, ratio, count) / count
            theirs = peer_sliding(peer, at, app, ratio, count) / count
            lines.append(
                Line(f"{case} (µs)", ours * 1e6, name, theirs * 1e6, target if name in QUICK[: 1 + all(ratio)] else "")
            )
    return lines


def batches(data: Orders) -> Iterator[tuple[slice, np.ndarray]]:
    """The rows and the ends of each batch of transactions, the initial load being the first."""
    ended = np.flatnonzero(data.sys_end != FOREVER)
    ended = ended[np.argsort(data.sys_end[ended], kind="stable")]
    times = data.sys_end[ended]
    edges = np.append(np.arange(1, data.latest + 1, TRANSACTIONS), data.latest + 1)
    for low, high in pairwise(edges):
        begin, end = np.searchsorted(data.sys_start, [low, high])
        first, last = np.searchsorted(times, [low, high])
        yield slice(begin, end), ended[first:last]


def _known(data: Orders, rows: slice, ended: np.ndarray) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """The columns of a batch as they are known at its end, and the rows of earlier batches that end in it."""
    ends = data.sys_end[rows]
    known = np.where(ends <= data.sys_start[rows.stop - 1], ends, FOREVER)
    return (data.sys_start[rows], known, data.app_start[rows], data.app_end[rows]), ended[ended < rows.start]


def maintain_ours(data: Orders, *, retroactive: bool) -> float:
    lines = Timelines(retroactive=retroactive, bucket=None, checkpoint_every=None)
    spent = 0.0
    for rows, ended in batches(data):
        columns, earlier = _known(data, rows, ended)
        began = time.perf_counter()
        lines = lines.applied(columns, earlier, data.sys_end[earlier])
        spent += time.perf_counter() - began
    return spent


def maintain_timeline(data: Orders) -> float:
    index = TimelineIndex(data)
    spent = 0.0
    for rows, ended in batches(data):
        numbers = np.arange(rows.start, rows.stop)
        columns, earlier = _known(data, rows, ended)
        began = time.perf_counter()
        published = index.table.latest
        index.table = index.table.appended(*columns).closed(earlier, data.sys_end[earlier], published)
        index.append(numbers, columns[0], ended, data.sys_end[ended])
        spent += time.perf_counter() - began
    return spent


def maintenance(data: Orders) -> list[Line]:
    """Figure 5.7; the table's own time columns are kept by both."""
    theirs = min(maintain_timeline(data) for _ in range(2))
    ours = min(maintain_ours(data, retroactive=True) for _ in range(2))
    return [Line("maintenance, all batches", ours, "timeline index", theirs, "1/1.5 x")]


def memory(index: tl.BitemporalIndex, timeline: TimelineIndex, data: Orders) -> None:
    """Figure 5.8."""
    timeline.initial(data.latest, data.instants // 2)
    ours, theirs = index.nbytes / len(data), timeline.nbytes / len(data)
    print(f"memory: {ours:.1f} bytes a row, timeline index {theirs:.1f}: {ours / theirs:.0%} (wanted 60 %)")


def whole_query(data: Orders) -> None:
    """All steps in one pass over the table, against the index, step by step."""
    table = data.table()
    options = {"sys": tl.Slide(0, data.latest // 2, 1), "app": tl.Slide(0, data.instants // 2, 1), "steps": 1000}
    index = tl.BitemporalIndex(table)

    def by_index() -> list[int]:
        return [step.values["n"] for step in index.windows(**options, select={"n": "count"})]

    def in_one_pass() -> pa.Table:
        return tl.sliding_windows(table, **options)

    assert by_index() == in_one_pass()["n"].to_pylist()
    print(f"1,000 steps of a count: one pass {timed(in_one_pass):.3f} s, by the index {timed(by_index):.3f} s")


def by_sql(data: Orders) -> list[Line]:
    """Window queries as texts, against the verb with the same windows: aggregates, and the rows of each step."""
    table, sys_range, app_range = data.table(), data.latest // 2, data.instants // 2
    source = f"t [SYS, START 0, RANGE {sys_range}, SLIDE 1] [APP, START 0, RANGE {app_range}, SLIDE 1] STEPS"
    options = {"sys": tl.Slide(0, sys_range, 1), "app": tl.Slide(0, app_range, 1)}
    cases = {
        "counts by SQL, 1,000 steps": (f"select count(*) as n from {source} 1000", {"steps": 1000}),
        "rows by SQL, 2 steps": (f"select * from {source} 2", {"steps": 2, "rows": True}),
    }
    lines = []
    for name, (text, more) in cases.items():
        ours = partial(tl.sql, text, t=table)
        verb = partial(tl.sliding_windows, table, **options, **more)
        assert ours().equals(verb())
        lines.append(Line(name, *_named("the verb", side_by_side(ours, verb, 7)), "1/1.1 x"))
    return lines


def _named(peer: str, times: tuple[float, float]) -> tuple[float, str, float]:
    return times[0], peer, times[1]


def on_spark(versions: int, steps: int = 1000) -> list[Line]:
    """All steps of a query in one plan, against ten snapshots that are queries of their own."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    data = orders(versions)
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    with tempfile.TemporaryDirectory() as scratch:
        pq.write_table(data.table(), f"{scratch}/orders.parquet", row_group_size=1_000_000)
        frame = spark.read.parquet(f"{scratch}/orders.parquet")
        middle, app = data.latest // 2, data.instants // 2
        call = {"sys": tl.Slide(middle - 1, 1, 1), "app": tl.Slide(app - 1, 1, 1), "steps": steps}

        def whole() -> list[int]:
            return [row["n"] for row in tl.sliding_windows(frame, **call).collect()]

        def snapshot(step: int) -> int:
            s, a = middle + (step + 1) // 2, app + step // 2
            inside = f"sys_start <= {s} and {s} < coalesce(sys_end, {FOREVER})"
            return frame.filter(f"{inside} and app_start <= {a} and {a} < coalesce(app_end, {FOREVER})").count()

        def ten() -> list[int]:
            return [snapshot(step) for step in range(0, steps, steps // 10)]

        assert whole()[: steps : steps // 10] == ten()
        line = Line(f"{steps:,} steps, {len(data):,} versions", timed(whole, 2), "ten snapshots", timed(ten, 2), "1 x")
    spark.stop()
    return [line]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=["small", "full"], default="full")
    parser.add_argument("--spark", action="store_true", help="the case on Spark, and nothing else")
    options = parser.parse_args()
    if options.spark:
        show("Spark", on_spark(10_000_000 if options.scale == "full" else 200_000))
        return
    data = orders(2_000_000 if options.scale == "full" else 100_000)
    timeline = loaded_timeline(data)
    peers = {"timeline index": timeline, "search trees": Trees(data), "R-tree": RTree(data), "table scan": Scan(data)}
    index = tl.BitemporalIndex(data.table(), checkpoint_every=None)
    plain = index.nbytes
    memory(index, timeline, data)
    index.checkpoint()
    print(f"{len(data):,} versions; a checkpoint adds {(index.nbytes - plain) / len(data):.1f} bytes a row")
    present = tl.BitemporalIndex(data.table(), retroactive=False)
    show("Initial windows", initial_windows(data, {"retroactive": index, "non-retroactive": present}, peers))
    show("Slides", slides(data, index, peers, 2000))
    show("Maintenance", maintenance(data))
    whole_query(data)
    show("Windows by SQL", by_sql(data))


if __name__ == "__main__":
    main()
