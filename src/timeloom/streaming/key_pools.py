"""The rows of all keys of a streaming join at rest, in pools that they share, and the sweep over some of the keys."""

from typing import NamedTuple

import numpy as np

from timeloom.kernels.streaming.agenda import empty_agenda
from timeloom.kernels.streaming.gapless import AFTER, FIRED, KEY, NAME, Cells, empty_maps
from timeloom.kernels.streaming.keyed_sweep import (
    FIRST,
    FREE,
    LIVE,
    LIVE_SIZE,
    MARKED_SIZE,
    NEXT,
    OPEN,
    OPEN_SIZE,
    empty_pool,
    rows_of,
    sweep_keys,
    used_of,
)
from timeloom.kernels.streaming.layout import ENTRY_SIZE, PAIRS, ROWS, TIME
from timeloom.kernels.streaming.open_rows import HANDLE as OPEN_HANDLE
from timeloom.kernels.streaming.open_rows import ID as OPEN_ID
from timeloom.kernels.streaming.open_rows import empty_rows
from timeloom.kernels.streaming.planned_keys import (
    LAST_WORK,
    LATER_SIZE,
    LISTS_SIZE,
    PLANS,
    WAITS,
    Pools,
    Tools,
    reveal,
    sweep_planned_keys,
)
from timeloom.kernels.streaming.scan import BUFFER
from timeloom.model.ticks import FOREVER, MIN_TICK
from timeloom.streaming.intake import Ids
from timeloom.streaming.operator import EndpointJoin
from timeloom.streaming.rules import alike
from timeloom.streaming.state_layout import BEFORE, FAR, OF_KEY, Tables
from timeloom.streaming.stepwise import open_as_live

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
        self._lists[:, LAST_WORK:] = MIN_TICK
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

    @property
    def next_due(self) -> int:
        """The next instant for which anything is planned, or FOREVER."""
        return int(self._due.min())

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

    def fill(self, stored: Tables) -> None:
        """Put the rows and plans of keys at rest where there are none yet."""
        self.forget()
        keys = stored.keys
        self.make_room(int(keys.max(initial=-1)) + 1)
        live = LIVE_SIZE if self._direct else MARKED_SIZE
        self._pools = (
            self._linked(keys, LIVE, self._live_of(stored), live),
            self._linked(keys, OPEN, [stored.left_opened, stored.right_opened], OPEN_SIZE),
            self._linked(keys, PLANS, [] if self._direct else [stored.plans, stored.waiters], LATER_SIZE),
        )
        if self._direct is None:
            self._lists[keys, LAST_WORK] = stored.numbers[:, BEFORE]
            own, firsts = np.unique(stored.plans[OF_KEY], return_index=True)
            self._due[keys[own]] = stored.plans[1 + TIME, firsts]

    def _linked(self, keys: Ids, column: int, tables: list[Cells], columns: int) -> Cells:
        """A pool with the rows of these tables, which the lists of their keys have from a column on."""
        size = sum(table.shape[1] for table in tables)
        pool, at = empty_pool(columns, max(ROOM, size + 1)), 1
        pool[FREE, NEXT] = size + 1 if size + 1 < len(pool) else -1
        for number, table in enumerate(tables):
            own, rows = table[OF_KEY], np.arange(at, at + table.shape[1])
            changes = own[1:] != own[:-1]
            pool[rows, FIRST:] = table[1:columns].T
            pool[rows, NEXT] = np.where(np.append(changes, True)[: rows.size], -1, rows + 1)
            firsts = np.append(True, changes)[: rows.size]
            self._lists[keys[own[firsts]], column + number] = rows[firsts]
            at += rows.size
        return pool

    def _live_of(self, stored: Tables) -> list[Cells]:
        """The live rows of either side; one that was not looked at where it was stored may be looked at here."""
        found = [stored.left_live, stored.right_live]
        for side in self._hidden if self._direct is None else []:
            opened = (stored.left_opened, stored.right_opened)[side]
            opened = opened[:, stored.numbers[opened[OF_KEY], FAR] == 0]
            more = np.concatenate([opened[:1], open_as_live(opened[1:].T, numbered=self._numbered)])
            both = np.concatenate([found[side], more], axis=1)
            found[side] = both[:, np.argsort(both[OF_KEY], kind="stable")]
        return found

    def tables(self, keys: Ids) -> list[Cells]:
        """What is kept of these keys, which are all: open rows and live rows of either side, plans and waiting rows."""
        live_pool, opened_pool, later = self._pools
        found = [rows_of(self._lists, OPEN + side, opened_pool) for side in (0, 1)]
        for side in (0, 1):
            rows = rows_of(self._lists, LIVE + side, live_pool)
            whole = np.zeros((1 + AFTER, rows.shape[1]), np.int64)
            whole[: len(rows)] = rows
            whole[1 + FIRED] = MIN_TICK
            found.append(whole)
        if self._direct is None:
            found += [rows_of(self._lists, column, later) for column in (PLANS, WAITS)]
        else:
            found += [np.empty((LATER_SIZE, 0), np.int64)] * 2
        for table in found:
            table[OF_KEY] = np.searchsorted(keys, table[OF_KEY])
        return found

    def last_work(self, keys: Ids) -> Ids:
        """The last instant at which each of these keys was at work; MIN_TICK where that does not matter."""
        if self._direct is not None or not keys.size:
            return np.full(keys.size, MIN_TICK)
        self.make_room(int(keys[-1]) + 1)
        found: Ids = self._lists[keys, LAST_WORK]
        return found
