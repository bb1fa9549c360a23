"""The stab-forest: the experiments of its paper (section 6), batched stabs against peers, and saving."""

import argparse
import gc
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numba
import numpy as np
import pyarrow as pa
from ncls import NCLS
from sortedcontainers import SortedList
from superintervals import IntervalMap

import timeloom as tl
from benchmarks.data.events import MINUTES, Events, dense_flights, flights, in_order, unrest
from benchmarks.measuring import Line, show, side_by_side, timed
from benchmarks.skip_join_cases import dense, gaps, months, same_pairs

TREE_NODE = 64
"""Bytes of a node of a balanced tree: three pointers, a colour, start, end and id, as an allocator rounds them."""


def appended(events: Events) -> tl.StabForest:
    forest = tl.StabForest()
    for start, end in zip(*map(np.ndarray.tolist, events), strict=True):
        forest.append(start, end)
    forest.stab(0)
    return forest


def same_forest(one: tl.StabForest, other: tl.StabForest) -> None:
    """Single appends must have made the structure that bulk building makes, node by node."""
    ours, theirs = one._shared.settled().forest, other._shared.settled().forest
    assert np.array_equal(ours.counts[:3], theirs.counts[:3])
    nodes = int(ours.counts[1])
    for name in ("first", "own_stop", "last_end", "earliest"):
        assert np.array_equal(ours.nodes[name][1 : nodes + 1], theirs.nodes[name][1 : nodes + 1])


def sorted_list(events: Events) -> SortedList:
    tree = SortedList()
    for event in zip(*map(np.ndarray.tolist, events), strict=True):
        tree.add(event)
    return tree


def plain_list(events: Events) -> list[tuple[int, int]]:
    grown = []
    for event in zip(*map(np.ndarray.tolist, events), strict=True):
        grown.append(event)
    return grown


