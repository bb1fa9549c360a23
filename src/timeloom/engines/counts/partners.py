"""Aggregates of a left row's partners that no sum gives: the first and the last of them, and how many values differ."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.engines.counts.counting import Counting, Numbers, rank_counts, rectangles_of
from timeloom.engines.joins.algorithms import find
from timeloom.engines.joins.pairs import PAGE
from timeloom.engines.joins.problem import Problem, Side
from timeloom.engines.resources.threads import look_up
from timeloom.engines.tables.key_types import comparable
from timeloom.engines.tables.keys import NO_KEY, crossed, numbered
from timeloom.engines.timelines.measure_values import unfit
from timeloom.errors import InvalidInputError
from timeloom.kernels.counts.distinct import Asked, distinct_in_ranges
from timeloom.kernels.counts.dominance_extremes import NONE
from timeloom.kernels.order import distinct
from timeloom.kernels.sequenced.coalesce import coalesce
from timeloom.model.allen import contains, intersects
from timeloom.model.box import Box
from timeloom.model.measures import Measure
from timeloom.model.ticks import MAX_TICK, MIN_TICK, Axis

Codes = NDArray[np.int64]


def of_partners(counting: Counting, counts: Numbers, array: pa.Array, wanted: Measure) -> pa.Array:
    """A function that needs all partners of a row at once."""
    return _FUNCTIONS[str(wanted.function)](counting, counts, array, wanted)


def _edge(counting: Counting, counts: Numbers, array: pa.Array, wanted: Measure, *, first: bool) -> pa.Array:
    """The value of the partner that started first or last; partners with one start count in the table's order."""
    order = np.argsort(counting.problem.right.starts, kind="stable")
    codes = np.empty(order.size, np.int64)
    codes[order] = np.arange(order.size) if first else np.arange(order.size)[::-1]
    found = counting.least(codes)
    missing = found == NONE
    positions = np.where(missing, 0, found if first else order.size - 1 - found)
    rows = order[positions] if order.size else positions
    return pc.take(array, pa.array(rows, mask=missing))


def _count_distinct(counting: Counting, counts: Numbers, array: pa.Array, wanted: Measure) -> pa.Array:
    """How many different values the partners of each left row have; nulls are none.

    For ``intersects`` no pair is looked at: a row has as many values as merged periods of equal values that it shares
    time with, less the gaps between two of the same value that lie within it. Nor is one for a box that leaves a side
    open. Otherwise each row's partners are looked at, some rows at a time.
    """
    try:
        codes, number = numbered(comparable(pa.chunked_array([array]), str(wanted.column)))
    except InvalidInputError as error:
        raise unfit(array.type, wanted) from error
    if counting.boxes == intersects.boxes(Axis.INTEGER):
        return pa.array(_shared_values(counting.problem, codes, number))
    if (
        len(counting.boxes) == 1
        and (found := _values_in_open_box(counting.problem, counting.boxes[0], codes)) is not None
    ):
        return pa.array(found)
    return pa.array(_listed_values(counting.problem, counting.boxes, counts, codes, number))


def _shared_values(problem: Problem, codes: Codes, number: int) -> Numbers:
    left, right, keyed = problem.left, problem.right, _keys(problem)
    rows = np.flatnonzero(codes != NO_KEY if right.keys is None else (codes != NO_KEY) & (right.keys != NO_KEY))
    keys = np.zeros(rows.size, np.int64) if right.keys is None else right.keys[rows]
    groups, count = crossed(keys, max(keyed, 1), codes[rows], number)
    some = Side(right.starts[rows], right.ends[rows], groups)
    folded = Problem.of(some, some, count)
    assert folded.fold is not None
    merged = coalesce(folded.placed(some, False), folded.placed(some, True), problem.threads)
    starts, ends = folded.fold.unfold(merged.starts), folded.fold.unfold(merged.ends)
    group, mine = groups[merged.rows], None if right.keys is None else keys[merged.rows]
    pieces = Side(starts, ends, mine)
    again = np.flatnonzero(group[1:] == group[:-1])
    gaps = Side(ends[again], starts[again + 1], None if mine is None else mine[again])
    within = Counting(Problem.of(left, gaps, keyed, problem.threads), contains.boxes(Axis.INTEGER)).counts()
    return rank_counts(Problem.of(left, pieces, keyed, problem.threads)) - within


