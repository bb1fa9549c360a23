"""The rows of one stream as they become known: events matched by id, refused with a reason, held for their instant."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.frames import require_columns, to_arrow
from timeloom.engines.tables.taking import chosen_rows, take_rows
from timeloom.engines.tables.ticks import TimeType, column_ticks
from timeloom.errors import InvalidInputError
from timeloom.kernels.order import Ticks
from timeloom.kernels.streaming.arrival import (
    ACCEPTED,
    ALREADY_OPEN,
    EMPTY,
    NEVER_STARTED,
    NO_EVENT,
    NO_KEY,
    OFF_AXIS,
    REVERSED,
    TOO_LATE,
    UNREADABLE,
)
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK
from timeloom.streaming.deciding import EVENTS
from timeloom.streaming.names import check_hashable, hashable
from timeloom.streaming.readers import starting_of
from timeloom.streaming.wanted import Columns

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Role:
    """What a stream is to its operator: its name, how it arrives, its keys, and the columns that rows carry along.

    Rows are told apart by ``keys`` and id together. ``nulls`` says whether a null in a key is a value like others.
    """

    name: str
    arrival: str
    columns: Columns
    keys: tuple[str, ...] = ()
    carried: tuple[str, ...] | None = ()
    nulls: bool = False

    @property
    def times(self) -> tuple[str, str]:
        """The two columns that say when: time and event, or start and end."""
        names = self.columns
        return (names.time, names.event) if self.arrival == EVENTS else (names.start, names.end)

    def kept(self, given: list[str]) -> list[str]:
        """The columns of a table that are kept: keys, id and what is carried; None carries all that is no time."""
        others = [name for name in given if name not in self.times] if self.carried is None else self.carried
        return list(dict.fromkeys([*self.keys, self.columns.id, *others]))


class Batch(NamedTuple):
    """Events with their kept columns: instants, which of them start a row, and the ends of whole rows."""

    table: pa.Table
    times: Ticks
    starting: Mask
    ends: Ticks

    def only(self, which: Mask | Numbers) -> "Batch":
        """Some of the events, in this order."""
        rows = np.flatnonzero(which) if which.dtype == np.bool_ else which
        return Batch(take_rows(self.table, pa.array(rows)), self.times[rows], self.starting[rows], self.ends[rows])

    def and_then(self, more: "Batch") -> "Batch":
        """These events and more."""
        table = pa.concat_tables([self.table, more.table])
        return Batch(table, *(np.concatenate(both) for both in zip(self[1:], more[1:], strict=True)))


class Refused(NamedTuple):
    """Events of one stream that take no part: keys and ids, instants (where they can be read), and their verdicts."""

    table: pa.Table
    times: Ticks
    timeless: Mask
    verdicts: NDArray[np.int8]

    @classmethod
    def of(cls, batch: Batch, verdicts: NDArray[np.int8], role: Role) -> "Refused":
        """Those of a batch that were not accepted."""
        bad = verdicts != ACCEPTED
        rows = chosen_rows(batch.table.select([*role.keys, role.columns.id]), bad)
        return cls(rows, batch.times[bad], np.zeros(int(bad.sum()), np.bool_), verdicts[bad])


class Live(NamedTuple):
    """Rows that have started and are kept: their columns, periods (an end not known is FOREVER), and numbers."""

    table: pa.Table
    starts: Ticks
    ends: Ticks
    numbers: Numbers

    def only(self, which: Mask) -> "Live":
        """Some of the rows."""
        if which.all():
            return self
        rows = np.flatnonzero(which)
        return Live(take_rows(self.table, pa.array(rows)), *(column[rows] for column in self[1:]))

    def and_then(self, table: pa.Table, starts: Ticks, ends: Ticks, numbers: Numbers) -> "Live":
        """These rows and more."""
        if not len(starts):
            return self
        more = (starts, ends, numbers)
        return Live(
            pa.concat_tables([self.table, table]),
            *(np.concatenate(both) for both in zip(self[1:], more, strict=True)),
        )


class Reading(NamedTuple):
    """A table as events, and what of it cannot be read."""

    batch: Batch
    type: TimeType
    refused: Refused


def read_rows(frame: object, role: Role, known: "StreamRows | None" = None) -> Reading:
    """Read a table of one stream; a column that was of another type before is an error."""
    table, _ = to_arrow(frame, role.name)
    time, second = role.times
    kept = role.kept(table.column_names)
    require_columns(table.column_names, [*kept, time, second], role.name)
    for name in (*role.keys, role.columns.id):
        check_hashable(table.schema.field(name).type, f"column {name!r} of the {role.name} table")
    kind = TimeType.of(table.schema.field(time).type, time, role.name)
    first, null = column_ticks(table[time], kind, truncate=False)
    verdicts = np.where(null | np.asarray(table[role.columns.id].is_null()), UNREADABLE, ACCEPTED).astype(np.int8)
    verdicts[(verdicts == ACCEPTED) & ((first == MIN_TICK) | (first == MAX_TICK))] = OFF_AXIS
    starting, last = np.ones(len(table), np.bool_), np.full(len(table), FOREVER)
    if role.arrival == EVENTS:
        starting, readable = starting_of(table[second], role.name, second)
        if readable is not None:
            verdicts[(verdicts == ACCEPTED) & ~readable] = NO_EVENT
    else:
        last = _ends(table[second], kind, second, role.name)
    for name in () if role.nulls else role.keys:
        verdicts[(verdicts == ACCEPTED) & np.asarray(table[name].is_null())] = NO_KEY
    rows = table.select(kept)
    if known is not None:
        rows = _without_values_as_known(rows, known.live.table.schema)
        _require_same(rows.schema, known.live.table.schema, role.name)
    batch, bad = Batch(rows, first, starting, last), verdicts != ACCEPTED
    refused = Refused.of(batch, verdicts, role)._replace(timeless=null[bad])
    return Reading(batch.only(~bad) if bad.any() else batch, kind, refused)


def _ends(column: pa.ChunkedArray, kind: TimeType, name: str, side: str) -> Ticks:
    column = column.cast(kind.arrow) if pa.types.is_null(column.type) else column
    same_axis(kind, TimeType.of(column.type, name, side))
    last, is_open = column_ticks(column, kind, truncate=False)
    return np.where(is_open, FOREVER, last)


def _without_values_as_known(rows: pa.Table, known: pa.Schema) -> pa.Table:
    """Columns in which nothing stands, such as those of end events, have no type of their own: they take the known."""
    for at, field in enumerate(rows.schema):
        if pa.types.is_null(field.type) and field.name in known.names:
            kind = known.field(field.name).type
            rows = rows.set_column(at, field.with_type(kind), rows.column(at).cast(kind))
    return rows


def _require_same(found: pa.Schema, known: pa.Schema, side: str) -> None:
    for field in known:
        at = found.get_field_index(field.name)
        if at < 0 or not found.field(at).type.equals(field.type):
            now = "missing" if at < 0 else found.field(at).type
            raise InvalidInputError(
                f"column {field.name!r} of the {side} table was {field.type} and is {now} now; keep one type"
            )


@dataclass(frozen=True)
class StreamRows:
    """One stream: its live rows, the ids of open ones, and events whose instants are not complete.

    ``opened`` has the number and the start of each open row, by its keys and id.
    """

    role: Role
    live: Live
    held: Batch
    opened: dict[tuple[Any, ...], tuple[int, int]]
    count: int = 0

    @classmethod
    def empty(cls, role: Role, schema: pa.Schema) -> "StreamRows":
        """No rows, of these columns."""
        nothing = np.empty(0, np.int64)
        table = schema.empty_table()
        return cls(role, Live(table, *[nothing] * 3), Batch(table, nothing, np.empty(0, np.bool_), nothing), {})

    @property
    def first_held(self) -> int:
        """The first instant of which events are held back, or FOREVER."""
        return int(self.held.times.min(initial=FOREVER))

    def keep(self, which: Mask) -> "StreamRows":
        """Let go of rows that no result can need; an open one is still known by its id."""
        return replace(self, live=self.live.only(which))

    def advanced(self, batch: Batch | None, late: int, complete: int) -> tuple["StreamRows", list[Refused], int]:
        """Take events up to an instant; answers the stream after them, what was refused, and how many were used.

        Of the batch, events up to the instant ``late`` are refused: these were complete before it came.
        """
        bad = []
        waiting = self.held
        if batch is not None and len(batch.times):
            in_time = batch.times > late
            if not in_time.all():
                bad.append(Refused.of(batch, np.where(in_time, ACCEPTED, TOO_LATE).astype(np.int8), self.role))
                batch = batch.only(in_time)
            waiting = self.held.and_then(batch) if len(self.held.times) else batch
        later = waiting.times > complete
        due, held = (waiting.only(~later), waiting.only(later)) if later.any() else (waiting, waiting.only(later))
        order = np.lexsort((due.starting, due.times))
        due = due if (order == np.arange(order.size)).all() else due.only(order)
        if self.role.arrival == EVENTS:
            after, verdicts = self._matched(due)
        else:
            found = np.select([due.ends == due.times, due.ends < due.times], [EMPTY, REVERSED], ACCEPTED)
            verdicts = found.astype(np.int8)
            after = self._with_rows(due.only(verdicts == ACCEPTED))
        bad.append(Refused.of(due, verdicts, self.role))
        return replace(after, held=held), bad, len(verdicts) - len(bad[-1].verdicts)

    def _with_rows(self, begun: Batch) -> "StreamRows":
        numbers = self.count + np.arange(len(begun.times))
        live = self.live.and_then(begun.table, begun.times, begun.ends, numbers)
        return replace(self, live=live, count=self.count + len(numbers))

    def _matched(self, due: Batch) -> tuple["StreamRows", NDArray[np.int8]]:
        """Match ends with open rows, as a streaming join does: at one instant ends come first."""
        opened, number = dict(self.opened), self.count
        verdicts = np.zeros(len(due.times), np.int8)
        begun: list[int] = []
        ended: dict[int, int] = {}
        strays: dict[tuple[Any, ...], int] = {}
        names = self.names(due.table)
        for at, (name, time, starts) in enumerate(zip(names, due.times.tolist(), due.starting.tolist(), strict=True)):
            if starts and name in opened:
                verdicts[at] = ALREADY_OPEN
            elif starts and (stray := strays.get(name)) is not None and due.times[stray] == time:
                verdicts[at] = verdicts[stray] = EMPTY
            elif starts:
                opened[name] = number + len(begun), time
                begun.append(at)
            elif name in opened:
                ended[opened.pop(name)[0]] = time
            else:
                verdicts[at] = NEVER_STARTED
                strays[name] = at
        after = self._with_rows(due.only(np.array(begun, np.int64)))
        return replace(after, live=_with_ends(after.live, ended), opened=opened), verdicts

    def names(self, table: pa.Table) -> list[tuple[Any, ...]]:
        """By what rows are told apart: their keys and ids."""
        return self.names_of([table[name] for name in (*self.role.keys, self.role.columns.id)])

    def names_of(self, columns: list[pa.ChunkedArray]) -> list[tuple[Any, ...]]:
        """The same of the columns alone."""
        return list(zip(*(hashable(column) for column in columns), strict=True))


def _with_ends(live: Live, ended: dict[int, int]) -> Live:
    """Note the ends of rows that are kept, by their numbers."""
    if not ended:
        return live
    numbers = np.fromiter(ended, np.int64, len(ended))
    positions = np.searchsorted(live.numbers, numbers)
    positions[positions == live.numbers.size] = 0
    found = live.numbers[positions] == numbers if live.numbers.size else np.zeros(numbers.size, np.bool_)
    ends = live.ends.copy()
    ends[positions[found]] = np.fromiter(ended.values(), np.int64, len(ended))[found]
    return live._replace(ends=ends)
