"""One sweep over the keys of a stream whose rows have plans: outer joins, whole rows, unions, and delays.

As in `keyed_sweep` a key's rows lie in pools while it is at rest; here so do its plans and the rows that wait for a
witness. Keys that have something planned are swept when that is due, also without events.
"""

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.streaming import gapless
from timeloom.kernels.streaming.agenda import more_room
from timeloom.kernels.streaming.foresight import foresee
from timeloom.kernels.streaming.gapless import Cells, grown
from timeloom.kernels.streaming.keyed_sweep import (
    FIRST,
    FREE,
    LIVE,
    NEXT,
    OPEN,
    admitted_rows,
    load,
    roomier,
    store,
    taken,
    taken_back,
)
from timeloom.kernels.streaming.layout import (
    BEFORE,
    COMING,
    CURSOR,
    DUE,
    EVENT_HANDLE,
    EVENT_SIDE,
    EVENT_SIZE,
    FROM,
    HEAP,
    ID,
    KNOWN,
    MATCHED,
    PAIRS,
    PLANNED,
    ROWS,
    TIME,
    TO,
    WAITERS,
    WANTED,
)
from timeloom.kernels.streaming.open_rows import HANDLE as OPEN_HANDLE
from timeloom.kernels.streaming.open_rows import ID as OPEN_ID
from timeloom.kernels.streaming.open_rows import START as OPEN_START
from timeloom.kernels.streaming.plain_sweep import sweep_plain
from timeloom.kernels.streaming.planned_sweep import advance, wider
from timeloom.kernels.streaming.scan import with_room
from timeloom.kernels.streaming.unmatched import kept_sides, write_row
from timeloom.kernels.streaming.waiting import relink
from timeloom.model.ticks import MAX_TICK

PLANS, WAITS, LAST_WORK = 4, 5, 6
"""Further columns of the lists of a key: its plans, its waiting rows; and the last instant at which it was at work."""

LISTS_SIZE, LATER_SIZE = 7, 5
"""The columns of these lists, and what pools keep of a plan or of a waiting row."""

Pools = tuple[Cells, Cells, Cells]
"""Live rows, open rows, and what is to be done later."""

Tools = tuple[Cells, Cells, Cells, Cells]
"""Maps, a table of open rows, an agenda and waiting rows, for one key at a time; empty in between."""


@compiled
def sweep_planned_keys(
    events: Cells,
    bounds: Cells,
    keys: Cells,
    until: int,
    how: int,
    plainly: bool,
    numbered: bool,
    rules: Cells,
    union: Cells,
    lists: Cells,
    next_due: Cells,
    pools: Pools,
    tools: Tools,
    buffer: Cells,
    state: Cells,
    counts: Cells,
) -> tuple[Cells, Cells, Pools, Tools]:
    """Work off the events of keys, which lie side by side, and their plans; answers pairs, single rows, pools, tools.

    ``counts`` is told how many pairs and single rows there are after each key, and ``next_due`` when it has something
    planned. At the end of the axis open rows end, and what is still without partner leaves.
    """
    live, opened, later = pools
    maps, table, agenda, waiters = tools
    pairs, rows = np.empty((3, 1024 + 2 * events.shape[0]), np.int64), np.empty((3, 64), np.int64)
    foreseen = np.empty((events.shape[0] if plainly else 0, 2), np.int64)
    state[PAIRS] = state[ROWS] = 0
    for number in range(keys.size):
        key, own = keys[number], events[bounds[number] : bounds[number + 1]]
        maps, table = load(lists, key, live, opened, maps, table)
        agenda, waiters = recall(lists, key, later, agenda, waiters, state)
        relink(maps, waiters, state)
        table = admitted_rows(own, table, state, numbered)
        state[BEFORE], state[DUE] = lists[key, LAST_WORK], 0
        if until == MAX_TICK:
            own = with_endings(own, table, numbered)
        if plainly:
            maps, agenda, pairs = sweep_plainly(own, until, rules, foreseen, maps, agenda, buffer, state, pairs)
        else:
            maps, agenda, waiters, pairs, rows = advance(
                own, until, how, rules, union, maps, agenda, waiters, state, pairs, rows
            )
        if until == MAX_TICK:
            rows = with_room(rows, state[ROWS], maps[0, gapless.COUNT, 0] + maps[1, gapless.COUNT, 0])
            write_alone(maps, how, state, rows)
        live, opened, table = store(lists, key, live, opened, maps, table)
        later = put_off(lists, key, later, agenda, waiters, state)
        lists[key, LAST_WORK] = state[BEFORE]
        next_due[key] = agenda[HEAP, 0, TIME] if state[PLANNED] else MAX_TICK
        counts[0, number], counts[1, number] = state[PAIRS], state[ROWS]
    return pairs, rows, (live, opened, later), (maps, table, agenda, waiters)


