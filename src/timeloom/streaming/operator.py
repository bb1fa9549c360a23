"""The streaming join on arrays: endpoint events in, certain pairs out."""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.joins.sweep_join import Counters
from timeloom.kernels.order import Ticks
from timeloom.kernels.streaming.agenda import empty_agenda, more_room
from timeloom.kernels.streaming.arrival import Columns, admitted, endings
from timeloom.kernels.streaming.direct_sweep import AT_END as AT_END_POINT
from timeloom.kernels.streaming.direct_sweep import SAME_START, UNSEEN, sweep_direct
from timeloom.kernels.streaming.foresight import NEAR_TICK, foresee
from timeloom.kernels.streaming.gapless import (
    AFTER,
    COUNT,
    KEY,
    MARK,
    NAME,
    START,
    Cells,
    contents,
    filled,
    with_room,
)
from timeloom.kernels.streaming.layout import (
    BEFORE,
    CANDIDATES,
    COMING,
    CURSOR,
    DUE,
    ENTRY_SIZE,
    EVENT_HANDLE,
    EVERY,
    FAR,
    GETNEXT,
    HANDLES,
    HEAP,
    LATE,
    MATCHED,
    PAIRS,
    PLANNED,
    ROWS,
    SCANS,
    STATE_SIZE,
    TIME,
    TO_REVIEW,
    WAITER_SIZE,
    WAITERS,
    WANTED,
    WHOLE,
)
from timeloom.kernels.streaming.layout import ID as EVENT_ID
from timeloom.kernels.streaming.open_rows import HANDLE, ID, empty_rows, refilled, rows_in
from timeloom.kernels.streaming.plain_sweep import sweep_plain
from timeloom.kernels.streaming.planned_sweep import advance
from timeloom.kernels.streaming.scan import BUFFER
from timeloom.kernels.streaming.unmatched import kept_sides
from timeloom.kernels.streaming.waiting import relink
from timeloom.model.options import checked
from timeloom.model.relation import Relation
from timeloom.model.ticks import FOREVER, MIN_TICK, Axis
from timeloom.streaming.deciding import AT_END, EVENTS
from timeloom.streaming.emitted import HOWS, Emitted, checked_how, ended_rows
from timeloom.streaming.guarding import Guarded, guarded
from timeloom.streaming.intake import Events, Ids, Intake, Until, refused
from timeloom.streaming.restoring import sound_arrays
from timeloom.streaming.result_pages import ResultPages
from timeloom.streaming.rules import Directly, alike, directly, is_near, rules_of
from timeloom.streaming.state_layout import BEFORE as STORED_BEFORE
from timeloom.streaming.state_layout import LEFT_HANDLE
from timeloom.streaming.stepwise import Stepwise, ended_of, open_as_live, refused_of, searches


