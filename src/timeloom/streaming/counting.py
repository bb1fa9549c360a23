"""The streaming count semi-join: how many right rows each left row is in relation with, without any pair.

Two counters are carried along: right rows started so far, and right rows ended so far. A count is a difference of two
readings. For ``intersects`` these are the rows started before the left row's end, less the rows ended by its start
(interval count semi-joins paper, section 3.2). A reading is taken when its instant comes; the past cannot be read.
"""

import os
from typing import Any, NamedTuple

import numpy as np

from timeloom import storage
from timeloom.errors import UsageError
from timeloom.kernels.order import Ticks, distinct
from timeloom.model.box import Box
from timeloom.model.names import RelationLike
from timeloom.model.names import relation as find_relation
from timeloom.model.options import checked
from timeloom.model.ticks import FOREVER, Axis, Span
from timeloom.streaming import saved
from timeloom.streaming.guarding import Guarded, guarded
from timeloom.streaming.intake import Events, Ids, Intake, Refused, Tally, Until, refused
from timeloom.streaming.opened import OpenRows, Rows
from timeloom.streaming.readings import ENDED, STARTED, Reading, count_of
from timeloom.streaming.saved import axis_of, intake_arrays, relation_fields, relation_of, restore_intake

KIND, STATE_VERSION = "stream-count", 2
"""What files of counts hold, and the version of that."""

HANDLE, ID, START, END, FIRST_VALUE = range(5)
UNREAD = -1
"""The rows of what is kept of left rows: number, id, period (an open end is FOREVER), and the readings taken so far."""


class Counted(NamedTuple):
    """Left rows whose counts are final, with the instants of that; the events refused, and how many were used."""

    ids: Ids
    counts: Ids
    instants: Ticks
    refused: tuple[Refused, ...]
    used: int


