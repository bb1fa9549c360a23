"""The streaming join: throughput against the batch sweep, and how early answers leave.

Throughput: endpoint events per second with 10 and with 1,000 active rows, next to the batch sweep of the same data:
arrays in and out, and tables in and out (StreamJoin next to join with algorithm="sweep"); and how many rows are kept,
in each quarter of the time. Each contender has a process of its own, since memory that another one has given back
changes its time by a factor of two. The answers of a stream are kept until its end, as those of the batch are. The
floor is the share that a stream would have that only matched its events by id and wrote its answers down.
Lazy joining: on clustered data, where rows of one side become ready in bursts, with one scan for each row and with
one scan for all that see the same rows.
Latency: for every Allen and ISEQL relation, the mean delay between the instant at which a pair is certain and the
instant at which it leaves, in mean durations (sweeping paper, figure 20): of endpoint events, and of a sweep of Leung
and Muntz over whole tuples, which reads a tuple once it and all that started before it have ended. Answers are compared
before anything is reported.
Many keys: a batch of events of one key and of many, and what a key at rest takes.
"""

import argparse
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise, product
from multiprocessing import get_context
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.peers import leung_muntz
from timeloom.kernels.joins.sweep_join import PeriodTable, sweep_join
from timeloom.model.names import ALL_NAMES, relation
from timeloom.operators.join import join
from timeloom.streaming import StreamJoin
from timeloom.streaming.deciding import decisions
from timeloom.streaming.emitted import HOWS
from timeloom.streaming.intake import Events
from timeloom.streaming.operator import EndpointJoin
from timeloom.streaming.stepwise import OpenRows, Wants

SCALES = {"small": (50_000, 20_000), "full": (500_000, 100_000)}
DOMAIN = 10**6
SWEPT = ("intersects", "overlaps", "contains", "iseql.start_preceding")
"""The relations of the sweeps over many active rows."""
MANY_PAIRS = {"before", "after", "iseql.before", "iseql.after"}
NO_MARKS = Wants(steps=False, begun=False, ended=False)
FEW_ROWS = 1000
"""Rows for relations in which almost every row is with every other."""


def periods(rows: int, active: float, seed: int, domain: int = DOMAIN) -> PeriodTable:
    """Rows of which this many are active at any time, on average."""
    random = np.random.default_rng(seed)
    starts = random.integers(1, domain + 1, rows)
    lengths = np.maximum(1, np.ceil(random.exponential(active * domain / rows, rows))).astype(np.int64)
    return PeriodTable(starts, starts + lengths)


def events_of(table: PeriodTable) -> Events:
    rows = table.starts.size
    times = np.concatenate([table.starts, table.ends])
    order = np.argsort(times, kind="stable")
    ids = np.concatenate([np.arange(rows)] * 2)[order]
    return Events.endpoints(ids, times[order], (np.arange(2 * rows) < rows)[order])


def streamed(
    name: str, left: Events, right: Events, batch: int, lazy: bool = True, answers: list[Any] | None = None
) -> tuple[int, float, list[int], float]:
    """The number of pairs, the time taken, the rows kept after each batch, and what lazy joining saved.

    Answers are let go as they come, unless there is a list for them.
    """
    operator, pairs, kept = EndpointJoin(relation(name), lazy=lazy), 0, []
    cuts = np.sort(np.concatenate([left.times, right.times]))[batch - 1 :: batch].tolist()
    places = [np.searchsorted(side.times, [*cuts, np.iinfo(np.int64).max], side="right") for side in (left, right)]
    begin = time.perf_counter()
    for number, cut in enumerate([*cuts, None]):
        slices = [
            side.pick(slice(0 if number == 0 else place[number - 1], place[number]))
            for side, place in zip((left, right), places, strict=True)
        ]
        emitted = operator.push(*slices, until=cut)
        kept.append(operator.state_size)
        pairs += emitted.lefts.size
        if answers is not None:
            answers.append(emitted)
    emitted = operator.close()
    took = time.perf_counter() - begin
    if answers is not None:
        answers.append(emitted)
    return pairs + emitted.lefts.size, took, kept, operator.counters.reduction


