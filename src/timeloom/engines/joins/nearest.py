"""The nearest rows: the same on local tables as in a Spark task."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.joins.as_of import Matched
from timeloom.engines.joins.problem import Problem, Side
from timeloom.engines.joins.two_tables import TwoTables
from timeloom.engines.resources.threads import aside, chunks, in_parallel, worth
from timeloom.engines.tables.gather import NO_ROW
from timeloom.engines.tables.overlap import span_column
from timeloom.engines.tables.value_order import Settle, as_they_come, by_values, periods_by_values
from timeloom.kernels.neighbours import nearest as kernel
from timeloom.kernels.neighbours.nearest import BACKWARD, FORWARD, SHARING
from timeloom.kernels.order import room
from timeloom.model.naming import joined_columns
from timeloom.model.neighbours import NearestRequest, distance_ticks
from timeloom.model.ticks import MAX_TICK

_KINDS = {"both": SHARING | BACKWARD | FORWARD, "backward": BACKWARD, "forward": FORWARD}

ROOM = 1 << 26
"""Up to so many positions are taken at once for neighbours that may not exist; beyond, they are counted first."""

Found = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]
"""Left rows in their order, their neighbours, nearest first, and how far these are."""


def nearest_tables(left: object, right: object, request: NearestRequest, threads: int) -> Matched:
    """Find the k nearest right rows of each left row."""
    tables = TwoTables(left, right, request, threads)
    threads = worth(threads, tables.rows)
    layout = joined_columns(
        tables.left.table.column_names,
        tables.right.table.column_names,
        request.keys,
        suffixes=request.suffixes,
        distance=request.name,
        columns=request.columns,
    )
    furthest = distance_ticks(request.max_distance, tables.axis, MAX_TICK)
    level = [*request.keys.right, *request.right_period.columns]
    settle = partial(by_values, tables.right.table, settled=level)
    lefts, rights, far = aside(
        neighbours, *tables.sides(threads), request, furthest, threads, settle, pairs=tables.pairs
    )
    absent = rights == NO_ROW
    made = {"distance": span_column(far, tables.axis, absent if absent.any() else None)}
    once = _at_most_one(request) and lefts.size == len(tables.left.starts)
    rows = None if once else lefts
    return Matched(aside(tables.gathered, layout, rows, rights, made, threads, pairs=tables.pairs), tables)


def _at_most_one(request: NearestRequest) -> bool:
    return request.k == 1 and request.ties == "first"


def neighbours(
    left: Side,
    right: Side,
    keys: int,
    request: NearestRequest,
    furthest: int,
    threads: int,
    settle: Settle = as_they_come,
) -> Found:
    """The neighbours of each left row; with ``how="left"`` a row without any has NO_ROW."""
    problem, one = Problem.of(left, right, keys, threads), _at_most_one(request)
    problem.sort({(True, False), (False, False)}, beside=True)
    width, ticks = (0, None) if problem.fold is None else (problem.fold.width, problem.fold.distinct)
    by_start = periods_by_values(problem.orders[(True, False)], settle)
    walk = kernel.order_of(by_start, width, ticks, threads, several=not one)
    mine = problem.orders[(False, False)]
    step = walk, mine.values, mine.beside, mine.ids
    keep, kinds = request.how == "left", _KINDS[request.direction]
    if one:
        rows, far = room(len(left), np.int32), room(len(left), np.int64)
        find = partial(kernel.closest, *step)
        in_parallel([partial(find, *part, furthest, kinds, rows, far) for part in chunks(len(left), threads)], threads)
        return _those_with_one(rows, far, keep=keep)
    return _several(len(left), len(right), request, partial(kernel.walk, *step), (furthest, kinds, keep), threads)


def _those_with_one(rows: NDArray[np.int32], far: NDArray[np.int64], *, keep: bool) -> Found:
    """The rows that have a neighbour, or all."""
    absent = rows == NO_ROW
    lefts = np.arange(rows.size, dtype=np.int32)
    return (lefts, rows, far) if keep or not absent.any() else (lefts[~absent], rows[~absent], far[~absent])


def _several(
    lefts: int,
    rights: int,
    request: NearestRequest,
    walk: Callable[..., None],
    options: tuple[int, int, bool],
    threads: int,
) -> Found:
    """Up to k neighbours of each left row, or more if those level with the last are wanted."""
    furthest, kinds, keep = options
    k, all_ties = min(request.k, max(1, rights)), request.ties == "all"
    counts = np.zeros(lefts, np.int64)

    def find(offsets: NDArray[np.int64], rows: NDArray[np.int32], far: NDArray[np.int64]) -> None:
        args = request.k, furthest, kinds, all_ties, counts, offsets, rows, far
        in_parallel([partial(walk, *part, *args) for part in chunks(lefts, threads)], threads)

    counted = all_ties or lefts * k > ROOM
    room, offsets = lefts * k, np.arange(lefts, dtype=np.int64) * k
    if counted:
        find(offsets, np.zeros(0, np.int32), np.zeros(0, np.int64))
        shown = np.maximum(counts, 1) if keep else counts
        room, offsets = int(shown.sum()), np.cumsum(shown) - shown
    rows, far = np.full(max(1, room), NO_ROW, np.int32), np.zeros(max(1, room), np.int64)
    find(offsets, rows, far)
    rows, far = rows[:room], far[:room]
    shown = np.maximum(counts, 1) if keep else counts
    if not counted and room and int(counts.min()) < k:
        used = rows != NO_ROW
        if keep:
            used[::k] = True
        rows, far = rows[used], far[used]
    return np.repeat(np.arange(lefts, dtype=np.int32), shown), rows, far