class EndpointCount(Guarded):
    """Count, for each left row, the right rows that it is in relation with; counts leave when they are final.

    The state is a few numbers per left row whose count is not final, and the ids of open rows.

    Parameters
    ----------
    relation, delta, epsilon
        As in `timeloom.count_join`, but only such relations whose counts follow from the two counters: those that
        limit the start of a right row, or its end, or say that it is active, from the left row's own endpoints
        on. All others are an error.
    """

    @checked
    def __init__(
        self,
        relation: RelationLike = "intersects",
        *,
        delta: "Span | str | None" = None,
        epsilon: "Span | str | None" = None,
        axis: Axis = Axis.INTEGER,
    ) -> None:
        super().__init__()
        self.relation, self.axis = find_relation(relation, delta=delta, epsilon=epsilon), axis
        boxes: tuple[Box, ...] = self.relation.boxes(axis)
        found = [count_of(box) for box in boxes]
        if None in found:
            raise UsageError(
                f"{relation!r} cannot be counted by carried-over counters: it limits both ends of the right row, or "
                "reaches into the past of the left one; count the pairs of a StreamJoin, or use count_join on tables"
            )
        self.intake = Intake()
        self._counts = [count for count in found if count is not None]
        self._open = OpenRows()
        self._counters = [0, 0]
        self._given = self._used = self._refused = 0
        self._pending = np.empty((FIRST_VALUE + 2 * len(self._counts), 0), np.int64)

    @property
    @guarded
    def state_size(self) -> int:
        """Left rows whose counts are not final."""
        return self._pending.shape[1]

    @property
    @guarded
    def tally(self) -> Tally:
        """How many events have come so far, and what became of them: used, held until their instant, or refused."""
        return Tally(self._given, self._used, self.intake.waiting, self._refused)

    @checked
    @guarded
    def push(self, left: Events, right: Events, until: Until = None) -> Counted:
        """Take events of both sides; answer the left rows whose counts are final at the last complete instant."""
        return self._advance(left, right, self.intake.complete(left, right, until))

    @guarded
    def close(self) -> Counted:
        """End both streams: what is open never ends, and is counted so."""
        return self._advance(Events.none(), Events.none(), FOREVER)

    @checked
    @guarded
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counts to one file, hashed and versioned: all that `load` needs to go on from here."""
        meta = {"relation": relation_fields(self.relation), "axis": self.axis.value, saved.STATE: STATE_VERSION}
        parts: dict[str, Any] = {"intake": intake_arrays(self.intake), "open": self._open.snapshot()}
        parts |= {"pending": [self._pending], "counters": np.array(self._counters, np.int64)}
        parts["tally"] = np.array([self._given, self._used, self._refused], np.int64)
        saved.save(path, KIND, meta, parts)

    @classmethod
    @checked
    def load(cls, path: str | os.PathLike[str]) -> "EndpointCount":
        """Go on from a file that `save` wrote, also of an earlier version.

        One that is damaged, of another kind or of a later version is a StorageError.
        """
        return saved.load(path, KIND, cls._restored)

    @classmethod
    def _restored(cls, meta: dict[str, Any], parts: saved.Parts) -> "EndpointCount":
        saved.bring_up_to_date(meta, parts, {1: saved.without_tally})
        count = cls(relation_of(meta["relation"]), axis=axis_of(meta["axis"]))
        restore_intake(count.intake, parts["intake"])
        count._open.restore(parts["open"])
        (pending,), counters = parts["pending"], parts["counters"].tolist()
        rows, values = count._pending.shape[0], pending[FIRST_VALUE:]
        sound = pending.ndim == 2 and len(pending) == rows and len(counters) == 2 and min(counters) >= 0
        storage.require(sound, "the counts are of another form")
        unique = distinct(pending[HANDLE]).size == pending.shape[1]
        storage.require(unique and bool((values >= UNREAD).all()), "rows are counted twice, or less than none")
        count._pending, count._counters = pending, counters
        count._given, count._used, count._refused = saved.tally_of(parts, count.intake.waiting)
        return count

    def _advance(self, left: Events, right: Events, complete: int) -> Counted:
        self._given += left.ids.size + right.ids.size
        events = self.intake.take(left, right, complete)
        (begun, over), (come, gone) = self._open.accept(events)
        times = [come.starts, gone.ends]
        if complete == FOREVER:
            rest = self._open.never_ending(1)
            times[1] = np.concatenate([gone.ends, rest.ends])
            over = Rows(*(np.concatenate(both) for both in zip(over, self._open.never_ending(0), strict=True)))
        self._remember(begun, over)
        values = self._pending[FIRST_VALUE:]
        for count, (up_to, less) in zip(
            self._counts, values.reshape(len(self._counts), 2, self.state_size), strict=True
        ):
            self._read(count.up_to, up_to, times, complete)
            self._read(count.less, less, times, complete)
        for counter in (STARTED, ENDED):
            self._counters[counter] += times[counter].size
        counted = self._final(refused(events), len(events))
        self._used, self._refused = self._used + counted.used, self._refused + len(events) - counted.used
        return counted

    def _remember(self, begun: Rows, over: Rows) -> None:
        """Keep new left rows, and note the ends of those that are kept."""
        fresh = np.full((len(self._pending), begun.ids.size), UNREAD, np.int64)
        fresh[HANDLE], fresh[ID], fresh[START], fresh[END] = begun.handles, begun.ids, begun.starts, FOREVER
        self._pending = np.concatenate([self._pending, fresh], axis=1)
        _, where, which = np.intersect1d(self._pending[HANDLE], over.handles, return_indices=True)
        self._pending[END, where] = over.ends[which]

    def _read(self, reading: Reading | None, values: Ids, times: list[Ticks], complete: int) -> None:
        """Read a counter for all rows whose instant has come; a reading that is not needed is 0."""
        if reading is None:
            values[:] = 0
            return
        instants = reading.instants(self._pending[START], self._pending[END])
        due = (values == UNREAD) & (instants <= complete)
        passed = np.searchsorted(times[reading.counter], instants[due], side="right")
        values[due] = self._counters[reading.counter] + passed

    def _final(self, bad: tuple[Refused, ...], taken: int) -> Counted:
        """Let go of the rows for which everything has been read."""
        done = (self._pending[FIRST_VALUE:] != UNREAD).all(axis=0)
        rows, self._pending = self._pending[:, done], self._pending[:, ~done]
        values = rows[FIRST_VALUE:].reshape(len(self._counts), 2, rows.shape[1])
        counts, instants = np.zeros(rows.shape[1], np.int64), rows[START].copy()
        for count, (up_to, less) in zip(self._counts, values, strict=True):
            counts += np.maximum(up_to - less, 0)
            for reading in count:
                if reading is not None:
                    np.maximum(instants, reading.known(rows[START], rows[END]), out=instants)
        return Counted(rows[ID], counts, instants, bad, taken - sum(len(some.verdicts) for some in bad))
