"""The rows of all keys of a streaming join at rest, in pools that they share, and the sweep over some of the keys."""

from typing import NamedTuple

import numpy as np

from timeloom.kernels.streaming.agenda import empty_agenda
from timeloom.kernels.streaming.gapless import AFTER, END, FIRED, KEY, MARK, NAME, START, Cells, empty_maps, fill
from timeloom.kernels.streaming.gapless import with_room as roomy_maps
from timeloom.kernels.streaming.keyed_sweep import (
    LIVE,
    LIVE_SIZE,
    MARKED_SIZE,
    OPEN,
    OPEN_SIZE,
    empty_pool,
    rows_of,
    store,
    sweep_keys,
    used_of,
)
from timeloom.kernels.streaming.layout import ENTRY_SIZE, PAIRS, PLANNED, ROWS, TIME, WAITERS
from timeloom.kernels.streaming.open_rows import HANDLE as OPEN_HANDLE
from timeloom.kernels.streaming.open_rows import ID as OPEN_ID
from timeloom.kernels.streaming.open_rows import empty_rows, refilled
from timeloom.kernels.streaming.planned_keys import (
    LAST_WORK,
    LATER_SIZE,
    LISTS_SIZE,
    PLANS,
    WAITS,
    Pools,
    Tools,
    put_off,
    reveal,
    sweep_planned_keys,
)
from timeloom.kernels.streaming.scan import BUFFER
from timeloom.model.ticks import FOREVER, MIN_TICK
from timeloom.streaming.intake import Ids
from timeloom.streaming.operator import EndpointJoin, open_as_live
from timeloom.streaming.restoring import BEFORE, FAR, Stored
from timeloom.streaming.rules import alike

ROOM = 64
"""Keys, and rows of each pool, for which there is room at first."""


class Swept(NamedTuple):
    """Pairs and single rows of keys, and how many there are of each after each key."""

    pairs: Cells
    rows: Cells
    counts: Cells


