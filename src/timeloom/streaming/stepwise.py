"""The streaming join of two sides that are each matched by themselves, and then swept over each other's open rows."""

from functools import partial
from typing import NamedTuple

import numpy as np

from timeloom.kernels.streaming.arrival import Columns
from timeloom.kernels.streaming.chain_sweep import CHAINED_SIZE, chain_all, sweep_chained
from timeloom.kernels.streaming.direct_sweep import AT_END, AT_START, BEFORE_END, NOT_AT_ALL, SAME_START, UNSEEN
from timeloom.kernels.streaming.gapless import AFTER, END, FIRED, KEY, NAME, Cells
from timeloom.kernels.streaming.gapless import START as LIVE_START
from timeloom.kernels.streaming.layout import DECIDES, HANDLES, LEFT_BOUNDS, LEFT_READY, PAIRS, RIGHT_SIDE, WANTED
from timeloom.kernels.streaming.pairs import NEVER
from timeloom.kernels.streaming.step_sweep import (
    EVERY_ONE,
    NEXT_POINT,
    NOW_ENDS,
    OPEN_COUNT,
    POINTS_END,
    STARTS,
    sweep_now,
    sweep_steps,
)
from timeloom.kernels.streaming.steps import (
    COUNT,
    HANDLE,
    ID,
    MARK_NAME,
    MARK_NUMBER,
    MARK_SIZE,
    MARK_TIME,
    NEXT_HANDLE,
    PLACE,
    PROGRESS_SIZE,
    SLOTS_PER_ROW,
    START,
    STEP_SIZE,
    empty_table,
    ends_first,
    fill,
    match_events,
)
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK
from timeloom.streaming.intake import Events, Refused
from timeloom.streaming.result_pages import ResultPages, WorkingMemory
from timeloom.streaming.rules import Directly

SMALLEST = 128
"""Open rows of a side that there is always room for."""


class Search(NamedTuple):
    """How the rows of a side look for partners among open rows of the other side, and among those of this instant."""

    at_end: bool
    open_ones: bool
    every_one: bool
    begun_now: bool
    ended_now: bool
    delay: int
    """How much later than they start open rows are seen, so that all that are seen match, if every one does."""

    @property
    def bits(self) -> int:
        """The same for the sweep."""
        return POINTS_END * self.at_end | NOW_ENDS * self.ended_now | EVERY_ONE * self.every_one


def searches(directly: Directly, rule: list[int]) -> tuple[Search | None, Search | None] | None:
    """How rows of either side look for partners, or None if open rows and those of an instant are not all there is."""
    if NOT_AT_ALL in directly.leaves:
        return None
    left, right = (_search(directly, rule, side) for side in (0, 1))
    ends_only = all(search is None or (search.at_end and search.open_ones) for search in (left, right))
    if directly.same == SAME_START and not (ends_only and set(directly.leaves) == {BEFORE_END, UNSEEN}):
        return None
    return left, right


def _search(directly: Directly, rule: list[int], side: int) -> Search | None:
    fires, leaves = directly.fires[side], directly.leaves[1 - side]
    if fires == NOT_AT_ALL:
        return None
    own, other = LEFT_BOUNDS + 8 * side, LEFT_READY + 2 * (1 - side)
    low_a, high_a, low_b, high_b, _, end_a, _, end_b = rule[own : own + 8]
    at_end = fires == AT_END
    open_ones = leaves != AT_START and end_a == MAX_TICK and (end_b == MAX_TICK or not at_end)
    latest = (high_b if high_a == MAX_TICK else MIN_TICK) if at_end else high_a
    every_one = low_a == low_b == MIN_TICK and latest >= -1 and rule[other] in (NEVER, 0)
    open_ones = open_ones and rule[other + 1] == NEVER
    is_second = side == RIGHT_SIDE and rule[DECIDES] != 0
    return Search(
        at_end, open_ones, every_one, leaves == AT_START, leaves == AT_END, int(every_one and (is_second or latest < 0))
    )


class Taken(NamedTuple):
    """The events of one side: steps of its list of open rows, rows that start and that end, and what is refused.

    They lie in memory that the next events of the side are taken into.
    """

    steps: Cells
    begun: Cells
    ended: Cells
    refused: Cells


