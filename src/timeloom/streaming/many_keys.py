"""All keys of a streaming join in one sweep: for pairs of endpoint events in relations that need no plan."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.streaming.arrival import ACCEPTED
from timeloom.kernels.streaming.direct_sweep import AT_END, SAME_START, UNSEEN
from timeloom.kernels.streaming.foresight import NEAR_TICK
from timeloom.kernels.streaming.gapless import AFTER, END, FIRED, KEY, NAME, START, Cells, empty_maps, fill, with_room
from timeloom.kernels.streaming.keyed_sweep import (
    LIVE,
    LIVE_SIZE,
    OPEN,
    OPEN_SIZE,
    empty_pool,
    rows_of,
    store,
    sweep_keys,
    used_of,
)
from timeloom.kernels.streaming.layout import EVENT_HANDLE, EVENT_SIDE, HANDLES, PAIRS, STATE_SIZE, VERDICT
from timeloom.kernels.streaming.open_rows import HANDLE as OPEN_HANDLE
from timeloom.kernels.streaming.open_rows import empty_rows, refilled
from timeloom.kernels.streaming.scan import BUFFER
from timeloom.model.ticks import MIN_TICK
from timeloom.streaming.intake import Events, Ids, refused
from timeloom.streaming.operator import Emitted, EndpointJoin, ended_rows
from timeloom.streaming.restoring import FAR as STORED_FAR
from timeloom.streaming.restoring import LEFT_HANDLE, Stored

Arrays = list[NDArray[np.int64]]


class ManyKeys:
    """The rows of all keys at rest, and the sweep over those that events touch."""

    def __init__(self, make: Callable[[], EndpointJoin]) -> None:
        model = make()
        assert model.direct is not None
        self.numbered, self.intake = model.numbered, model.intake
        self._fires, self._leaves, self._same = model.direct
        self._rules = model.decisions
        self._lists = np.full((64, 4), -1, np.int64)
        self._live, self._opened = empty_pool(LIVE_SIZE), empty_pool(OPEN_SIZE)
        self._maps, self._table = empty_maps(2, 64, by_start=self._same == SAME_START), empty_rows(32)
        self._buffer = np.empty((2, BUFFER, 6), np.int64)
        self._state = np.zeros(STATE_SIZE, np.int64)
        self._held_keys: list[Cells] = [np.empty((2, 0), np.int64), np.empty((2, 0), np.int64)]
        self._next = [0, 0]

    @staticmethod
    def is_far(events: tuple[Events, Events]) -> bool:
        """Whether ticks are near the ends of the axis, where sums must saturate."""
        return any(some.ids.size and int(np.abs(some.times).max()) > NEAR_TICK for some in events)

    @property
    def keys(self) -> set[int]:
        """The keys that have rows, or events that are held back."""
        held = np.concatenate([some[1] for some in self._held_keys])
        return {*np.flatnonzero((self._lists >= 0).any(axis=1)).tolist(), *held.tolist()}

    @property
    def state_size(self) -> int:
        """Rows that are kept because they may still match."""
        unseen = [side for side in (0, 1) if self._fires[side] == AT_END and self._leaves[side] == UNSEEN]
        live = sum(used_of(self._lists, LIVE + side, self._live, KEY).size for side in (0, 1))
        return live + sum(used_of(self._lists, OPEN + side, self._opened, OPEN_HANDLE).size for side in unseen)

    def rows(self, side: int, *, numbers: bool) -> Ids:
        """The numbers, or ids, of a side's rows that are open or may still match."""
        live = used_of(self._lists, LIVE + side, self._live, KEY if numbers else NAME)
        opened = used_of(self._lists, OPEN + side, self._opened, OPEN_HANDLE if numbers else 0)
        return np.concatenate([live, opened])

    def push(self, events: tuple[Events, Events], keys: tuple[Ids, Ids], complete: int) -> tuple[Ids, Emitted]:
        """Sweep all keys with events up to an instant; answers the key of each pair, and what is certain."""
        left, right = (
            self._numbered(side, some, own) for side, (some, own) in enumerate(zip(events, keys, strict=True))
        )
        cells = self.intake.take(left, right, complete)
        good = cells[:, VERDICT] == ACCEPTED
        own = self._keys_of(cells[good])
        order = np.argsort(own, kind="stable")
        swept, own = np.ascontiguousarray(cells[good][order]), own[order]
        given = swept[:, EVENT_HANDLE].copy()
        touched, firsts = np.unique(own, return_index=True)
        counts, pairs = np.zeros(touched.size, np.int64), np.empty((3, 0), np.int64)
        if touched.size:
            pairs = self._sweep(swept, np.append(firsts, own.size), touched, counts)
        bad = refused(np.concatenate([cells[~good], swept]))
        used = len(cells) - sum(len(some.verdicts) for some in bad)
        self._forget_held()
        nothing = np.empty(0, np.int64)
        ended = ended_rows(swept, given if self.numbered else given[:0])
        emitted = Emitted(pairs[0], pairs[1], pairs[2], nothing, nothing, nothing, bad, used, ended)
        return np.repeat(touched, np.diff(counts, prepend=0)), emitted

    def _sweep(self, events: Cells, bounds: Ids, keys: Ids, counts: Ids) -> Cells:
        most = int(keys.max()) + 1
        if most > len(self._lists):
            more = np.full((max(most, 2 * len(self._lists)) - len(self._lists), 4), -1, np.int64)
            self._lists = np.concatenate([self._lists, more])
        pairs, self._live, self._opened, self._maps, self._table = sweep_keys(
            events,
            bounds,
            keys,
            self._lists,
            self._live,
            self._opened,
            self._fires,
            self._leaves,
            self._same,
            self._rules,
            self._maps,
            self._table,
            self._buffer,
            self._state,
            counts,
            self.numbered,
        )
        return pairs[:, : self._state[PAIRS]]

    def _numbered(self, side: int, events: Events, keys: Ids) -> Events:
        """The events with numbers, by which their keys are found again when their instants are complete."""
        if events.numbers is None:
            first, self._next[side] = self._next[side], self._next[side] + events.ids.size
            events = events._replace(numbers=np.arange(first, self._next[side]))
        self._held_keys[side] = np.concatenate([self._held_keys[side], np.stack([events.row_numbers, keys])], axis=1)
        return events

    def _keys_of(self, events: Cells) -> Ids:
        found = np.zeros(len(events), np.int64)
        for side in (0, 1):
            own = events[:, EVENT_SIDE] == side
            numbers, keys = self._held_keys[side]
            found[own] = keys[np.searchsorted(numbers, events[own, EVENT_HANDLE])]
        return found

    def _forget_held(self) -> None:
        """Only events that are held back must find their keys later."""
        for side, some in enumerate(self.intake.sides):
            if not some.held.ids.size:
                self._held_keys[side] = np.empty((2, 0), np.int64)
                continue
            kept = np.isin(self._held_keys[side][0], some.held.row_numbers)
            self._held_keys[side] = self._held_keys[side][:, kept]

    def next_number(self, side: int) -> int:
        """A number that no row of a side has."""
        held = self._held_keys[side][0]
        return max(int(self._state[HANDLES + side]), self._next[side], int(held.max(initial=-1)) + 1)

    def fits(self, stored: Stored) -> bool:
        """Whether the state of a join is one that needs no plan, and whose events can be told apart."""
        held = np.concatenate([stored.left_held[4], stored.right_held[4]])
        planned = len(stored.plans) + stored.waiters.shape[1] + int(stored.numbers[STORED_FAR])
        return not planned and bool((held >= 0).all())

    def take(self, key: int, stored: Stored) -> None:
        """Put the rows of a key at rest, and hold its events back; `settle` must follow."""
        if key >= len(self._lists):
            self._lists = np.concatenate([self._lists, np.full((key + 1, 4), -1, np.int64)])
        sides = ((stored.left_live, stored.left_opened), (stored.right_live, stored.right_opened))
        self._table = refilled(stored.left_opened, stored.right_opened)
        for side, (live, _) in enumerate(sides):
            self._maps = with_room(self._maps, live.shape[1])
            fill(self._maps, side, live)
        self._live, self._opened = store(self._lists, key, self._live, self._opened, self._maps, self._table)
        for side, (ids, times, starting, ends, numbers) in enumerate((stored.left_held, stored.right_held)):
            own = self.intake.sides[side]
            own.held = own.held.and_then(Events(ids, times, starting.astype(np.bool_), ends, numbers))
            keys = np.full(numbers.size, key)
            self._held_keys[side] = np.concatenate([self._held_keys[side], np.stack([numbers, keys])], axis=1)
            handles = int(stored.numbers[LEFT_HANDLE + side])
            self._state[HANDLES + side] = max(int(self._state[HANDLES + side]), handles)
            self._next[side] = max(self._next[side], handles, int(numbers.max(initial=-1)) + 1)

    def settle(self) -> None:
        """Bring the events that are held back into the order in which they came."""
        for side, some in enumerate(self._held_keys):
            self._held_keys[side] = some[:, np.argsort(some[0], kind="stable")]

    def snapshot(self, key: int) -> Arrays:
        """The state of one key as that of a join of its own."""
        clocks = self.intake.clocks
        numbers = [self.intake.clock, *(self.next_number(side) for side in (0, 1)), MIN_TICK, 0, *clocks]
        held, opened, live = [], [], []
        for side, own in enumerate(self.intake.sides):
            mine = self._held_keys[side][0, self._held_keys[side][1] == key]
            some = own.held.pick(np.isin(own.held.row_numbers, mine))
            held.append(np.array([column.astype(np.int64) for column in some.arrays]))
            opened.append(rows_of(self._lists, key, OPEN + side, self._opened))
            rows = rows_of(self._lists, key, LIVE + side, self._live).T
            tuples = np.zeros((AFTER, rows.shape[1]), np.int64)
            tuples[[KEY, START, END, NAME]] = rows
            tuples[FIRED] = MIN_TICK
            live.append(tuples)
        return [
            np.array(numbers, np.int64),
            *held,
            *opened,
            *live,
            np.empty((0, 4), np.int64),
            np.empty((4, 0), np.int64),
        ]