class KeyPools:
    """Rows, plans and waiting rows by key; each key has its lists in the pools.

    While nothing has to be planned, lists and rows are shorter. Ticks near the ends of the axis, and the end of the
    streams, need plans: then what is there is laid out anew.
    """

    def __init__(self, model: EndpointJoin) -> None:
        self.state = model.empty_state()
        self.is_plain = model.is_plain
        self._hidden = model.unseen
        self._direct, self._rules, self._code = model.direct, model.rules, model.code
        self._by = model.chained_by
        self._numbered = model.numbered
        self.forget()

    def forget(self) -> None:
        """Let go of all rows."""
        self._lists = np.full((ROOM, OPEN + 2 if self._direct else LISTS_SIZE), -1, np.int64)
        self._due = np.full(ROOM, FOREVER)
        live = LIVE_SIZE if self._direct else MARKED_SIZE
        self._pools: Pools = (empty_pool(live), empty_pool(OPEN_SIZE), empty_pool(LATER_SIZE))
        maps = empty_maps(2, ROOM, by=self._by, waiting=self.takes_care)
        self._tools: Tools = (maps, empty_rows(32), empty_agenda(ROOM), np.empty((ENTRY_SIZE, ROOM), np.int64))
        self._buffer = np.empty((2, BUFFER, 6), np.int64)

    @property
    def takes_care(self) -> bool:
        """Whether ticks may be near the ends of the axis, where sums must saturate."""
        return self._direct is None and not self.is_plain

    @property
    def keys(self) -> Ids:
        """The keys that have rows or plans."""
        return np.flatnonzero((self._lists[:, :LAST_WORK] >= 0).any(axis=1))

    @property
    def state_size(self) -> int:
        """Rows that are kept because they may still match."""
        live = sum(used_of(self._lists, LIVE + side, self._pools[0], KEY).size for side in (0, 1))
        unseen = self._hidden if self._direct is not None else []
        return live + sum(used_of(self._lists, OPEN + side, self._pools[1], OPEN_HANDLE).size for side in unseen)

    def rows(self, side: int, *, numbers: bool) -> Ids:
        """The numbers, or ids, of a side's rows that are open or may still match."""
        live = used_of(self._lists, LIVE + side, self._pools[0], KEY if numbers else NAME)
        opened = used_of(self._lists, OPEN + side, self._pools[1], OPEN_HANDLE if numbers else OPEN_ID)
        return np.concatenate([live, opened])

    def due(self, complete: int) -> Ids:
        """The keys that have something planned up to an instant."""
        return np.flatnonzero(self._due <= complete)

    def make_room(self, keys: int) -> None:
        """Make room for the lists of this many keys."""
        have = len(self._lists)
        if keys > have:
            more = max(keys, have + have // 2) - have
            self._lists = np.concatenate([self._lists, np.full((more, self._lists.shape[1]), -1, np.int64)])
            if self._lists.shape[1] == LISTS_SIZE:
                self._lists[have:, LAST_WORK] = MIN_TICK
                self._due = np.concatenate([self._due, np.full(len(self._lists) - self._due.size, FOREVER)])

    def sweep(self, events: Cells, bounds: Ids, keys: Ids, until: int) -> Swept:
        """Work off the events of keys, which lie side by side, and what is planned for them, up to an instant."""
        counts = np.zeros((2, keys.size), np.int64)
        if not keys.size:
            return Swept(np.empty((3, 0), np.int64), np.empty((3, 0), np.int64), counts)
        self.make_room(int(keys[-1]) + 1)
        if self._direct is not None:
            return Swept(self._sweep_directly(events, bounds, keys, counts[0]), np.empty((3, 0), np.int64), counts)
        pairs, rows, self._pools, self._tools = sweep_planned_keys(
            events,
            bounds,
            keys,
            until,
            self._code,
            self.is_plain,
            self._numbered,
            *self._rules,
            self._lists,
            self._due,
            self._pools,
            self._tools,
            self._buffer,
            self.state,
            counts,
        )
        return Swept(pairs[:, : self.state[PAIRS]], rows[:, : self.state[ROWS]], counts)

    def _sweep_directly(self, events: Cells, bounds: Ids, keys: Ids, counts: Ids) -> Cells:
        assert self._direct is not None
        (live, opened, later), (maps, table, agenda, waiters) = self._pools, self._tools
        pairs, live, opened, maps, table = sweep_keys(
            events,
            bounds,
            keys,
            self._lists,
            live,
            opened,
            *self._direct,
            self._rules.decisions,
            maps,
            table,
            self._buffer,
            self.state,
            counts,
            self._numbered,
        )
        self._pools, self._tools = (live, opened, later), (maps, table, agenda, waiters)
        return pairs[:, : self.state[PAIRS]]

    def take_care(self) -> None:
        """From now on sweep with plans and with sums that saturate; all rows that may still match are live then."""
        self.is_plain, self._by = False, alike(self._rules)
        if self._direct is None:
            self._tools = (empty_maps(2, ROOM, by=self._by, waiting=True), *self._tools[1:])
        else:
            old, lists, opened = self._pools[0], self._lists, self._pools[1]
            self._direct = None
            self.forget()
            self.make_room(len(lists))
            self._lists[: len(lists), : OPEN + 2] = lists
            live = np.zeros((len(old), MARKED_SIZE), np.int64)
            live[:, :LIVE_SIZE] = old
            for side in self._hidden:
                live = reveal(self._lists, side, live, opened, self._numbered)
            self._pools = (live, opened, self._pools[2])

    def put(self, key: int, stored: Stored) -> None:
        """Put the rows and plans of a key at rest."""
        self.make_room(key + 1)
        (live, opened, later), (maps, _, agenda, waiters) = self._pools, self._tools
        for side, rows in enumerate(self._live_of(stored)):
            maps = roomy_maps(maps, rows.shape[1])
            fill(maps, side, rows)
        table = refilled(stored.left_opened, stored.right_opened)
        live, opened, table = store(self._lists, key, live, opened, maps, table)
        if self._direct is None:
            agenda = empty_agenda(max(ROOM, len(stored.plans)))
            agenda[0, : len(stored.plans)] = stored.plans
            state = self.state
            state[PLANNED], state[WAITERS] = len(stored.plans), stored.waiters.shape[1]
            later = put_off(self._lists, key, later, agenda, np.ascontiguousarray(stored.waiters), state)
            self._lists[key, LAST_WORK] = stored.numbers[BEFORE]
            self._due[key] = int(stored.plans[0, TIME]) if len(stored.plans) else FOREVER
        self._pools, self._tools = (live, opened, later), (maps, table, agenda, waiters)

    def _live_of(self, stored: Stored) -> list[Cells]:
        """The live rows of either side; one that was not looked at where it was stored may be looked at here."""
        found = [stored.left_live, stored.right_live]
        if self._direct is None and not stored.numbers[FAR]:
            for side in self._hidden:
                opened = (stored.left_opened, stored.right_opened)[side]
                found[side] = np.concatenate([found[side], open_as_live(opened, numbered=self._numbered)], axis=1)
        return found

    def stored_rows(self, key: int) -> tuple[list[Cells], list[Cells], Cells, Cells, int]:
        """What is kept of a key: open rows, live rows, plans, waiting rows, and the last instant at work."""
        live_pool, opened_pool, later = self._pools
        opened = [rows_of(self._lists, key, OPEN + side, opened_pool) for side in (0, 1)]
        live = []
        for side in (0, 1):
            rows = rows_of(self._lists, key, LIVE + side, live_pool).T
            tuples = np.zeros((AFTER, rows.shape[1]), np.int64)
            tuples[[KEY, START, END, NAME, MARK][: len(rows)]] = rows
            tuples[FIRED] = MIN_TICK
            live.append(tuples)
        if self._direct is not None:
            return opened, live, np.empty((0, 4), np.int64), np.empty((4, 0), np.int64), MIN_TICK
        plans, waiters = (rows_of(self._lists, key, column, later) for column in (PLANS, WAITS))
        return opened, live, plans, np.ascontiguousarray(waiters.T), int(self._lists[key, LAST_WORK])
