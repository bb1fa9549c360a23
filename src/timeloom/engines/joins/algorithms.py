"""The join's algorithms by name, and how ``auto`` chooses among them. All of them find the same pairs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from timeloom.engines.joins.drivers import Driver, exact_pieces
from timeloom.engines.joins.endpoint_lookup import equality
from timeloom.engines.joins.estimates import cheapest, estimate, kept
from timeloom.engines.joins.forward_scan import drive
from timeloom.engines.joins.paged import Pages, TreePages
from timeloom.engines.joins.pairs import Matches, Positions, Source
from timeloom.engines.joins.problem import Problem, ranges
from timeloom.engines.joins.skip_join import IDLE, INTERSECTS, idle_share, require_shared_time, skip
from timeloom.kernels.joins import range_tree
from timeloom.kernels.joins.sweep_join import PeriodTable, sweep_batches, sweep_pages
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


def candidates(problem: Problem, chosen: list[Choice]) -> int:
    """About how many pairs the chosen drivers look at, by a sample; exact for small tables."""
    return round(sum(estimate(problem, driver) for choice in chosen for driver in choice.drivers))


def _chosen(problem: Problem, box: Box, algorithm: str) -> Choice:
    if algorithm == "skip":
        require_shared_time(box)
    if exact := exact_pieces(box):
        drivers = tuple(exact)
        if algorithm != "auto":
            return Choice(box, algorithm, drivers, "it was asked for")
        if box == INTERSECTS and (idle := idle_share(problem)) >= IDLE:
            why = f"about {idle:.0%} of the larger side's rows lie in gaps of the other, by a sample"
            return Choice(box, "skip", drivers, why)
        why = "every result lies in a run of a sorted column, so nothing is filtered"
        return Choice(box, "forward_scan", drivers, why)
    best, found = cheapest(problem, box)
    if algorithm != "auto":
        return Choice(box, algorithm, (best,), "it was asked for")
    size = len(problem.left) + len(problem.right)
    if found > WASTE * size and found > WASTE * ((results := found * kept(problem, best)) + size):
        why = f"even the best runs hold about {found:,.0f} candidates for about {results:,.0f} results"
        return Choice(box, "range_tree", (best,), why)
    return Choice(box, "forward_scan", (best,), f"its runs hold the fewest candidates, about {found:,.0f}")


def _forward_scan(problem: Problem, choice: Choice) -> list[Source]:
    if len(choice.drivers) == 1 and (looked_up := equality(problem, choice.drivers[0])) is not None:
        return [looked_up]
    return [*drive(problem, choice.drivers)]


def _sweep(problem: Problem, choice: Choice) -> list[Source]:
    """The sweeping join. With keys, each probe row's interval is cut to its key's stretch of the axis."""
    left, right, counters = problem.left, problem.right, problem.counters
    if problem.fold is None:
        tables = PeriodTable(left.starts, left.ends), PeriodTable(right.starts, right.ends)
        return [Pages(lambda most: sweep_batches(*tables, choice.box, chunk=most, counters=counters))]
    return [Pages(partial(_swept, problem, driver)) for driver in choice.drivers]


def _swept(problem: Problem, driver: Driver, most: int) -> Iterator[tuple[Positions, Positions]]:
    """The pairs of one driver by a sweep along the folded axis."""
    probe, indexed = problem.sides(driver.flip)
    rest = () if driver.exact else (problem.placed(indexed, not driver.by_end), *ranges(problem, driver.rest, probe))
    points, active = problem.placed(indexed, driver.by_end), ranges(problem, driver.point, probe)
    for intervals, fired in sweep_pages(points, *active, *rest, chunk=most, counters=problem.counters):
        yield (fired, intervals) if driver.flip else (intervals, fired)


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
    return [TreePages(range_tree.build(by_start, by_end), queries, rows)]


def _skip(problem: Problem, choice: Choice) -> list[Source]:
    return [skip(problem, choice.box)]


_ALGORITHMS: dict[str, Callable[[Problem, Choice], list[Source]]] = {
    "forward_scan": _forward_scan,
    "sweep": _sweep,
    "range_tree": _range_tree,
    "skip": _skip,
}
