"""The nearest rows: the same on local tables as in a Spark task."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.joins.as_of import Matched
from timeloom.engines.joins.problem import Problem, Side
from timeloom.engines.joins.two_tables import TwoTables
from timeloom.engines.resources.threads import aside, chunks, in_parallel
from timeloom.engines.tables.gather import NO_ROW
from timeloom.engines.tables.overlap import span_column
from timeloom.kernels.neighbours import nearest as kernel
from timeloom.kernels.neighbours.nearest import BACKWARD, FORWARD, SHARING
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
    tables = TwoTables(left, right, request)
    layout = joined_columns(
        tables.left.table.column_names,
        tables.right.table.column_names,
        request.keys,
        suffixes=request.suffixes,
        distance=request.name,
        columns=request.columns,
    )
    furthest = distance_ticks(request.max_distance, tables.axis, MAX_TICK)
    lefts, rights, far = aside(neighbours, *tables.sides(), request, furthest, threads)
    absent = rights == NO_ROW
    made = {"distance": span_column(far, tables.axis, absent if absent.any() else None)}
    return Matched(aside(tables.gathered, layout, lefts, rights, made, threads), tables)


def neighbours(left: Side, right: Side, keys: int, request: NearestRequest, furthest: int, threads: int) -> Found:
    """The neighbours of each left row; with ``how="left"`` a row without any has NO_ROW."""
    problem = Problem.of(left, right, keys, threads)
    problem.sort({(True, False), (True, True), (False, False)}, beside=True)
    width = 0 if problem.fold is None else problem.fold.width
    walk = kernel.order_of(problem.orders[(True, False)], problem.orders[(True, True)], width)
    mine = problem.orders[(False, False)]
    ticks = left.starts, left.ends, right.starts, right.ends
    counts = np.zeros(len(left), np.int64)
    all_ties = request.ties == "all"
    k = min(request.k, max(1, len(right)))

    def find(offsets: NDArray[np.int64], rows: NDArray[np.int32], far: NDArray[np.int64]) -> None:
        args = request.k, furthest, _KINDS[request.direction], all_ties, ticks, counts, offsets, rows, far
        step = partial(kernel.walk, walk, mine.values, mine.beside, mine.ids)
        in_parallel([partial(step, *part, *args) for part in chunks(len(left), threads)], threads)

    offsets = np.arange(len(left), dtype=np.int64) * k
    if all_ties or len(left) * k > ROOM:
        find(offsets, np.zeros(0, np.int32), np.zeros(0, np.int64))
        offsets = np.concatenate([[0], np.cumsum(counts)])
    room = int(offsets[-1]) if offsets.size > len(left) else len(left) * k
    rows, far = np.full(max(1, room), NO_ROW, np.int32), np.zeros(max(1, room), np.int64)
    find(offsets[: len(left)], rows, far)
    return _listed(offsets[: len(left)], counts, rows, far, keep=request.how == "left")


def _listed(
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    rows: NDArray[np.int32],
    far: NDArray[np.int64],
    *,
    keep: bool,
) -> Found:
    """One entry for each neighbour, and, if they are kept, for each row without any."""
    shown = np.maximum(counts, 1) if keep else counts
    lefts = np.repeat(np.arange(counts.size, dtype=np.int32), shown)
    firsts = np.cumsum(shown) - shown
    at = np.arange(lefts.size) - firsts[lefts] + offsets[lefts]
    missing = counts[lefts] == 0
    found = rows[np.where(missing, 0, at)]
    return lefts, np.where(missing, NO_ROW, found).astype(np.int32), np.where(missing, 0, far[np.where(missing, 0, at)])
