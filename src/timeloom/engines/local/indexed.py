"""Verbs that go through an index: what a few rows have to do with many events, without reading the events.

Each function answers None where it has no way of its own; the verb then takes the index as the table that it exports.
"""

from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.joins.problem import Limits, limits_of
from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.frames import Restore, require_columns, to_arrow
from timeloom.engines.tables.indexes import IndexedEvents
from timeloom.engines.tables.instants import instant_ticks
from timeloom.engines.tables.marks import is_index
from timeloom.engines.tables.overlap import overlap_column
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.taking import taken
from timeloom.engines.tables.ticks import PeriodTicks, TimeType
from timeloom.engines.tables.validity import admit
from timeloom.engines.tables.windows import window_bounds
from timeloom.kernels.order import Ticks
from timeloom.kernels.stab_forest.layout import EVENTS, NODES, ends_of
from timeloom.kernels.stab_forest.multi_stab import THRESHOLD, multi_stab, new_marks, reach_of
from timeloom.kernels.stab_forest.rectangle import TooMany, count_rows, search_many
from timeloom.kernels.stab_forest.stab import stab as stab_events
from timeloom.model.count_join import CountRequest
from timeloom.model.join import JoinRequest
from timeloom.model.naming import OutputColumn, joined_columns
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.stab import StabRequest
from timeloom.model.ticks import MAX_TICK, MIN_TICK, Axis

FEW = 32
"""An index is asked row by row if it has so many times the events that there are rows; else a scan is quicker."""

ALWAYS_FEW = 64
MOST_PAIRS = 2**25
"""With more pairs than this the ordinary join runs, which watches memory and uses all cores."""

EVER = (MIN_TICK, MAX_TICK)
Positions = NDArray[np.integer]
_PLAIN_TYPES = {pa.int64(): Axis.INTEGER, pa.timestamp("us"): Axis.TIMESTAMP}


@dataclass
class Plan:
    """What a request means for tables of certain columns, worked out once for calls that differ in rows only."""

    request: JoinRequest | CountRequest
    boxes: dict[tuple[Axis, bool], list[tuple[Limits, Limits]]] = field(default_factory=dict)
    layouts: dict[tuple[Any, ...], list[OutputColumn]] = field(default_factory=dict)

    def bounds(self, axis: Axis, flip: bool) -> list[tuple[Limits, Limits]]:
        """What each box of the relation says of starts and of ends, seen from the driving side."""
        if (axis, flip) not in self.boxes:
            found = self.request.relation.boxes(axis)
            self.boxes[(axis, flip)] = [
                (limits_of((box.start_start, box.start_end)), limits_of((box.end_start, box.end_end)))
                for box in (tuple(box.inverse() for box in found) if flip else found)
            ]
        return self.boxes[(axis, flip)]

    def layout(self, left: list[str], right: list[str]) -> list[OutputColumn]:
        """The columns of the result."""
        known = (*left, None, *right)
        if known not in self.layouts:
            request = self.request
            assert isinstance(request, JoinRequest)
            halved = request.how in ("semi", "anti")
            self.layouts[known] = joined_columns(
                left,
                [] if halved else right,
                request.keys,
                suffixes=request.suffixes,
                overlap=request.overlap,
                columns=request.columns,
            )
        return self.layouts[known]


_PLANS: dict[int, Plan] = {}


def _plan(request: JoinRequest | CountRequest) -> Plan:
    plan = _PLANS.get(id(request))
    if plan is None or plan.request is not request:
        if len(_PLANS) > 255:
            _PLANS.clear()
        plan = _PLANS[id(request)] = Plan(request)
    return plan


class Rows:
    """One side as rows with periods: a table, or the events of an index."""

    def __init__(self, names: list[str], starts: Ticks, ends: Ticks, kind: TimeType | None, period: Period) -> None:
        self.names, self.starts, self.ends, self.kind, self.period = names, starts, ends, kind, period

    def columns(self, names: list[str], rows: Positions) -> "list[pa.Array | pa.ChunkedArray]":
        """Some columns of some rows."""
        raise NotImplementedError

    def all(self) -> Positions:
        """Every row, in order."""
        return np.arange(self.starts.size)

    def times(self, rows: Positions) -> tuple[Ticks, Ticks]:
        """The periods of some rows."""
        return self.starts[rows], self.ends[rows]

    @property
    def periods(self) -> tuple[Ticks, Ticks]:
        """The periods of all rows."""
        return self.starts, self.ends

    @cached_property
    def ticks(self) -> PeriodTicks:
        """The types of the period columns, for whoever writes periods."""
        kind = self.kind or TimeType(Axis.INTEGER, pa.int64())
        return PeriodTicks(self.starts, self.ends, kind, kind, self.period, np.zeros(self.starts.size, np.bool_))


