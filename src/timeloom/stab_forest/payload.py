"""The rows that a forest's events carry: an Arrow table that grows with the forest, a row for each event, by id."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.engines.tables.frames import to_arrow
from timeloom.engines.tables.ticks import TimeType, read_period
from timeloom.engines.tables.validity import admit
from timeloom.errors import InvalidInputError, UsageError, shown
from timeloom.kernels.order import Ticks
from timeloom.model.period import Period, PeriodLike
from timeloom.model.policy import Policy


class Payload:
    """Rows in the order of ids. Pieces double in size, so that growing by single rows costs logarithmic time.

    All that changes it holds the forest's lock; a table that was handed out stays as it is.
    """

    def __init__(self, table: pa.Table) -> None:
        self.schema: pa.Schema = table.schema
        self._pieces = [table]
        self._rows: list[Mapping[str, Any]] = []

    def __len__(self) -> int:
        return sum((int(piece.num_rows) for piece in self._pieces), len(self._rows))

    def table(self) -> pa.Table:
        """All rows."""
        if self._rows:
            self._pieces.append(pa.Table.from_pylist(self._rows, schema=self.schema))
            self._rows = []
        pieces = self._pieces
        while len(pieces) > 1 and pieces[-2].num_rows < 2 * pieces[-1].num_rows:
            pieces[-2:] = [pa.concat_tables(pieces[-2:]).combine_chunks()]
        return pieces[0] if len(pieces) == 1 else pa.concat_tables(pieces)

    def replace(self, table: pa.Table) -> None:
        """Go on with other rows of the same columns."""
        self._pieces, self._rows = [table], []

    def add_row(self, row: Mapping[str, Any]) -> None:
        """Add one row that `require_row` has let pass."""
        self._rows.append(row)

    def add(self, table: pa.Table) -> None:
        """Add rows that `require_rows` has let pass."""
        self.table()
        self._pieces.append(table)


def read_payload(payload: object, events: int) -> pa.Table:
    """Read a table that has a row for each event."""
    table, _ = to_arrow(payload, "payload")
    if table.num_rows != events:
        raise UsageError(
            f"the payload has {table.num_rows} rows, and there are {events} events; give one row for each event"
        )
    return table


def carried_period(payload: pa.Table, period: PeriodLike) -> Period:
    """The period of a forest's rows: the payload's own, or half-open columns that are put in front of it."""
    read = Period.of(period)
    if read.start == read.end:
        raise UsageError(f"the period is the single column {read.start!r}; a forest's payload needs a start and an end")
    if read.start not in payload.column_names:
        return Period(read.start, read.end)
    if read.open_end is not None:
        raise UsageError(f"open_end={shown(read.open_end)}: a payload's open ends must be null; replace the sentinels")
    return read


def carried(payload: object, period: PeriodLike, kind: TimeType | None, starts: Ticks, ends: Ticks) -> pa.Table:
    """Read a payload; if it has period columns they must tell the periods of the events."""
    table = read_payload(payload, starts.size)
    read = Period.of(period)
    names = read.start, read.end
    present = [name for name in names if name in table.column_names]
    if not present:
        return table
    if len(present) == 1:
        raise UsageError(f"the payload has {present[0]!r}, but not both of {names}; give it both columns, or none")
    rows = admit(table, read, "payload", Policy(), options=False)
    wrong = np.flatnonzero((rows.starts != starts) | (rows.ends != ends))
    if wrong.size or (kind is not None and rows.ticks.type.axis is not kind.axis):
        first = f", first in row {wrong[0]}" if wrong.size else ""
        raise InvalidInputError(
            f"the payload's columns {names} differ from the events' periods in {wrong.size} of {starts.size} rows"
            f"{first}; give equal ones, name the payload's period by period=, or leave these columns out"
        )
    if pa.types.is_null(table.schema.field(read.end).type):  # all are open, and may end later
        at = table.schema.get_field_index(read.end)
        table = table.set_column(at, read.end, table[read.end].cast(table.schema.field(read.start).type))
    return table


def require_rows(payload: Payload | None, given: object, events: int) -> pa.Table | None:
    """The rows for some more events, as a forest with this payload needs them; a forest without one takes none."""
    if payload is None and given is None:
        return None
    _require_both(payload, given, "a table")
    table = read_payload(given, events)
    try:
        return table.select(payload.schema.names).cast(payload.schema)  # type: ignore[union-attr]
    except (KeyError, pa.ArrowException, ValueError) as error:
        raise InvalidInputError(
            f"the payload does not fit the forest's columns ({error}); {_wanted(payload)}"
        ) from error


def require_row(
    payload: Payload | None, given: Mapping[str, Any] | None, period: Period, event: tuple[int, int]
) -> Mapping[str, Any] | None:
    """The row of one more event, checked; columns that it leaves out are null, but for those of its period."""
    if payload is None and given is None:
        return None
    _require_both(payload, given, "a mapping")
    if not isinstance(given, Mapping) or not set(given) <= set(payload.schema.names):  # type: ignore[union-attr]
        raise UsageError(f"payload={shown(given)} is no row of this forest; {_wanted(payload)}")
    try:
        row = pa.Table.from_pylist([given], schema=payload.schema)  # type: ignore[union-attr]
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidInputError(f"payload={shown(given)} does not fit ({error}); {_wanted(payload)}") from error
    told = [given.get(name) is not None for name in period.columns]
    if any(told):
        ticks = read_period(row, period, "payload")
        read = ticks.starts[0], ticks.ends[0]
        if any(known and one != other for known, one, other in zip(told, read, event, strict=True)):
            raise InvalidInputError(
                f"payload={shown(given)} tells another period than that of its event; give an equal one, or leave "
                f"{' and '.join(map(repr, period.columns))} out of it"
            )
    return given


def _require_both(payload: Payload | None, given: object, kind: str) -> None:
    if payload is None:
        raise UsageError("this forest carries no payload; build it with payload= to give its events rows")
    if given is None:
        raise UsageError(
            f"this forest carries a payload; give the new events theirs as payload={kind}; {_wanted(payload)}"
        )


def _wanted(payload: Payload | None) -> str:
    columns = [] if payload is None else [f"{field.name} ({field.type})" for field in payload.schema]
    return f"expected the columns {', '.join(columns)}"
