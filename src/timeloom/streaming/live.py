"""A live index: a stab-forest that a stream of endpoint events keeps up to date."""

import threading
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.ticks import TimeType
from timeloom.errors import UsageError, shown
from timeloom.model.options import checked
from timeloom.model.ticks import MIN_TICK
from timeloom.stab_forest.forest import StabForest
from timeloom.stab_forest.handle import Handle
from timeloom.streaming.guarding import Guarded, guarded
from timeloom.streaming.intake import Events, Intake, refused
from timeloom.streaming.keyed import Keys
from timeloom.streaming.names import Names
from timeloom.streaming.opened import OpenRows
from timeloom.streaming.readers import promised, read
from timeloom.streaming.wanted import Columns


class LiveForest(Guarded):
    """Which rows are active, now or at any instant before: the events of a stream in a `timeloom.StabForest`.

    Takes the events that `StreamJoin` takes, of one side. An instant is complete when an event of a later one has come,
    or when the caller says so; only complete instants can be asked for. Many threads may ask while one pushes: they see
    a push as a whole.

    Parameters
    ----------
    columns
        Other names for the columns ``id``, ``time`` and ``event``.

    Examples
    --------
    >>> flights = LiveForest()
    >>> flights.push(pa.table({"id": ["a", "b", "a"], "time": [0, 2, 5], "event": ["start", "start", "end"]}), until=6)
    0
    >>> flights.active().to_pylist(), flights.active(at=4).to_pylist(), flights.count()
    (['b'], ['a', 'b'], 1)
    """

    @checked
    def __init__(self, *, columns: dict[str, str] | None = None) -> None:
        super().__init__()
        self.forest = StabForest(order="start")
        self.type: TimeType | None = None
        self._columns = Columns.of(columns)
        self._names, self._keys = Names("event"), Keys(())
        self._intake, self._open = Intake(), OpenRows()
        self._handles: dict[int, Handle] = {}
        self._since = MIN_TICK
        self._ids: dict[int, int] = {}
        self._lock = threading.RLock()

    @checked
    @guarded
    def push(self, events: object, until: Any = None) -> int:
        """Take a table of events; answers how many were refused since they fit nothing that came before."""
        with self._lock:
            return self._push(events, until)

    def _push(self, events: object, until: Any) -> int:
        reading = read(events, self._columns, "events", self._names, self._keys)
        kind = self.type or reading.type
        same_axis(kind, reading.type)
        self.type = kind
        instant = promised(self.type, until)
        nothing = Events.none()
        taken = self._intake.take(reading.events, nothing, self._intake.complete(reading.events, nothing, instant))
        (begun, ended), _ = self._open.accept(taken)
        for number, start, name in zip(begun.handles.tolist(), begun.starts.tolist(), begun.ids.tolist(), strict=True):
            handle = self._handles[number] = self.forest.begin(start)
            self._ids[handle.id] = name
        for number, end in zip(ended.handles.tolist(), ended.ends.tolist(), strict=True):
            self.forest.finish(self._handles.pop(number), end)
        return len(reading.verdicts) + sum(len(part.verdicts) for part in refused(taken))

    @checked
    @guarded
    def active(self, at: Any = None) -> pa.Array:
        """The ids of the rows that are active as of now, the last complete instant, or at an instant before."""
        with self._lock:
            found = sorted(self.forest.stab(self._instant(at)).tolist())
            return self._names.values(pa.array([self._ids[event] for event in found], pa.int64()).to_numpy())

    @checked
    @guarded
    def count(self, at: Any = None) -> int:
        """How many rows are active, without listing them."""
        with self._lock:
            return self.forest.count(self._instant(at))

    @checked
    @guarded
    def forget(self, *, before: Any) -> int:
        """Drop the rows that had ended by a complete instant, and all that is kept of them; answers how many.

        From then on only instants from there on can be asked for.
        """
        with self._lock:
            instant = self._instant(before)
            dropped = self.forest.forget(before=instant)
            self._since = max(self._since, instant)
            left = self.forest.table()["id"].to_pylist()
            self._ids = {event: self._ids[event] for event in left}
            held = self._intake.sides[0].held.ids
            self._names.keep_only(np.concatenate([np.array(list(self._ids.values()), np.int64), held]))
            return dropped

    def _instant(self, at: Any) -> int:
        now = self._intake.clock
        if self.type is None or now == MIN_TICK:
            raise UsageError("no instant is complete yet; push events, or say until when all have been given")
        instant = now if at is None else self.type.ticks_of(at, "at")
        if instant > now:
            raise UsageError(
                f"at={shown(at)} lies after the last complete instant; what is active then is not known yet"
            )
        if instant < self._since:
            raise UsageError(
                f"at={shown(at)} lies before {self.type.shown(self._since)}, and what had ended by then was forgotten; "
                "ask for a later instant"
            )
        return instant
