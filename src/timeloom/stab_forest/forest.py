"""The public class: events go in, in the order of time; stabs, multi-stabs and joins come out."""

import operator
import os
from collections.abc import Mapping
from typing import Any, overload

import numpy as np
import pyarrow as pa

from timeloom.errors import InvalidInputError, UsageError, shown
from timeloom.model.markup import fact_table
from timeloom.model.options import checked
from timeloom.model.period import PeriodLike
from timeloom.model.ticks import MAX_TICK, MIN_TICK
from timeloom.stab_forest.arrivals import Arrivals, Order
from timeloom.stab_forest.description import Array, described, event_arrays, held
from timeloom.stab_forest.handle import Handle
from timeloom.stab_forest.index import EventIndex
from timeloom.stab_forest.instants import (
    INTEGER,
    Instant,
    many_events,
    many_ticks,
    one_event,
    one_tick,
    read_instant,
    table_events,
    written,
)
from timeloom.stab_forest.life import forget, merged
from timeloom.stab_forest.payload import Payload, carried, carried_period
from timeloom.stab_forest.persistence import load_forest, packed, save_forest, unpacked
from timeloom.stab_forest.queries import Queries
from timeloom.stab_forest.sharing import SharedIndex
from timeloom.stab_forest.view import ForestView

NOTHING = np.zeros(0, np.int64)


