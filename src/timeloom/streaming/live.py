"""A live index: a stab-forest that a stream of endpoint events keeps up to date."""

import os
import threading
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom import storage
from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.ticks import TimeType
from timeloom.errors import UsageError, shown
from timeloom.model.options import checked
from timeloom.model.ticks import FOREVER, MIN_TICK
from timeloom.stab_forest.forest import StabForest
from timeloom.stab_forest.handle import Handle
from timeloom.stab_forest.persistence import checked_parts, packed
from timeloom.streaming import saved
from timeloom.streaming.guarding import Guarded, guarded
from timeloom.streaming.intake import Events, Intake, Tally, refused
from timeloom.streaming.key_values import Keys
from timeloom.streaming.names import Names
from timeloom.streaming.opened import OpenRows
from timeloom.streaming.readers import promised, read
from timeloom.streaming.saved import intake_arrays, restore_intake, time_type, type_in, types_table
from timeloom.streaming.wanted import read_columns

KIND, STATE_VERSION = "live-forest", 2
"""What files of live indexes hold, and the version of that."""


class LiveForest(Guarded):
    """Which rows are active, now or at any instant before: the events of a stream in a `timeloom.StabForest`.

    Takes the events that `StreamJoin` takes, of one side. An instant is complete when an event of a later one has come,
    or when the caller says so; only complete instants can be asked for. Many threads may ask while one pushes: they see
    a push as a whole.

    Parameters
    ----------
    event_columns
        Other names for the columns ``id``, ``time`` and ``event``; ``columns`` is an earlier name of this option.

    Examples
    --------
    >>> flights = LiveForest()
    >>> flights.push(pa.table({"id": ["a", "b", "a"], "time": [0, 2, 5], "event": ["start", "start", "end"]}), until=6)
    0
    >>> flights.active().to_pylist(), flights.active(at=4).to_pylist(), flights.count()
    (['b'], ['a', 'b'], 1)
    """

    @checked
    def __init__(self, *, event_columns: dict[str, str] | None = None, columns: dict[str, str] | None = None) -> None:
        super().__init__()
        self.forest = StabForest(order="start")
        self.type: TimeType | None = None
        _, self._columns = read_columns(columns, event_columns)
        self._names, self._keys = Names("event"), Keys(())
        self._intake, self._open = Intake(), OpenRows()
        self._handles: dict[int, Handle] = {}
        self._since = MIN_TICK
        self._given = self._used = self._refused = 0
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
        bad = len(reading.verdicts) + sum(len(part.verdicts) for part in refused(taken))
        self._given += len(reading.verdicts) + reading.events.ids.size
        self._used += begun.ids.size + ended.ids.size
        self._refused += bad
        return bad

    @property
    @guarded
    def tally(self) -> Tally:
        """How many events have come so far, and what became of them: used, held until their instant, or refused."""
        with self._lock:
            return Tally(self._given, self._used, self._intake.waiting, self._refused)

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

    @checked
    @guarded
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index and where its stream stands to one file, hashed and versioned: `load` goes on from here."""
        with self.forest._shared.lock:
            arrays, meta = packed(self.forest._shared)
            arrays = {name: array.copy() for name, array in arrays.items()}
        numbers = [
            np.array([list(some), list(some.values())], np.int64).reshape(2, -1)
            for some in ({number: handle.id for number, handle in self._handles.items()}, self._ids)
        ]
        parts: dict[str, Any] = {
            "intake": intake_arrays(self._intake),
            "open": self._open.snapshot(),
            "numbers": numbers,
            "names": self._names.table(),
            "types": types_table({"time": self.type and self.type.arrow, "ids": self._names.type}),
            "forest": [array.astype(np.int64) for array in arrays.values()],
            "tally": np.array([self._given, self._used, self._refused], np.int64),
        }
        kinds = [[name, array.dtype.str] for name, array in arrays.items()]
        options = {"forest": meta, "arrays": kinds, "columns": self._columns._asdict(), "since": self._since}
        options[saved.STATE] = STATE_VERSION
        saved.save(path, KIND, options, parts)

    @classmethod
    @checked
    def load(cls, path: str | os.PathLike[str]) -> "LiveForest":
        """Go on from a file that `save` wrote, also of an earlier version.

        One that is damaged, of another kind or of a later version is a StorageError.
        """
        return saved.load(path, KIND, cls._read)

    @classmethod
    def _read(cls, meta: dict[str, Any], parts: saved.Parts) -> "LiveForest":
        saved.bring_up_to_date(meta, parts, {1: saved.without_tally})
        live = cls(event_columns=meta["columns"])
        live.type = time_type(type_in(parts["types"], "time"))
        restore_intake(live._intake, parts["intake"])
        live._open.restore(parts["open"])
        live._given, live._used, live._refused = saved.tally_of(parts, live._intake.waiting)
        live._since = storage.require_int(meta["since"], "since", MIN_TICK, FOREVER)
        kinds = zip(meta["arrays"], parts["forest"], strict=True)
        arrays = {name: np.ascontiguousarray(array.astype(np.dtype(kind))) for (name, kind), array in kinds}
        live.forest = StabForest(order="start")
        live.forest._shared, _ = checked_parts(arrays, meta["forest"])
        handles, ids = (dict(zip(*some.tolist(), strict=True)) for some in parts["numbers"])
        live._handles = {number: live.forest.handle(event) for number, event in handles.items()}
        storage.require(set(live.forest.table()["id"].to_pylist()) == set(ids), "an event has no id")
        live._ids = ids
        used = np.concatenate([np.array(list(ids.values()), np.int64), live._intake.sides[0].held.ids])
        live._names.read(parts["names"], type_in(parts["types"], "ids"), used)
        return live

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
