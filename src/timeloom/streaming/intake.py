"""How events enter a stream: held until their instant is complete, matched by id, refused with a reason."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.order import Ticks
from timeloom.kernels.streaming.arrival import ACCEPTED, Columns, by_time, merged
from timeloom.kernels.streaming.gapless import Cells
from timeloom.kernels.streaming.layout import EVENT_SIDE, FROM, ID, STARTING, VERDICT
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


class Events(NamedTuple):
    """A batch of one side. Separate endpoints: ``times`` and ``starting``. Whole rows: ``times`` and ``ends``."""

    ids: Ids
    times: Ticks
    starting: NDArray[np.bool_]
    ends: Ticks

    @classmethod
    def endpoints(cls, ids: Ids, times: Ticks, starting: NDArray[np.bool_]) -> "Events":
        """Starts and ends as they come."""
        return cls(ids, times, starting, np.broadcast_to(np.int64(MAX_TICK), ids.shape))

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
        return Events(*(column[which] for column in self))

    def and_then(self, more: "Events") -> "Events":
        """These events and more."""
        return Events(*(np.concatenate(pair) for pair in zip(self, more, strict=True))) if self.ids.size else more


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
    """How one side arrives, and its events of instants not yet complete."""

    arrival: str
    held: Events = field(default_factory=Events.none)

    def known(self, events: Events) -> Ticks:
        """When these events become known."""
        return events.ends if self.arrival == AT_END else events.times


class Intake:
    """The entrance of a stream with two sides."""

    def __init__(self, left: str = EVENTS, right: str = EVENTS) -> None:
        self.sides = (Side(left), Side(right))
        self.clock = MIN_TICK

    def held(self) -> list[NDArray[np.int64]]:
        """The events of either side that wait for their instants, as arrays."""
        return [np.array([column.astype(np.int64) for column in side.held]) for side in self.sides]

    def restore(self, clock: int, *held: NDArray[np.int64]) -> None:
        """Go on from a clock and from events that wait."""
        self.clock = clock
        for side, (ids, times, starting, ends) in zip(self.sides, held, strict=True):
            side.held = Events(ids, times, starting.astype(np.bool_), ends)

    @property
    def waiting(self) -> int:
        """How many events are held back."""
        return sum(side.held.ids.size for side in self.sides)

    @property
    def first_held(self) -> int:
        """The first instant of which events are held back, or FOREVER."""
        held = [int(side.known(side.held).min()) for side in self.sides if side.held.ids.size]
        return min(held, default=FOREVER)

    def complete(self, left: Events, right: Events, until: int | None) -> int:
        """The last instant of which no more events can come."""
        if until is not None:
            return max(until, self.clock)
        batches = zip(self.sides, (left, right), strict=True)
        latest = [int(side.known(events).max()) for side, events in batches if events.ids.size]
        return max([self.clock, *(instant - 1 for instant in latest)])

    def take(self, left: Events, right: Events, until: int) -> Cells:
        """The events of both sides up to an instant, laid out for the sweep; what is wrong by itself has a verdict."""
        ours, theirs = (self._due(side, events, until) for side, events in zip(self.sides, (left, right), strict=True))
        whole = (self.sides[0].arrival != EVENTS, self.sides[1].arrival != EVENTS)
        events = merged(ours, theirs, whole, self.clock)
        self.clock = max(until, self.clock)
        return events

    def _due(self, side: Side, events: Events, until: int) -> Columns:
        """The events that are known by an instant, in order, where compiled code may write; others are held back."""
        batch = side.held.and_then(events)
        known = side.known(batch)
        side.held = Events.none()
        if known.size and int(known.max()) > until:
            now = known <= until
            side.held, batch = batch.pick(~now), batch.pick(now)
            known = side.known(batch)
        if not by_time(known):
            batch = batch.pick(np.argsort(known, kind="stable"))
            known = side.known(batch)
        ends = batch.ends if side.arrival != EVENTS else known
        ids, known, starts, ends = (_writable(column) for column in (batch.ids, known, batch.times, ends))
        return ids, known, starts, ends, np.require(batch.starting, np.bool_, ["C", "W"])


def _writable(column: Ids) -> Ids:
    """The same numbers as compiled code expects them: a read-only array would be of another type."""
    return np.require(column, np.int64, ["C", "W"])


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
