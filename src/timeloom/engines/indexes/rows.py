"""One side of a verb as rows with periods: a table, or the events of an index."""

from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.tables.indexes import IndexedEvents
from timeloom.engines.tables.taking import taken
from timeloom.engines.tables.ticks import PeriodTicks, TimeType
from timeloom.engines.tables.validity import admit
from timeloom.kernels.order import Ticks
from timeloom.kernels.stab_forest.layout import EVENTS, ends_of
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import Axis

Positions = NDArray[np.integer]
_INT64 = pa.int64()
_DATE = pa.date32()
_PLAIN = {
    kind.arrow.id: kind
    for kind in (
        TimeType(Axis.INTEGER, _INT64),
        TimeType(Axis.TIMESTAMP, pa.timestamp("us")),
        TimeType(Axis.DATE, _DATE),
    )
}


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
        none = np.zeros(self.starts.size, np.bool_)
        return PeriodTicks(self.starts, self.ends, self.starts, self.ends, kind, kind, self.period, none)


class TableRows(Rows):
    """The rows of a table that a policy admits."""

    def __init__(self, table: pa.Table, period: Period, side: str, policy: Policy) -> None:
        found = _plain_ticks(table, period) if period.closed == "left" and period.open_end is None else None
        self.plain = None if found is None else found[2].arrow
        if found is None:
            admitted = admit(table, period, side, policy)
            table, found = admitted.table, (admitted.starts, admitted.ends, admitted.ticks.type)
            self.ticks = admitted.ticks
        starts, ends, kind = found
        super().__init__(table.column_names, starts, ends, kind, period)
        self._table = table

    def columns(self, names: list[str], rows: Positions) -> "list[pa.Array | pa.ChunkedArray]":
        """Some columns of some rows."""
        positions, found = None, []
        for name in names:
            if self.plain is not None and name in (self.period.start, self.period.end):
                ticks = (self.starts if name == self.period.start else self.ends)[rows]
                found.append(numbers(ticks, self.plain))
            else:
                positions = numbers(rows) if positions is None else positions
                column = self._table.column(name)
                found.append(taken(column.chunk(0) if column.num_chunks == 1 else column, positions, name))
        return found


class IndexRows(Rows):
    """The events of an index, by position."""

    def __init__(self, events: IndexedEvents) -> None:
        forest = events.forest
        count = int(forest.counts[EVENTS])
        super().__init__(events.column_names, forest.starts[:count], forest.ends, events.kind, events.period)
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
        starts, ends = self.periods
        return PeriodTicks(starts, ends, starts, ends, first, last, period, np.zeros(starts.size, np.bool_))

    @property
    def periods(self) -> tuple[Ticks, Ticks]:
        """The periods of all events."""
        return self.times(slice(0, self.starts.size))  # type: ignore[arg-type]


def numbers(values: NDArray[np.integer], kind: pa.DataType | None = None) -> pa.Array:
    """Numbers as an Arrow array of eight bytes each, of four for dates, without a look at any."""
    values = np.ascontiguousarray(values, np.int32 if kind is _DATE else np.int64)
    return pa.Array.from_buffers(kind or _INT64, values.size, [None, pa.py_buffer(values)])


def _plain_ticks(table: pa.Table, period: Period) -> tuple[Ticks, Ticks, TimeType] | None:
    """Periods that need no reading: integers, days or microseconds in one piece, no nulls, starts before ends."""
    names = table.column_names
    if names.count(period.start) != 1 or names.count(period.end) != 1 or not table.num_rows:
        return None
    starts, ends = table[period.start], table[period.end]
    kind = _plain_kind(starts.type)
    if kind is None or ends.type != kind.arrow:
        return None
    ticks = _values(starts, kind), _values(ends, kind)
    if ticks[0] is None or ticks[1] is None or np.count_nonzero(ticks[0] >= ticks[1]):
        return None
    return ticks[0], ticks[1], kind


def _plain_kind(column: pa.DataType) -> TimeType | None:
    kind = _PLAIN.get(column.id)
    if kind is None or column == kind.arrow:
        return kind
    zoned = kind.axis is Axis.TIMESTAMP and column.unit == "us" and column.tz
    return TimeType(Axis.ZONED, column) if zoned else None


def _values(column: pa.ChunkedArray, kind: TimeType) -> Ticks | None:
    if column.num_chunks != 1 or column.null_count:
        return None
    chunk, width = column.chunk(0), np.dtype(np.int32 if kind.axis is Axis.DATE else np.int64)
    return np.frombuffer(chunk.buffers()[1], width, len(chunk), width.itemsize * chunk.offset).astype(np.int64)
