"""How events enter a stream: held until their instant is complete, matched by id, refused with a reason."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.order import Ticks
from timeloom.kernels.streaming.arrival import ACCEPTED, LATE, UNNUMBERED, Columns, merged
from timeloom.kernels.streaming.gapless import Cells
from timeloom.kernels.streaming.layout import EVENT_SIDE, FROM, ID, STARTING, VERDICT
from timeloom.kernels.streaming.steps import extent
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK
from timeloom.streaming.deciding import AT_END, EVENTS

Ids = NDArray[np.int64]

REASONS = (
    "accepted",
    "a row with this id is open already",
    "ends without having started",
    "starts and ends at the same instant",
    "ends before it starts",
    "late: its instant was complete",
    "has no time or no id",
    "is neither a start nor an end",
    "has no key",
    "lies at an end of the axis",
)
"""What a verdict means."""


Until = int | tuple[int | None, int | None] | None
"""The last complete instant: of both sides, of each (None: as before), or as the events say."""


@lru_cache(maxsize=16)
def _endlessly(value: int) -> Ids:
    return np.broadcast_to(np.int64(value), 1 << 40)


def repeated(value: int, size: int) -> Ids:
    """A number as often as asked for, in no more memory than one takes."""
    return _endlessly(value)[:size]


class Events(NamedTuple):
    """A batch of one side. Separate endpoints: ``times`` and ``starting``. Whole rows: ``times`` and ``ends``.

    ``numbers`` tell events apart, if anyone asks: each is larger than those of all events before.
    """

    ids: Ids
    times: Ticks
    starting: NDArray[np.bool_]
    ends: Ticks
    numbers: Ids | None = None

    @classmethod
    def endpoints(cls, ids: Ids, times: Ticks, starting: NDArray[np.bool_]) -> "Events":
        """Starts and ends as they come."""
        return cls(ids, times, starting, repeated(MAX_TICK, ids.size))

    @classmethod
    def rows(cls, ids: Ids, starts: Ticks, ends: Ticks) -> "Events":
        """Whole rows."""
        return cls(ids, starts, np.ones(ids.size, np.bool_), ends)

    @classmethod
    def none(cls) -> "Events":
        """Nothing."""
        nothing = np.empty(0, np.int64)
        return cls(nothing, nothing, np.empty(0, np.bool_), nothing)

    def pick(self, which: NDArray[np.generic]) -> "Events":
        """Some of the events."""
        return Events(*(None if column is None else column[which] for column in self))  # type: ignore[arg-type]

    @property
    def row_numbers(self) -> Ids:
        """The numbers of the events, which say so where there are none."""
        return np.full(self.ids.size, UNNUMBERED) if self.numbers is None else self.numbers

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All columns."""
        return *self[:4], self.row_numbers

    def and_then(self, more: "Events") -> "Events":
        """These events and more."""
        if not self.ids.size:
            return more
        return Events(*(np.concatenate(pair) for pair in zip(self.arrays, more.arrays, strict=True)))


class Tally(NamedTuple):
    """What became of events: ``events`` is always ``used + held + refused``, since none is lost without a word."""

    events: int
    used: int
    held: int
    refused: int


class Refused(NamedTuple):
    """Events of one side that take no part, each with the number of its reason."""

    side: int
    events: Events
    verdicts: Ids


@dataclass
class Side:
    """How one side arrives, its last complete instant, and its events of instants that are not complete on both."""

    arrival: str
    held: Events = field(default_factory=Events.none)
    clock: int = MIN_TICK

    def known(self, events: Events) -> Ticks:
        """When these events become known."""
        return events.ends if self.arrival == AT_END else events.times


