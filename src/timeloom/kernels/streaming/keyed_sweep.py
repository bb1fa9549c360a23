"""One sweep over the keys of a stream, each on its own stretch of events, where nothing has to be planned.

Rows at rest lie in pools, as a list for each key: of open rows and of live ones, of either side. A key's rows are taken
out of the pools into the maps and tables of `sweep_direct`, which sweeps the key's events, and what is left goes back.
So a key at rest costs its rows and four numbers, and a batch of events costs the keys that it touches.
"""

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.streaming import gapless
from timeloom.kernels.streaming.arrival import admit
from timeloom.kernels.streaming.direct_sweep import sweep_direct
from timeloom.kernels.streaming.gapless import Cells, append, bucket_of, chain, grown
from timeloom.kernels.streaming.layout import COMING, CURSOR, EVENT_HANDLE, PAIRS, WANTED
from timeloom.kernels.streaming.layout import ID as EVENT_ID
from timeloom.kernels.streaming.open_rows import HANDLE, ID, START, doubled, enter, slot_of

NEXT, FIRST = 0, 1
"""The columns of a pool: the next row of the same list, or -1; then what is kept of a row."""

FREE = 0
"""The first row of a pool is none: it begins the list of free ones."""

LIVE, OPEN = 0, 2
"""The columns of the lists of a key: live rows of either side, open rows of either side. An empty list is -1."""

LIVE_SIZE, MARKED_SIZE, OPEN_SIZE = 1 + gapless.MARK, 2 + gapless.MARK, 4
"""What pools keep of a live row (number, period and name; a mark, too, where rows without partner count), and of an
open one."""

SMALL = 65
"""Slots of a table of open rows that is kept for the next key: one that a large key has left takes long to search."""


def empty_pool(columns: int, room: int = 64) -> Cells:
    """A pool with room for some rows, all of which are free."""
    pool = np.zeros((room, columns), np.int64)
    pool[:, NEXT] = np.arange(1, room + 1)
    pool[-1, NEXT] = -1
    return pool