def building(count: int) -> list[Line]:
    """Figure 7, left, and the file."""
    events = flights(count)
    for look in sorted(np.random.default_rng(7).integers(1, count, 5).tolist()):
        part = events[0][:look], events[1][:look]
        same_forest(appended(part), tl.StabForest.build(*part))
    ours, theirs = side_by_side(partial(appended, events), partial(sorted_list, events))
    grown = timed(partial(plain_list, events))
    lines = [
        Line(f"{count:,} single appends", ours, "SortedList.add", theirs, ">= 1 x"),
        Line(f"{count:,} single appends", ours, "list.append", grown),
    ]
    bulk = timed(partial(tl.StabForest.build, *events))
    forest = tl.StabForest.build(*events)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forest.arrow"
        forest.save(path)
        assert tl.StabForest.load(path).stab(MINUTES // 2).tolist() == forest.stab(MINUTES // 2).tolist()
        loading = timed(partial(tl.StabForest.load, path))
    lines.append(Line("load the file", loading, "build by appends", ours, ">= 20 x"))
    lines.append(Line("load the file", loading, "build in bulk", bulk, ">= 20 x"))
    return lines


@numba.njit(nogil=True, error_model="numpy")
def merged(starts: np.ndarray, ends: np.ndarray, ts: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    """The least that listing takes: both in order, each answer read from the one before, nothing allocated or named."""
    before = at = seen = 0
    for number in range(ts.size):
        t, now = ts[number], at
        for hit in range(before, now):
            out[at] = out[hit]
            at += ends[out[hit]] > t
        while seen < starts.size and starts[seen] <= t:
            out[at] = seen
            at += ends[seen] > t
            seen += 1
        offsets[number + 1], before = at, now


def stabbing(name: str, events: Events, queries: int, ascending: bool) -> list[Line]:
    """Batched stabs, answers listed, against the batch calls of two C libraries."""
    starts, ends = events
    random = np.random.default_rng(4)
    ts = random.integers(starts[0], starts[-1], queries)
    if ascending:
        ts.sort()
    rows = np.arange(starts.size)
    forest, nested = tl.StabForest.build(starts, ends), NCLS(starts, ends, rows)
    flat = IntervalMap.from_arrays(starts.astype(np.int32), (ends - 1).astype(np.int32), rows)
    flat.build()
    points = ts.astype(np.int32)
    offsets, ids = forest.stab_many(ts)
    numbers, found = nested.all_overlaps_both(ts, ts + 1, np.arange(queries))
    same_pairs((np.repeat(np.arange(queries), np.diff(offsets)), ids), (numbers, found))
    assert sum(map(len, flat.search_idxs_batch(points, points))) == ids.size
    case = f"{name}, {queries:,} {'ascending' if ascending else 'random'} stabs, {ids.size / queries:.1f} hits each"
    ours = partial(forest.stab_many, ts)
    first = side_by_side(ours, partial(nested.all_overlaps_both, ts, ts + 1, np.arange(queries)))
    second = side_by_side(ours, partial(flat.search_idxs_batch, points, points))
    lines = [
        Line(case, first[0], "ncls", first[1], ">= 5 x"),
        Line(case, second[0], "superintervals", second[1], ">= 2 x"),
    ]
    if ascending:
        bare = partial(merged, starts, ends, ts, np.zeros(queries + 1, np.int64), np.empty(ids.size + 64, np.int32))
        bare()
        third = side_by_side(ours, bare)
        lines.append(Line(case, third[0], "floor: a bare merge on one core", third[1]))
    return lines


def often(function: Callable[[], object], turns: int = 300) -> float:
    """The shortest time of a short call, in seconds."""
    found = []
    for _ in range(turns):
        began = time.perf_counter()
        function()
        found.append(time.perf_counter() - began)
    return min(found)


def few_windows(count: int) -> tuple[Events, pa.Table]:
    """Disjoint events, and a few windows near the first of them, however many there are."""
    starts = 10 * np.arange(count)
    begins = np.linspace(1_000, 200_000, 4).astype(np.int64)
    return (starts, starts + 5), pa.table({"start": begins, "end": begins + 30})


def verbs(count: int) -> list[Line]:
    """Verbs through a forest against its own methods, and against twice as many events with the same answer."""
    lines, before = [], []
    for size in (count // 2, count):
        events, few = few_windows(size)
        forest, windows = tl.StabForest.build(*events), tl.StabForest.build(few)
        at = int(few["start"][2].as_py())
        plain = forest.table()
        key = [("start", "ascending"), ("id", "ascending")]
        assert tl.join(few, forest).sort_by(key).equals(tl.join(few, plain).sort_by(key))
        assert pa.table(tl.stab(forest, at=at)).equals(tl.stab(plain, at=at))
        asked = [few[name].to_numpy() for name in ("start", "end")]
        counted = partial(forest.count_overlapping, *asked)
        assert tl.count_join(few, forest).equals(tl.count_join(few, plain))
        assert tl.count_join(few, forest)["count"].to_pylist() == counted().tolist()
        calls: list[tuple[str, Callable[[], object], str, Callable[[], object]]] = [
            ("tl.join", partial(tl.join, few, forest), "skip_join", partial(windows.skip_join, forest)),
            ("tl.stab", partial(tl.stab, forest, at=at), "stab", partial(forest.stab, at)),
            ("tl.count_join", partial(tl.count_join, few, forest), "count_overlapping", counted),
        ]
        times = [often(call) for _, call, _, _ in calls]
        if size == count:
            for (name, _, method, same), ours, half in zip(calls, times, before, strict=True):
                theirs = often(same)
                over = f"{(ours - theirs) * 1e6:.0f} µs more; wanted: 20"
                lines.append(Line(f"{name} of {count:,} events", ours, f"forest.{method}", theirs, over))
                lines.append(Line(f"{name} of {count:,} events", ours, "half as many events", half, ">= 0.83 x"))
        before = times
    return lines


def doubled(count: int) -> list[Line]:
    """Every verb through a forest, where twice as many events leave the answer as it is."""
    found: list[dict[str, float]] = []
    for size in (count // 2, count):
        events, few = few_windows(size)
        forest = tl.StabForest.build(*events)
        calls: dict[str, Callable[[], object]] = {
            f"tl.join(few, forest, how={how!r})": partial(tl.join, few, forest, how=how)
            for how in ("inner", "left", "semi", "anti")
        }
        calls |= {
            f"tl.join(forest, few, how={how!r})": partial(tl.join, forest, few, how=how)
            for how in ("inner", "right", "semi")
        }
        calls |= {
            f"tl.join(few, forest, {relation!r})": partial(tl.join, few, forest, relation)
            for relation in ("during", "overlaps", "meets", "contains")
        }
        calls["tl.stab(forest)"] = partial(tl.stab, forest, at=int(few["start"][2].as_py()))
        calls["tl.count_join(few, forest)"] = partial(tl.count_join, few, forest)
        calls["tl.nearest(few, forest)"] = partial(tl.nearest, few, forest)
        found.append({name: often(call, 200) for name, call in calls.items()})
    half, whole = found
    return [
        Line(f"{name}, {count:,} events", whole[name], "half as many events", half[name], ">= 0.83 x") for name in whole
    ]


def axes(count: int) -> list[Line]:
    """The same verbs and methods where ticks are days or microseconds."""
    lines = []
    kinds = {"instants": pa.timestamp("us"), "zoned instants": pa.timestamp("us", "UTC"), "dates": pa.date32()}
    for axis, kind in kinds.items():
        plain = pa.int32() if kind == pa.date32() else pa.int64()
        (starts, ends), given = few_windows(count)
        forest = tl.StabForest.build(*(pa.array(ticks).cast(plain).cast(kind) for ticks in (starts, ends)))
        few = pa.table({name: given[name].cast(plain).cast(kind) for name in ("start", "end")})
        windows, at = tl.StabForest.build(few), few["start"][2].as_py()
        assert tl.join(few, forest).num_rows == windows.skip_join(forest)[0].size
        assert tl.stab(forest, at=at)["id"].to_pylist() == forest.stab(at).tolist()
        for name, call, method, same in (
            ("tl.join", partial(tl.join, few, forest), "skip_join", partial(windows.skip_join, forest)),
            ("tl.stab", partial(tl.stab, forest, at=at), "stab", partial(forest.stab, at)),
        ):
            ours, theirs = often(call), often(same)
            over = f"{(ours - theirs) * 1e6:.0f} µs more; wanted: 20"
            lines.append(Line(f"{name} of {count:,} events, {axis}", ours, f"forest.{method}", theirs, over))
    return lines


def awkward(count: int) -> list[Line]:
    """Single steps in awkward orders, against building the forest anew, which they would cost without care."""
    starts, forever = np.arange(count), np.full(count, 2**63 - 1)
    rebuild = timed(partial(tl.StabForest.build, starts, starts + 5))
    forest = tl.StabForest.build(starts, forever)
    handles = [forest.handle(event) for event in range(0, count, max(1, count // 20_000))]
    warmed = tl.StabForest.build(starts[:200], forever[:200])
    for event in range(200):
        warmed.finish(warmed.handle(event), event + 3)

    def finish_late() -> None:
        for handle in handles:
            forest.finish(handle, handle.id + 3)

    def append_and_ask() -> None:
        for end in ends:
            shared.append(0, end)
            shared.count(500)

    def advance() -> None:
        for step in range(2_000):
            waiting.append(step, step + 9)
            waiting.advance(step)
            waiting.count(step - 1)

    late = timed(finish_late, 1) / len(handles)
    shared, waiting = tl.StabForest(order="start"), tl.StabForest(order="watermark")
    shared.extend(np.zeros(count, np.int64), np.random.default_rng(8).integers(1, 1_000, count))
    ends = np.random.default_rng(9).integers(1, 1_000, 2_000).tolist()
    tail = timed(append_and_ask, 1) / len(ends)
    waiting.extend(10**9 + starts, 10**9 + starts + 5)
    watermark = timed(advance, 1) / 2_000
    return [
        Line(f"late end among {count:,}", late, "build", rebuild, ">= 100 x, 10 µs"),
        Line(f"append and count, {count:,} of one start", tail, "build", rebuild, ">= 10 x"),
        Line(f"append, advance and count, {count:,} wait", watermark, "build", rebuild, ">= 10 x"),
    ]


def windows(count: int, queries: int) -> list[Line]:
    """Many windows in one call, against the batch call of a C library."""
    starts, ends = flights(count)
    begins = np.random.default_rng(10).integers(starts[0], starts[-1], queries)
    forest, nested = tl.StabForest.build(starts, ends), NCLS(starts, ends, np.arange(count))
    asked = begins, begins + 60
    offsets, ids = forest.overlapping_many(*asked)
    numbers, found = nested.all_overlaps_both(*asked, np.arange(queries))
    same_pairs((np.repeat(np.arange(queries), np.diff(offsets)), ids), (numbers, found))
    assert np.array_equal(forest.count_overlapping(*asked), np.diff(offsets))
    peer = partial(nested.all_overlaps_both, *asked, np.arange(queries))
    listed = side_by_side(partial(forest.overlapping_many, *asked), peer)
    counted = side_by_side(partial(forest.count_overlapping, *asked), peer)
    case = f"flights, {queries:,} windows of an hour, {ids.size / queries:.0f} hits each"
    return [
        Line(case, listed[0], "ncls", listed[1], ">= 2 x"),
        Line(f"{case}, counted", counted[0], "ncls", counted[1]),
    ]


def resident() -> int:
    """The memory that this process holds, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def held_by(name: str, count: int) -> float:
    """The bytes per event by which a process grows when it builds a forest."""
    tl.StabForest.build(*disjoint_events(1_000)).stab(5)
    events = dense_flights(count) if name == "flights" else disjoint_events(count)
    gc.collect()
    before = resident()
    forest = tl.StabForest.build(*events)
    forest.stab(5)
    gc.collect()
    return (resident() - before) / count


def disjoint_events(count: int) -> Events:
    return 10 * np.arange(count), 10 * np.arange(count) + 5


def process_size(name: str, count: int, most: int) -> str:
    """Measure in a process of its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        held = pool.submit(held_by, name, count).result()
    return f"{name}: the process grew by {held:.1f} bytes per event, by {most} at most"


def sizes_of(name: str, events: Events) -> str:
    forest = tl.StabForest.build(*events)
    count = events[0].size
    listed = sorted_list((events[0][:10_000], events[1][:10_000]))
    python = sum(map(sys.getsizeof, listed)) / len(listed) + 2 * sys.getsizeof(10**6) + 8
    return (
        f"{name}: {forest.nbytes / count:.1f} bytes per event; a balanced tree about {TREE_NODE}, "
        f"a SortedList of tuples about {python:.0f}"
    )


def main() -> None:
    """Run all experiments at one scale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=["small", "full"], default="small")
    full = parser.parse_args().scale == "full"
    powers = range(0, 19) if full else (0, 2, 4, 8, 12)
    constants = [1, 2, 4, 8, 16, 32, 64] if full else [1, 32]
    show("Verbs through a forest", verbs(2**20) + axes(2**20))
    show("Twice the events, the same answer", doubled(2**20))
    show("Awkward orders", awkward(200_000 if full else 50_000))
    show("Many windows", windows(10**6 if full else 10**5, 10**5 if full else 10**4))
    print(process_size("distinct starts", 10**6, 80))
    print(process_size("flights", 10**7, 40))
    show("Gap data (figure 6)", gaps(2**24 if full else 2**20, [2**power for power in powers], constants))
    show("Sparse joins (figure 5, left)", months(10**7 if full else 10**6, [1, 6, 12, 60, 120] if full else [6, 120]))
    shares = [0.1, 0.5, 1.0] if full else [1.0]
    show(
        "Dense joins (figure 5, middle and right)",
        dense("civil unrest", unrest(62_141), shares)
        + dense("flights", flights(2_500_000 if full else 200_000), shares),
    )
    show("Building (figure 7)", building(2**20 if full else 10**5))
    count, queries = (10**6, 10**6) if full else (10**5, 10**5)
    tight = np.sort(np.random.default_rng(5).integers(0, 100 * count, count))
    sparse = in_order(tight, tight + np.random.default_rng(6).integers(1, 1_000, count))
    disjoint = disjoint_events(count)
    lines = []
    for ascending in (True, False):
        lines += stabbing("disjoint", disjoint, queries, ascending)
        lines += stabbing("short events", sparse, queries, ascending)
        lines += stabbing("flights", flights(count), queries // 10, ascending)
    show("Batched stabs", lines)
    for name, events in (("flights", flights(count)), ("distinct starts", disjoint)):
        print(sizes_of(name, events))


if __name__ == "__main__":
    main()
