"""The streaming join on tables: Arrow in, Arrow out."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.ticks import TimeType
from timeloom.model.names import RelationLike
from timeloom.model.names import relation as find_relation
from timeloom.model.options import checked
from timeloom.model.ticks import FOREVER, Axis, Span
from timeloom.streaming.deciding import EVENTS
from timeloom.streaming.guarding import Guarded, guarded
from timeloom.streaming.intake import REASONS, Events, Ids, Refused, Tally
from timeloom.streaming.keyed import Keyed, KeyedJoin, Keys
from timeloom.streaming.names import Names
from timeloom.streaming.operator import EndpointJoin, checked_how
from timeloom.streaming.readers import Columns, Reading, key_columns, promised, read

SIDES = ("left", "right")


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
    columns
        Other names for these columns, such as ``{"id": "flight"}``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> join = StreamJoin("overlaps")
    >>> shifts = pa.table({"id": [1, 1], "time": [0, 5], "event": ["start", "end"]})
    >>> alarms = pa.table({"id": [7], "time": [3], "event": ["start"]})
    >>> join.push(shifts, alarms, until=5).to_pylist()  # certain at 5: the shift is over, the alarm is not
    [{'left_id': 1, 'right_id': 7, 'at': 5}]
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
        columns: dict[str, str] | None = None,
    ) -> None:
        super().__init__()
        self.how = checked_how(how, left, right)
        self.relation = find_relation(relation, delta=delta, epsilon=epsilon)
        self.arrivals = (left, right)
        self.columns = Columns.of(columns)
        self.names = (Names("left"), Names("right"))
        self.keys = Keys(key_columns(on), shared=self.how in ("right", "full"))
        self.type: TimeType | None = None
        self._rejected: list[pa.Table] = []
        self._given = self._used = self._refused = 0
        self._made: KeyedJoin | None = None

    @checked
    @guarded
    def push(self, left: object | None = None, right: object | None = None, until: Any = None) -> pa.Table:
        """Take tables of events (either may be missing); answer what has become certain.

        ``until`` is an instant of which all events have been given; without it, all instants before the latest
        event are taken to be complete.
        """
        readings = [None if frame is None else self._read(side, frame) for side, frame in enumerate((left, right))]
        kind = self.type
        for reading in readings:
            if reading is not None:
                kind = kind or reading.type
                same_axis(kind, reading.type)
        if kind is None:
            return self._answer([])
        instant, self.type = promised(kind, until), kind
        for side, reading in enumerate(readings):
            if reading is not None:
                self._given += len(reading.verdicts) + reading.events.ids.size
                self._reject_unread(side, reading)
        (lefts, left_keys), (rights, right_keys) = (
            (Events.none(), np.empty(0, np.int64)) if reading is None else (reading.events, reading.keys)
            for reading in readings
        )
        return self._answer(self._join().push((lefts, rights), (left_keys, right_keys), instant))

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
        schema = pa.schema([("side", pa.string()), ("id", pa.string()), ("time", pa.string()), ("reason", pa.string())])
        rejected, self._rejected = self._rejected, []
        return pa.concat_tables([schema.empty_table(), *rejected])

    def _join(self) -> KeyedJoin:
        """The joins on arrays; limits that are durations wait for the first table to say what a tick is."""
        if self._made is None:
            axis = Axis.INTEGER if self.type is None else self.type.axis
            left, right = self.arrivals
            self._made = KeyedJoin(
                partial(EndpointJoin, self.relation, how=self.how, left=left, right=right, axis=axis)
            )
        return self._made

    def _read(self, number: int, frame: object) -> Reading:
        """Read a table; nothing of it counts before both sides have been read."""
        return read(frame, self.columns, self.arrivals[number], self.names[number], self.keys)

    def _reject_unread(self, number: int, reading: Reading) -> None:
        if reading.verdicts.size:
            ids, times = (reading.unread.column(at).cast(pa.string()).combine_chunks() for at in (0, 1))
            self._reject(number, ids, times, reading.verdicts)

    def _reject(self, number: int, ids: pa.Array, times: pa.Array, verdicts: Any) -> None:
        self._refused += len(verdicts)
        side = pa.array([SIDES[number]] * len(verdicts))
        reasons = pa.array([REASONS[verdict] for verdict in verdicts])
        self._rejected.append(pa.table({"side": side, "id": ids, "time": times, "reason": reasons}))

    def _refuse(self, refused: Refused) -> None:
        assert self.type is not None
        ids = self.names[refused.side].values(refused.events.ids).cast(pa.string())
        times = self.type.to_arrow(refused.events.times).cast(pa.string())
        self._reject(refused.side, ids, times, refused.verdicts)

    def _answer(self, found: list[Keyed]) -> pa.Table:
        for _, emitted in found:
            self._used += emitted.used
            for refused in emitted.refused:
                self._refuse(refused)
        parts = []
        for key, emitted in found:
            if emitted.lefts.size:
                parts.append(self._table(key, emitted.lefts, emitted.rights, emitted.instants))
            for side, instants, ids in emitted.alone():
                lefts, rights = (None, ids) if side else (ids, None)
                parts.append(self._table(key, lefts, rights, instants))
        nothing = np.empty(0, np.int64)
        result = pa.concat_tables(parts) if parts else self._table(None, nothing, nothing, nothing)
        self._forget()
        return result

    def _table(self, key: int | None, lefts: Ids | None, rights: Ids | None, instants: Ids) -> pa.Table:
        """Results of one key, without copying them; a row without partner has none on the other side."""
        columns = {
            f"{names.side}_id": pa.nulls(instants.size, names.type or pa.int64()) if ids is None else names.values(ids)
            for names, ids in zip(self.names, (lefts, rights), strict=True)
            if names.side == "left" or self.how not in ("semi", "anti")
        }
        kind = self.type or TimeType.of(pa.int64(), "time", "left")
        is_open = instants == FOREVER if instants.size and instants.max() == FOREVER else None
        columns["at"] = kind.to_arrow(instants, is_open)
        return pa.table({**self.keys.arrays(key, instants.size), **columns})

    def _forget(self) -> None:
        """Let go of the ids of rows that are neither open nor live."""
        if self.type is None:
            return
        join = self._join()
        self.keys.keep_only(join.keys)
        for number, names in enumerate(self.names):
            if not names.plain:
                names.keep_only(join.used_ids(number))