class Intake:
    """The entrance of a stream with two sides.

    An instant is complete once it is on both sides, of which each has a clock of its own. ``lateness`` says how long
    events of a side may come after later ones, if nobody promises that its instants are complete.
    """

    def __init__(self, left: str = EVENTS, right: str = EVENTS, lateness: tuple[int, int] | None = None) -> None:
        self.sides = (Side(left), Side(right))
        self.clock = MIN_TICK
        self.lateness = lateness
        self._promised = (MIN_TICK, MIN_TICK)

    def held(self) -> list[NDArray[np.int64]]:
        """The events of either side that wait for their instants, as arrays."""
        return [np.array([column.astype(np.int64) for column in side.held.arrays]) for side in self.sides]

    @property
    def arrivals(self) -> tuple[str, str]:
        """How either side arrives."""
        return self.sides[0].arrival, self.sides[1].arrival

    @property
    def clocks(self) -> tuple[int, int]:
        """The last complete instant of either side."""
        return max(self.clock, self.sides[0].clock), max(self.clock, self.sides[1].clock)

    def restore(self, clocks: tuple[int, int, int], *held: NDArray[np.int64]) -> None:
        """Go on from the clocks of both sides and of either, and from events that wait."""
        self.clock, *own = clocks
        for side, clock, (ids, times, starting, ends, numbers) in zip(self.sides, own, held, strict=True):
            side.held, side.clock = Events(ids, times, starting.astype(np.bool_), ends, numbers), clock

    @property
    def waiting(self) -> int:
        """How many events are held back."""
        return sum(side.held.ids.size for side in self.sides)

    @property
    def first_held(self) -> int:
        """The first instant of which events are held back, or FOREVER."""
        held = [int(side.known(side.held).min()) for side in self.sides if side.held.ids.size]
        return min(held, default=FOREVER)

    def complete(self, left: Events, right: Events, until: Until) -> int:
        """The last instant of which no more events can come, on either side."""
        self._promised = self._promise((left, right), until)
        return max(self.clock, min(self._promised))

    def _promise(self, batches: tuple[Events, Events], until: Until) -> tuple[int, int]:
        """The last complete instant of either side."""
        own = self.clocks
        if isinstance(until, int):
            return max(until, own[0]), max(until, own[1])
        if until is None:
            until = self._from_events(batches)
        left, right = (clock if told is None else max(told, clock) for told, clock in zip(until, own, strict=True))
        return left, right

    def _from_events(self, batches: tuple[Events, Events]) -> tuple[int | None, int | None]:
        """What events tell: all before the latest one is complete; with a lateness, each side speaks for itself."""
        latest = [
            int(side.known(events).max()) - 1 if events.ids.size else None
            for side, events in zip(self.sides, batches, strict=True)
        ]
        if self.lateness is None:
            told = max((instant for instant in latest if instant is not None), default=None)
            return told, told
        left, right = (
            None if instant is None else max(instant - late, MIN_TICK)
            for instant, late in zip(latest, self.lateness, strict=True)
        )
        return left, right

    def take(self, left: Events, right: Events, until: int) -> Cells:
        """The events of both sides up to an instant, laid out for the sweep; what is wrong by itself has a verdict."""
        return self.laid_out(*self.due(left, right, until))

    def due(self, left: Events, right: Events, until: int) -> tuple[Columns, Columns]:
        """The events of either side up to an instant, by time."""
        ours, theirs = (self._due(side, events, until) for side, events in zip(self.sides, (left, right), strict=True))
        self.pass_to(until)
        return ours, theirs

    def pass_to(self, until: int) -> None:
        """Let time pass: all instants up to this one are complete, and those of each side that were promised to be."""
        self.clock = max(until, self.clock)
        for side, promised in zip(self.sides, self._promised, strict=True):
            side.clock = max(side.clock, promised, self.clock)

    def laid_out(self, ours: Columns, theirs: Columns) -> Cells:
        """The events of both sides as one, for a sweep; what is wrong by itself has a verdict."""
        return merged(
            _counted(ours), _counted(theirs), (self.sides[0].arrival != EVENTS, self.sides[1].arrival != EVENTS)
        )

    def _due(self, side: Side, events: Events, until: int) -> Columns:
        """The events that are known by an instant, in order, where compiled code may write; others are held back.

        Late ones are due at once. They count as if they were of the last complete instant, at which nothing is left to
        be done.
        """
        known = _writable(side.known(events))
        least, most, is_ordered = extent(known)
        batch = events
        if side.held.ids.size or least <= max(side.clock, self.clock) or most > until or not is_ordered:
            batch, known = self._sorted_out(side, events, until)
        starts = known if side.arrival == EVENTS and batch.numbers is None else _writable(batch.times)
        ends = known if side.arrival == EVENTS else _writable(batch.ends)
        numbers = np.empty(0, np.int64) if batch.numbers is None else _writable(batch.numbers)
        return _writable(batch.ids), known, starts, ends, _writable(batch.starting, np.bool_), numbers

    def _sorted_out(self, side: Side, events: Events, until: int) -> tuple[Events, Ticks]:
        """The events that are known by an instant, in order, and when they count."""
        batch = side.held.and_then(self._marked(side, events))
        known = self._known(side, batch)
        side.held = Events.none()
        if known.size and int(known.max()) > until:
            now = known <= until
            side.held, batch = batch.pick(~now), batch.pick(now)
            known = known[now]
        order = np.argsort(known, kind="stable")
        return batch.pick(order), _writable(known[order])

    def _marked(self, side: Side, events: Events) -> Events:
        """The same events, of which those that come too late say so."""
        late = side.known(events) <= max(side.clock, self.clock)
        return events._replace(numbers=np.where(late, LATE, events.row_numbers)) if late.any() else events

    def _known(self, side: Side, events: Events) -> Ticks:
        known = side.known(events)
        if events.numbers is None or self.clock == MIN_TICK:
            return known
        return np.where(events.numbers == LATE, self.clock, known)


def _counted(columns: Columns) -> Columns:
    """The same events, which say so where they have no numbers."""
    ids, known, starts, ends, starting, numbers = columns
    return ids, known, starts, ends, starting, numbers if numbers.size else np.full(ids.size, UNNUMBERED)


def _writable(column: NDArray[Any], kind: type = np.int64) -> NDArray[Any]:
    """The same values as compiled code expects them: a read-only array would be of another type."""
    return column if column.flags.carray and column.dtype == kind else np.array(column, kind)


def refused(events: Cells) -> tuple[Refused, ...]:
    """The events of each side that take no part."""
    bad = events[events[:, VERDICT] != ACCEPTED]
    found = []
    for side in (0, 1):
        own = bad[bad[:, EVENT_SIDE] == side]
        if len(own):
            some = Events.endpoints(own[:, ID], own[:, FROM], own[:, STARTING].astype(np.bool_))
            found.append(Refused(side, some, own[:, VERDICT]))
    return tuple(found)