def batch_sweep(name: str, left: PeriodTable, right: PeriodTable) -> tuple[int, float]:
    begin, pairs = time.perf_counter(), 0
    for box in relation(name).boxes():
        fresh = PeriodTable(left.starts, left.ends), PeriodTable(right.starts, right.ends)
        pairs += sweep_join(*fresh, box)[0].size
    return pairs, time.perf_counter() - begin


def batches_of(left: Events, right: Events, batch: int) -> list[tuple[pa.Table, pa.Table, int | None]]:
    """The events as tables, cut at the same instants, which are complete."""
    cuts = np.sort(np.concatenate([left.times, right.times]))[batch - 1 :: batch].tolist()
    parts = []
    for side in (left, right):
        places = [0, *np.searchsorted(side.times, [*cuts, np.iinfo(np.int64).max], side="right").tolist()]
        table = pa.table({"id": side.ids, "time": side.times, "event": side.starting})
        parts.append([table.slice(first, last - first) for first, last in pairwise(places)])
    return list(zip(*parts, [*cuts, None], strict=True))


def streamed_tables(name: str, batches: list[tuple[pa.Table, pa.Table, int | None]]) -> tuple[int, float]:
    begin, stream = time.perf_counter(), StreamJoin(name)
    answers = [*(stream.push(left, right, until=cut) for left, right, cut in batches), stream.close()]
    took = time.perf_counter() - begin
    return sum(answer.num_rows for answer in answers), took


def joined_tables(name: str, left: pa.Table, right: pa.Table) -> tuple[int, float]:
    begin = time.perf_counter()
    pairs = join(left, right, name, algorithm="sweep", columns=["id", "id_right"]).num_rows
    return pairs, time.perf_counter() - begin


