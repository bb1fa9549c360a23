"""The nearest events of an index: few rows look around themselves, ever further, until each has found enough."""

from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.indexes.rows import IndexRows, Positions, Rows, TableRows
from timeloom.engines.indexes.verbs import ALWAYS_FEW, FEW
from timeloom.engines.joins.problem import limits_of
from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.frames import Restore, to_arrow
from timeloom.engines.tables.overlap import span_column
from timeloom.engines.tables.value_order import by_values
from timeloom.kernels.order import Ticks, distinct
from timeloom.kernels.stab_forest.rectangle import search_many
from timeloom.model.allen import intersects
from timeloom.model.explanation import Explanation
from timeloom.model.naming import joined_columns
from timeloom.model.neighbours import NearestRequest, distance_ticks
from timeloom.model.ticks import MAX_TICK, Axis

WIDER = 8
"""How much further rows look each time."""

_ANY = limits_of(((None, None), (None, None)))


class Neighbours(NamedTuple):
    """Left rows, events near them, whether both share no instant, and how far they are."""

    rows: Ticks
    events: Ticks
    apart: Ticks
    far: Ticks


def nearest(left: object, right: object, request: NearestRequest) -> Any:
    """Find the nearest events of an index for few rows; None where the ordinary way must do it."""
    with ExitStack() as held:
        sides = _two_sides(held, left, right, request)
        if sides is None:
            return None
        ours, theirs, restore = sides
        return restore(_result(ours, theirs, request))


def explain_nearest(left: object, right: object, request: NearestRequest) -> Explanation | None:
    """Say how an index would be asked, if it would."""
    with ExitStack() as held:
        sides = _two_sides(held, left, right, request)
        if sides is None:
            return None
        why = "there is an index, and few rows beside it: each looks around itself, further until it has found enough"
        return told(sides[0], sides[1], request, why)


def told(left: Rows, right: Rows, request: NearestRequest, why: str) -> Explanation:
    """The plan of a call that asks an index on either side."""
    facts: dict[str, Any] = {
        "algorithm": "index",
        "k": request.k,
        "direction": request.direction,
        "left rows": left.starts.size,
        "right rows": right.starts.size,
        "keys": [],
    }
    return Explanation("nearest", "local", facts, (why,))


def _two_sides(
    held: ExitStack, left: object, right: object, request: NearestRequest
) -> tuple[Rows, IndexRows, Restore] | None:
    if request.keys or request.policy.on_invalid == "quarantine":
        return None
    table, restore = to_arrow(left, "left")
    if table.num_rows > ALWAYS_FEW and table.num_rows * FEW > len(right):  # type: ignore[arg-type]
        return None
    events = held.enter_context(right.__timeloom_index__())  # type: ignore[attr-defined]
    if request.right_period != events.period or events.kind is None:
        return None
    ours, theirs = TableRows(table, request.left_period, "left", request.policy), IndexRows(events)
    same_axis(ours.kind or events.kind, events.kind)
    return ours, theirs, restore


def _result(left: Rows, right: IndexRows, request: NearestRequest) -> pa.Table:
    layout = joined_columns(
        left.names,
        right.names,
        request.keys,
        suffixes=request.suffixes,
        distance=request.name,
        columns=request.columns,
    )
    assert right.kind is not None
    axis = right.kind.axis
    found = _chosen(_around(left, right, request, axis), right, request)
    lefts, positions = _listed(found.rows, left.starts.size, keep=request.how == "left")
    ours = iter(left.columns([column.left for column in layout if column.origin == "left"], lefts))
    theirs = iter(right.columns([column.right for column in layout if column.origin == "right"], found.events))
    made = {"distance": span_column(found.far, axis)}
    arrays = []
    for column in layout:
        if column.origin == "left":
            arrays.append(next(ours))
        else:
            arrays.append((next(theirs) if column.origin == "right" else made["distance"]).take(positions))
    return pa.Table.from_arrays(arrays, names=[column.name for column in layout])


def _around(left: Rows, right: IndexRows, request: NearestRequest, axis: Axis) -> Neighbours:
    """Enough events for each row: all that share an instant with it, and all up to some distance."""
    furthest = distance_ticks(request.max_distance, axis, MAX_TICK)
    starts, ends = left.periods
    parts, counts = [], np.zeros(starts.size, np.int64)
    if request.direction == "both":
        (box,) = intersects.boxes(Axis.INTEGER)
        limits = limits_of((box.start_start, box.start_end)), limits_of((box.end_start, box.end_end))
        rows, events, _ = search_many(right.events.forest, starts, ends, *limits)
        parts.append(_measured(left, right, rows, events))
        np.add.at(counts, rows, 1)
    pending, ring = np.flatnonzero(counts < request.k), _first_distance(right, request.k)
    reach = _reach(starts, ends, right)
    while pending.size:
        ring = min(ring, furthest)
        near = [
            search_many(right.events.forest, starts[pending], ends[pending], *limits)[:2]
            for limits in _rings(request.direction, ring)
        ]
        rows, events = (np.concatenate([part[at] for part in near]) for at in (0, 1))
        found = np.bincount(rows, minlength=pending.size)
        done = (counts[pending] + found >= request.k) | (reach[pending] <= ring) | (ring >= furthest)
        kept = done[rows]
        parts.append(_measured(left, right, pending[rows[kept]], events[kept]))
        pending, ring = pending[~done], ring * WIDER if ring < MAX_TICK // WIDER else MAX_TICK
    none = np.zeros(0, np.int64)
    return Neighbours(*(np.concatenate([none, *(part[at] for part in parts)]) for at in range(4)))


