"""Tables of events and of whole rows, as arrays; what cannot be read is refused with a reason."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.engines.tables.arrays import to_numpy
from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.frames import require_columns, to_arrow
from timeloom.engines.tables.taking import chosen_rows
from timeloom.engines.tables.ticks import TimeType, column_ticks, whole
from timeloom.errors import InvalidInputError, UsageError, did_you_mean, shown
from timeloom.kernels.streaming.arrival import NO_EVENT, NO_KEY, OFF_AXIS, UNREADABLE
from timeloom.model.naming import column_names
from timeloom.model.neighbours import read_distance
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK, Span
from timeloom.streaming.deciding import EVENTS
from timeloom.streaming.intake import Events, Ids, Until, repeated
from timeloom.streaming.key_values import Keys
from timeloom.streaming.names import Names
from timeloom.streaming.wanted import RESULT, Columns

NO_VERDICTS = np.empty(0, np.int8)


def key_columns(on: "str | Sequence[str] | None") -> tuple[str, ...]:
    """Read the option ``on``; a key may not be named as a column of the results is."""
    names = column_names("on", on)
    for name in names:
        if name in RESULT:
            raise UsageError(f"the result would have more than one column named {name!r}; rename that key column")
    return names


class Reading(NamedTuple):
    """The readable events of a table with their keys, if there are any, the time type, and the rows that cannot be read
    with their verdicts, if any; the table, and which of its rows are readable, if not all."""

    events: Events
    keys: Ids | None
    type: TimeType
    unread: pa.Table | None
    verdicts: NDArray[np.int8]
    table: pa.Table
    good: NDArray[np.bool_] | None

    def payload(self, names: "Sequence[str]") -> pa.Table:
        """Some columns of the readable rows."""
        some = self.table.select(list(names))
        return some if self.good is None else chosen_rows(some, self.good)


Unread = tuple[NDArray[np.bool_], int]
"""Which rows cannot be read, and the verdict that says why."""


def read(frame: object, columns: Columns, arrival: str, names: Names, keys: Keys) -> Reading:
    """Read one side's table as it arrives: separate endpoints, or whole rows (an open end is null)."""
    table, _ = to_arrow(frame, names.side)
    apart = arrival == EVENTS
    time, second = (columns.time, columns.event) if apart else (columns.start, columns.end)
    wanted = [columns.id, time, second]
    require_columns(table.column_names, [*keys.columns, *wanted], names.side)
    ids, times, seconds = (table[name] for name in wanted)
    kind = TimeType.of(times.type, time, names.side)
    first, null = column_ticks(times, kind, truncate=False)
    troubles: list[Unread] = []
    if ids.null_count or times.null_count:
        troubles.append((null | np.asarray(ids.is_null()), UNREADABLE))
    if first.size and (first.min() == MIN_TICK or first.max() == MAX_TICK):
        troubles.append(((first == MIN_TICK) | (first == MAX_TICK), OFF_AXIS))
    if apart:
        starting, known = starting_of(seconds, names.side, second)
        if known is not None:
            troubles.append((~known, NO_EVENT))
        last = repeated(FOREVER, first.size)
    else:
        starting = np.ones(len(table), np.bool_)
        ends = seconds.cast(kind.arrow) if pa.types.is_null(seconds.type) else seconds
        same_axis(kind, TimeType.of(ends.type, second, names.side))
        last, is_open = column_ticks(ends, kind, truncate=False)
        last = np.where(is_open, FOREVER, last)
    numbers, keyless = keys.numbers(table, names.side)
    if keyless is not None:
        troubles.append((keyless, NO_KEY))
    reading = Reading(Events(names.numbers(ids), first, starting, last), numbers, kind, None, NO_VERDICTS, table, None)
    return _sorted_out(reading, troubles, wanted) if troubles else reading


def _sorted_out(reading: Reading, troubles: list[Unread], wanted: list[str]) -> Reading:
    """The readable events apart from the others, of which each has the first verdict that fits."""
    verdicts = np.zeros(len(reading.table), np.int8)
    for rows, verdict in troubles:
        verdicts[rows & (verdicts == 0)] = verdict
    good = verdicts == 0
    return reading._replace(
        events=reading.events.pick(good),
        keys=None if reading.keys is None else reading.keys[good],
        unread=chosen_rows(reading.table.select(wanted), ~good),
        verdicts=verdicts[~good],
        good=good,
    )


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


def refuse_early(until: Any) -> None:
    """Refuse a promise that comes before any table has told what an instant is: nobody could hold events to it."""
    if until is not None:
        raise UsageError(
            f"until={shown(until)} comes before any table, which would tell what an instant is; give it with the first "
            "one, which may have no rows"
        )


def starting_of(column: pa.ChunkedArray, side: str, name: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_] | None]:
    """Which events are starts, and which are events at all, if not all: true and false, or the words start and end."""
    if pa.types.is_boolean(column.type):
        if not column.null_count:
            return to_numpy(whole(column)), None
        return np.asarray(column.fill_null(False)), np.asarray(column.is_valid())
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        raise InvalidInputError(
            f"column {name!r} of the {side} table is {column.type}; expected 'start' and 'end', or true and false"
        )
    starting = np.asarray(pc.fill_null(pc.equal(column, "start"), False))
    known = starting | np.asarray(pc.fill_null(pc.equal(column, "end"), False))
    return starting, None if known.all() else known


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