def least_work(name: str, left: Events, right: Events, batch: int) -> tuple[int, float]:
    """What a stream must do that a sweep of tables need not: match events by id, and write answers with instants.

    Each end finds the start of its row, and as many answers as there are, three numbers each, are written to fresh
    memory. Nobody looks for partners, and sides are not merged by time.
    """
    pairs, answers, nothing = streamed(name, left, right, batch)[0], [], np.empty(0, np.int64)
    begin, parts = time.perf_counter(), -(-left.times.size // batch)
    for side in (left, right):
        opened = OpenRows(np.empty((0, 3), np.int64), numbered=False, listed=False)
        for first in range(0, side.times.size, batch):
            some = side.pick(slice(first, first + batch))
            opened.take((some.ids, some.times, some.times, some.times, some.starting, nothing), NO_MARKS, 0, 0)
            answers.append(np.ones((3, pairs // (2 * parts)), np.int64))
    return pairs, time.perf_counter() - begin


def contender(which: int, rows: int, active: int, runs: int) -> list[tuple[int, float, list[int]]]:
    """For each relation the number of pairs, the shortest time, and the rows kept; the first run is not counted."""
    left, right = periods(rows, active, 1), periods(rows, active, 2)
    events = events_of(left), events_of(right)
    batches = batches_of(*events, 20_000)
    whole = [pa.table({"id": np.arange(rows), "start": side.starts, "end": side.ends}) for side in (left, right)]
    runners: list[Callable[[str], Any]] = [
        lambda name: batch_sweep(name, left, right),
        lambda name: streamed(name, *events, 20_000, answers=[]),
        lambda name: joined_tables(name, *whole),
        lambda name: streamed_tables(name, batches),
        lambda name: least_work(name, *events, 20_000),
    ]
    found = []
    for name in swept_with(active):
        timed = [runners[which](name) for _ in range(runs + 1)]
        found.append((timed[0][0], min(run[1] for run in timed[1:]), timed[0][2] if which == 1 else []))
    return found


def swept_with(active: int) -> tuple[str, ...]:
    """The relations that are swept with so many active rows."""
    return SWEPT if active > 10 else tuple(name for name in ALL_NAMES if name not in MANY_PAIRS)


def throughput(rows: int, runs: int) -> None:
    print(
        f"{'active':>7} {'relation':<24}{'pairs':>12}{'events/s':>12}{'of the sweep':>14}{'tables':>9}{'floor':>9}"
        "   rows kept, by quarter"
    )
    for active in (10, 1000):
        some = rows if active == 10 else max(10_000, rows // 10)
        with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as processes:
            told = list(processes.map(contender, range(5), [some] * 5, [active] * 5, [runs] * 5))
        for name, (sweep, arrays, verb, tables, least) in zip(swept_with(active), zip(*told, strict=True), strict=True):
            if len({run[0] for run in (sweep, arrays, verb, tables)}) > 1:
                raise SystemExit(f"{name}: the stream and the batch differ")
            kept = [int(part.max()) for part in np.array_split(np.array(arrays[2][:-1]), 4) if part.size]
            print(
                f"{active:>7} {name:<24}{sweep[0]:>12,}{4 * some / arrays[1]:>12,.0f}{sweep[1] / arrays[1]:>14.0%}"
                f"{verb[1] / tables[1]:>9.0%}{sweep[1] / least[1]:>9.0%}   {kept}"
            )


def clustered(rows: int, active: int, burst: int, seed: int) -> PeriodTable:
    """Rows that start in bursts and last equally long within each, so that they end in bursts, too."""
    random = np.random.default_rng(seed)
    bursts = rows // burst
    first = np.sort(random.integers(1, DOMAIN, bursts))
    length = random.integers(1, 2 * active * DOMAIN // rows, bursts) + burst
    starts = (first[:, None] + np.arange(burst)).reshape(-1)
    return PeriodTable(starts, starts + np.repeat(length, burst))


def laziness(rows: int, runs: int) -> None:
    print(
        f"\n{'burst':>7} {'relation':<24}{'pairs':>12}{'plain (s)':>12}{'lazy (s)':>12}{'faster':>8}{'reduction':>11}"
    )
    for burst in (1, 8, 32):
        left, right = (clustered(rows // 10, 1000, burst, seed) for seed in (5, 6))
        events = events_of(left), events_of(right)
        for name in ("starts", "intersects"):
            turns = [[streamed(name, *events, 20_000, lazy) for lazy in (False, True)] for _ in range(runs + 1)][1:]
            if len({run[0] for turn in turns for run in turn}) > 1:
                raise SystemExit(f"{name}: lazy and plain joining differ")
            plain, lazy = (min(turn[which][1] for turn in turns) for which in (0, 1))
            print(
                f"{burst:>7} {name:<24}{turns[0][0][0]:>12,}{plain:>12.3f}{lazy:>12.3f}{plain / lazy:>7.1f}x"
                f"{turns[0][1][3]:>11.1f}"
            )


def whole_tuples(name: str, left: PeriodTable, right: PeriodTable, room: int) -> tuple[Any, Any, Any]:
    """The pairs of a sweep of Leung and Muntz, and when it has read the later tuple of each."""
    orders = [np.argsort(side.starts, kind="stable") for side in (left, right)]
    starts = [side.starts[order] for side, order in zip((left, right), orders, strict=True)]
    ends = [side.ends[order] for side, order in zip((left, right), orders, strict=True)]
    merged = np.argsort(np.concatenate(starts), kind="stable")
    read = np.empty(merged.size, np.int64)
    read[merged] = np.maximum.accumulate(np.concatenate(ends)[merged])
    out, (box,) = np.empty((2, room), np.int64), relation(name).boxes()
    reads = leung_muntz.by_start(*starts)
    columns = starts[0], ends[0], starts[1], ends[1]
    pairs = leung_muntz.join(*columns, leung_muntz.bounds_of(box), reads, *out)[0]
    lefts, rights = out[:, :pairs]
    instants = np.maximum(read[lefts], read[left.starts.size + rights])
    return orders[0][lefts], orders[1][rights], instants


def certain_instants(name: str, left: PeriodTable, right: PeriodTable, lefts: Any, rights: Any) -> Any:
    """When each pair is certain, from the endpoints of its rows and the relation's deciding endpoint."""
    (decision,) = decisions(relation(name).boxes())
    ends = (left.starts[lefts], left.ends[lefts], right.starts[rights], right.ends[rights])
    constants = (*decision.left, *decision.right)
    terms = [end + constant for end, constant in zip(ends, constants, strict=True) if constant is not None]
    return np.max(terms, axis=0)


def latency(rows: int) -> None:
    print(f"\n{'relation':<24}{'pairs':>12}{'endpoints':>12}{'whole tuples':>14}   (delay, in mean durations)")
    for name in ALL_NAMES:
        some = FEW_ROWS if name in MANY_PAIRS else rows
        left, right = periods(some, 10, 3, some), periods(some, 10, 4, some)
        mean = float(np.mean(np.concatenate([left.ends - left.starts, right.ends - right.starts])))
        parts: list[Any] = []
        streamed(name, events_of(left), events_of(right), 5_000, answers=parts)
        lefts, rights, instants = (np.concatenate(column) for column in list(zip(*parts, strict=True))[:3])
        *pairs, read = whole_tuples(name, left, right, lefts.size + 1)
        order, peer_order = np.lexsort((rights, lefts)), np.lexsort(pairs[::-1])
        if not all(
            np.array_equal(ours[order], theirs[peer_order]) for ours, theirs in zip((lefts, rights), pairs, strict=True)
        ):
            raise SystemExit(f"{name}: the stream and the sweep over whole tuples differ")
        certain = certain_instants(name, left, right, lefts, rights)
        late = (read[peer_order] - certain[order]).mean() / mean if lefts.size else float("nan")
        early = (instants - certain).mean() / mean if lefts.size else float("nan")
        print(f"{name:<24}{lefts.size:>12,}{early:>12.2f}{late:>14.2f}")


def key_events(keys: int, rows: int, first: int) -> pa.Table:
    """Rows that start and end one after the other, each of a key that is drawn."""
    drawn = np.random.default_rng(first).integers(0, keys, rows)
    times = first + 2 * np.arange(rows)
    columns = {"key": drawn, "id": times, "time": times, "event": np.ones(rows, np.bool_)}
    ends = {**columns, "time": times + 1, "event": np.zeros(rows, np.bool_)}
    return pa.table({name: np.concatenate([columns[name], ends[name]]) for name in columns})


def many_keys(runs: int, events: int = 2_000, keys: int = 16_000) -> None:
    """A batch of events of one key, and of many keys of which each has an open row; and the bytes of a key at rest."""
    print(f"\n{events:,} events{'':<18}{'one key (ms)':>14}{f'{keys:,} keys':>14}{'ratio':>8}{'bytes a key':>13}")
    for name, how in product(("overlaps", "intersects", "equals", "iseql.start_preceding"), HOWS):
        best, kept = [], 0.0
        for some in (1, keys):
            numbers = np.arange(some if some > 1 else 0)
            rest = pa.table({"key": numbers, "id": -1 - numbers, "time": numbers, "event": numbers >= 0})
            tracemalloc.start()
            join = StreamJoin(name, on="key", how=how)
            join.push(rest, None, until=keys)
            kept = tracemalloc.get_traced_memory()[0] / some
            tracemalloc.stop()
            times = []
            for run in range(10 * runs):
                table = key_events(some, events // 4, (run + 1) * 10 * keys)
                begin = time.perf_counter()
                join.push(table, table, until=int(table["time"][-1].as_py()))
                times.append(time.perf_counter() - begin)
            best.append(1000 * min(times))
        print(f"{name:<24}{how:<6}{best[0]:>14.1f}{best[1]:>14.1f}{best[1] / best[0]:>7.1f}x{kept:>13.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=sorted(SCALES), default="small")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--only", choices=["throughput", "laziness", "latency", "keys"])
    chosen = parser.parse_args()
    rows, latency_rows = SCALES[chosen.scale]
    parts: dict[str, Callable[[], None]] = {
        "throughput": lambda: throughput(rows, chosen.runs),
        "laziness": lambda: laziness(rows, chosen.runs),
        "latency": lambda: latency(latency_rows),
        "keys": lambda: many_keys(chosen.runs),
    }
    for name, part in parts.items():
        if chosen.only in (None, name):
            part()


if __name__ == "__main__":
    main()
