"""Verbs that go through an index: what a few rows have to do with many events, without reading the events.

Each function answers None where it has no way of its own; the verb then takes the index as the table that it exports.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.engines.indexes.held import Held
from timeloom.engines.indexes.plan import Plan, plan_of
from timeloom.engines.indexes.rows import IndexRows, Positions, Rows, TableRows, numbers
from timeloom.engines.joins.problem import Limits
from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.frames import Restore, to_arrow
from timeloom.engines.tables.instants import instant_ticks
from timeloom.engines.tables.marks import is_index
from timeloom.engines.tables.overlap import overlap_column
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.taking import stacked, without_columns
from timeloom.engines.tables.windows import window_bounds
from timeloom.kernels.order import distinct
from timeloom.kernels.stab_forest.layout import NODES
from timeloom.kernels.stab_forest.multi_stab import THRESHOLD, multi_stab, new_marks, reach_of
from timeloom.kernels.stab_forest.rectangle import TooMany, count_rows, search_many
from timeloom.kernels.stab_forest.stab import stab as stab_events
from timeloom.model.count_join import CountRequest
from timeloom.model.explanation import Explanation
from timeloom.model.join import JoinRequest
from timeloom.model.naming import OutputColumn
from timeloom.model.stab import StabRequest
from timeloom.model.ticks import MAX_TICK, MIN_TICK, Axis

FEW = 32
"""An index is asked row by row if it has so many times the events that there are rows; else a scan is quicker."""

ALWAYS_FEW = 64
MOST_PAIRS = 2**25
"""With more pairs than this the ordinary join runs, which watches memory and uses all cores."""

EVER = (MIN_TICK, MAX_TICK)


def stab(df: object, request: StabRequest) -> pa.Table | None:
    """The events of an index that are active at any of the instants."""
    if request.policy.on_invalid == "quarantine":
        return None
    with df.__timeloom_index__() as events:  # type: ignore[attr-defined]
        if request.period != events.period or events.kind is None:
            return None
        forest, at = events.forest, request.at
        if len(at) == 1:
            plain = type(at[0]) is int and events.kind.axis is Axis.INTEGER and MIN_TICK <= at[0] <= MAX_TICK
            found = stab_events(forest, at[0] if plain else events.kind.ticks_of(at[0], "at"))
        else:
            instants = instant_ticks(at, events.kind)
            found = multi_stab(forest, instants, reach_of(THRESHOLD, int(forest.counts[NODES])), new_marks())[0]
        names = events.column_names
        return pa.Table.from_arrays(events.columns(names, events.order(found)), names=names)


def join(left: object, right: object, request: JoinRequest) -> Any:
    """Join through the index of one side, if the other has few rows."""
    with Held() as held:
        sides = _two_sides(held, left, right, request)
        if sides is None:
            return None
        ours, theirs, restore, flip = sides
        try:
            result = _joined(plan_of(request), request, ours, theirs, flip)
        except TooMany:
            return None
        return restore(result)


def count_join(left: object, right: object, request: CountRequest) -> Any:
    """Count the events of an index for each of the left rows."""
    with Held() as held:
        sides = _two_sides(held, left, right, request)
        if sides is None:
            return None
        ours, theirs, restore, _ = sides
        request.check_names(ours.names)
        counts = np.zeros(ours.starts.size, np.int64)
        assert isinstance(theirs, IndexRows)
        for limits in _bounds(plan_of(request), request, ours, theirs, False)[0]:
            count_rows(theirs.events.forest, *ours.periods, *limits, 0, counts)
        rows = ours.all()
        columns = [*ours.columns(ours.names, rows), numbers(counts[rows])]
        return restore(pa.Table.from_arrays(columns, names=[*ours.names, request.name]))


def explained(verb: str, left: object, right: object, request: JoinRequest | CountRequest) -> Explanation | None:
    """Say how a verb would go through an index, if it would."""
    with Held() as held:
        sides = _two_sides(held, left, right, request)
        if sides is None:
            return None
        ours, theirs, _, flip = sides
        flip = flip and verb == "join"
        facts: dict[str, Any] = {
            "relation": repr(request.relation),
            "algorithm": "index",
            "driver": "right rows ask the index of the left side"
            if flip
            else "left rows ask the index of the right side",
            "left rows": ours.starts.size,
            "right rows": theirs.starts.size,
            "keys": [],
        }
        if isinstance(request, JoinRequest):
            facts["how"] = request.how
        why = "there is an index, and few rows beside it: a stab and a run for each, instead of a scan of all events"
        return Explanation(verb, "local", facts, (why,))


def reason(left: object, right: object, request: JoinRequest | CountRequest) -> str:
    """Why a verb does not go through an index though there is one, but reads its events as a table."""
    asked = [name for name, given in _not_told(request).items() if given]
    if asked:
        return f"there is an index, but {asked[0]}, which it cannot answer: its events are read as a table"
    for frame, period in ((left, request.left_period), (right, request.right_period)):
        if is_index(frame):
            with frame.__timeloom_index__() as events:  # type: ignore[attr-defined]
                if period != events.period:
                    return f"there is an index, but of the period {events.period}, not {period}: it is read as a table"
    return "there is an index, but not few rows beside it: a scan of all its events is quicker"


def _not_told(request: JoinRequest | CountRequest) -> dict[str, bool]:
    """What an index cannot tell, in words, and whether it was asked for; `_may` is the same without the words."""
    found = {
        "keys were asked for": bool(request.keys),
        f"algorithm={request.algorithm!r} was asked for": request.algorithm != "auto",
        "quarantine was asked for": request.policy.on_invalid == "quarantine",
    }
    if isinstance(request, JoinRequest):
        options = {"max_rows": request.max_rows, "where": request.where, "min_overlap": request.min_overlap}
        found |= {f"{name}= was asked for": given is not None for name, given in options.items()}
        return found | {"overlap='length' was asked for": not isinstance(request.overlap, bool)}
    return found | {"aggregates were asked for": bool(request.aggregates)}


def _two_sides(
    held: Held, left: object, right: object, request: JoinRequest | CountRequest
) -> tuple[Rows, Rows, Restore, bool] | None:
    """The left and the right side, how results are handed out, and whether the right one probes; None if none may."""
    if not _may(right, request):
        return None
    restore: Restore = _same
    sides: list[Rows] = []
    for frame, period, side in ((left, request.left_period, "left"), (right, request.right_period, "right")):
        if is_index(frame):
            events = held.enter(frame.__timeloom_index__())  # type: ignore[attr-defined]
            if period != events.period:
                return None
            sides.append(IndexRows(events))
            continue
        table, restored = to_arrow(frame, side)
        restore = restored if side == "left" else restore
        if table.num_rows > ALWAYS_FEW and table.num_rows * FEW > _events(right if side == "left" else left):
            return None
        sides.append(TableRows(table, period, side, request.policy))
    flip = isinstance(sides[0], IndexRows)
    if flip and isinstance(sides[1], IndexRows):
        flip = sides[0].starts.size > sides[1].starts.size
        few, many = sorted(side.starts.size for side in sides)
        if few > ALWAYS_FEW and few * FEW > many:
            return None
    return sides[0], sides[1], restore, flip


def _may(right: object, request: JoinRequest | CountRequest) -> bool:
    """Whether a request asks for nothing that the index cannot tell."""
    if request.keys or request.algorithm != "auto" or request.policy.on_invalid == "quarantine":
        return False
    if isinstance(request, JoinRequest):
        unbound = request.max_rows is None and request.where is None and request.min_overlap is None
        return unbound and isinstance(request.overlap, bool)
    return not request.aggregates and is_index(right)


def _events(frame: object) -> int:
    return len(frame) if is_index(frame) else 0  # type: ignore[arg-type]


def _same(table: pa.Table) -> pa.Table:
    return table


def _bounds(
    plan: Plan, request: JoinRequest | CountRequest, probe: Rows, indexed: Rows, flip: bool
) -> tuple[list[tuple[Limits, Limits]], tuple[int, int]]:
    """The bounds of each box of the relation on the indexed side's starts and ends, and the window."""
    kind = probe.kind or indexed.kind
    if kind is None:
        return [], EVER
    if probe.kind is not None and indexed.kind is not None and probe.kind.axis is not indexed.kind.axis:
        same_axis(*((indexed.kind, probe.kind) if flip else (probe.kind, indexed.kind)))
    window = None
    if isinstance(request, JoinRequest) and request.window is not None:
        window = window_bounds(request.window, kind, request.relation.boxes(kind.axis))
    return plan.bounds(kind.axis, flip), EVER if window is None else window


