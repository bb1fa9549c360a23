"""How events enter a stream: held until their instant is complete, matched by id, refused with a reason."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.gapless import COUNT, HEAD, KEY, NAME, START, contents, empty_maps, filled, with_room
from timeloom.kernels.order import Ticks
from timeloom.kernels.sweep_schedule import ACCEPTED, EMPTY, LATE, REVERSED, admit
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
        return cls(ids, times, starting, np.full(ids.size, MAX_TICK))

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


class Rows(NamedTuple):
    """Rows that start or end, in the order of time: their handles, periods (an open end is FOREVER) and ids."""

    handles: Ids
    starts: Ticks
    ends: Ticks
    ids: Ids

    @classmethod
    def none(cls) -> "Rows":
        """Nothing."""
        return cls(*(np.empty(0, np.int64) for _ in range(4)))


class Refused(NamedTuple):
    """Events of one side that take no part, each with the number of its reason."""

    side: int
    events: Events
    verdicts: NDArray[np.int8]


class Accepted(NamedTuple):
    """What one side brings: rows that become known, and rows known before that end."""

    started: Rows
    ended: Rows


@dataclass
class Side:
    """How one side arrives, its events of instants not yet complete, and the number of its next row."""

    arrival: str
    held: Events = field(default_factory=Events.none)
    next_handle: int = 0

    def arriving(self, events: Events) -> Ticks:
        """When these events become known."""
        return events.ends if self.arrival == AT_END else events.times


class Intake:
    """The entrance of a stream with two sides."""

    def __init__(self, left: str = EVENTS, right: str = EVENTS) -> None:
        self.sides = (Side(left), Side(right))
        self.clock = MIN_TICK
        self._opened = empty_maps(2, 64)

    @property
    def open_rows(self) -> int:
        """Rows that have started and not ended."""
        return int(self._opened[:, COUNT, 0].sum())

    def open_ids(self, side: int) -> Ids:
        """The ids of a side's rows that have started and not ended, and of events held back."""
        return np.concatenate([contents(self._opened, side)[KEY], self.sides[side].held.ids])

    def snapshot(self) -> list[NDArray[np.int64]]:
        """The state as arrays."""
        state = [np.array([self.clock, *(side.next_handle for side in self.sides)], np.int64)]
        state += [np.array([column.astype(np.int64) for column in side.held]) for side in self.sides]
        return state + [contents(self._opened, number) for number in (0, 1)]

    def restore(self, state: list[NDArray[np.int64]]) -> None:
        """Go on from a snapshot."""
        self.clock = int(state[0][0])
        for number, side in enumerate(self.sides):
            side.next_handle = int(state[0][1 + number])
            ids, times, starting, ends = state[1 + number]
            side.held = Events(ids, times, starting.astype(np.bool_), ends)
        self._opened = filled(state[3], state[4])

    @property
    def first_held(self) -> int:
        """The first instant of which events are held back, or FOREVER."""
        held = [int(side.arriving(side.held).min()) for side in self.sides if side.held.ids.size]
        return min(held, default=FOREVER)

    def complete(self, left: Events, right: Events, until: int | None) -> int:
        """The last instant of which no more events can come."""
        if until is not None:
            return max(until, self.clock)
        batches = zip(self.sides, (left, right), strict=True)
        latest = [int(side.arriving(events).max()) for side, events in batches if events.ids.size]
        return max([instant - 1 for instant in latest], default=self.clock)

    def take(self, left: Events, right: Events, until: int) -> tuple[tuple[Accepted, Accepted], tuple[Refused, ...]]:
        """Let in the events up to an instant. At the end of the axis all open rows end."""
        accepted, refused = [], []
        for number, (side, events) in enumerate(zip(self.sides, (left, right), strict=True)):
            batch = side.held.and_then(events)
            now = side.arriving(batch) <= until
            side.held = Events.none() if now.all() else batch.pick(~now)
            rows, bad = self._admit(number, batch if now.all() else batch.pick(now))
            accepted.append(rows)
            refused += [bad] if bad.verdicts.size else []
            if until == FOREVER:
                accepted[number] = Accepted(rows.started, self._never_ending(number, rows.ended))
        self.clock = max(until, self.clock)
        return (accepted[0], accepted[1]), tuple(refused)

    def _never_ending(self, number: int, ended: Rows) -> Rows:
        opened = contents(self._opened, number)
        self._opened[number, COUNT] = 0
        self._opened[number, HEAD] = -1
        rest = Rows(opened[NAME], opened[START], np.full(opened.shape[1], FOREVER), opened[KEY])
        return Rows(*(np.concatenate(columns) for columns in zip(ended, rest, strict=True)))

    def _admit(self, number: int, events: Events) -> tuple[Accepted, Refused]:
        side = self.sides[number]
        if not _in_order(side.arriving(events), events.starting):
            events = events.pick(np.lexsort((events.starting, side.arriving(events))))
        verdicts = np.zeros(events.ids.size, np.int8)
        if self.clock > MIN_TICK:
            verdicts[side.arriving(events) <= self.clock] = LATE
        if side.arrival == EVENTS:
            accepted = self._endpoints(number, events, verdicts)
        else:
            accepted = self._whole_rows(number, events, verdicts)
        bad = np.flatnonzero(verdicts)
        return accepted, Refused(number, events.pick(bad), verdicts[bad])

    def _endpoints(self, number: int, events: Events, verdicts: NDArray[np.int8]) -> Accepted:
        """Match ends with starts. Verdicts are filled in."""
        side, timely = self.sides[number], verdicts == ACCEPTED
        some = events if timely.all() else events.pick(timely)
        handles, starts = np.empty(some.ids.size, np.int64), np.empty(some.ids.size, np.int64)
        judged = np.zeros(some.ids.size, np.int8)
        self._opened = with_room(self._opened, some.ids.size)
        side.next_handle = admit(
            some.ids,
            some.times,
            some.starting,
            self._opened,
            number,
            side.next_handle,
            handles,
            starts,
            judged,
        )
        verdicts[timely] = judged
        good = judged == ACCEPTED
        begun, ended = np.flatnonzero(some.starting & good), np.flatnonzero(~some.starting & good)
        return Accepted(
            Rows(handles[begun], starts[begun], some.ends[begun], some.ids[begun]),
            Rows(handles[ended], starts[ended], some.times[ended], some.ids[ended]),
        )

    def _whole_rows(self, number: int, events: Events, verdicts: NDArray[np.int8]) -> Accepted:
        side, timely = self.sides[number], verdicts == ACCEPTED
        verdicts[timely & (events.ends == events.times)] = EMPTY
        verdicts[timely & (events.ends < events.times)] = REVERSED
        good = events.pick(verdicts == ACCEPTED)
        handles = side.next_handle + np.arange(good.ids.size)
        side.next_handle += good.ids.size
        return Accepted(Rows(handles, good.times, good.ends, good.ids), Rows.none())


def _in_order(arriving: Ticks, starting: NDArray[np.bool_]) -> bool:
    """Tell whether events come by time already, at equal times ends first."""
    before, after = arriving[:-1], arriving[1:]
    return bool(np.all((before < after) | ((before == after) & (starting[:-1] <= starting[1:]))))