def _values_in_open_box(problem: Problem, box: Box, codes: Codes) -> Numbers | None:
    """Values among right rows in the rectangles of left rows, if some side of these is open for all of them."""
    right, found = problem.right, rectangles_of(problem, box, np.arange(len(problem.left)))
    empty = (found.low_start > found.high_start) | (found.low_end > found.high_end)
    rows = np.flatnonzero(codes != NO_KEY if right.keys is None else (codes != NO_KEY) & (right.keys != NO_KEY))
    starts, ends = problem.placed(right, False)[rows], problem.placed(right, True)[rows]
    for x, y, along, across in (
        (starts, ends, (found.low_start, found.high_start), (found.low_end, found.high_end)),
        (ends, starts, (found.low_end, found.high_end), (found.low_start, found.high_start)),
    ):
        above = bool((across[1][~empty] == MAX_TICK).all())
        if not above and not (across[0][~empty] == MIN_TICK).all():
            continue
        order = np.argsort(x, kind="stable")
        positions = np.argsort(y[order], kind="stable").astype(np.int32)
        low, high = np.searchsorted(x[order], along[0]), np.searchsorted(x[order], along[1], side="right")
        ranked = np.sort(y)
        seen = rows.size - np.searchsorted(ranked, across[0]) if above else np.searchsorted(ranked, across[1], "right")
        asked = Asked(np.where(empty, 0, low), np.where(empty, 0, np.maximum(low, high)), seen)
        return distinct_in_ranges(codes[rows][order], positions[::-1].copy() if above else positions, asked)
    return None


def _keys(problem: Problem) -> int:
    """How many keys there are."""
    keys = [side.keys for side in (problem.left, problem.right) if side.keys is not None]
    return max((1 + int(some.max(initial=NO_KEY)) for some in keys), default=0)


def _listed_values(problem: Problem, boxes: tuple[Box, ...], counts: Numbers, codes: Codes, number: int) -> Numbers:
    found = np.zeros(counts.size, np.int64)
    for rows in _filling_a_page(counts):
        look_up()
        left = problem.left.pick(rows)
        part = Problem(left, problem.right, problem.fold, problem.threads)
        part.orders.update({which: order for which, order in problem.orders.items() if which[0]})
        names = np.arange(rows.size), codes
        pairs = [owner * number + code for owner, code in _coded(part, boxes, *names)]
        if pairs:
            owners = distinct(np.concatenate(pairs)) // number
            found[rows] = np.bincount(owners, minlength=rows.size)
    return found


def _coded(problem: Problem, boxes: tuple[Box, ...], owners: Codes, codes: Codes) -> Iterator[tuple[Codes, Codes]]:
    for lefts, rights in find(problem, boxes, "auto").batches(PAGE):
        known = codes[rights]
        some = known != NO_KEY
        yield owners[lefts[some]], known[some]


def _filling_a_page(counts: Numbers) -> Iterator[Codes]:
    """Ranges of rows with about a page of partners each, without those that have none."""
    rows = np.flatnonzero(counts)
    totals, first = np.cumsum(counts[rows]), 0
    while first < rows.size:
        before = int(totals[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(totals, before + PAGE, side="right")))
        yield rows[first:last]
        first = last


_FUNCTIONS: dict[str, Callable[[Counting, Numbers, pa.Array, Measure], pa.Array]] = {
    "first": partial(_edge, first=True),
    "last": partial(_edge, first=False),
    "count_distinct": _count_distinct,
}
"""The functions of aggregates that have no combination."""