class EndpointJoin(Guarded):
    """Join two streams of endpoints; each pair leaves at the first instant at which it is certain.

    Instants are ticks, and an instant is complete once no more of its events can come: when an event of a later
    instant arrives on either side, or when the caller says so (``until``). The order of events within one instant
    does not matter. ``lazy`` lets rows that become ready one after the other share a scan; ``counters`` tells what that
    saves. Where rows are ``numbered``, results have the numbers of their starts in place of ids. ``lateness`` is that
    of `Intake`. Whoever judges ``every`` pair by more than its periods gets all pairs of the relation, and each row,
    matched or not, once it can match no more. Any number of threads may ask while others push.
    """

    @checked
    def __init__(
        self,
        relation: Relation,
        *,
        how: str = "inner",
        left: str = EVENTS,
        right: str = EVENTS,
        axis: Axis = Axis.INTEGER,
        lazy: bool = True,
        numbered: bool = False,
        every: bool = False,
        lateness: tuple[int, int] | None = None,
    ) -> None:
        super().__init__()
        self.how = how = checked_how(how, left, right)
        self.numbered = numbered
        self.code = EVERY if every else HOWS.index(how)
        """The kind of join, for the sweep."""
        self.intake = Intake(left, right, lateness)
        self.counters = Counters()
        boxes = relation.boxes(axis)
        self.query = (
            f"{how} join of {left} with {right} on the {axis.value} axis by {[list(box.ranges) for box in boxes]}"
        )
        self.rules = rules_of(boxes, left, right)
        """The relation, for the sweep."""
        self._lazy = BUFFER if lazy else 1
        self._plain = how == "inner" and not every and left == right == EVENTS and is_near(self.rules)
        self._directly = directly(self.rules) if self._plain else None
        self._pairs_per_event = 1.0
        self._pages = ResultPages()
        self._opened = empty_rows(32)
        self._maps = self._filled(*[np.empty((AFTER, 0), np.int64)] * 2)
        self._agenda = empty_agenda(64)
        self._waiters = np.empty((ENTRY_SIZE, 64), np.int64)
        self._state = self.empty_state()
        self._stepwise = self._made_stepwise([np.empty((0, 3), np.int64)] * 2)

    def _made_stepwise(self, opened: list[Cells]) -> Stepwise | None:
        """How to sweep sides that are matched each by itself, from these open rows, if that is possible."""
        if self._directly is None:
            return None
        searched = searches(self._directly, self.rules.decisions[0].tolist())
        if searched is None:
            return None
        together = self._directly.same == SAME_START
        return Stepwise(searched, self.rules.decisions, opened, numbered=self.numbered, together=together)

    def _open(self, side: int) -> Cells:
        """Ids, handles and starts of the open rows of a side."""
        return rows_in(self._opened, side) if self._stepwise is None else self._stepwise.opened(side)

    def _live(self, side: int) -> Cells:
        """The rows of a side that are kept because they may be found by others."""
        return contents(self._maps, side) if self._stepwise is None else self._stepwise.live(side)

    def empty_state(self) -> Cells:
        """Where a run stands that has not begun, for the sweep."""
        state = np.zeros(STATE_SIZE, np.int64)
        state[BEFORE], state[TO_REVIEW] = MIN_TICK, -1
        for side, arrival in enumerate(self.intake.arrivals):
            state[WHOLE + side], state[LATE + side] = arrival != EVENTS, arrival == AT_END
        return state

    @property
    @guarded
    def state_size(self) -> int:
        """Rows that are kept because they may still match."""
        if self._stepwise is not None:
            return sum(count for side, count in enumerate(self._stepwise.counts()) if self._stepwise.keeps(side))
        return int(self._maps[:, COUNT, 0].sum()) + sum(int(self._opened[side, -1, 0]) for side in self.unseen)

    @property
    def unseen(self) -> list[int]:
        """The sides whose open rows may still match, but need not be kept beyond their ids and starts."""
        if self._directly is None:
            return []
        return [
            side
            for side, ends in enumerate(self._directly.fires)
            if ends == AT_END_POINT and self._directly.leaves[side] == UNSEEN
        ]

    def _filled(self, left: Cells, right: Cells) -> Cells:
        """Maps with these rows, as the sweep needs them."""
        return filled(left, right, by=self.chained_by, waiting=not self._plain)

    @property
    def chained_by(self) -> int:
        """By which endpoint rows are chained, because partners share it, or 0."""
        if not self._plain:
            return alike(self.rules)
        return START if self._directly is not None and self._directly.same == SAME_START else 0

    @property
    def direct(self) -> Directly | None:
        """At which endpoints rows look for partners, and leave, if nothing has to be planned."""
        return self._directly

    @property
    def is_plain(self) -> bool:
        """Whether only pairs of one box are asked for, far from the ends of the axis."""
        return self._plain

    @property
    @guarded
    def open_rows(self) -> int:
        """Rows that have started and not ended."""
        return int(self._opened[:, -1, 0].sum()) if self._stepwise is None else sum(self._stepwise.counts())

    @property
    @guarded
    def is_idle(self) -> bool:
        """Whether there is nothing to keep: no row, no plan, no event held back."""
        return not (self.open_rows or self.intake.waiting or self.state_size) and self.next_instant == FOREVER

    @guarded
    def used_ids(self, side: int) -> Ids:
        """The ids, or numbers, of a side's rows that are open or may still match, and of events held back."""
        live, opened, held = self._live(side), self._open(side), self.intake.sides[side].held
        if self.numbered:
            return np.concatenate([live[KEY], opened[:, HANDLE], held.row_numbers])
        return np.concatenate([live[NAME], opened[:, ID], held.ids])

    def held_ids(self, side: int) -> Ids:
        """The ids of a side's events that are held back."""
        return self.intake.sides[side].held.ids

    @guarded
    def kept_rows(self, side: int) -> Ids:
        """The numbers of a side's rows: of those that are open or may still match, and of starts that are held back."""
        live, opened, held = self._live(side), self._open(side), self.intake.sides[side].held
        starts = held.row_numbers[held.starting]
        return np.concatenate([live[KEY], opened[:, HANDLE], starts[starts >= 0]])

    def next_number(self, side: int) -> int:
        """A number that no row of a side has had, of those that anything still knows."""
        held = self.intake.sides[side].held.row_numbers
        return max(int(self._state[HANDLES + side]), int(held.max(initial=-1)) + 1)

    @property
    @guarded
    def next_instant(self) -> int:
        """The next instant at which something is to be done even if nothing happens, or FOREVER."""
        planned = int(self._agenda[HEAP, 0, TIME]) if self._state[PLANNED] else FOREVER
        return min(planned, self.intake.first_held)

    @guarded
    def snapshot(self) -> list[NDArray[np.int64]]:
        """The whole state as arrays, for `restore` on a join with the same options."""
        state = self._state
        kept = state[[HANDLES, HANDLES + 1, BEFORE, FAR]]
        numbers = np.array([self.intake.clock, *kept, *self.intake.clocks], np.int64)
        opened, maps = [self._open(side).copy() for side in (0, 1)], [self._live(side) for side in (0, 1)]
        plans, waiters = self._agenda[HEAP, : state[PLANNED]], self._waiters[:WAITER_SIZE, : state[WAITERS]]
        return [numbers, *self.intake.held(), *opened, *maps, plans.copy(), waiters.copy()]

    @guarded
    def restore(self, state: list[NDArray[np.int64]]) -> None:
        """Go on from a snapshot; one that cannot be is a StorageError, and changes nothing."""
        numbers, left_held, right_held, *rows, plans, waiters = sound_arrays(state, self.intake.arrivals)
        clock, *_, left_clock, right_clock = numbers.tolist()
        self.intake.restore((clock, left_clock, right_clock), left_held, right_held)
        self._state[[HANDLES, HANDLES + 1, BEFORE, FAR]] = numbers[LEFT_HANDLE : STORED_BEFORE + 2]
        self._state[PLANNED], self._state[WAITERS] = len(plans), waiters.shape[1]
        if self._state[FAR]:
            self._plain, self._directly = False, None
        opened, live = rows[:2], rows[2:]
        self._stepwise = self._made_stepwise(opened)
        if self._stepwise is not None and not self._stepwise.has(live):
            self._stepwise = None
        self._opened, self._maps = refilled(*opened), self._filled(*live)
        self._agenda = empty_agenda(len(plans) + 64)
        self._agenda[HEAP, : len(plans)] = plans
        self._waiters = np.empty((ENTRY_SIZE, waiters.shape[1] + 64), np.int64)
        self._waiters[:WAITER_SIZE, : waiters.shape[1]] = waiters
        if not self._plain:
            relink(self._maps, self._waiters, self._state)

    @checked
    def push(self, left: Events, right: Events, until: Until = None) -> Emitted:
        """Take events of both sides; answer what is certain at the last complete instant.

        ``until`` promises that all events up to that instant have been given, on both sides or on each. Without it, the
        instants before the latest event are complete.
        """
        return self.take(left, right, until)

    @guarded
    def take(self, left: Events, right: Events, until: Until = None) -> Emitted:
        """Do what `push` does, for callers whose arguments need no look."""
        return self._advance(left, right, self.intake.complete(left, right, until))

    @guarded
    def close(self) -> Emitted:
        """End both streams: what is open never ends."""
        emitted = self._advance(Events.none(), Events.none(), FOREVER)
        for side, kept in enumerate(kept_sides(self.code)):
            if kept:
                alive = contents(self._maps, side)
                alone = alive[NAME][alive[MARK] != MATCHED]
                emitted = emitted._replace(
                    rows=np.concatenate([emitted.rows, alone]),
                    row_instants=np.concatenate([emitted.row_instants, np.full(alone.size, FOREVER)]),
                    row_sides=np.concatenate([emitted.row_sides, np.full(alone.size, side)]),
                )
        return emitted

    def _advance(self, left: Events, right: Events, complete: int) -> Emitted:
        columns, state = self.intake.due(left, right, complete), self._state
        state[PAIRS] = state[ROWS] = state[CURSOR] = state[DUE] = 0
        state[SCANS] = state[GETNEXT] = state[CANDIDATES] = 0
        if complete == FOREVER or any(is_far(known) for _, known, *_ in columns):
            self._take_care()
        if self._stepwise is not None:
            return self._take_steps(self._stepwise, columns)
        events = self.intake.laid_out(*columns)
        given = events[:, EVENT_HANDLE].copy() if self.numbered else events[:0, EVENT_HANDLE]
        self._opened = admitted(events, self._opened, state)
        bad, taken, ended = refused(events), len(events), ended_rows(events, given)
        if complete == FOREVER:
            events, self._opened = np.concatenate([events, endings(self._opened)]), empty_rows(32)
        if self.numbered:
            events[:, EVENT_ID] = events[:, EVENT_HANDLE]
        sweep = self._sweep_plain if self._plain else self._sweep
        pairs, rows = sweep(events, complete)
        self.counters.add(state[[SCANS, GETNEXT, CANDIDATES, PAIRS]], 0)
        used = taken - sum(len(some.verdicts) for some in bad)
        return Emitted(pairs[0], pairs[1], pairs[2], rows[0], rows[1], rows[2], bad, used, ended)

    def _take_care(self) -> None:
        """From now on sweep with sums that saturate; all rows that may still match are kept for that."""
        live, opened = [self._live(side) for side in (0, 1)], [self._open(side) for side in (0, 1)]
        for side in self.unseen:
            live[side] = np.concatenate([live[side], open_as_live(opened[side], numbered=self.numbered)], axis=1)
        was_plain = self._plain
        if self._stepwise is not None:
            self._opened = refilled(*opened)
        self._state[FAR], self._plain, self._directly, self._stepwise = 1, False, None, None
        if was_plain:
            self._maps = self._filled(*live)

    def _take_steps(self, stepwise: Stepwise, columns: tuple[Columns, Columns]) -> Emitted:
        """The same where each side is matched by itself."""
        state, given = self._state, sum(own[0].size for own in columns)
        before = stepwise.counts()
        taken = stepwise.take(columns, state)
        pairs = stepwise.sweep(taken, before, self._lazy, state, self._pages, self._pairs_expected(given))
        self._pairs_per_event = int(state[PAIRS]) / given if given else self._pairs_per_event
        self.counters.add(state[[SCANS, GETNEXT, CANDIDATES, PAIRS]], 0)
        bad = tuple(refused_of(side, columns[side], own.refused) for side, own in enumerate(taken) if len(own.refused))
        ended = np.empty((4, 0), np.int64)
        if self.numbered:
            ended = np.concatenate([ended_of(side, own.ended) for side, own in enumerate(taken)], axis=1)
        nothing = np.empty(0, np.int64)
        used = given - sum(len(some.verdicts) for some in bad)
        return Emitted(pairs[0], pairs[1], pairs[2], nothing, nothing, nothing, bad, used, ended)

    def _pairs_expected(self, events: int) -> int:
        """Room for somewhat more pairs than events gave before."""
        return 1024 + int(1.125 * self._pairs_per_event * events)

    def _sweep(self, events: Cells, complete: int) -> tuple[Cells, Cells]:
        pairs, rows = np.empty((3, 1024 + 2 * len(events)), np.int64), np.empty((3, 64), np.int64)
        self._maps, self._agenda, self._waiters, pairs, rows = advance(
            events,
            complete,
            self.code,
            *self.rules,
            self._maps,
            self._agenda,
            self._waiters,
            self._state,
            pairs,
            rows,
        )
        return pairs[:, : self._state[PAIRS]], rows[:, : self._state[ROWS]]

    def _sweep_plain(self, events: Cells, complete: int) -> tuple[Cells, Cells]:
        """The same where only pairs are asked for. There is room for somewhat more pairs than events gave before."""
        state, rules = self._state, self.rules.decisions
        pairs = self._pages.room(self._pairs_expected(len(events)))
        buffer, foreseen = np.empty((2, self._lazy, 6), np.int64), np.empty((len(events), 2), np.int64)
        if self._directly is None:
            foresee(events, rules, foreseen)
        done = False
        while not done:
            if self._directly is None:
                done = sweep_plain(events, foreseen, complete, rules, self._maps, self._agenda, buffer, state, pairs)
            else:
                done = sweep_direct(events, *self._directly, rules, self._maps, buffer, state, pairs)
            if not done:
                pairs = self._with_room(pairs, len(events))
        if len(events):
            self._pairs_per_event = int(state[PAIRS]) / len(events)
        return self._pages.written(pairs, int(state[PAIRS])), np.empty((3, 0), np.int64)

    def _with_room(self, pairs: Cells, events: int) -> Cells:
        """Make room for the next instant, and for as many pairs as the events so far let expect."""
        state, coming = self._state, int(self._state[COMING])
        self._maps = with_room(self._maps, coming)
        while state[PLANNED] + state[DUE] + 2 * coming > self._agenda.shape[1]:
            self._agenda = more_room(self._agenda)
        written, wanted = int(state[PAIRS]), int(state[WANTED])
        if written + wanted <= pairs.shape[1]:
            return pairs
        expected = written * events // max(1, int(state[CURSOR]))
        larger = self._pages.room(max(2 * pairs.shape[1], written + wanted, expected + expected // 4))
        larger[:, :written] = pairs[:, :written]
        return larger


def is_far(known: Ticks) -> bool:
    """Whether instants that come in order are near the ends of the axis, where sums must saturate."""
    return known.size > 0 and max(-int(known[0]), int(known[-1])) > NEAR_TICK