def _rings(direction: str, ring: int) -> "list[tuple[Any, Any]]":
    """Limits of starts and of ends of events that are no further away."""
    before, after = (_ANY, limits_of(((-ring, 0), (None, None)))), (limits_of(((None, None), (0, ring))), _ANY)
    return {"backward": [before], "forward": [after], "both": [before, after]}[direction]


def _first_distance(right: IndexRows, k: int) -> int:
    """How far to look at first: where about k events would be, if they were spread evenly."""
    starts = right.starts
    width = int(starts[-1]) - int(starts[0]) if starts.size else 0
    return max(1, min(MAX_TICK, 2 * k * width // max(1, starts.size)))


def _reach(starts: Ticks, ends: Ticks, right: IndexRows) -> Ticks:
    """How far away the furthest event of either direction can be."""
    if not right.starts.size:
        return np.zeros(starts.size, np.int64)
    first, last = int(right.starts[0]), int(right.starts[-1])
    before = [max(0, int(start) - first) for start in starts]
    after = [max(0, last - int(end)) for end in ends]
    return np.array([min(MAX_TICK, max(pair)) for pair in zip(before, after, strict=True)], np.int64)


def _measured(left: Rows, right: IndexRows, rows: Ticks, events: Ticks) -> Neighbours:
    starts, ends = left.times(rows)
    begins, stops = right.times(events)
    apart = np.maximum(starts, begins) >= np.minimum(ends, stops)
    low, high = np.minimum(ends, stops), np.maximum(starts, begins)
    far = high - np.where(apart, low, high)
    # a distance that no tick can tell has wrapped around
    return Neighbours(rows, events, apart.astype(np.int64), np.where(far < 0, MAX_TICK, far))


def _chosen(found: Neighbours, right: IndexRows, request: NearestRequest) -> Neighbours:
    """The k nearest of each row, nearest first; with ties all that are level with the k-th."""
    begins, stops = right.times(found.events)
    positions = _positions(right, found.events)
    order = np.lexsort((positions, stops, begins, found.far, found.apart, found.rows))
    found = Neighbours(*(column[order] for column in found))
    first = np.searchsorted(found.rows, found.rows)
    kept: NDArray[np.bool_] = np.arange(found.rows.size) - first < request.k
    if request.ties == "all":
        last = np.minimum(first + request.k - 1, np.searchsorted(found.rows, found.rows, side="right") - 1)
        kept |= (found.apart == found.apart[last]) & (found.far == found.far[last])
    return Neighbours(*(column[kept] for column in found))


def _positions(right: IndexRows, events: Positions) -> Ticks:
    """Numbers of events that ascend by start and end, and by values, as rows of the table that the index exports."""
    known = distinct(events)
    ordered = np.asarray(right.events.order(known))
    begins, stops = right.times(ordered)
    by_period = np.lexsort((stops, begins))
    level = np.append(False, (np.diff(begins[by_period]) == 0) & (np.diff(stops[by_period]) == 0))
    if level.any():
        rows = pa.Table.from_arrays(right.columns(right.names, ordered[by_period]), names=right.names)
        settled = right.events.period.columns
        by_period = by_period[by_values(rows, np.arange(by_period.size), np.cumsum(~level), settled)]
    numbers = np.empty(known.size, np.int64)
    numbers[np.searchsorted(known, ordered[by_period])] = np.arange(known.size)
    return numbers[np.searchsorted(known, events)]


def _listed(rows: Ticks, count: int, *, keep: bool) -> tuple[Ticks, pa.Array]:
    """Left rows in their order, and the position of the neighbour of each; null for a kept row without any."""
    if not keep:
        return rows, pa.array(np.arange(rows.size))
    alone = np.ones(count, np.bool_)
    alone[rows] = False
    lefts = np.concatenate([rows, np.flatnonzero(alone)])
    order = np.argsort(lefts, kind="stable")
    missing = np.arange(lefts.size) >= rows.size
    return lefts[order], pa.array(order, mask=missing[order])
