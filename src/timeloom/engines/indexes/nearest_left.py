"""Neighbours of an index's own events: only those events are read that lie near one of the few rows beside it."""

from contextlib import ExitStack
from typing import Any

import pyarrow as pa

from timeloom.engines.indexes.nearest import told
from timeloom.engines.indexes.rows import IndexRows, TableRows
from timeloom.engines.indexes.verbs import ALWAYS_FEW, EVER, FEW
from timeloom.engines.joins.nearest import nearest_tables
from timeloom.engines.joins.problem import limits_of
from timeloom.engines.resources.threads import cores
from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.frames import to_arrow
from timeloom.engines.tables.marks import is_index
from timeloom.kernels.order import distinct
from timeloom.kernels.stab_forest.rectangle import TooMany, search_many
from timeloom.model.explanation import Explanation
from timeloom.model.neighbours import NearestRequest, distance_ticks
from timeloom.model.ticks import MAX_TICK


def nearest(left: object, right: object, request: NearestRequest) -> Any:
    """Find the neighbours of those events that have any; None where the ordinary way must do it."""
    with ExitStack() as held:
        sides = _two_sides(held, left, right, request)
        if sides is None:
            return None
        try:
            near = _near(*sides, request)
        except TooMany:
            return None
        return nearest_tables(near, right, request, cores())[0]


def explain_nearest(left: object, right: object, request: NearestRequest) -> Explanation | None:
    """Say how an index would be asked for the events to begin with, if it would."""
    with ExitStack() as held:
        sides = _two_sides(held, left, right, request)
        if sides is None:
            return None
        why = "the left side is an index, and few rows lie beside it: events beyond max_distance of all are not read"
        return told(*sides, request, why)


def _two_sides(
    held: ExitStack, left: object, right: object, request: NearestRequest
) -> tuple[IndexRows, TableRows] | None:
    if request.keys or request.policy.on_invalid == "quarantine":
        return None
    if request.how != "inner" or request.max_distance is None:
        return None
    if is_index(right) and len(right) > ALWAYS_FEW:  # type: ignore[arg-type]
        return None
    table, _ = to_arrow(right, "right")
    if table.num_rows > ALWAYS_FEW and table.num_rows * FEW > len(left):  # type: ignore[arg-type]
        return None
    events = held.enter_context(left.__timeloom_index__())  # type: ignore[attr-defined]
    if request.left_period != events.period or events.kind is None:
        return None
    few = TableRows(table, request.right_period, "right", request.policy)
    same_axis(events.kind, few.kind or events.kind)
    return IndexRows(events), few


def _near(events: IndexRows, few: TableRows, request: NearestRequest) -> pa.Table:
    """The events that are no further from some row than a neighbour may be, in the order of the exported table."""
    assert events.kind is not None
    furthest = distance_ticks(request.max_distance, events.kind.axis, MAX_TICK)
    by_start, by_end = limits_of(((None, None), (None, furthest))), limits_of(((-furthest, None), (None, None)))
    _, found, _ = search_many(events.events.forest, *few.periods, by_start, by_end, EVER, max(FEW, events.starts.size))
    rows = events.events.order(distinct(found))
    return pa.Table.from_arrays(events.columns(events.names, rows), names=events.names)


def reason(left: object, request: NearestRequest) -> str:
    """Why neighbours are not looked for through an index though there is one, but in the table that it exports."""
    if request.keys:
        return "there is an index, but keys were asked for, which it does not know: its events are read as a table"
    if request.policy.on_invalid == "quarantine":
        return "there is an index, but quarantine was asked for: its events are read as a table"
    if is_index(left) and (request.how == "left" or request.max_distance is None):
        return (
            "the left side is an index, but the result has every event: only max_distance= with how='inner' needs few"
        )
    return "there is an index, but not few rows beside it, or its period is not the one asked for"