class Wants(NamedTuple):
    """Whether steps, starts and ends of a side are asked for."""

    steps: bool
    begun: bool
    ended: bool


class OpenRows:
    """The open rows of one side by id; where they are scanned also as a list, as a sweep has it, which is ``chained``
    where partners start together."""

    def __init__(self, rows: Cells, *, numbered: bool, listed: bool, chained: bool = False) -> None:
        room = max(SMALLEST, 1 << max(0, len(rows) - 1).bit_length())
        self._table, self._owners = empty_table(room, listed=listed)
        fill(self._table, self._owners, rows)
        self._by, self.count, self._chained = HANDLE if numbered else ID, len(rows), chained
        self._memory = WorkingMemory()
        self.listed = np.empty((CHAINED_SIZE if chained else 2, self._owners.size), np.int64)
        if listed:
            self.listed[: STARTS + 1, : self.count] = rows[:, [self._by, START]].T
        if chained:
            chain_all(self.listed, self.count)

    @property
    def rows(self) -> Cells:
        """Ids, handles and starts of the open rows, as they stand in the list, if there is one."""
        return self._first(self.count)

    def _first(self, count: int) -> Cells:
        """The rows of so many places; without a list all of them."""
        which = self._owners[:count] if self._owners.size else self._table[:, HANDLE] >= 0
        rows: Cells = self._table[which, :PLACE]
        return rows

    def take(self, columns: Columns, wants: Wants, delay: int, handles: int) -> tuple[Taken, int]:
        """Match ends with open rows; starts count so much later in steps. Answers the next handle, too."""
        ids, known, _, _, started, numbers = columns
        starting = started.view(np.uint8)
        memory, progress = self._memory, np.zeros(PROGRESS_SIZE, np.int64)
        order = memory.room("order", ids.size)[:, 0]
        ends_first(known, starting, order)
        progress[COUNT], progress[NEXT_HANDLE] = self.count, handles
        room, width = ids.size + 1, MARK_SIZE if self._by == HANDLE else MARK_NUMBER
        steps = memory.room("steps", room if wants.steps else 0, STEP_SIZE)
        begun = memory.room("begun", room if wants.begun else 0, width)
        ended = memory.room("ended", room if wants.ended else 0, width)
        refused = memory.room("refused", ids.size, 2)
        events = (ids, known, starting, numbers, order, self._by, delay)
        while not match_events(*events, self._table, self._owners, progress, steps, begun, ended, refused):
            self._grow(int(progress[COUNT]))
        self.count, handles, _, starts, ends, bad = progress.tolist()
        return Taken(steps[: starts + ends], begun[:starts], ended[:ends], refused[:bad]), handles

    def _grow(self, count: int) -> None:
        """Make room for twice as many open rows as these; the list is still as it was before the events at hand."""
        larger = empty_table(len(self._table) * 2 // SLOTS_PER_ROW, listed=self._owners.size > 0)
        fill(*larger, self._first(count))
        self._table, self._owners = larger
        self.listed = np.concatenate([self.listed, np.empty_like(self.listed)], axis=1)
        if self._chained:
            chain_all(self.listed, self.count)


class Stepwise:
    """Both sides of a join whose rows match only while they are open, or at the instant at which they begin or end."""

    def __init__(
        self,
        searched: tuple[Search | None, Search | None],
        rules: Cells,
        opened: list[Cells],
        *,
        numbered: bool,
        together: bool,
    ) -> None:
        self._together = together
        self.searches, self.numbered, self._rules = searched, numbered, rules
        self._wants = [self._wanted(side) for side in (0, 1)]
        self._delays = [0 if search is None else search.delay for search in searched[::-1]]
        self._sides = [
            OpenRows(rows, numbered=numbered, listed=wants.steps, chained=together and wants.steps)
            for rows, wants in zip(opened, self._wants, strict=True)
        ]

    def _wanted(self, side: int) -> Wants:
        own, other = self.searches[side], self.searches[1 - side]
        return Wants(
            other is not None and other.open_ones,
            (own is not None and not own.at_end) or (other is not None and other.begun_now),
            self.numbered or (own is not None and own.at_end) or (other is not None and other.ended_now),
        )

    def counts(self) -> tuple[int, int]:
        """How many rows of either side are open."""
        return self._sides[0].count, self._sides[1].count

    def opened(self, side: int) -> Cells:
        """Ids, handles and starts of the open rows of a side."""
        return self._sides[side].rows

    def live(self, side: int) -> Cells:
        """The rows of a side that rows of the other one may find, as other sweeps have them."""
        search, opened = self.searches[1 - side], self.opened(side)
        if search is None or search.begun_now:
            opened = opened[:0]
        return open_as_live(opened, numbered=self.numbered)

    def has(self, live: list[Cells]) -> bool:
        """Whether these rows, of either side, are those that rows of the other one may find."""
        own = [self.live(side)[:FIRED] for side in (0, 1)]
        return all(
            np.array_equal(ours[:, np.argsort(ours[KEY])], some[:FIRED, np.argsort(some[KEY])])
            for ours, some in zip(own, live, strict=True)
        )

    def keeps(self, side: int) -> bool:
        """Whether rows of a side that are open may still match."""
        own, other = self.searches[side], self.searches[1 - side]
        return (own is not None and own.at_end) if other is None else not other.begun_now

    def take(self, columns: tuple[Columns, Columns], state: Cells) -> tuple[Taken, Taken]:
        """Match the ends of both sides with their open rows."""
        taken = []
        for side, (own, opened) in enumerate(zip(columns, self._sides, strict=True)):
            some, handles = opened.take(own, self._wants[side], self._delays[side], int(state[HANDLES + side]))
            state[HANDLES + side] = handles
            taken.append(some)
        return taken[0], taken[1]

    def sweep(
        self,
        taken: tuple[Taken, Taken],
        before: tuple[int, int],
        lazy: int,
        state: Cells,
        pages: ResultPages,
        expected: int,
    ) -> Cells:
        """The pairs of rows that look for partners at these events; so many rows were open ``before``."""
        pairs = pages.room(expected)
        for side, search in enumerate(self.searches):
            if search is None:
                continue
            own, other, listed = taken[side], taken[1 - side], self._sides[1 - side].listed
            points, cursors = own.ended if search.at_end else own.begun, np.zeros(4, np.int64)
            now = other.begun if search.begun_now else other.ended if search.ended_now else other.ended[:0]
            cursors[OPEN_COUNT] = before[1 - side] if search.open_ones else 0
            if self._together:
                sweep = partial(sweep_chained, side, points, other.steps, self._rules, listed, cursors, state)
            elif not search.open_ones:
                sweep = partial(sweep_now, side, points, now, search.bits, self._rules, cursors, state)
            else:
                marks = (now, search.bits, lazy, self._rules, listed, cursors, state)
                sweep = partial(sweep_steps, side, points, other.steps, *marks)
            while not sweep(pairs):
                written = int(state[PAIRS])
                likely = written * len(points) // max(1, int(cursors[NEXT_POINT]))
                larger = pages.room(max(2 * pairs.shape[1], written + int(state[WANTED]), likely + likely // 4))
                larger[:, :written] = pairs[:, :written]
                pairs = larger
        return pages.written(pairs, int(state[PAIRS]))


def open_as_live(opened: Cells, *, numbered: bool) -> Cells:
    """Open rows of a side as rows that may still match; where rows are ``numbered``, that is what they are called."""
    rows = np.zeros((AFTER, len(opened)), np.int64)
    rows[[KEY, LIVE_START, NAME]] = opened[:, [HANDLE, START, HANDLE if numbered else ID]].T
    rows[END], rows[FIRED] = FOREVER, MIN_TICK
    return rows


def refused_of(side: int, columns: Columns, refused: Cells) -> Refused:
    """The events of a side that take no part."""
    ids, _, times, _, starting, _ = columns
    positions, verdicts = refused.T
    return Refused(side, Events.endpoints(ids[positions], times[positions], starting[positions]), verdicts)


def ended_of(side: int, ended: Cells) -> Cells:
    """The numbered rows of a side that have ended: their side, their numbers, those of their ends, and when."""
    return np.stack([np.full(len(ended), side), ended[:, MARK_NAME], ended[:, MARK_NUMBER], ended[:, MARK_TIME]])