def _joined(plan: Plan, request: JoinRequest, left: Rows, right: Rows, flip: bool) -> pa.Table:
    probe, indexed = (right, left) if flip else (left, right)
    assert isinstance(indexed, IndexRows)
    boxes, window = _bounds(plan, request, probe, indexed, flip)
    periods = probe.periods
    found = [search_many(indexed.events.forest, *periods, *limits, window, MOST_PAIRS) for limits in boxes]
    if len(found) == 1:
        one, other, _ = found[0]
    else:
        one, other = (np.concatenate([np.zeros(0, np.int64), *(part[side] for part in found)]) for side in (0, 1))
    lefts, rights = (other, one) if flip else (one, other)
    columns = plan.layout(left.names, right.names)
    if request.how in ("semi", "anti"):
        return _kept(request, left, lefts, columns)
    if request.columns is None and not request.overlap:
        arrays = [*left.columns(left.names, lefts), *right.columns(right.names, rights)]
        result = pa.Table.from_arrays(arrays, names=plan.names_of(columns))
    else:
        result = _paired(columns, left, right, lefts, rights, request)
    if request.how == "inner":
        return result
    parts = [result]
    if request.how in ("left", "full"):
        parts.append(_alone(columns, left, _missing(left, lefts), "left", result.schema))
    if request.how in ("right", "full"):
        parts.append(_alone(columns, right, _missing(right, rights), "right", result.schema))
    return stacked(parts)