class TableRows(Rows):
    """The rows of a table that a policy admits."""

    def __init__(self, table: pa.Table, period: Period, side: str, policy: Policy) -> None:
        starts, ends = _plain_ticks(table, period.start), _plain_ticks(table, period.end)
        kind = None
        plain = period.closed == "left" and period.open_end is None and starts is not None and ends is not None
        if plain and starts.size and bool((starts < ends).all()):  # type: ignore[union-attr,operator]
            kind = TimeType(_PLAIN_TYPES[table.schema.field(period.start).type], table.schema.field(period.start).type)
            plain = table.schema.field(period.end).type == kind.arrow
        if kind is None or not plain:
            admitted = admit(table, period, side, policy)
            table, starts, ends, kind = admitted.table, admitted.starts, admitted.ends, admitted.ticks.type
            self.ticks = admitted.ticks
        super().__init__(table.column_names, starts, ends, kind, period)  # type: ignore[arg-type]
        self._table = table

    def columns(self, names: list[str], rows: Positions) -> "list[pa.Array | pa.ChunkedArray]":
        """Some columns of some rows."""
        places = pa.array(rows)
        if names == self.names and not any(map(pa.types.is_nested, self._table.schema.types)):
            with suppress(pa.ArrowNotImplementedError):
                return self._table.take(places).columns  # type: ignore[no-any-return]
        return [taken(self._table.column(name), places, name) for name in names]


class IndexRows(Rows):
    """The events of an index, by position."""

    def __init__(self, events: IndexedEvents) -> None:
        forest = events.forest
        count = int(forest.counts[EVENTS])
        super().__init__(events.column_names, forest.starts[:count], forest.ends[:count], events.kind, events.period)
        self.events = events

    def columns(self, names: list[str], rows: Positions) -> "list[pa.Array | pa.ChunkedArray]":
        """Some columns of some events."""
        return self.events.columns(names, rows)

    def all(self) -> Positions:
        """Every event, in the order of the table that the index exports."""
        return self.events.order(np.arange(self.starts.size))

    def times(self, rows: Positions) -> tuple[Ticks, Ticks]:
        """The periods of some events, also of those whose end is kept apart."""
        return self.starts[rows], ends_of(self.events.forest, rows)

    @cached_property
    def ticks(self) -> PeriodTicks:
        """The types of the period columns, as verbs would read them from the exported table."""
        schema, period = self.events.schema(), self.period
        first, last = (TimeType.of(schema.field(name).type, name, "indexed") for name in (period.start, period.end))
        return PeriodTicks(self.starts, self.ends, first, last, period, np.zeros(self.starts.size, np.bool_))

    @property
    def periods(self) -> tuple[Ticks, Ticks]:
        """The periods of all events."""
        return self.times(slice(0, self.starts.size))  # type: ignore[arg-type]


def stab(df: object, request: StabRequest) -> pa.Table | None:
    """The events of an index that are active at any of the instants."""
    if request.policy.on_invalid == "quarantine":
        return None
    with df.__timeloom_index__() as events:  # type: ignore[attr-defined]
        if request.period != events.period or events.kind is None:
            return None
        forest, instants = events.forest, instant_ticks(request.at, events.kind)
        if instants.size == 1:
            found = stab_events(forest, int(instants[0]))
        else:
            found = multi_stab(forest, instants, reach_of(THRESHOLD, int(forest.counts[NODES])), new_marks())[0]
        names = events.column_names
        return pa.Table.from_arrays(events.columns(names, events.order(found)), names=names)


def join(left: object, right: object, request: JoinRequest) -> Any:
    """Join through the index of one side, if the other has few rows."""
    if request.keys or request.algorithm != "auto" or request.max_rows is not None:
        return None
    if request.policy.on_invalid == "quarantine":
        return None
    with ExitStack() as held:
        sides = _two_sides(held, left, right, request)
        if sides is None:
            return None
        ours, theirs, restore, flip = sides
        try:
            result = _joined(_plan(request), request, ours, theirs, flip)
        except TooMany:
            return None
        return restore(result)


def count_join(left: object, right: object, request: CountRequest) -> Any:
    """Count the events of an index for each of the left rows."""
    if request.keys or request.aggregates or request.algorithm != "auto" or not is_index(right):
        return None
    if request.policy.on_invalid == "quarantine":
        return None
    with ExitStack() as held:
        sides = _two_sides(held, left, right, request)
        if sides is None:
            return None
        ours, theirs, restore, _ = sides
        request.check_names(ours.names)
        counts = np.zeros(ours.starts.size, np.int64)
        assert isinstance(theirs, IndexRows)
        for limits in _bounds(_plan(request), request, ours, theirs, False)[0]:
            count_rows(theirs.events.forest, *ours.periods, *limits, 0, counts)
        rows = ours.all()
        columns = [*ours.columns(ours.names, rows), pa.array(counts[rows])]
        return restore(pa.Table.from_arrays(columns, names=[*ours.names, request.name]))


