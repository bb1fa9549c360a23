"""The streaming join on arrays: endpoint events in, certain pairs out."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.errors import UsageError, did_you_mean
from timeloom.kernels.gapless import GaplessMap, empty_map, with_room
from timeloom.kernels.order import Ticks
from timeloom.kernels.sweep_pairs import NEVER
from timeloom.kernels.sweep_schedule import (
    ACCEPTED,
    EMPTY,
    LATE,
    REVERSED,
    admit,
    closing_instants,
    last_instants,
    ready_instants,
)
from timeloom.kernels.sweep_stream import (
    CHECK,
    END,
    EXPIRE,
    FIRE,
    MATCHED,
    PAIRS,
    ROWS,
    START,
    TIME,
    WAITERS,
    WHAT,
    Output,
    Rules,
    Waiters,
    run,
)
from timeloom.model.box import Box
from timeloom.model.relation import Relation
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK, Axis
from timeloom.streaming.deciding import ARRIVALS, AT_END, EVENTS, Decision, decisions

Ids = NDArray[np.int64]
HOWS = ("inner", "left", "semi", "anti")
COLUMNS = 8


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
        return Events(*(np.concatenate(pair) for pair in zip(self, more, strict=True)))


class Emitted(NamedTuple):
    """What has become certain: pairs, single left rows, and the events that were refused."""

    lefts: Ids
    rights: Ids
    instants: Ticks
    rows: Ids
    row_instants: Ticks
    refused: "tuple[Refused, ...]"


class Refused(NamedTuple):
    """Events of one side that take no part, each with the number of its reason."""

    side: int
    events: Events
    verdicts: NDArray[np.int8]


@dataclass
class Side:
    """The state of one side: rows that may match, ids of open rows, and events of instants not yet complete."""

    arrival: str
    live: GaplessMap = field(default_factory=lambda: empty_map(64))
    opened: GaplessMap = field(default_factory=lambda: empty_map(64))
    held: Events = field(default_factory=Events.none)
    next_handle: int = 0


class EndpointJoin:
    """Join two streams of endpoints; each pair leaves at the first instant at which it is certain.

    Instants are ticks, and an instant is complete once no more of its events can come: when an event of a
    later instant arrives on either side, or when the caller says so (``until``). The order of events within
    one instant does not matter.
    """

    def __init__(self, relation: Relation, *, how: str = "inner", left: str = EVENTS, right: str = EVENTS) -> None:
        for option, value, allowed in (("how", how, HOWS), ("left", left, ARRIVALS), ("right", right, ARRIVALS)):
            if value not in allowed:
                raise UsageError(f"{option}={value!r} is unknown. {did_you_mean(value, allowed)}")
        self.how = how
        self.decisions = decisions(relation.boxes(Axis.INTEGER), left, right)
        self.sides = (Side(left), Side(right))
        self.clock = MIN_TICK
        self._rules = _rules(self.decisions, HOWS.index(how))
        self._tight = tuple(
            np.array([_bounds(_seen_from(side, decision.box).tight()) for decision in self.decisions])
            .reshape(-1, 8)
            .astype(np.int64)
            for side in (0, 1)
        )
        self._open_limits = np.array(
            [_open_limit(decision.box, at_end=right == AT_END) for decision in self.decisions], np.int64
        )
        self._pending = np.empty((0, COLUMNS), np.int64)
        self._waiters = Waiters(*(np.empty(64, np.int64) for _ in range(3)))
        self._waiting = 0

    @property
    def state_size(self) -> int:
        """Rows that are kept because they may still match."""
        return int(self.sides[0].live.tail[0] + self.sides[1].live.tail[0])

    def push(self, left: Events, right: Events, until: int | None = None) -> Emitted:
        """Take events of both sides; answer what is certain at the last complete instant.

        ``until`` promises that all events up to that instant have been given. Without it, the instants before
        the latest event are complete.
        """
        batches = [side.held.and_then(events) for side, events in zip(self.sides, (left, right), strict=True)]
        latest = max((int(events.times.max()) for events in (left, right) if events.ids.size), default=self.clock)
        complete = max(self.clock, latest - 1 if until is None else until)
        entries, refused = [self._pending], []
        for number, (side, events) in enumerate(zip(self.sides, batches, strict=True)):
            arriving = events.ends if side.arrival == AT_END else events.times
            now = arriving <= complete
            side.held = events.pick(~now)
            accepted, rejected = self._admit(number, events.pick(now))
            entries += accepted
            refused += rejected
        return self._run(entries, complete, refused)

    def close(self) -> Emitted:
        """End both streams: open rows never end."""
        entries, refused = [self._pending], []
        for number, side in enumerate(self.sides):
            accepted, rejected = self._admit(number, side.held)
            side.held = Events.none()
            entries += accepted
            refused += rejected
            tail = int(side.opened.tail[0])
            handles, starts = side.opened.names[:tail].copy(), side.opened.starts[:tail].copy()
            entries += self._ends(number, handles, starts, np.full(tail, FOREVER))
            side.opened = empty_map(64)
        emitted = self._run(entries, FOREVER, refused)
        if self.how not in ("left", "anti"):
            return emitted
        left = self.sides[0].live
        alone = left.names[: left.tail[0]][left.marks[: left.tail[0]] != MATCHED]
        return emitted._replace(
            rows=np.concatenate([emitted.rows, alone]),
            row_instants=np.concatenate([emitted.row_instants, np.full(alone.size, FOREVER)]),
        )

    def _admit(self, number: int, events: Events) -> tuple[list[NDArray[np.int64]], list[Refused]]:
        side = self.sides[number]
        arriving = events.ends if side.arrival == AT_END else events.times
        order = np.lexsort((events.starting, arriving))
        events = events.pick(order)
        verdicts = np.where(arriving[order] <= self.clock, LATE, ACCEPTED).astype(np.int8)
        if self.clock == MIN_TICK:
            verdicts[:] = ACCEPTED
        in_time = verdicts == ACCEPTED
        if side.arrival == EVENTS:
            handles, starts = self._match(side, events, verdicts, in_time)
            begun, ended = events.starting & (verdicts == ACCEPTED), ~events.starting & (verdicts == ACCEPTED)
            entries = self._starts(number, handles[begun], starts[begun], events.ends[begun], events.ids[begun])
            entries += self._ends(number, handles[ended], starts[ended], events.times[ended])
        else:
            verdicts[in_time & (events.ends == events.times)] = EMPTY
            verdicts[in_time & (events.ends < events.times)] = REVERSED
            good = events.pick(verdicts == ACCEPTED)
            handles = side.next_handle + np.arange(good.ids.size)
            side.next_handle += good.ids.size
            entries = self._starts(number, handles, good.times, good.ends, good.ids)
        bad = verdicts != ACCEPTED
        return entries, [Refused(number, events.pick(bad), verdicts[bad])] if bad.any() else []

    def _match(
        self, side: Side, events: Events, verdicts: NDArray[np.int8], in_time: NDArray[np.bool_]
    ) -> tuple[Ids, Ticks]:
        """Give each event in time the handle and the start of its row."""
        handles, starts = np.zeros(events.ids.size, np.int64), np.zeros(events.ids.size, np.int64)
        timely = events.pick(in_time)
        found = (handles[in_time], starts[in_time], verdicts[in_time])
        side.opened = with_room(side.opened, int(timely.starting.sum()))
        side.next_handle = admit(timely.ids, timely.times, timely.starting, side.opened, side.next_handle, *found)
        handles[in_time], starts[in_time], verdicts[in_time] = found
        return handles, starts

    def _starts(self, number: int, handles: Ids, starts: Ticks, ends: Ticks, ids: Ids) -> list[NDArray[np.int64]]:
        side = self.sides[number]
        side.live = with_room(side.live, handles.size)
        known = ends if side.arrival == AT_END else starts
        entries = [_entries(known, START, number, handles, starts, ends, ids)]
        for at, decision in enumerate(self.decisions):
            constants, decides = _own(decision, number)
            if decides and (constants[1] is None or side.arrival != EVENTS):
                entries.append(self._fires(at, number, handles, starts, ends))
        return entries + self._leaves(number, handles, starts, ends, known)

    def _ends(self, number: int, handles: Ids, starts: Ticks, ends: Ticks) -> list[NDArray[np.int64]]:
        entries = [_entries(ends, END, number, handles, starts, ends)]
        for at, decision in enumerate(self.decisions):
            constants, decides = _own(decision, number)
            if decides and constants[1] is not None:
                entries.append(self._fires(at, number, handles, starts, ends))
        return entries + self._leaves(number, handles, starts, ends, ends)

    def _fires(self, at: int, number: int, handles: Ids, starts: Ticks, ends: Ticks) -> NDArray[np.int64]:
        own = self._rules.ready[at, 2 * number : 2 * number + 2]
        instants = ready_instants(starts, ends, own[0], own[1])
        return _entries(instants, FIRE, number, handles, starts, ends, decision=at)

    def _leaves(self, number: int, handles: Ids, starts: Ticks, ends: Ticks, known: Ticks) -> list[NDArray[np.int64]]:
        """Entries for when rows can match no more, and when unmatched ones are to be looked at."""
        bounds = self._tight[number]
        ready = self._rules.ready
        own, other = (ready[:, :2], ready[:, 2:]) if number == 0 else (ready[:, 2:], ready[:, :2])
        decides = [np.array([_own(decision, side)[1] for decision in self.decisions]) for side in (0, 1)]
        last = last_instants(starts, ends, bounds, own.copy(), other.copy(), decides[number], decides[1 - number])
        entries = []
        ever = last < MAX_TICK
        gone = np.maximum(last, known)
        entries.append(_entries(gone, EXPIRE, number, handles, starts, ends)[ever])
        if number == 0 and self.how in ("left", "anti"):
            at_end = self.sides[1].arrival == AT_END
            checked = closing_instants(starts, ends, bounds, self._open_limits, at_end)
            entries.append(
                _entries(np.maximum(checked, known), CHECK, number, handles, starts, ends)[checked < MAX_TICK]
            )
        return entries

    def _run(self, entries: list[NDArray[np.int64]], complete: int, refused: list[Refused]) -> Emitted:
        agenda = np.concatenate(entries)
        due = agenda[:, TIME] <= complete
        self._pending, agenda = agenda[~due], agenda[due]
        agenda = np.ascontiguousarray(agenda[np.lexsort((agenda[:, WHAT], agenda[:, TIME]))])
        state = np.array([0, 0, 0, self._waiting])
        live = (self.sides[0].live, self.sides[1].live)
        self._make_room_to_wait()
        parts, room = [], 1024
        while True:
            room = max(room, self.state_size + self._waiting + 1)
            out = Output(*(np.empty(room, np.int64) for _ in range(5)))
            done = run(agenda, complete, live, self._rules, self._waiters, state, out)
            pairs, rows = int(state[PAIRS]), int(state[ROWS])
            parts.append([column[:pairs] for column in out[:3]] + [column[:rows] for column in out[3:]])
            state[PAIRS] = state[ROWS] = 0
            if done:
                break
            room *= 2
        self._waiting = int(state[WAITERS])
        self.clock = complete
        return Emitted(*(np.concatenate(columns) for columns in zip(*parts, strict=True)), tuple(refused))

    def _make_room_to_wait(self) -> None:
        """Every live left row may have to wait."""
        needed = self._waiting + int(self.sides[0].live.keys.size)
        if needed > self._waiters.handles.size:
            larger = Waiters(*(np.empty(2 * needed, np.int64) for _ in range(3)))
            for new, old in zip(larger, self._waiters, strict=True):
                new[: self._waiting] = old[: self._waiting]
            self._waiters = larger


def _own(decision: Decision, side: int) -> tuple[tuple[int | None, int | None], bool]:
    """The constants of a side's readiness, and whether that side may decide."""
    if side == 0:
        return decision.left, decision.left_decides
    return decision.right, decision.right_decides


