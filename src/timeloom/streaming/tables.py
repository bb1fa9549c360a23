"""The streaming join on tables: Arrow in, Arrow out."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.frames import require_columns
from timeloom.engines.tables.overlap import span_column
from timeloom.engines.tables.period_writer import common_type
from timeloom.engines.tables.ticks import TimeType
from timeloom.errors import InvalidInputError
from timeloom.model.conditions import Condition
from timeloom.model.names import RelationLike
from timeloom.model.names import relation as find_relation
from timeloom.model.options import checked, checked_late
from timeloom.model.ticks import FOREVER, Axis, Span, ticks_of
from timeloom.streaming.carried import ID as CARRIED_ID
from timeloom.streaming.carried import KEY as CARRIED_KEY
from timeloom.streaming.carried import Carried
from timeloom.streaming.deciding import EVENTS
from timeloom.streaming.emitted import checked_how
from timeloom.streaming.guarding import Guarded, guarded
from timeloom.streaming.intake import REASONS, Events, Ids, Refused, Tally
from timeloom.streaming.key_values import Keys
from timeloom.streaming.keyed import Found, Keyed, KeyedJoin
from timeloom.streaming.names import Names
from timeloom.streaming.operator import EndpointJoin
from timeloom.streaming.readers import Lateness, Reading, key_columns, promised, read, read_lateness, refuse_early
from timeloom.streaming.saved_join import load_join, save_join
from timeloom.streaming.settling import ResultPositions, Sides, condition_on, overlap_ticks, period_ticks, settled
from timeloom.streaming.wanted import (
    EVERYTHING,
    ID,
    KEY,
    OVERLAP,
    PAYLOAD,
    PERIOD,
    SINGLE,
    Source,
    Wanted,
    payload_names,
    read_columns,
)

SIDES = ("left", "right")
REJECTED = pa.schema([("side", pa.string()), ("id", pa.string()), ("time", pa.string()), ("reason", pa.string())])


class StreamJoin(Guarded):
    """Join two streams of periods; each pair leaves at the first instant at which it is certain.

    Parameters
    ----------
    relation, delta, epsilon
        As in `timeloom.join`.
    on
        Key columns that must be equal, in both tables. They are in the results, too.
    how
        ``"inner"``, ``"left"``, ``"right"``, ``"full"``, ``"semi"`` or ``"anti"``. Rows without a partner leave as soon
        as no later event can give them one.
    left, right
        How a side arrives: ``"events"`` (columns ``id``, ``time`` and ``event``, which says start or end), or whole
        rows (``id``, ``start``, ``end``; a null end is open) that are known at their ``"start"`` or at their ``"end"``.
    columns, suffixes, overlap, where
        As in `timeloom.join`. Results have the keys, ``left_id``, ``right_id``, ``at``, and the columns asked for by
        their names in the result; ``"*"`` asks for all of both tables that do not tell of events. ``start`` and ``end``
        can be asked for, too. Values are those of a row's start; where these are null, those of its end, once that has
        come.
    event_columns
        Other names for the columns that tell of events, such as ``{"id": "flight"}``.
    lateness
        How long events may come after later ones of their side, if a push does not say ``until`` when all have been
        given: a span of time for both sides, or ``{"left": …, "right": …}``. Each side then has a clock of its own, and
        one that runs ahead does not make the other one late. By default any event completes all instants before it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> join = StreamJoin("overlaps", columns=["who"])
    >>> shifts = pa.table({"id": [1, 1], "time": [0, 5], "event": ["start", "end"], "who": ["Ann", None]})
    >>> alarms = pa.table({"id": [7], "time": [3], "event": ["start"]})
    >>> join.push(shifts, alarms, until=5).to_pylist()  # certain at 5: the shift is over, the alarm is not
    [{'left_id': 1, 'right_id': 7, 'at': 5, 'who': 'Ann'}]
    >>> join.close().num_rows
    0
    """

    @checked
    def __init__(
        self,
        relation: RelationLike = "intersects",
        *,
        on: "str | Sequence[str] | None" = None,
        how: str = "inner",
        delta: "Span | str | None" = None,
        epsilon: "Span | str | None" = None,
        left: str = EVENTS,
        right: str = EVENTS,
        columns: "str | Sequence[str] | dict[str, str] | None" = None,
        suffixes: tuple[str, str] = ("", "_right"),
        overlap: "bool | Literal['length']" = False,
        where: str | None = None,
        event_columns: dict[str, str] | None = None,
        lateness: "Span | str | Mapping[str, Any] | None" = None,
    ) -> None:
        super().__init__()
        self.how = checked_how(how, left, right)
        self.relation = find_relation(relation, delta=delta, epsilon=epsilon)
        self.arrivals = (left, right)
        asked, self.columns = read_columns(columns, event_columns)
        keys, condition = key_columns(on), None if where is None else Condition(where)
        self.wanted = Wanted(self.how, keys, asked, suffixes, overlap, condition, self.columns)
        self.lateness: Lateness | None = read_lateness(lateness)
        self.names = (Names("left"), Names("right"))
        self.keys = Keys(keys, shared=self.how in ("right", "full"))
        self.type: TimeType | None = None
        self._types: list[TimeType | None] = [None, None]
        self._payload: list[tuple[str, ...] | None] = [None, None]
        self._schemas: list[pa.Schema | None] = [None, None]
        self._carried: Sides = (Carried("left"), Carried("right"))
        self._next = [0, 0]
        self._rejected: list[pa.Table] = []
        self._given = self._used = self._refused = 0
        self._made: KeyedJoin | None = None
        self._numbered = False

    @checked_late
    @guarded
    def push(self, left: object | None = None, right: object | None = None, until: Any = None) -> pa.Table:
        """Take tables of events (either may be missing); answer what has become certain.

        Rows of an answer stand in no order; ``at`` tells when each became certain.

        ``until`` is an instant of which all events have been given, on both sides, or ``{"left": …, "right": …}``;
        without it, all instants before the latest event are taken to be complete.
        """
        readings = [None if frame is None else self._read(side, frame) for side, frame in enumerate((left, right))]
        kind = self.type
        for reading in readings:
            if reading is not None:
                kind = kind or reading.type
                same_axis(kind, reading.type)
        payload = [self._payload_of(side, reading) for side, reading in enumerate(readings)]
        layout = self.wanted.layout(*payload)
        if kind is None:
            refuse_early(until)
            return self._answer([])
        instant, self.type, self._payload = promised(kind, until), kind, payload
        join = self._join()
        if None not in payload:
            for side, carried in enumerate(self._carried):
                carried.keep_columns(layout.carried(side))
        left_events, right_events = (self._take(side, reading) for side, reading in enumerate(readings))
        keys = (_keys(readings[0]), _keys(readings[1])) if self.keys.columns else None
        return self._answer(join.take((left_events, right_events), keys, instant))

    @guarded
    def close(self) -> pa.Table:
        """End both streams: what is open never ends. Pairs that were certain only now have no instant."""
        return self._answer([] if self.type is None else self._join().close())

    @property
    @guarded
    def state_size(self) -> int:
        """Rows that are kept because they may still match."""
        return 0 if self.type is None else self._join().state_size

    @property
    @guarded
    def tally(self) -> Tally:
        """How many events have come so far, and what became of them: used, held until their instant, or refused."""
        held = 0 if self._made is None else self._made.waiting
        return Tally(self._given, self._used, held, self._refused)

    @guarded
    def take_rejected(self) -> pa.Table:
        """The events refused since the last call: side, id (as text), time, and the reason."""
        rejected, self._rejected = self._rejected, []
        return pa.concat_tables([REJECTED.empty_table(), *rejected])

    @checked
    @guarded
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the join to one file, hashed and versioned: all that `load` needs to go on from here.

        The file is written whole or not at all.
        """
        save_join(self, path)

    @classmethod
    @checked
    def load(cls, path: str | os.PathLike[str]) -> "StreamJoin":
        """Go on from a file that `save` wrote, with the options that the join had.

        Raises
        ------
        StorageError
            If the file is missing, damaged, of another kind, or of a later version.
        """
        return load_join(cls, path)

    def _join(self, *, numbered: bool | None = None) -> KeyedJoin:
        """The joins on arrays; limits that are durations wait for the first table to say what a tick is."""
        if self._made is None:
            axis = Axis.INTEGER if self.type is None else self.type.axis
            left, right = self.arrivals
            self._numbered = self.wanted.carries(*self._payload) if numbered is None else numbered
            late = None if self.lateness is None else tuple(ticks_of(span, axis) for span in self.lateness)
            options: dict[str, Any] = {"how": self.wanted.kind, "left": left, "right": right, "axis": axis}
            options |= {"numbered": self._numbered, "every": self.wanted.judges, "lateness": late}
            self._made = KeyedJoin(partial(EndpointJoin, self.relation, **options), pooled=bool(self.keys.columns))
        return self._made

    def _read(self, number: int, frame: object) -> Reading:
        """Read a table; nothing of it counts before both sides have been read."""
        reading = read(frame, self.columns, self.arrivals[number], self.names[number], self.keys)
        known = self._types[number]
        if known is not None and not reading.type.arrow.equals(known.arrow):
            same_axis(known, reading.type)
            was, now = known.arrow, reading.type.arrow
            raise InvalidInputError(
                f"the times of the {SIDES[number]} side were {was} and are {now} now; keep one type"
            )
        return reading

    def _payload_of(self, side: int, reading: Reading | None) -> tuple[str, ...] | None:
        """The columns that the tables of a side have beside its events; the first one decides."""
        known = self._payload[side]
        if reading is None:
            return known
        schema, last = reading.table.schema, self._schemas[side]
        if last is not None and schema.equals(last):
            return known
        names = schema.names
        found = payload_names(names, self.keys.columns, self.columns, self.arrivals[side])
        if known is None:
            return found
        require_columns(names, list(self.wanted.perhaps_carried(known, side)), SIDES[side])
        fresh = [name for name in found if name not in known]
        if fresh and self.wanted.columns == EVERYTHING and not (side and self.how in SINGLE):
            raise InvalidInputError(
                f"the {SIDES[side]} table has a column {fresh[0]!r} that its first table did not have; give all tables "
                "of a side the same columns, or name those that you want in columns="
            )
        self._carried[side].check(reading.payload(self.wanted.perhaps_carried(known, side)))
        self._schemas[side] = schema
        return known

    def _take(self, side: int, reading: Reading | None) -> Events:
        """The events of a side, numbered and kept with their columns if these are asked for."""
        if reading is None:
            return Events.none()
        self._given += len(reading.verdicts) + reading.events.ids.size
        self._types[side] = self._types[side] or reading.type
        self._reject_unread(side, reading)
        if not self._numbered:
            return reading.events
        first, self._next[side] = self._next[side], self._next[side] + reading.events.ids.size
        events = reading.events._replace(numbers=np.arange(first, self._next[side]))
        self._carried[side].add(
            events, reading.keys, reading.payload(self._kept(side)), whole=self.arrivals[side] != EVENTS
        )
        return events

    def _kept(self, side: int) -> tuple[str, ...]:
        names = self._payload[side] or ()
        if None in self._payload:
            return self.wanted.perhaps_carried(names, side)
        return self.wanted.layout(*self._payload).carried(side)

    def _reject_unread(self, number: int, reading: Reading) -> None:
        if reading.unread is not None:
            ids, times = (reading.unread.column(at).cast(pa.string()).combine_chunks() for at in (0, 1))
            self._reject(number, ids, times, reading.verdicts)

    def _reject(self, number: int, ids: pa.Array, times: pa.Array, verdicts: Any) -> None:
        self._refused += len(verdicts)
        side = pa.array([SIDES[number]] * len(verdicts))
        reasons = pa.array([REASONS[verdict] for verdict in verdicts])
        self._rejected.append(pa.table({"side": side, "id": ids, "time": times, "reason": reasons}))

    def _refuse(self, refused: Refused) -> None:
        kind = self._types[refused.side] or self.type
        assert kind is not None
        ids = self.names[refused.side].values(refused.events.ids).cast(pa.string())
        times = kind.to_arrow(refused.events.times).cast(pa.string())
        self._reject(refused.side, ids, times, refused.verdicts)

    def _answer(self, certain: list[Keyed]) -> pa.Table:
        for _, emitted, _ in certain:
            self._used += emitted.used
            for refused in emitted.refused:
                self._refuse(refused)
            for side, carried in enumerate(self._carried if emitted.ended.shape[1] else ()):
                carried.end(*emitted.ended[1:, emitted.ended[0] == side])
        found = Found.of(certain)
        if self.wanted.where is not None:
            test = condition_on(self.wanted.where, self._tested)
            found = settled(found, self._carried, self.how, test)
        result = self._table(found)
        self._forget()
        return result

    def _tested(self, positions: ResultPositions) -> dict[str, pa.ChunkedArray]:
        """The columns of pairs that the condition reads."""
        tested = self.wanted.layout(*self._payload).tested
        return {name: self._column(source, positions) for name, source in tested.items()}

    def _table(self, found: Found) -> pa.Table:
        """Results as a table; a row without partner has none on the other side."""
        positions = ResultPositions.of(found, self._carried) if self._numbered else None
        columns: dict[str, Any] = self.keys.arrays(found.keys)
        for side, name in enumerate(("left_id", "right_id")[: 1 if self.how in SINGLE else 2]):
            rows = found.rights if side else found.lefts
            if positions is not None:
                rows = self._carried[side].ids(positions.of_side(side))
            columns[name] = self._ids(side, rows, found.alone(1 - side))
        kind = self.type or TimeType.of(pa.int64(), "time", "left")
        is_open = found.instants == FOREVER if found.instants.size and found.instants.max() == FOREVER else None
        columns["at"] = kind.for_instants().to_arrow(found.instants, is_open)
        for name, source in self.wanted.layout(*self._payload).chosen.items():
            columns[name] = pa.nulls(found.instants.size) if positions is None else self._column(source, positions)
        return pa.table(columns)

    def _ids(self, side: int, rows: Ids, absent: Any = None) -> pa.Array:
        names = self.names[side]
        if absent is not None and absent.all():
            return pa.nulls(absent.size, names.type or pa.int64())
        return names.values(rows, absent)

    def _column(self, source: Source, positions: ResultPositions) -> Any:
        """A column of results."""
        kind, side, name = source
        whole = (self.arrivals[0] != EVENTS, self.arrivals[1] != EVENTS)
        rows, carried = positions.of_side(side), self._carried[side]
        if kind == PAYLOAD:
            return carried.values(name, rows, positions.instants)
        if kind == PERIOD:
            assert self.type is not None
            return (self._types[side] or self.type).to_arrow(*period_ticks(positions, side, name, self._carried, whole))
        if kind == OVERLAP:
            ticks, none = overlap_ticks(positions, name, self._carried, whole)
            common = self._common_type
            return span_column(ticks, common.axis, none) if name == "overlap_length" else common.to_arrow(ticks, none)
        if kind == ID:
            return self._ids(side, carried.ids(rows))
        if kind == KEY:
            return self.keys.arrays(self._carried[0].fields[CARRIED_KEY, positions.lefts])[name]
        return pa.nulls(rows.size)

    @property
    def _common_type(self) -> TimeType:
        left, right = (kind or self.type for kind in self._types)
        assert left is not None
        assert right is not None
        return common_type(left, right)

    def _forget(self) -> None:
        """Let go of the ids of rows that are neither open nor live, and of their columns."""
        if self.type is None:
            return
        join = self._join()
        if self.keys.is_roomy:
            self.keys.keep_only(join.keys)
        for side, (names, carried) in enumerate(zip(self.names, self._carried, strict=True)):
            if self._numbered and carried.is_roomy:
                carried.keep_only(join.used_ids(side))
                names.keep_only(np.concatenate([carried.fields[CARRIED_ID], join.held_ids(side)]))
            elif not self._numbered and not names.plain:
                names.keep_only(join.used_ids(side))


def _keys(reading: Reading | None) -> Ids:
    return np.empty(0, np.int64) if reading is None or reading.keys is None else reading.keys
