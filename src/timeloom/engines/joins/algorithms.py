"""The join's algorithms by name, and how ``auto`` chooses among them. All of them find the same pairs."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from timeloom.engines.joins.drivers import Driver, exact_pieces
from timeloom.engines.joins.endpoint_lookup import equality
from timeloom.engines.joins.estimates import cheapest, kept
from timeloom.engines.joins.forward_scan import drive
from timeloom.engines.joins.pairs import Matches, Pairs, Source
from timeloom.engines.joins.problem import Problem, ranges
from timeloom.engines.joins.skip_join import IDLE, INTERSECTS, idle_share, skip
from timeloom.engines.resources.threads import chunks, in_parallel
from timeloom.kernels.joins import range_tree
from timeloom.kernels.joins.sweep_join import PeriodTable, sweep_join, sweep_pairs
from timeloom.model.box import Box

WASTE = 16
"""How many candidates a result may cost before an output-sensitive structure pays."""


@dataclass(frozen=True)
class Choice:
    """The algorithm for one box, how it finds the pairs, and why it was taken."""

    box: Box
    algorithm: str
    drivers: tuple[Driver, ...]
    why: str

    @property
    def driver(self) -> str:
        """What runs over what."""
        return _OWN_WAYS.get(self.algorithm) or " and ".join(str(driver) for driver in self.drivers)


_OWN_WAYS = {"skip": "rows in gaps are passed over", "range_tree": "left rows query a tree of right rows"}


def find(problem: Problem, boxes: tuple[Box, ...], algorithm: str) -> Matches:
    """Find all pairs in the boxes, which are disjoint."""
    return matches(problem, choices(problem, boxes, algorithm))


def matches(problem: Problem, chosen: list[Choice]) -> Matches:
    """Find all pairs by the chosen algorithms."""
    sources = [source for choice in chosen for source in _ALGORITHMS[choice.algorithm](problem, choice)]
    return Matches(len(problem.left), len(problem.right), sources, problem.threads)


def choices(problem: Problem, boxes: tuple[Box, ...], algorithm: str) -> list[Choice]:
    """Say for each box which algorithm it gets."""
    return [_chosen(problem, box, algorithm) for box in boxes]


def _chosen(problem: Problem, box: Box, algorithm: str) -> Choice:
    if exact := exact_pieces(box):
        drivers = tuple(exact)
        if algorithm != "auto":
            return Choice(box, algorithm, drivers, "it was asked for")
        if box == INTERSECTS and (idle := idle_share(problem)) >= IDLE:
            why = f"about {idle:.0%} of the larger side's rows lie in gaps of the other, by a sample"
            return Choice(box, "skip", drivers, why)
        why = "every result lies in a run of a sorted column, so nothing is filtered"
        return Choice(box, "forward_scan", drivers, why)
    best, candidates = cheapest(problem, box)
    if algorithm != "auto":
        return Choice(box, algorithm, (best,), "it was asked for")
    size = len(problem.left) + len(problem.right)
    if candidates > WASTE * size and candidates > WASTE * ((results := candidates * kept(problem, best)) + size):
        why = f"even the best runs hold about {candidates:,.0f} candidates for about {results:,.0f} results"
        return Choice(box, "range_tree", (best,), why)
    return Choice(box, "forward_scan", (best,), f"its runs hold the fewest candidates, about {candidates:,.0f}")


def _forward_scan(problem: Problem, choice: Choice) -> list[Source]:
    if len(choice.drivers) == 1 and (looked_up := equality(problem, choice.drivers[0])) is not None:
        return [looked_up]
    return [*drive(problem, choice.drivers)]


def _sweep(problem: Problem, choice: Choice) -> list[Source]:
    """The sweeping join. With keys, each driving row's interval is cut to its key's stretch of the axis."""
    left, right = problem.left, problem.right
    if problem.fold is None:
        tables = PeriodTable(left.starts, left.ends), PeriodTable(right.starts, right.ends)
        return [Pairs(*sweep_join(*tables, choice.box, counters=problem.counters))]
    best = choice.drivers[0] if len(choice.drivers) == 1 else cheapest(problem, choice.box)[0]
    driving, driven = problem.sides(best.flip)
    selection = () if best.exact else (problem.placed(driven, not best.by_end), *ranges(problem, best.rest, driving))
    active = ranges(problem, best.point, driving)
    intervals, points = sweep_pairs(problem.placed(driven, best.by_end), *active, *selection, counters=problem.counters)
    return [Pairs(points, intervals) if best.flip else Pairs(intervals, points)]


def _range_tree(problem: Problem, choice: Choice) -> list[Source]:
    """Left rows, as rectangles over the right rows' endpoints, query a tree of these."""
    box = choice.box
    problem.sort({(True, False), (True, True), (False, False)})
    by_start, by_end = problem.orders[(True, False)], problem.orders[(True, True)]
    rows = problem.orders[(False, False)].ids
    left = problem.left.pick(rows)
    starts = ranges(problem, (box.start_start, box.start_end), left)
    ends = ranges(problem, (box.end_start, box.end_end), left)
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


def _skip(problem: Problem, choice: Choice) -> list[Source]:
    return [skip(problem, choice.box)]


_ALGORITHMS: dict[str, Callable[[Problem, Choice], list[Source]]] = {
    "forward_scan": _forward_scan,
    "sweep": _sweep,
    "range_tree": _range_tree,
    "skip": _skip,
}