class StabForest(Queries):
    """A dynamic index of events, for events that arrive in the order of time.

    An event is a half-open period ``[start, end)`` of integers, dates or timestamps, with or without zone; the first
    events decide which, and every instant must be of the same axis. An event's id is its position by arrival,
    from 0. Appending costs amortised logarithmic time, a stab logarithmic time and its result, and the space is linear.

    Parameters
    ----------
    order
        ``"start_end"``: events arrive in ascending (start, end). ``"start"``: in ascending start, with ends in
        any order. ``"watermark"``: in any order, as long as none starts before the watermark; queries see only
        what started before the watermark (see `advance`).

    Notes
    -----
    Ids are returned in the order in which the structure meets them (see `docs/stab_forest.md`); sort them where the
    order matters.

    Any number of threads may use a forest at once: each query sees one complete state of it.

    Examples
    --------
    >>> forest = StabForest.build([0, 2, 4], [3, 4, 9])
    >>> forest.append(5, 6)
    3
    >>> sorted(forest.stab(2).tolist()), sorted(forest.stab(4).tolist())
    ([0, 1], [2])
    >>> visit = forest.begin(7)
    >>> sorted(forest.stab(100).tolist())
    [4]
    >>> forest.finish(visit, 8)
    >>> forest.stab(100).size, len(forest)
    (0, 5)
    """

    @checked
    def __init__(self, *, order: Order = "start_end") -> None:
        self._shared = SharedIndex(Arrivals(order))

    @classmethod
    @checked
    def build(
        cls,
        starts: Any,
        ends: Any = None,
        *,
        period: PeriodLike = ("start", "end"),
        order: Order = "start_end",
        payload: Any = None,
    ) -> "StabForest":
        """Index many events at once, in any order: arrays of starts and ends, or a table with a period.

        Ids are positions in the input. A ``payload`` is a table with a row for each event: verbs then return these
        rows. If it has the columns of ``period``, they must hold the same periods.

        >>> StabForest.build([7, 1], [9, 8]).stab(1).tolist()
        [1]
        >>> import timeloom as tl
        >>> stays = pa.table({"guest": ["Ann", "Bob"], "start": [7, 1], "end": [9, 8]})
        >>> tl.stab(StabForest.build(stays, payload=stays), at=1).to_pylist()
        [{'guest': 'Bob', 'start': 1, 'end': 8}]
        """
        arrivals = Arrivals(order)
        kind, first, last = table_events(starts, period) if ends is None else many_events(starts, ends)
        index = EventIndex.of(first, last)
        if first.size:
            arrivals.settle_at(index.starts(), index.ends())
            if order == "watermark":
                arrivals.watermark = arrivals.last_start + 1
        arrivals.axis = kind
        forest = cls(order=order)
        forest._shared = SharedIndex(arrivals, index, first.size)
        if payload is not None:
            rows = carried(payload, period, kind, first, last)
            forest._shared.payload = Payload(rows)
            forest._shared.period = carried_period(rows, period)
        return forest

    def __timeloom_index__(self) -> ForestView:
        """Hold one state of the forest, for verbs."""
        return self._shared.viewed()

    def __len__(self) -> int:
        return self._shared.events - self._shared.forgotten

    def __repr__(self) -> str:
        return f"StabForest({len(self)} events, order={self._shared.arrivals.order!r})"

    def _repr_html_(self) -> str:
        return fact_table("StabForest", self.describe())

    @property
    def axis(self) -> str | None:
        """What the forest's times are: integers, dates, or timestamps with or without zone; None before the first.

        >>> from datetime import date
        >>> StabForest.build([date(2024, 5, 1)], [None]).axis
        'date'
        """
        kind = self._shared.arrivals.axis
        return None if kind is None else kind.axis.value

    @property
    def nbytes(self) -> int:
        """The bytes in use: event list, nodes, lists and ids."""
        return self._shared.read(held)

    def describe(self) -> dict[str, Any]:
        """What the forest holds and how it stands, by name.

        >>> StabForest.build([0, 2, 2], [3, 4, 9]).describe()["heights"]
        [1]
        """
        return described(self._shared)

    def events(self) -> tuple[Array, Array]:
        """The starts and ends of all settled events, by id; events not settled yet are left out.

        Dates and timestamps are NumPy's, zoned ones in UTC; an open end is missing (``NaT``), or the last int64.

        >>> [part.tolist() for part in StabForest.build([7, 1], [9, 8]).events()]
        [[7, 1], [9, 8]]
        """
        return self._shared.read(lambda index: event_arrays(index, self._shared.arrivals.axis))

    def table(self) -> pa.Table:
        """The settled events as a table of ``id``, ``start`` and ``end``, or their payload; open ends are null.

        A forest exports this table by itself, so every verb takes a forest where it takes a table.

        >>> StabForest.build([7, 1], [9, 8]).table().to_pylist()[1]
        {'id': 1, 'start': 1, 'end': 8}
        """
        with self._shared.viewed() as view:
            return view.table()

    @property
    def carries(self) -> bool:
        """Whether the events have a payload."""
        return self._shared.payload is not None

    def rows(self, ids: Any) -> pa.Table:
        """The rows of some events, in the order of these ids: their payload, or ``id``, ``start`` and ``end``.

        >>> forest = StabForest.build([7, 1], [9, 8])
        >>> forest.rows(forest.stab(7)).to_pylist()[0]
        {'id': 1, 'start': 1, 'end': 8}
        """
        wanted = many_ticks(ids, INTEGER, "ids")
        with self._shared.viewed() as view:
            positions = self._shared.positions(view.index, wanted)
            return pa.Table.from_arrays(view.columns(view.column_names, positions), names=view.column_names)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table().__arrow_c_stream__(requested_schema)

    def __getstate__(self) -> dict[str, Any]:
        with self._shared.lock:
            arrays, meta = packed(self._shared)
            arrays = {name: array.copy() for name, array in arrays.items()}
            return {"arrays": arrays, "meta": meta}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._shared = unpacked(state["arrays"], state["meta"])

    def append(self, start: Instant, end: Instant | None = None, *, payload: "Mapping[str, Any] | None" = None) -> int:
        """Add an event that starts no earlier than the last one; None as the end leaves it open.

        A forest that carries a payload needs the event's row; columns left out of it are null.

        Returns
        -------
        int
            The event's id.
        """
        shared = self._shared
        if type(start) is type(end) is int and payload is None:
            event = shared.intake.push(start, end)
            if event is not None:
                return event
            plain = shared.arrivals.axis is INTEGER and shared.payload is None
            if plain and MIN_TICK <= start < end <= MAX_TICK:
                return shared.append(start, end)
        return shared.adopt(*one_event(start, end, shared.arrivals.axis), payload)

    @overload
    def extend(self, starts: Any, ends: Any, *, payload: Any = ...) -> None: ...
    @overload
    def extend(self, starts: Any, *, period: PeriodLike = ..., payload: Any = ...) -> None: ...

    def extend(
        self, starts: Any, ends: Any = None, *, period: PeriodLike = ("start", "end"), payload: Any = None
    ) -> None:
        """Add many events: arrays of starts and ends, or a table with a period; and a table of their payload.

        Either all of them are added or, if one is out of order, none.
        """
        events = table_events(starts, period) if ends is None else many_events(starts, ends)
        if payload is not None:
            payload = carried(payload, self._shared.period, *events)
        self._shared.extend(*events, payload)

    def begin(self, start: Instant, *, payload: "Mapping[str, Any] | None" = None) -> Handle:
        """Add an event whose end is not known yet: it is active from its start on until it is finished."""
        with self._shared.lock:
            event = self.append(start, payload=payload)
            return Handle(event, written(self._shared.follow(event), self._shared.arrivals.axis), self)

    @checked
    def handle(self, event: int) -> Handle:
        """A handle of an open event, by id: for events that were appended open, or after loading."""
        try:
            number = operator.index(event)
        except TypeError as error:
            raise UsageError(f"event={shown(event)} is no id; expected an integer that append returned") from error
        start = self._shared.follow(number)
        return Handle(number, written(start, self._shared.arrivals.axis), self)

    def finish(self, handle: Handle, end: Instant) -> None:
        """Set the end of an open event.

        Ends that arrive in the order of time cost logarithmic time. An end before the latest start is accepted, too: it
        is kept beside the index, which takes such ends in now and then, so that each moves few events.
        """
        if not isinstance(handle, Handle):
            raise UsageError(f"{shown(handle)} is no handle; expected what begin() returned")
        if handle.owner is not self:
            raise UsageError(f"{shown(handle)} belongs to another forest; finish it with the forest that began it")
        if end is None:
            raise InvalidInputError(f"end=None leaves event {handle.id} open; expected when it ended")
        self._shared.finish(handle.id, end)

    def advance(self, watermark: Instant) -> None:
        """Promise, in order ``"watermark"``, that no more events start before this instant: they are settled now."""
        self._shared.advance(*read_instant(watermark, self._shared.arrivals.axis, "watermark"))

    @checked
    def forget(self, *, before: Any) -> int:
        """Drop the events that have ended by an instant, and their rows; answers how many.

        Ids stay as they are. Instants from ``before`` on are answered as ever, earlier ones only by what is left.

        >>> forest = StabForest.build([0, 2, 4], [3, 4, 9])
        >>> forest.forget(before=4), len(forest), forest.stab(5).tolist()
        (2, 1, [2])
        """
        return forget(self._shared, one_tick(before, self._shared.arrivals.axis, "before"))

    @checked
    def merge(self, other: "StabForest") -> "StabForest":
        """A new forest with the events of both; the ids of the other one follow those of this one.

        >>> both = StabForest.build([0, 2], [3, 4]).merge(StabForest.build([1], [9]))
        >>> sorted(both.stab(2).tolist()), len(both)
        ([0, 1, 2], 3)
        """
        result = StabForest(order=self._shared.arrivals.order)
        result._shared = merged(self._shared, other._shared)
        return result

    @checked
    def save(self, path: str | os.PathLike[str], *, incremental: bool = False) -> None:
        """Write the forest to one Arrow IPC file, with a format version and a hash of all that is in it.

        With ``incremental`` the first save of a forest to a path writes the file, and later ones, also after `load`,
        append what has changed to a log beside it (``path`` and ``.log``). When the log has become long the file is
        written anew. `load` reads both.
        """
        save_forest(path, self._shared, incremental=incremental)

    @classmethod
    @checked
    def load(cls, path: str | os.PathLike[str]) -> "StabForest":
        """Read a forest that `save` wrote; its arrays are checked, and stay in the file until they change.

        Raises
        ------
        StorageError
            If the file is missing, damaged, truncated, or of a later format.
        """
        shared = load_forest(path)
        forest = cls(order=shared.arrivals.order)
        forest._shared = shared
        return forest
