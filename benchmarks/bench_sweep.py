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

from benchmarks.data.statistics import SWEEPING
from benchmarks.data.uniform import uniform
from benchmarks.peers import leung_muntz
from benchmarks.reproduce.contest import fingerprint
from timeloom.kernels.joins.sweep_join import Counters, PeriodTable, sweep_join
from timeloom.kernels.order import sort
from timeloom.model.names import relation

SCALES = {"small": (100_000, 20_000), "full": (1_000_000, 84_000)}


def synthetic(rows: int, mean: float, seed: int) -> PeriodTable:
    drawn = uniform(rows, mean, seed)
    return PeriodTable(drawn["start"], drawn["end"])


def best_of(runs: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest of some runs, and the answer. The first call, which may compile, is not timed."""
    answer, shortest = work(), float("inf")
    for _ in range(runs):
        begin = time.perf_counter()
        answer = work()
        shortest = min(shortest, time.perf_counter() - begin)
    return shortest, answer


def swept(left: PeriodTable, right: PeriodTable, box: Any, lazy: bool) -> tuple[Any, Counters]:
    counters = Counters()
    fresh = PeriodTable(left.starts, left.ends), PeriodTable(right.starts, right.ends)
    return sweep_join(*fresh, box, lazy=lazy, counters=counters), counters


def whole_tuples(left: PeriodTable, right: PeriodTable, box: Any, room: int) -> tuple[Any, int]:
    """The peer, which is told the size of its output; sorting by start is part of its work."""
    by_left, by_right = sort(left.starts), sort(right.starts)
    out = np.empty((2, room), np.int32)
    pairs, _, scanned, _ = leung_muntz.join(
        by_left.values,
        left.ends[by_left.ids],
        by_right.values,
        right.ends[by_right.ids],
        leung_muntz.bounds_of(box),
        leung_muntz.by_start(by_left.values, by_right.values),
        out[0],
        out[1],
    )
    return (by_left.ids[out[0, :pairs]], by_right.ids[out[1, :pairs]]), scanned


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
    left = PeriodTable(*SWEEPING["inc"].scaled(cluster_rows).draw(3))
    for name in ("iseql.start_preceding", "contains"):
        compare("clustered", left, left, name, chosen.runs)


if __name__ == "__main__":
    main()