def _seen_from(side: int, box: Box) -> Box:
    return box if side == 0 else box.inverse()


def _bounds(box: Box | None) -> list[int]:
    ranges = box.ranges if box is not None else ()
    return [
        tick for low, high in ranges for tick in (MIN_TICK if low is None else low, MAX_TICK if high is None else high)
    ]


def _rules(decided: tuple[Decision, ...], how: int) -> Rules:
    left, right = (
        np.array([_bounds(_seen_from(side, decision.box)) for decision in decided], np.int64).reshape(-1, 8)
        for side in (0, 1)
    )
    constants = [
        [NEVER if constant is None else constant for constant in (*decision.left, *decision.right)]
        for decision in decided
    ]
    return Rules(
        left,
        right,
        np.array(constants, np.int64).reshape(-1, 4),
        np.array([decision.left_decides and decision.right_decides for decision in decided], np.bool_),
        how,
    )


def _open_limit(box: Box, *, at_end: bool) -> int:
    """How long after the start of a left row that is still open a partner may still become known."""
    tight = box.tight() or box
    limits = [tight.end_start[1] if at_end else tight.start_start[1]]
    for (_, to_start), (from_end, _) in ((tight.start_start, tight.start_end), (tight.end_start, tight.end_end)):
        limits.append(None if to_start is None or from_end is None else to_start - from_end)
    return min((limit for limit in limits if limit is not None), default=MAX_TICK)


def _entries(
    times: Ticks,
    what: int,
    side: int,
    handles: Ids,
    starts: Ticks,
    ends: Ticks,
    names: Ids | None = None,
    decision: int = 0,
) -> NDArray[np.int64]:
    """Entries of an agenda, one per row."""
    entries = np.empty((handles.size, COLUMNS), np.int64)
    for column, values in enumerate((times, what, side, decision, handles, starts, ends)):
        entries[:, column] = values
    entries[:, COLUMNS - 1] = 0 if names is None else names
    return entries
