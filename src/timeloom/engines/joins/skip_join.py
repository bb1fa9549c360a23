"""The skip-join on tables that have no index yet.

Rows that lie in gaps of the other side are found by one look at the other side's covered time, before anything of
theirs is sorted or indexed; what is left is joined by the skip-join over two stab-forests. Pays where most rows lie in
gaps, which a sample tells.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.joins.paged import Pages
from timeloom.engines.joins.pairs import Positions
from timeloom.engines.joins.problem import Problem, Side, ranges
from timeloom.engines.resources.threads import chunks, in_parallel
from timeloom.engines.tables.keys import NO_KEY
from timeloom.errors import UsageError
from timeloom.kernels.coverage import count_intersecting, mark_touching
from timeloom.kernels.joins.skip_pages import skip_pages
from timeloom.kernels.order import sort
from timeloom.kernels.sequenced.difference import cover
from timeloom.kernels.stab_forest.build import build, event_order
from timeloom.kernels.stab_forest.layout import NODES, Forest
from timeloom.kernels.stab_forest.multi_stab import THRESHOLD, reach_of
from timeloom.model.box import Box

INTERSECTS = Box(start_end=(None, -1), end_start=(1, None))

IDLE = 0.9
"""The share of rows in gaps from which on the skip-join is chosen by itself."""

WORTHWHILE = 50_000
"""Tables with fewer rows than this, together, are joined before any estimate is made."""

Rows = NDArray[np.int64]


def skip(problem: Problem, box: Box) -> Pages:
    """Find the pairs of a box whose periods share time."""
    require_shared_time(box)
    rows = [_with_key(side) for side in (problem.left, problem.right)]
    small = 0 if rows[0].size <= rows[1].size else 1
    rows[1 - small] = _touching(problem, rows[1 - small], rows[small], small == 1)
    rows[small] = _touching(problem, rows[small], rows[1 - small], small == 0)
    forests = []
    for index, some in enumerate(rows):
        starts, ends = _positions(problem, index == 1, some)
        order = event_order(starts, ends)
        if order is not None:
            starts, ends, rows[index] = starts[order], ends[order], some[order]
        forests.append(build(starts, ends))
    return Pages(partial(_pages, problem, box, rows, forests))


def _pages(
    problem: Problem, box: Box, rows: list[Rows], forests: list[Forest], most: int
) -> Iterator[tuple[Positions, Positions]]:
    reaches = [reach_of(THRESHOLD, int(forest.counts[NODES])) for forest in forests]
    for left_at, right_at in skip_pages(forests[0], forests[1], reaches[0], reaches[1], most):
        lefts, rights = rows[0][left_at], rows[1][right_at]
        if not INTERSECTS.implies(box):
            kept = _holds(problem, box, lefts, rights)
            lefts, rights = lefts[kept], rights[kept]
        yield lefts.astype(np.int32), rights.astype(np.int32)


def require_shared_time(box: Box) -> None:
    """Refuse a box with pairs that share no time: leaping over gaps would lose them."""
    if not box.implies(INTERSECTS):
        raise UsageError(
            "algorithm='skip' finds rows that share time, but the relation also holds for rows that share none; "
            "use 'intersects' or a relation within it, or algorithm='auto'"
        )


def idle_share(problem: Problem, picked: int = 512, sampled: int = 8192) -> float:
    """Estimate which share of the larger side's rows lies in gaps of the other.

    Partners are counted in a sample of the smaller side first. That cannot underestimate the share; only where it is
    high are they counted again among all rows.
    """
    right = len(problem.left) <= len(problem.right)
    small, large = problem.sides(not right)
    if not len(small) or len(problem.left) + len(problem.right) < WORTHWHILE:
        return 0.0
    some = np.linspace(0, len(large) - 1, min(picked, len(large))).astype(np.int64)
    wanted = _positions(problem, right, some)
    points = sort(np.concatenate(wanted))
    share = 1.0
    for count in sorted({min(sampled, len(small)), len(small)}):
        rows = np.linspace(0, len(small) - 1, count).astype(np.int64)
        partners = count_intersecting(*_positions(problem, not right, rows), points, wanted)
        share = float(np.mean(partners == 0))
        if share < IDLE:
            break
    return share


def _with_key(side: Side) -> Rows:
    return np.arange(len(side)) if side.keys is None else np.flatnonzero(side.keys != NO_KEY)


def _positions(problem: Problem, right: bool, rows: Rows) -> tuple[Rows, Rows]:
    side = problem.right if right else problem.left
    return problem.placed(side, False)[rows], problem.placed(side, True)[rows]


def _touching(problem: Problem, rows: Rows, others: Rows, left: bool) -> Rows:
    """Those of one side's rows that share time with any of the other side's rows."""
    starts, ends = _positions(problem, not left, rows)
    covered = cover(*_positions(problem, left, others), problem.threads)
    grid = covered.values, covered.offsets, covered.base, covered.shift
    touching = np.zeros(rows.size, np.bool_)
    tasks = [
        partial(mark_touching, *grid, starts, ends, *part, touching) for part in chunks(rows.size, problem.threads)
    ]
    in_parallel(tasks, problem.threads)
    return rows[touching]


def _holds(problem: Problem, box: Box, lefts: Rows, rights: Rows) -> NDArray[np.bool_]:
    """Judge pairs by the bounds of a box."""
    kept, left = np.ones(lefts.size, np.bool_), problem.left.pick(lefts)
    for by_end, bounds in ((False, (box.start_start, box.start_end)), (True, (box.end_start, box.end_end))):
        low, high = ranges(problem, bounds, left)
        points = problem.placed(problem.right, by_end)[rights]
        kept &= (low <= points) & (points <= high)
    return kept
