"""The streaming join on arrays: endpoint events in, certain pairs out."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.errors import UsageError, did_you_mean
from timeloom.kernels.gapless import MARK, NAME, START, empty_maps, with_room
from timeloom.kernels.order import Ticks
from timeloom.kernels.sweep_schedule import ACCEPTED, EMPTY, LATE, REVERSED, admit
from timeloom.kernels.sweep_stream import FIRING, MATCHED, PAIRS, ROWS, TIME, WAITERS, run
from timeloom.model.relation import Relation
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK, Axis
from timeloom.streaming.agenda import Agenda, Entries
from timeloom.streaming.deciding import ARRIVALS, AT_END, EVENTS, decisions

Ids = NDArray[np.int64]
HOWS = ("inner", "left", "semi", "anti")


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


class Refused(NamedTuple):
    """Events of one side that take no part, each with the number of its reason."""

    side: int
    events: Events
    verdicts: NDArray[np.int8]


class Emitted(NamedTuple):
    """What has become certain: pairs, single left rows, and the events that were refused."""

    lefts: Ids
    rights: Ids
    instants: Ticks
    rows: Ids
    row_instants: Ticks
    refused: tuple[Refused, ...]


@dataclass
class Side:
    """How one side arrives, its events of instants not yet complete, and the number of its next row."""

    arrival: str
    held: Events = field(default_factory=Events.none)
    next_handle: int = 0

    def arriving(self, events: Events) -> Ticks:
        """When these events become known."""
        return events.ends if self.arrival == AT_END else events.times


class EndpointJoin:
    """Join two streams of endpoints; each pair leaves at the first instant at which it is certain.

    Instants are ticks, and an instant is complete once no more of its events can come: when an event of a
    later instant arrives on either side, or when the caller says so (``until``). The order of events within
    one instant does not matter.
    """

    def __init__(
        self,
        relation: Relation,
        *,
        how: str = "inner",
        left: str = EVENTS,
        right: str = EVENTS,
        axis: Axis = Axis.INTEGER,
    ) -> None:
        for option, value, allowed in (("how", how, HOWS), ("left", left, ARRIVALS), ("right", right, ARRIVALS)):
            if value not in allowed:
                raise UsageError(f"{option}={value!r} is unknown. {did_you_mean(value, allowed)}")
        self.how = how
        self.decisions = decisions(relation.boxes(axis), left, right)
        self.clock = MIN_TICK
        self.sides = (Side(left), Side(right))
        self._agenda = Agenda(self.decisions, HOWS.index(how), (left, right))
        self._live = empty_maps(2, 64)
        self._opened = empty_maps(2, 64)
        self._pending: list[Entries] = []
        self._waiters = np.empty((3, 64), np.int64)
        self._waiting = 0

    @property
    def state_size(self) -> int:
        """Rows that are kept because they may still match."""
        return int(self._live.tails.sum())

    @property
    def open_rows(self) -> int:
        """Rows that have started and not ended."""
        return int(self._opened.tails.sum())

    def push(self, left: Events, right: Events, until: int | None = None) -> Emitted:
        """Take events of both sides; answer what is certain at the last complete instant.

        ``until`` promises that all events up to that instant have been given. Without it, the instants before
        the latest event are complete.
        """
        latest = [int(side.arriving(events).max()) for side, events in self._with(left, right) if events.ids.size]
        complete = max([*latest, self.clock + 1]) - 1 if until is None else max(until, self.clock)
        return self._advance(left, right, complete)

    def close(self) -> Emitted:
        """End both streams: what is open never ends."""
        emitted = self._advance(Events.none(), Events.none(), FOREVER)
        if self.how not in ("left", "anti"):
            return emitted
        alive = self._live.cells[0][:, : self._live.tails[0]]
        alone = alive[NAME][alive[MARK] != MATCHED]
        return emitted._replace(
            rows=np.concatenate([emitted.rows, alone]),
            row_instants=np.concatenate([emitted.row_instants, np.full(alone.size, FOREVER)]),
        )

    def _with(self, left: Events, right: Events) -> list[tuple[Side, Events]]:
        return list(zip(self.sides, (left, right), strict=True))

    def _advance(self, left: Events, right: Events, complete: int) -> Emitted:
        entries, refused = self._pending, []
        for number, (side, events) in enumerate(self._with(left, right)):
            batch = side.held.and_then(events)
            now = side.arriving(batch) <= complete
            side.held = Events.none() if now.all() else batch.pick(~now)
            accepted, rejected = self._admit(number, batch if now.all() else batch.pick(now))
            entries += accepted
            refused += rejected
            if complete == FOREVER:
                entries += self._never_ending(number)
        return self._run(entries, complete, refused)

    def _never_ending(self, number: int) -> list[Entries]:
        tail = int(self._opened.tails[number])
        opened = self._opened.cells[number][:, :tail].copy()
        self._opened.tails[number] = 0
        self._opened.heads[number] = -1
        return self._agenda.ends(number, opened[NAME], opened[START], np.full(tail, FOREVER))

    def _admit(self, number: int, events: Events) -> tuple[list[Entries], list[Refused]]:
        side = self.sides[number]
        arriving = side.arriving(events)
        order = np.lexsort((events.starting, arriving))
        events = events.pick(order)
        verdicts = np.zeros(order.size, np.int8)
        if self.clock > MIN_TICK:
            verdicts[arriving[order] <= self.clock] = LATE
        if side.arrival == EVENTS:
            entries = self._endpoints(number, events, verdicts)
        else:
            entries = self._whole_rows(number, events, verdicts)
        bad = verdicts != ACCEPTED
        return entries, [Refused(number, events.pick(bad), verdicts[bad])] if bad.any() else []

    def _endpoints(self, number: int, events: Events, verdicts: NDArray[np.int8]) -> list[Entries]:
        """Match ends with starts, and put both on the agenda. Verdicts are filled in."""
        side, timely = self.sides[number], verdicts == ACCEPTED
        some = events if timely.all() else events.pick(timely)
        handles, starts = np.empty(some.ids.size, np.int64), np.empty(some.ids.size, np.int64)
        judged = np.zeros(some.ids.size, np.int8)
        self._opened = with_room(self._opened, some.ids.size)
        side.next_handle = admit(
            some.ids,
            some.times,
            some.starting,
            *self._opened,
            number,
            side.next_handle,
            handles,
            starts,
            judged,
        )
        verdicts[timely] = judged
        begun, ended = some.starting & (judged == ACCEPTED), ~some.starting & (judged == ACCEPTED)
        entries = self._agenda.starts(number, handles[begun], starts[begun], some.ends[begun], some.ids[begun])
        return entries + self._agenda.ends(number, handles[ended], starts[ended], some.times[ended])

    def _whole_rows(self, number: int, events: Events, verdicts: NDArray[np.int8]) -> list[Entries]:
        side, timely = self.sides[number], verdicts == ACCEPTED
        verdicts[timely & (events.ends == events.times)] = EMPTY
        verdicts[timely & (events.ends < events.times)] = REVERSED
        good = events.pick(verdicts == ACCEPTED)
        handles = side.next_handle + np.arange(good.ids.size)
        side.next_handle += good.ids.size
        return self._agenda.starts(number, handles, good.times, good.ends, good.ids)

    def _run(self, entries: list[Entries], complete: int, refused: list[Refused]) -> Emitted:
        agenda = np.concatenate(entries) if entries else Agenda.nothing()
        due = agenda[:, TIME] <= complete
        self._pending = [agenda[~due]]
        agenda = agenda[due]
        agenda = agenda[np.argsort(agenda[:, TIME], kind="stable")]
        self._live = with_room(self._live, len(agenda))
        self._make_room_to_wait()
        state = np.zeros(5, np.int64)
        state[FIRING], state[WAITERS] = -1, self._waiting
        parts, room, done = [], max(1024, 2 * len(agenda)), False
        while not done:
            room = max(room, (len(self.decisions) + 1) * (int(self._live.tails.max()) + 2))
            pairs, rows = np.empty((3, room), np.int64), np.empty((2, room), np.int64)
            done = run(agenda, complete, *self._live, self._agenda.rules, self._waiters, state, pairs, rows)
            parts.append((*pairs[:, : state[PAIRS]], *rows[:, : state[ROWS]]))
            state[PAIRS] = state[ROWS] = 0
            room *= 2
        self._waiting, self.clock = int(state[WAITERS]), complete
        lefts, rights, instants, names, row_instants = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return Emitted(lefts, rights, instants, names, row_instants, tuple(refused))

    def _make_room_to_wait(self) -> None:
        """Every live left row may have to wait."""
        needed = self._waiting + self._live.cells.shape[2]
        if needed > self._waiters.shape[1]:
            larger = np.empty((3, 2 * needed), np.int64)
            larger[:, : self._waiting] = self._waiters[:, : self._waiting]
            self._waiters = larger
