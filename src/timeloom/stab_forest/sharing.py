"""One forest in many threads: readers pin a settled index, writers change it only while nobody reads it.

Kernels run without the interpreter lock, so an index must not change under a reader. A reader takes the index under a
lock, with everything in it that queries may see, counts itself in, reads without the lock, and counts itself out. A
writer who finds readers waits for them as long as a copy would take, and then goes on with a copy: short reads never
cost a copy, a long one costs a single copy and holds nobody up. Readers who come while a writer waits, wait, too, so
that writers get their turn. Whoever is interrupted leaves kernels behind that still read, and so does not count itself
out: the next writer goes on with a copy.

Events that come one by one wait in an `Intake`, without the lock, and then among the arrivals, until a reader comes:
many are indexed in bulk. Whoever looks at the arrivals collects first what the intake holds.
"""

from collections.abc import Callable, Mapping
from itertools import repeat
from threading import Condition, Lock, RLock
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from timeloom.engines.tables.ticks import TimeType
from timeloom.errors import InvalidInputError, TimeloomError
from timeloom.kernels.order import MAX_ROWS, Ticks
from timeloom.model.period import Period
from timeloom.model.ticks import FOREVER
from timeloom.stab_forest.arrivals import Arrivals
from timeloom.stab_forest.index import EventIndex
from timeloom.stab_forest.instants import INTEGER, one_end, require_axis, written
from timeloom.stab_forest.intake import ROOM, Intake
from timeloom.stab_forest.journal import ADD, ADVANCE, FINISH, FORGET, Journal
from timeloom.stab_forest.payload import Payload, require_row, require_rows
from timeloom.stab_forest.view import ForestView

T = TypeVar("T")

PATIENCE, COPIED_PER_SECOND = 0.001, 2e9
"""A writer waits this many seconds, and one for so many bytes of the index, before it makes a copy."""