def _kept(request: JoinRequest, left: Rows, lefts: Positions, columns: list[OutputColumn]) -> pa.Table:
    """The left rows of a semi or an anti join, in their order."""
    if request.how == "semi" and isinstance(left, IndexRows):
        rows = left.events.order(distinct(lefts))
    else:
        seen = np.zeros(left.starts.size, np.bool_)
        seen[lefts] = True
        rows = left.all()
        rows = rows[seen[rows] == (request.how == "semi")]
    return _table(columns, left.columns([column.left for column in columns], rows), rows.size)


def _missing(side: Rows, seen: Positions) -> Positions:
    alone = np.ones(side.starts.size, np.bool_)
    alone[seen] = False
    rows = side.all()
    return rows[alone[rows]]


def _paired(
    columns: list[OutputColumn], left: Rows, right: Rows, lefts: Positions, rights: Positions, request: JoinRequest
) -> pa.Table:
    """The columns of all pairs."""
    ours = iter(left.columns([column.left for column in columns if column.origin == "left"], lefts))
    theirs = iter(right.columns([column.right for column in columns if column.origin == "right"], rights))
    arrays = []
    for column in columns:
        if column.origin in ("left", "right"):
            arrays.append(next(ours if column.origin == "left" else theirs))
        else:
            writer = PeriodWriter.of([left.ticks, right.ticks], request.policy)
            absent = np.zeros(lefts.size, np.bool_)
            arrays.append(overlap_column(column.origin, left.times(lefts), right.times(rights), absent, writer))
    return _table(columns, arrays, lefts.size)


def _alone(columns: list[OutputColumn], side: Rows, rows: Positions, origin: str, schema: pa.Schema) -> pa.Table:
    """Rows without a partner, the other side's columns null."""
    own = iter(side.columns([getattr(column, origin) for column in columns if column.origin == origin], rows))
    arrays = [
        next(own) if column.origin == origin else pa.nulls(rows.size, schema.field(column.name).type)
        for column in columns
    ]
    return _table(columns, arrays, rows.size)


def _table(columns: list[OutputColumn], arrays: "list[pa.Array | pa.ChunkedArray]", rows: int) -> pa.Table:
    if not columns:
        return without_columns(rows)
    return pa.Table.from_arrays(arrays, names=[column.name for column in columns])
