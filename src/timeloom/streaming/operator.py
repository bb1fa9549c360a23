"""The streaming join on arrays: endpoint events in, certain pairs out."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.errors import UsageError, did_you_mean
from timeloom.kernels.gapless import COUNT, MARK, NAME, Cells, contents, empty_maps, filled, with_room
from timeloom.kernels.open_rows import ID, empty_rows, refilled, rows_in, with_space
from timeloom.kernels.order import Ticks
from timeloom.kernels.sweep_agenda import empty_agenda, more_room
from timeloom.kernels.sweep_join import Counters
from timeloom.kernels.sweep_layout import (
    BEFORE,
    CANDIDATES,
    COMING,
    CURSOR,
    GETNEXT,
    HEAP,
    IS_OVER,
    LATE,
    MATCHED,
    PAIRS,
    PLANNED,
    ROWS,
    SCANS,
    STATE_SIZE,
    TIME,
    WAITERS,
    WANTED,
    WHOLE,
)
from timeloom.kernels.sweep_plain import sweep_plain
from timeloom.kernels.sweep_scan import BUFFER
from timeloom.kernels.sweep_stream import advance
from timeloom.kernels.sweep_unmatched import next_review
from timeloom.model.relation import Relation
from timeloom.model.ticks import FOREVER, MIN_TICK, Axis
from timeloom.streaming.deciding import ARRIVALS, AT_END, EVENTS
from timeloom.streaming.intake import Events, Ids, Intake, Refused, refused
from timeloom.streaming.rules import rules_of

HOWS = ("inner", "left", "semi", "anti")


def check_options(how: str, left: str, right: str) -> None:
    """Refuse unknown kinds of join and of arrival."""
    for option, value, known in (("how", how, HOWS), ("left", left, ARRIVALS), ("right", right, ARRIVALS)):
        if value not in known:
            raise UsageError(f"{option}={value!r} is unknown. {did_you_mean(value, known)}")


class Emitted(NamedTuple):
    """What has become certain: pairs, single left rows, and the events that were refused."""

    lefts: Ids
    rights: Ids
    instants: Ticks
    rows: Ids
    row_instants: Ticks
    refused: tuple[Refused, ...]


class EndpointJoin:
    """Join two streams of endpoints; each pair leaves at the first instant at which it is certain.

    Instants are ticks, and an instant is complete once no more of its events can come: when an event of a later
    instant arrives on either side, or when the caller says so (``until``). The order of events within one instant
    does not matter. ``lazy`` lets rows that become ready one after the other share a scan; ``counters`` tells what that
    saves.
    """

    def __init__(
        self,
        relation: Relation,
        *,
        how: str = "inner",
        left: str = EVENTS,
        right: str = EVENTS,
        axis: Axis = Axis.INTEGER,
        lazy: bool = True,
    ) -> None:
        check_options(how, left, right)
        self.how = how
        self.intake = Intake(left, right)
        self.counters = Counters()
        self._rules = rules_of(relation.boxes(axis), left, right)
        self._lazy = BUFFER if lazy else 1
        self._plain = how == "inner" and len(self._rules.decisions) == 1 and left == right == EVENTS
        self._pairs_per_event = 0
        self._opened = empty_rows(32)
        self._maps = empty_maps(2, 64)
        self._agenda = empty_agenda(64)
        self._waiters = np.empty((3, 64), np.int64)
        self._state = np.zeros(STATE_SIZE, np.int64)
        self._state[BEFORE] = MIN_TICK
        for side, arrival in enumerate((left, right)):
            self._state[WHOLE + side], self._state[LATE + side] = arrival != EVENTS, arrival == AT_END

    @property
    def state_size(self) -> int:
        """Rows that are kept because they may still match."""
        return int(self._maps[:, COUNT, 0].sum())

    @property
    def open_rows(self) -> int:
        """Rows that have started and not ended."""
        return int(self._opened[:, -1, 0].sum())

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to keep: no row, no plan, no event held back."""
        return not (self.state_size or self.open_rows) and self.next_instant == FOREVER

    def used_ids(self, side: int) -> Ids:
        """The ids of a side's rows that are open or may still match, and of events held back."""
        live, opened = contents(self._maps, side), rows_in(self._opened, side)
        return np.concatenate([live[NAME], opened[:, ID], self.intake.sides[side].held.ids])

    @property
    def next_instant(self) -> int:
        """The next instant at which something is to be done even if nothing happens, or FOREVER."""
        planned = int(self._agenda[HEAP, 0, TIME]) if self._state[PLANNED] else FOREVER
        return min(planned, self.intake.first_held, next_review(self._waiters, int(self._state[WAITERS])))

    def snapshot(self) -> list[NDArray[np.int64]]:
        """The whole state as arrays, for `restore` on a join with the same options."""
        opened = [rows_in(self._opened, side) for side in (0, 1)]
        maps = [contents(self._maps, side) for side in (0, 1)]
        plans, waiters = self._agenda[HEAP, : self._state[PLANNED]], self._waiters[:, : self._state[WAITERS]]
        return [*self.intake.snapshot(), *opened, *maps, plans, waiters, self._state]

    def restore(self, state: list[NDArray[np.int64]]) -> None:
        """Go on from a snapshot."""
        *intake, left_opened, right_opened, left, right, plans, waiters, self._state = state
        self.intake.restore(intake)
        self._opened, self._maps = refilled(left_opened, right_opened), filled(left, right)
        self._agenda = empty_agenda(len(plans) + 64)
        self._agenda[HEAP, : len(plans)] = plans
        self._waiters = np.concatenate([waiters, np.empty((3, 64), np.int64)], axis=1)

    def push(self, left: Events, right: Events, until: int | None = None) -> Emitted:
        """Take events of both sides; answer what is certain at the last complete instant.

        ``until`` promises that all events up to that instant have been given. Without it, the instants before the
        latest event are complete.
        """
        return self._advance(left, right, self.intake.complete(left, right, until))

    def close(self) -> Emitted:
        """End both streams: what is open never ends."""
        emitted = self._advance(Events.none(), Events.none(), FOREVER)
        if self.how not in ("left", "anti"):
            return emitted
        alive = contents(self._maps, 0)
        alone = alive[NAME][alive[MARK] != MATCHED]
        return emitted._replace(
            rows=np.concatenate([emitted.rows, alone]),
            row_instants=np.concatenate([emitted.row_instants, np.full(alone.size, FOREVER)]),
        )

    def _advance(self, left: Events, right: Events, complete: int) -> Emitted:
        events, state = self.intake.take(left, right, complete), self._state
        state[PAIRS] = state[ROWS] = state[CURSOR] = state[IS_OVER] = 0
        state[SCANS] = state[GETNEXT] = state[CANDIDATES] = 0
        pairs, rows = self._sweep_plain(events, complete) if self._plain else self._sweep(events, complete)
        self.counters.add(state[[SCANS, GETNEXT, CANDIDATES, PAIRS]], 0)
        return Emitted(pairs[0], pairs[1], pairs[2], rows[0], rows[1], refused(events))

    def _sweep(self, events: Cells, complete: int) -> tuple[Cells, Cells]:
        pairs, rows, self._opened, self._maps, self._agenda, self._waiters = advance(
            events,
            complete,
            HOWS.index(self.how),
            *self._rules,
            self._opened,
            self._maps,
            self._agenda,
            self._waiters,
            self._state,
        )
        return pairs[:, : self._state[PAIRS]], rows[:, : self._state[ROWS]]

    def _sweep_plain(self, events: Cells, complete: int) -> tuple[Cells, Cells]:
        """The same where only pairs are asked for. Memory that is not written to costs nothing, so there is plenty."""
        state, done = self._state, False
        pairs = np.empty((3, 1024 + max(self._pairs_per_event, 32) * len(events)), np.int64)
        buffer = np.empty((2, self._lazy, 6), np.int64)
        while not done:
            rules = self._rules.decisions
            done = sweep_plain(events, complete, rules, self._opened, self._maps, self._agenda, buffer, state, pairs)
            if not done:
                pairs = self._with_room(pairs, len(events))
        self._pairs_per_event = 2 * int(state[PAIRS]) // max(1, len(events))
        return pairs[:, : state[PAIRS]], np.empty((2, 0), np.int64)

    def _with_room(self, pairs: Cells, events: int) -> Cells:
        """Make room for the next instant, and for as many pairs as the events so far let expect."""
        state, coming = self._state, int(self._state[COMING])
        self._opened, self._maps = with_space(self._opened, coming), with_room(self._maps, coming)
        while state[PLANNED] + 2 * coming > self._agenda.shape[1]:
            self._agenda = more_room(self._agenda)
        written, wanted = int(state[PAIRS]), int(state[WANTED])
        if written + wanted <= pairs.shape[1]:
            return pairs
        expected = written * events // max(1, int(state[CURSOR]))
        larger = np.empty((3, max(2 * pairs.shape[1], written + wanted, expected + expected // 4)), np.int64)
        larger[:, :written] = pairs[:, :written]
        return larger