def _two_sides(
    held: ExitStack, left: object, right: object, request: JoinRequest | CountRequest
) -> tuple[Rows, Rows, Restore, bool] | None:
    """The left and the right side, how results are handed out, and whether the right one drives; None if none may."""
    restore: Restore = _same
    sides: list[Rows] = []
    for frame, period, side in ((left, request.left_period, "left"), (right, request.right_period, "right")):
        if is_index(frame):
            events = held.enter_context(frame.__timeloom_index__())  # type: ignore[attr-defined]
            if period != events.period:
                return None
            sides.append(IndexRows(events))
            continue
        table, restored = to_arrow(frame, side)
        restore = restored if side == "left" else restore
        if table.num_rows > ALWAYS_FEW and table.num_rows * FEW > _events(right if side == "left" else left):
            return None
        require_columns(table.column_names, [period.start, period.end], side)
        sides.append(TableRows(table, period, side, request.policy))
    flip = isinstance(sides[0], IndexRows)
    if flip and isinstance(sides[1], IndexRows):
        flip = sides[0].starts.size > sides[1].starts.size
        few, many = sorted(side.starts.size for side in sides)
        if few > ALWAYS_FEW and few * FEW > many:
            return None
    return sides[0], sides[1], restore, flip


def _events(frame: object) -> int:
    return len(frame) if is_index(frame) else 0  # type: ignore[arg-type]


def _same(table: pa.Table) -> pa.Table:
    return table


def _plain_ticks(table: pa.Table, name: str) -> Ticks | None:
    """A column of ticks in one piece and without nulls, as an array of its own; None if it is any other."""
    at = table.schema.get_field_index(name)
    if at < 0 or table.schema.field(at).type not in _PLAIN_TYPES:
        return None
    column = table.column(at)
    if column.num_chunks != 1 or column.null_count or not len(column):
        return None
    chunk = column.chunk(0)
    return np.frombuffer(chunk.buffers()[1], np.int64, len(chunk), 8 * chunk.offset).copy()


def _bounds(
    plan: Plan, request: JoinRequest | CountRequest, driving: Rows, driven: Rows, flip: bool
) -> tuple[list[tuple[Limits, Limits]], tuple[int, int]]:
    """The bounds of each box of the relation on the driven side's starts and ends, and the window."""
    kind = driving.kind or driven.kind
    if kind is None:
        return [], EVER
    if driving.kind is not None and driven.kind is not None and driving.kind.axis is not driven.kind.axis:
        same_axis(*((driven.kind, driving.kind) if flip else (driving.kind, driven.kind)))
    window = None
    if isinstance(request, JoinRequest) and request.window is not None:
        window = window_bounds(request.window, kind, request.relation.boxes(kind.axis))
    return plan.bounds(kind.axis, flip), EVER if window is None else window


def _joined(plan: Plan, request: JoinRequest, left: Rows, right: Rows, flip: bool) -> pa.Table:
    driving, driven = (right, left) if flip else (left, right)
    assert isinstance(driven, IndexRows)
    boxes, window = _bounds(plan, request, driving, driven, flip)
    periods = driving.periods
    found = [search_many(driven.events.forest, *periods, *limits, window, MOST_PAIRS) for limits in boxes]
    if len(found) == 1:
        one, other, _ = found[0]
    else:
        one, other = (np.concatenate([np.zeros(0, np.int64), *(part[side] for part in found)]) for side in (0, 1))
    lefts, rights = (other, one) if flip else (one, other)
    columns = plan.layout(left.names, right.names)
    if request.how in ("semi", "anti"):
        return _kept(request, left, lefts, columns)
    result = _paired(columns, left, right, lefts, rights, request)
    parts = [result]
    if request.how in ("left", "full"):
        parts.append(_alone(columns, left, _missing(left, lefts), "left", result.schema))
    if request.how in ("right", "full"):
        parts.append(_alone(columns, right, _missing(right, rights), "right", result.schema))
    return result if len(parts) == 1 else pa.concat_tables(parts)


def _kept(request: JoinRequest, left: Rows, lefts: Positions, columns: list[OutputColumn]) -> pa.Table:
    """The left rows of a semi or an anti join, in their order."""
    if request.how == "semi" and isinstance(left, IndexRows):
        rows = left.events.order(np.unique(lefts))
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
        return pa.table({"_": pa.nulls(rows)}).select([])
    return pa.Table.from_arrays(arrays, names=[column.name for column in columns])
