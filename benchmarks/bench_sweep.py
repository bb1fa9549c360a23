"""The sweeping join: lazy against plain, and both against the sweep of Leung and Muntz over whole tuples.

Data as in the sweeping paper, section 9: starts uniform in [1, 10^6], exponential durations; and a clustered
set whose endpoints come from a small pool, as those of its `inc` data. Answers are compared before times are
reported.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import leung_muntz
from timeloom.kernels.joins.sweep_join import Counters, PeriodTable, sweep_join
from timeloom.kernels.order import sort
from timeloom.model.names import relation

SCALES = {"small": (100_000, 20_000), "full": (1_000_000, 84_000)}


def synthetic(rows: int, mean: float, seed: int) -> PeriodTable:
    random = np.random.default_rng(seed)
    starts = random.integers(1, 10**6 + 1, rows)
    lengths = np.maximum(1, np.ceil(random.exponential(mean, rows))).astype(np.int64)
    return PeriodTable(starts, starts + lengths)


def clustered(rows: int, seed: int) -> PeriodTable:
    """Few distinct endpoints, mean length 184 in a domain of 9,000, as the incumbent data of the paper."""
    random = np.random.default_rng(seed)
    pool = np.sort(random.choice(9000, 2700, replace=False))
    starts = pool[random.integers(0, pool.size, rows)]
    ends = starts + np.clip(random.exponential(184, rows), 2, 574).astype(np.int64)
    snapped = pool[np.minimum(np.searchsorted(pool, ends), pool.size - 1)]
    return PeriodTable(starts, np.maximum(snapped, starts + 1))


def best_of(runs: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest of some runs, and the answer. The first call, which may compile, is not timed."""
    answer, shortest = work(), float("inf")
    for _ in range(runs):
        begin = time.perf_counter()
        answer = work()
        shortest = min(shortest, time.perf_counter() - begin)
    return shortest, answer


def fingerprint(lefts: np.ndarray, rights: np.ndarray) -> tuple[int, int]:
    """The number of pairs, and a sum that depends on which pairs they are, not on their order."""
    mixed = lefts.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) ^ rights.astype(np.uint64)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return lefts.size, int((mixed ^ (mixed >> np.uint64(31))).sum())


def swept(left: PeriodTable, right: PeriodTable, box: Any, lazy: bool) -> tuple[Any, Counters]:
    counters = Counters()
    fresh = PeriodTable(left.starts, left.ends), PeriodTable(right.starts, right.ends)
    return sweep_join(*fresh, box, lazy=lazy, counters=counters), counters


def whole_tuples(left: PeriodTable, right: PeriodTable, box: Any, room: int) -> tuple[Any, int]:
    """The peer, which is told the size of its output; sorting by start is part of its work."""
    by_left, by_right = sort(left.starts), sort(right.starts)
    out, counters = np.empty((2, room), np.int32), np.zeros(1, np.int64)
    pairs = leung_muntz.join(
        by_left.values,
        left.ends[by_left.ids],
        by_right.values,
        right.ends[by_right.ids],
        leung_muntz.bounds_of(box),
        out[0],
        out[1],
        counters,
    )
    return (by_left.ids[out[0, :pairs]], by_right.ids[out[1, :pairs]]), int(counters[0])


def compare(label: str, left: PeriodTable, right: PeriodTable, name: str, runs: int, **limits: int) -> None:
    (box,) = relation(name, **limits).boxes()
    lazy, (answer, counters) = best_of(runs, lambda: swept(left, right, box, True))
    plain, (plain_answer, _) = best_of(runs, lambda: swept(left, right, box, False))
    pairs = answer[0].size
    peer, (peer_answer, peer_comparisons) = best_of(runs, lambda: whole_tuples(left, right, box, pairs))
    if not fingerprint(*answer) == fingerprint(*plain_answer) == fingerprint(*peer_answer):
        raise SystemExit(f"{label} {name}: the answers differ")
    wasted = peer_comparisons / max(1, counters.candidates)
    print(
        f"{label:<22}{name:<24}{pairs:>12,}{counters.candidates:>13,}{lazy:>9.3f}{plain / lazy:>8.2f}"
        f"{peer / lazy:>9.2f}{counters.reduction:>9.1f}{wasted:>10.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=sorted(SCALES), default="small")
    parser.add_argument("--runs", type=int, default=3)
    chosen = parser.parse_args()
    rows, cluster_rows = SCALES[chosen.scale]
    print(
        f"{'data':<22}{'relation':<24}{'pairs':>12}{'candidates':>13}{'lazy s':>9}{'plain x':>8}"
        f"{'L-M x':>9}{'getnext/':>9}{'L-M cmp x':>10}"
    )
    for mean in (10, 50, 500):
        left, right = synthetic(rows, mean, 1), synthetic(rows, mean, 2)
        for name, limits in (
            ("iseql.start_preceding", {}),
            ("contains", {}),
            ("iseql.before", {"delta": mean}),
            ("iseql.left_overlap", {"delta": 5, "epsilon": 5}),
        ):
            compare(f"synthetic, mean {mean}", left, right, name, chosen.runs, **limits)
    left = clustered(cluster_rows, 3)
    for name in ("iseql.start_preceding", "contains"):
        compare("clustered", left, left, name, chosen.runs)


if __name__ == "__main__":
    main()
