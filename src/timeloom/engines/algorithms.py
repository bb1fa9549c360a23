"""The join's algorithms by name, and how ``auto`` chooses among them. All of them find the same pairs."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from timeloom.engines.drivers import exact_pieces
from timeloom.engines.matches import Matches, Pairs, Source
from timeloom.engines.matching import Problem, cheapest, drive, ranges
from timeloom.engines.skipping import IDLE, INTERSECTS, idle_share, skip
from timeloom.engines.threads import chunks, in_parallel
from timeloom.kernels import range_tree, runs
from timeloom.kernels.sweep_join import PeriodTable, sweep_join, sweep_pairs
from timeloom.model.box import Box

WASTE = 16
"""How many candidates a result may cost before an output-sensitive structure pays."""


@dataclass(frozen=True)
class Choice:
    """The algorithm for one box, and why it was taken."""

    box: Box
    algorithm: str
    driver: str
    why: str


def find(problem: Problem, boxes: tuple[Box, ...], algorithm: str) -> Matches:
    """Find all pairs in the boxes, which are disjoint."""
    sources: list[Source] = []
    for choice in choices(problem, boxes, algorithm):
        sources.extend(_ALGORITHMS[choice.algorithm](problem, choice.box))
    return Matches(len(problem.left), len(problem.right), sources, problem.threads)


def choices(problem: Problem, boxes: tuple[Box, ...], algorithm: str) -> list[Choice]:
    """Say for each box which algorithm it gets."""
    return [_chosen(problem, box, algorithm) for box in boxes]


def _chosen(problem: Problem, box: Box, algorithm: str) -> Choice:
    exact = exact_pieces(box)
    if exact is not None:
        driver = " and ".join(str(piece) for piece in exact)
        if algorithm != "auto":
            return Choice(box, algorithm, driver, "it was asked for")
        if box == INTERSECTS and (idle := idle_share(problem)) >= IDLE:
            why = f"about {idle:.0%} of the larger side's rows lie in gaps of the other, by a sample"
            return Choice(box, "skip", "rows in gaps are passed over", why)
        return Choice(
            box,
            "forward_scan",
            driver,
            "every result lies in a run of a sorted column, so nothing is filtered",
        )
    best, candidates = cheapest(problem, box)
    if algorithm != "auto":
        return Choice(box, algorithm, str(best), "it was asked for")
    results = candidates * _kept(problem, box)
    size = len(problem.left) + len(problem.right)
    if candidates > WASTE * (results + size):
        why = f"even the best runs hold about {candidates:,.0f} candidates for about {results:,.0f} results"
        return Choice(box, "range_tree", "left rows query a tree of right rows", why)
    return Choice(box, "forward_scan", str(best), f"its runs hold the fewest candidates, about {candidates:,.0f}")


def _kept(problem: Problem, box: Box, rows: int = 512) -> float:
    """Estimate the share of the cheapest driver's candidates that are results, from a sample of driving rows."""
    best, _ = cheapest(problem, box)
    driving, driven = problem.sides(best.flip)
    if not len(driving) or not len(driven):
        return 1.0
    picked = np.unique(np.linspace(0, len(driving) - 1, min(rows, len(driving))).astype(np.int64))
    sample = np.unique(np.linspace(0, len(driven) - 1, min(8192, len(driven))).astype(np.int64))
    axis = np.argsort(problem.placed(driven, best.by_end)[sample], kind="stable")
    points = problem.placed(driven, best.by_end)[sample][axis]
    other = problem.placed(driven, not best.by_end)[sample][axis]
    low, high = ranges(problem, best.point, driving, picked)
    begins = np.searchsorted(points, low, side="left").astype(np.int32)
    lengths = np.maximum(np.searchsorted(points, high, side="right") - begins, 0)
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    least, most = ranges(problem, best.rest, driving, picked)
    kept = runs.count_filtered(begins, bounds, other, least, most, 0, int(bounds[-1]))
    return kept / max(1, int(bounds[-1]))


def _forward_scan(problem: Problem, box: Box) -> list[Source]:
    return [drive(problem, driver) for driver in exact_pieces(box) or [cheapest(problem, box)[0]]]


def _sweep(problem: Problem, box: Box) -> list[Source]:
    """The sweeping join. With keys, each driving row's interval is cut to its key's stretch of the axis."""
    left, right = problem.left, problem.right
    if problem.fold is None:
        tables = PeriodTable(left.starts, left.ends), PeriodTable(right.starts, right.ends)
        return [Pairs(*sweep_join(*tables, box, counters=problem.counters))]
    best, _ = cheapest(problem, box)
    driving, driven = problem.sides(best.flip)
    rows = np.arange(len(driving))
    selection = (
        () if best.exact else (problem.placed(driven, not best.by_end), *ranges(problem, best.rest, driving, rows))
    )
    active = ranges(problem, best.point, driving, rows)
    intervals, points = sweep_pairs(problem.placed(driven, best.by_end), *active, *selection, counters=problem.counters)
    return [Pairs(points, intervals) if best.flip else Pairs(intervals, points)]


def _range_tree(problem: Problem, box: Box) -> list[Source]:
    """Left rows, as rectangles over the right rows' endpoints, query a tree of these."""
    problem.sort({(True, False), (True, True), (False, False)})
    by_start, by_end = problem.orders[(True, False)], problem.orders[(True, True)]
    rows = problem.orders[(False, False)].ids
    starts = ranges(problem, (box.start_start, box.start_end), problem.left, rows)
    ends = ranges(problem, (box.end_start, box.end_end), problem.left, rows)
    queries = range_tree.windows(by_start, by_end, starts, ends)
    tree = range_tree.build(by_start, by_end)
    counts = np.empty(rows.size, np.int64)
    parts = chunks(rows.size, problem.threads)
    in_parallel([partial(range_tree.count, tree, queries, *part, counts) for part in parts], problem.threads)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    lefts, rights = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.int32)
    in_parallel(
        [partial(range_tree.report, tree, queries, *part, offsets, lefts, rights) for part in parts], problem.threads
    )
    return [Pairs(rows[lefts], rights)]


_ALGORITHMS: dict[str, Callable[[Problem, Box], list[Source]]] = {
    "forward_scan": _forward_scan,
    "sweep": _sweep,
    "range_tree": _range_tree,
    "skip": skip,
}