class SharedIndex:
    """Everything of a forest that changes, and the lock under which it does."""

    def __init__(self, arrivals: Arrivals, index: EventIndex | None = None, events: int = 0) -> None:
        self.lock = RLock()
        self.arrivals = arrivals
        self.index = EventIndex() if index is None else index
        self.intake = Intake(events)
        self.forgotten = 0
        self.journal: Journal | None = None
        self.period = Period()
        self.payload: Payload | None = None
        self.saving = Lock()
        self._readers_left = Condition(self.lock)
        self._waiting = False

    @property
    def events(self) -> int:
        """How many events there have been; each has an id below."""
        return self.intake.following

    @events.setter
    def events(self, count: int) -> None:
        self.intake = Intake(count)

    def collect(self) -> None:
        """Bring what the intake holds to the arrivals, and close it; the lock must be held."""
        intake = self.intake
        if intake.is_open:
            intake.close()
            self.arrivals.collect(intake)
            self.events = intake.following

    def pin(self) -> EventIndex:
        """The index with everything in it that queries may see; it stays as it is until it is released."""
        with self.lock:
            if self.intake.is_open:
                self.collect()
            if self.arrivals.due or self._waiting:
                self.settle()
            return self.hold()

    def hold(self) -> EventIndex:
        """The index as it is; it stays so until it is released. The lock must be held, and is not let go meanwhile."""
        self.index.readers += 1
        return self.index

    def pin_for(self, axis: TimeType | None) -> EventIndex:
        """The index for a reader whose instants lie on the axis that the forest had; without one it had no events."""
        return self.pin() if axis is not None else EventIndex()

    def viewed(self) -> ForestView:
        """One state as rows of a table; it is held until its block ends."""
        with self.lock:
            index, kind = self.pin(), self.arrivals.axis
            payload = None if self.payload is None else self.payload.table()
        return ForestView(index, kind, self.period, payload, self.release)

    def positions(self, index: EventIndex, ids: Ticks) -> Ticks:
        """Where events stand in an index that is held."""
        with self.lock:
            found = index.locate_all(ids)
        missing = ids[found < 0]
        if missing.size:
            raise InvalidInputError(
                f"{missing.size} of {ids.size} ids are of no event that queries see, first {missing[0]}; give ids that "
                "a query returned"
            )
        return found

    def read(self, use: Callable[[EventIndex], T], *axis: TimeType | None) -> T:
        """Use the index, pinned, as it is or for an axis (see `pin_for`)."""
        index = self.pin_for(*axis) if axis else self.pin()
        try:
            found = use(index)
        except TimeloomError:
            self.release(index)
            raise
        self.release(index)
        return found

    def release(self, index: EventIndex) -> None:
        """Say that an index is no longer read."""
        with self.lock:
            index.readers -= 1
            if self._waiting and not index.readers:
                self._readers_left.notify_all()

    def settle(self) -> None:
        """Bring all that is due into the index; the lock must be held."""
        while self._waiting:
            self._readers_left.wait()
        self.collect()
        if self.arrivals.due:
            self.current()

    def current(self) -> EventIndex:
        """The index, read by nobody, with all in it that is due; the lock must be held, as for `writable`."""
        index = self.writable()
        self.collect()
        if self.arrivals.due:
            index.add(*self.arrivals.take())
        return index

    def settled(self) -> EventIndex:
        """The index as `current` gives it, every end and the tail in their places, too; the lock must be held."""
        index = self.current()
        if index.untidy:
            index.tidy()
        return index

    def writable(self) -> EventIndex:
        """The index, read by nobody; the lock must be held, is let go while readers are awaited, and is held again."""
        while self._waiting:
            self._readers_left.wait()
        if self.index.readers:
            held = sum(part.nbytes for part in self.index.forest)
            self._waiting = True
            try:
                self._readers_left.wait_for(lambda: not self.index.readers, PATIENCE + held / COPIED_PER_SECOND)
            finally:
                self._waiting = False
                self._readers_left.notify_all()
            if self.index.readers:
                self.index = self.index.copied()
        return self.index

    def append(self, start: int, end: int) -> int:
        """Accept one event."""
        with self.lock:
            self.collect()
            event, arrivals = self.events, self.arrivals
            if event >= MAX_ROWS:
                raise no_more_ids()
            arrivals.accept(event, start, end)
            self.events = event + 1
            if self.journal is not None:
                self.journal.operations.append((ADD, start, end))
            elif self._plain and event + ROOM < MAX_ROWS:
                self.intake.open(arrivals.last_start, arrivals.last_end)
            return event

    @property
    def _plain(self) -> bool:
        """Whether events need no more than a start and an end, which are integers, and are due as soon as they come."""
        arrivals = self.arrivals
        return arrivals.axis is INTEGER and arrivals.order != "watermark" and self.payload is None

    def adopt(self, kind: TimeType | None, start: int, end: int, row: Mapping[str, Any] | None = None) -> int:
        """Accept one event of an axis, which the first event decides, and its row."""
        with self.lock:
            require_axis(self.arrivals.axis, kind, "the event")
            row = require_row(self.payload, row, self.period, (start, end))
            event = self.append(start, end)
            self.arrivals.axis = self.arrivals.axis or kind
            if row is not None and self.payload is not None:
                self.payload.add_row(row)
                if self.journal is not None:
                    self.journal.rows.append(pa.Table.from_pylist([row], schema=self.payload.schema))
            return event

    def extend(self, kind: TimeType | None, starts: Ticks, ends: Ticks, payload: object = None) -> None:
        """Accept many events and their rows, or none."""
        with self.lock:
            index = self.current()
            rows = require_rows(self.payload, payload, starts.size)
            require_axis(self.arrivals.axis, kind, "the events")
            index.require_room(len(self.arrivals) + starts.size)
            if self.events + starts.size > MAX_ROWS:
                raise no_more_ids()
            self.arrivals.accept_many(starts, ends)
            self.arrivals.axis = self.arrivals.axis or kind
            ids = np.arange(self.events, self.events + starts.size)
            self.events += starts.size
            if rows is not None and self.payload is not None:
                self.payload.add(rows)
            if self.journal is not None:
                self.journal.operations += zip(repeat(ADD), starts.tolist(), ends.tolist(), strict=False)
                self.journal.rows += [] if rows is None else [rows]
            if self.arrivals.order == "watermark":
                self.arrivals.wait(starts, ends, ids)
            else:
                index.add(starts, ends, ids)

    def advance(self, kind: TimeType, watermark: int) -> None:
        """Move the watermark, and settle what starts before it."""
        with self.lock:
            require_axis(self.arrivals.axis, kind, "the watermark")
            self.arrivals.advance(watermark)
            self.arrivals.axis = self.arrivals.axis or kind
            if self.journal is not None:
                self.journal.operations.append((ADVANCE, watermark, 0))
            self.settle()

    def follow(self, event: int) -> int:
        """The start of an open event, for its handle."""
        with self.lock:
            start, end = self._event(event)
            if end != FOREVER:
                ended = written(end, self.arrivals.axis)
                raise InvalidInputError(f"event {event} ended at {ended} already; only open events have handles")
            return start

    def finish(self, event: int, end: Any) -> None:
        """Give an open event its end."""
        with self.lock:
            self.writable()
            start, known = self._event(event)
            if known != FOREVER:
                raise InvalidInputError(f"event {event} is finished already; an event ends only once")
            plain = type(end) is int and self.arrivals.axis is INTEGER and start < end < FOREVER
            last = end if plain else one_end(end, start, self.arrivals.axis)
            if last == FOREVER:
                raise InvalidInputError(f"end={end!r} leaves event {event} open; expected an end before {FOREVER}")
            self.finish_at(event, last)

    def finish_at(self, event: int, end: int) -> None:
        """Give an open event its end in ticks."""
        with self.lock:
            index = self.writable()
            self.collect()
            if self.arrivals.period(event) is None:
                index.finish(event, end)
            else:
                self.arrivals.finish(event, end)
            if self.journal is not None:
                self.journal.operations.append((FINISH, event, end))

    def note_forgotten(self, before: int) -> None:
        """Write down that all was forgotten that had ended by an instant; the lock must be held."""
        if self.journal is not None:
            self.journal.operations.append((FORGET, before, 0))

    def _event(self, event: int) -> tuple[int, int]:
        self.collect()
        waits = self.arrivals.period(event)
        if waits is not None:
            return waits
        if not 0 <= event < self.events:
            raise InvalidInputError(f"there is no event {event}; expected an id from 0 to {self.events - 1}")
        found = self.index.event(event)
        if found is None:
            raise InvalidInputError(f"event {event} was forgotten: it had ended before the instant given to forget()")
        return found


def no_more_ids() -> InvalidInputError:
    """The error for a forest that has given out every id there is."""
    return InvalidInputError(f"all {MAX_ROWS} ids of this forest are used; build a new one from its table()")