@compiled
def sweep_plainly(
    own: Cells,
    until: int,
    rules: Cells,
    foreseen: Cells,
    maps: Cells,
    agenda: Cells,
    buffer: Cells,
    state: Cells,
    pairs: Cells,
) -> tuple[Cells, Cells, Cells]:
    """Sweep one key where only pairs of one box are asked for; answers what may have grown."""
    foresee(own, rules, foreseen)
    state[CURSOR] = 0
    while not sweep_plain(own, foreseen, until, rules, maps, agenda, buffer, state, pairs):
        while max(maps[0, gapless.COUNT, 0], maps[1, gapless.COUNT, 0]) + state[COMING] > maps.shape[2]:
            maps = grown(maps)
        while state[PLANNED] + state[DUE] + 2 * state[COMING] > agenda.shape[1]:
            agenda = more_room(agenda)
        pairs = with_room(pairs, state[PAIRS], state[WANTED])
    return maps, agenda, pairs


@compiled
def with_endings(events: Cells, table: Cells, numbered: bool) -> Cells:
    """The events, and those by which all open rows of a key end, at the end of the axis; the table is empty then."""
    first, last = events.shape[0], table.shape[1] - 1
    every = np.zeros((first + table[0, last, 0] + table[1, last, 0], EVENT_SIZE), np.int64)
    every[:first] = events
    at = first
    for side in range(2):
        for slot in range(last if table[side, last, 0] else 0):
            if table[side, slot, OPEN_HANDLE] >= 0:
                every[at, KNOWN] = every[at, TO] = MAX_TICK
                every[at, EVENT_SIDE], every[at, FROM] = side, table[side, slot, OPEN_START]
                every[at, EVENT_HANDLE] = table[side, slot, OPEN_HANDLE]
                every[at, ID] = table[side, slot, OPEN_HANDLE if numbered else OPEN_ID]
                table[side, slot, OPEN_HANDLE] = -1
                at += 1
        table[side, last, 0] = 0
    return every


@compiled
def write_alone(maps: Cells, how: int, state: Cells, rows: Cells) -> None:
    """At the end of the streams write the rows of a key that have had no partner; nothing is kept any longer."""
    kept = kept_sides(how)
    for side in range(2):
        for element in range(maps[side, gapless.COUNT, 0]):
            if kept[side] and maps[side, gapless.MARK, element] != MATCHED:
                write_row(side, maps[side, gapless.NAME, element], MAX_TICK, state, rows)


@compiled
def recall(lists: Cells, key: int, later: Cells, agenda: Cells, waiters: Cells, state: Cells) -> tuple[Cells, Cells]:
    """Take the plans and the waiting rows of a key out of the pool, in the order in which they were put there."""
    count, at = 0, lists[key, PLANS]
    while at >= 0:
        if count == agenda.shape[1]:
            agenda = more_room(agenda)
        for column in range(4):
            agenda[HEAP, count, column] = later[at, FIRST + column]
        count, at = count + 1, taken_back(later, at)
    state[PLANNED], count, at = count, 0, lists[key, WAITS]
    while at >= 0:
        if count == waiters.shape[1]:
            waiters = wider(waiters)
        for column in range(4):
            waiters[column, count] = later[at, FIRST + column]
        count, at = count + 1, taken_back(later, at)
    state[WAITERS] = count
    return agenda, waiters


@compiled
def put_off(lists: Cells, key: int, later: Cells, agenda: Cells, waiters: Cells, state: Cells) -> Cells:
    """Put the plans and the waiting rows of a key into the pool, the last one first: so a heap stays one."""
    lists[key, PLANS] = lists[key, WAITS] = -1
    for entry in range(state[PLANNED] - 1, -1, -1):
        if later[FREE, NEXT] < 0:
            later = roomier(later)
        at = taken(later)
        for column in range(4):
            later[at, FIRST + column] = agenda[HEAP, entry, column]
        later[at, NEXT] = lists[key, PLANS]
        lists[key, PLANS] = at
    for entry in range(state[WAITERS] - 1, -1, -1):
        if later[FREE, NEXT] < 0:
            later = roomier(later)
        at = taken(later)
        for column in range(4):
            later[at, FIRST + column] = waiters[column, entry]
        later[at, NEXT] = lists[key, WAITS]
        lists[key, WAITS] = at
    return later


@compiled
def reveal(lists: Cells, side: int, live: Cells, opened: Cells, numbered: bool) -> Cells:
    """Make live rows of all open rows of a side, which was not looked at so far; answers the pool of live rows."""
    for key in range(lists.shape[0]):
        at = lists[key, OPEN + side]
        while at >= 0:
            if live[FREE, NEXT] < 0:
                live = roomier(live)
            row = taken(live)
            live[row, FIRST + gapless.KEY] = opened[at, FIRST + OPEN_HANDLE]
            live[row, FIRST + gapless.START] = opened[at, FIRST + OPEN_START]
            live[row, FIRST + gapless.END] = MAX_TICK
            live[row, FIRST + gapless.NAME] = opened[at, FIRST + (OPEN_HANDLE if numbered else OPEN_ID)]
            live[row, FIRST + gapless.MARK] = 0
            live[row, NEXT] = lists[key, LIVE + side]
            lists[key, LIVE + side] = row
            at = opened[at, NEXT]
    return live
