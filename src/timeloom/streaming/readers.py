"""Tables of events and of whole rows, as arrays; what cannot be read is refused with a reason."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.frames import require_columns, to_arrow
from timeloom.engines.tables.taking import chosen_rows
from timeloom.engines.tables.ticks import TimeType, column_ticks
from timeloom.errors import InvalidInputError, UsageError, did_you_mean
from timeloom.kernels.streaming.arrival import NO_EVENT, NO_KEY, OFF_AXIS, UNREADABLE
from timeloom.model.naming import column_names
from timeloom.model.neighbours import read_distance
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK, Span
from timeloom.streaming.deciding import EVENTS
from timeloom.streaming.intake import Events, Ids, Until
from timeloom.streaming.key_values import Keys
from timeloom.streaming.names import Names
from timeloom.streaming.wanted import RESULT, Columns


def key_columns(on: "str | Sequence[str] | None") -> tuple[str, ...]:
    """Read the option ``on``; a key may not be named as a column of the results is."""
    names = column_names("on", on)
    for name in names:
        if name in RESULT:
            raise UsageError(f"the result would have more than one column named {name!r}; rename that key column")
    return names


class Reading(NamedTuple):
    """The readable events of a table with their keys, the time type, and the rows that cannot be read with their
    verdicts; the table, and which of its rows are readable, if not all."""

    events: Events
    keys: Ids
    type: TimeType
    unread: pa.Table
    verdicts: NDArray[np.int8]
    table: pa.Table
    good: NDArray[np.bool_] | None

    def payload(self, names: "Sequence[str]") -> pa.Table:
        """Some columns of the readable rows."""
        some = self.table.select(list(names))
        return some if self.good is None else chosen_rows(some, self.good)


def read(frame: object, columns: Columns, arrival: str, names: Names, keys: Keys) -> Reading:
    """Read one side's table as it arrives: separate endpoints, or whole rows (an open end is null)."""
    table, _ = to_arrow(frame, names.side)
    apart = arrival == EVENTS
    time, second = (columns.time, columns.event) if apart else (columns.start, columns.end)
    wanted = [columns.id, time, second]
    require_columns(table.column_names, [*keys.columns, *wanted], names.side)
    kind = TimeType.of(table.schema.field(time).type, time, names.side)
    first, null = column_ticks(table[time], kind, truncate=False)
    verdicts = np.zeros(len(table), np.int8)
    if table[columns.id].null_count or table[time].null_count:
        verdicts[null | np.asarray(table[columns.id].is_null())] = UNREADABLE
    if first.size and (first.min() == MIN_TICK or first.max() == MAX_TICK):
        verdicts[(verdicts == 0) & ((first == MIN_TICK) | (first == MAX_TICK))] = OFF_AXIS
    if apart:
        starting, known = starting_of(table[second], names.side, second)
        if not known.all():
            verdicts[(verdicts == 0) & ~known] = NO_EVENT
        last = np.broadcast_to(np.int64(FOREVER), first.shape)
    else:
        starting = np.ones(len(table), np.bool_)
        ends = table[second]
        ends = ends.cast(kind.arrow) if pa.types.is_null(ends.type) else ends
        same_axis(kind, TimeType.of(ends.type, second, names.side))
        last, is_open = column_ticks(ends, kind, truncate=False)
        last = np.where(is_open, FOREVER, last)
    numbers, keyless = keys.numbers(table, names.side)
    if keyless.any():
        verdicts[(verdicts == 0) & keyless] = NO_KEY
    events = Events(names.numbers(table[columns.id]), first, starting, last)
    if not verdicts.any():
        return Reading(events, numbers, kind, table.select(wanted).slice(0, 0), verdicts[:0], table, None)
    good = verdicts == 0
    unread = chosen_rows(table.select(wanted), ~good)
    return Reading(events.pick(good), numbers[good], kind, unread, verdicts[~good], table, good)


def promised(kind: TimeType, until: Any) -> Until:
    """The instant that a caller promises to be complete, if any: of both sides, or of each by its name."""
    if not isinstance(until, Mapping):
        return promised_instant(kind, until)
    unknown = [side for side in until if side not in ("left", "right")]
    if unknown:
        raise UsageError(
            f"until= names {unknown[0]!r}, which is no side. {did_you_mean(unknown[0], ('left', 'right'))}"
        )
    return promised_instant(kind, until.get("left")), promised_instant(kind, until.get("right"))


def promised_instant(kind: TimeType, until: Any) -> int | None:
    """The instant that a caller promises to be complete, if any."""
    if until is None:
        return None
    instant = kind.ticks_of(until, "until")
    if instant == FOREVER:
        raise UsageError(f"until={until!r} is the end of the axis, where no instant is; close() ends the streams")
    return instant


def starting_of(column: pa.ChunkedArray, side: str, name: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which events are starts, and which are events at all: true and false, or the words start and end."""
    if pa.types.is_boolean(column.type):
        if not column.null_count:
            return np.asarray(column), np.ones(len(column), np.bool_)
        known = np.asarray(column.is_valid())
        return np.asarray(column.fill_null(False)), known
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        raise InvalidInputError(
            f"column {name!r} of the {side} table is {column.type}; expected 'start' and 'end', or true and false"
        )
    starting = np.asarray(pc.fill_null(pc.equal(column, "start"), False))
    ending = np.asarray(pc.fill_null(pc.equal(column, "end"), False))
    return starting, starting | ending


Lateness = tuple[Span, Span]
"""How long events of either side may come after later ones."""


def read_lateness(given: Any) -> Lateness | None:
    """Read the option ``lateness``: a span for both sides, or one for each by its name."""
    if given is None:
        return None
    told = given if isinstance(given, Mapping) else {"left": given, "right": given}
    unknown = [side for side in told if side not in ("left", "right")]
    if unknown:
        raise UsageError(
            f"lateness= names {unknown[0]!r}, which is no side. {did_you_mean(unknown[0], ('left', 'right'))}"
        )
    spans = [read_distance("lateness", told.get(side)) or 0 for side in ("left", "right")]
    return spans[0], spans[1]