@compiled
def roomier(pool: Cells) -> Cells:
    """The same pool with half as much room again: what is free counts as memory of the keys at rest."""
    room = pool.shape[0]
    larger = np.zeros((room + room // 2, pool.shape[1]), np.int64)
    larger[:room] = pool
    for at in range(room, larger.shape[0]):
        larger[at, NEXT] = at + 1
    larger[larger.shape[0] - 1, NEXT] = pool[FREE, NEXT]
    larger[FREE, NEXT] = room
    return larger


@compiled
def taken_back(pool: Cells, at: int) -> int:
    """Free a row of a pool; answers the next one of its list."""
    after: int = pool[at, NEXT]
    pool[at, NEXT] = pool[FREE, NEXT]
    pool[FREE, NEXT] = at
    return after


@compiled
def taken(pool: Cells) -> int:
    """Take a free row of a pool that has one."""
    at: int = pool[FREE, NEXT]
    pool[FREE, NEXT] = pool[at, NEXT]
    return at


@compiled
def admitted_rows(events: Cells, table: Cells, state: Cells, numbered: bool) -> Cells:
    """Match all ends of a key with its open rows; answers the table of these, which may have grown."""
    at = admit(events, 0, table, state)
    while at < events.shape[0]:
        table = doubled(table)
        at = admit(events, at, table, state)
    for event in range(events.shape[0] if numbered else 0):
        if events[event, EVENT_HANDLE] >= 0:
            events[event, EVENT_ID] = events[event, EVENT_HANDLE]
    return table


@compiled
def sweep_keys(
    events: Cells,
    bounds: Cells,
    keys: Cells,
    lists: Cells,
    live: Cells,
    opened: Cells,
    fires: tuple[int, int],
    leaves: tuple[int, int],
    same: int,
    rules: Cells,
    maps: Cells,
    table: Cells,
    buffer: Cells,
    state: Cells,
    counts: Cells,
    numbered: bool,
) -> tuple[Cells, Cells, Cells, Cells, Cells]:
    """Work off the events of keys, which lie side by side; answers pairs, pools, maps and table, which may have grown.

    ``counts`` is told how many pairs there are after each key. Pairs of ``numbered`` rows have handles in place of ids.
    """
    pairs = np.empty((3, 1024 + 2 * events.shape[0]), np.int64)
    state[PAIRS] = 0
    for number in range(keys.size):
        key, own = keys[number], events[bounds[number] : bounds[number + 1]]
        maps, table = load(lists, key, live, opened, maps, table)
        table = admitted_rows(own, table, state, numbered)
        state[CURSOR] = 0
        while not sweep_direct(own, fires, leaves, same, rules, maps, buffer, state, pairs):
            while max(maps[0, gapless.COUNT, 0], maps[1, gapless.COUNT, 0]) + state[COMING] > maps.shape[2]:
                maps = grown(maps)
            if state[PAIRS] + state[WANTED] > pairs.shape[1]:
                larger = np.empty((3, max(2 * pairs.shape[1], state[PAIRS] + state[WANTED])), np.int64)
                larger[:, : state[PAIRS]] = pairs[:, : state[PAIRS]]
                pairs = larger
        live, opened, table = store(lists, key, live, opened, maps, table)
        counts[number] = state[PAIRS]
    return pairs, live, opened, maps, table


@compiled
def load(lists: Cells, key: int, live: Cells, opened: Cells, maps: Cells, table: Cells) -> tuple[Cells, Cells]:
    """Take the rows of a key out of the pools, into maps and a table that are empty."""
    for side in range(2):
        at = lists[key, LIVE + side]
        while at >= 0:
            if maps[side, gapless.COUNT, 0] == maps.shape[2]:
                maps = grown(maps)
            append(maps, side, live[at, FIRST], live[at, FIRST + 1], live[at, FIRST + 2], live[at, FIRST + 3])
            if live.shape[1] == MARKED_SIZE:
                maps[side, gapless.MARK, maps[side, gapless.COUNT, 0] - 1] = live[at, FIRST + gapless.MARK]
            if maps[side, gapless.COUNT, gapless.BY]:
                chain(maps, side)
            if maps.shape[1] > gapless.WATCHED:
                element = maps[side, gapless.COUNT, 0] - 1
                maps[side, gapless.ENTRY, element] = maps[side, gapless.WATCHED, element] = -1
            at = taken_back(live, at)
        at = lists[key, OPEN + side]
        while at >= 0:
            if 2 * (table[side, table.shape[1] - 1, 0] + 1) > table.shape[1] - 1:
                table = doubled(table)
            slot = slot_of(table, side, opened[at, FIRST + ID])
            enter(table, side, slot, opened[at, FIRST + ID], opened[at, FIRST + HANDLE], opened[at, FIRST + START])
            at = taken_back(opened, at)
    return maps, table


@compiled
def store(lists: Cells, key: int, live: Cells, opened: Cells, maps: Cells, table: Cells) -> tuple[Cells, Cells, Cells]:
    """Put the rows of a key back into the pools, so that maps and table are empty again, and the table is small."""
    for side in range(2):
        lists[key, LIVE + side] = lists[key, OPEN + side] = -1
        for element in range(maps[side, gapless.COUNT, 0]):
            if live[FREE, NEXT] < 0:
                live = roomier(live)
            at = taken(live)
            for column in range(live.shape[1] - FIRST):
                live[at, FIRST + column] = maps[side, column, element]
            live[at, NEXT] = lists[key, LIVE + side]
            lists[key, LIVE + side] = at
            maps[side, gapless.HEAD, maps[side, gapless.KEY, element] & (maps.shape[2] - 1)] = -1
            if maps[side, gapless.COUNT, gapless.BY]:
                bucket = bucket_of(maps[side, maps[side, gapless.COUNT, gapless.BY], element], maps.shape[2] - 1)
                maps[side, gapless.FIRST_ALIKE, bucket] = -1
        maps[side, gapless.COUNT, 0] = 0
        last = table.shape[1] - 1
        for slot in range(last if table[side, last, 0] else 0):
            if table[side, slot, HANDLE] >= 0:
                if opened[FREE, NEXT] < 0:
                    opened = roomier(opened)
                at = taken(opened)
                for column in range(3):
                    opened[at, FIRST + column] = table[side, slot, column]
                opened[at, NEXT] = lists[key, OPEN + side]
                lists[key, OPEN + side] = at
                table[side, slot, HANDLE] = -1
        table[side, last, 0] = 0
    if table.shape[1] > SMALL:
        table = np.full((2, SMALL, 3), -1, np.int64)
        table[:, SMALL - 1, 0] = 0
    return live, opened, table


@compiled
def listed(lists: Cells, column: int, pool: Cells) -> int:
    """How many rows the lists of all keys have in one column."""
    count = 0
    for key in range(lists.shape[0]):
        at = lists[key, column]
        while at >= 0:
            count, at = count + 1, pool[at, NEXT]
    return count


@compiled
def rows_of(lists: Cells, column: int, pool: Cells) -> Cells:
    """The rows of all keys in one column of their lists, each behind its key; those of a key come in their order."""
    rows, count = np.empty((pool.shape[1], listed(lists, column, pool)), np.int64), 0
    for key in range(lists.shape[0]):
        at = lists[key, column]
        while at >= 0:
            rows[0, count] = key
            rows[1:, count] = pool[at, FIRST:]
            count, at = count + 1, pool[at, NEXT]
    return rows


@compiled
def used_of(lists: Cells, column: int, pool: Cells, which: int) -> Cells:
    """A column of all rows of a pool that are in the lists of a side."""
    found, count = np.empty(listed(lists, column, pool), np.int64), 0
    for key in range(lists.shape[0]):
        at = lists[key, column]
        while at >= 0:
            found[count] = pool[at, FIRST + which]
            count, at = count + 1, pool[at, NEXT]
    return found
