"""The streaming sweep where only pairs are asked for, of one box, from separate endpoints: the common case.

It does what `sweep_stream` does, far from the ends of the axis, where sums need no care. The loop over the instants
passes arrays on to leaves only: compiled code counts references to arrays in every function that calls another one,
which would cost more than the sweep itself. Where it runs out of room it stops between two instants. Fired rows are
collected and scan together, as long as the rows that they scan stay the same (lazy joining; sweeping paper, section
7.2).
"""

from timeloom.kernels.jit import compiled
from timeloom.kernels.streaming import gapless
from timeloom.kernels.streaming.agenda import push, take_due, write
from timeloom.kernels.streaming.gapless import Cells, append, find, remove_element
from timeloom.kernels.streaming.layout import (
    BUFFERED,
    COMING,
    CURSOR,
    DUE,
    EVENT_HANDLE,
    EVENT_SIDE,
    EXPIRE,
    FIRE,
    FIRES,
    FROM,
    HANDLE,
    HEAP,
    ID,
    KNOWN,
    LEAVES,
    NOW,
    PAIRS,
    PLANNED,
    SIDE,
    STARTING,
    TIME,
    WANTED,
    WHAT,
)
from timeloom.kernels.streaming.scan import remember, scan
from timeloom.model.ticks import MAX_TICK


@compiled
def sweep_plain(
    events: Cells,
    foreseen: Cells,
    until: int,
    rules: Cells,
    maps: Cells,
    agenda: Cells,
    buffer: Cells,
    state: Cells,
    pairs: Cells,
) -> bool:
    """Work off the events and all that is planned up to an instant; tell whether it is done, or else has no room."""
    done = False
    while True:
        first, time = state[CURSOR], until
        if first < events.shape[0]:
            time = events[first, KNOWN]
        if state[PLANNED] and agenda[HEAP, 0, TIME] <= time:
            time = agenda[HEAP, 0, TIME]
        elif first == events.shape[0]:
            done = True
            break
        while state[PLANNED] and agenda[HEAP, 0, TIME] == time:
            take_due(agenda, state)
        last = first
        while last < events.shape[0] and events[last, KNOWN] == time:
            last += 1
        if not has_room(last - first, maps, agenda, state, pairs):
            break
        for at in range(first, last):
            side, handle, fires, leaves = (
                events[at, EVENT_SIDE],
                events[at, EVENT_HANDLE],
                foreseen[at, FIRES],
                foreseen[at, LEAVES],
            )
            if handle < 0:
                continue
            if state[BUFFERED + 1 - side]:
                scan(maps, 1 - side, buffer, state, pairs)
            if events[at, STARTING]:
                append(maps, side, handle, events[at, FROM], MAX_TICK, events[at, ID])
            else:
                element = find(maps, side, handle)
                if element < 0:
                    continue
                maps[side, gapless.END, element] = time
            if fires == time or leaves == time:
                what = (FIRE if fires == time else 0) | (EXPIRE if leaves == time else 0)
                write(agenda, NOW, state[DUE], time, what, side, handle)
                state[DUE] += 1
            if time < fires < MAX_TICK:
                push(agenda, fires, FIRE, side, handle, state)
            if time < leaves < MAX_TICK:
                push(agenda, leaves, EXPIRE, side, handle, state)
        for at in range(state[DUE]):
            side = agenda[NOW, at, SIDE]
            element = find(maps, side, agenda[NOW, at, HANDLE])
            if agenda[NOW, at, WHAT] & FIRE and element >= 0:
                if state[BUFFERED + side] == buffer.shape[1]:
                    scan(maps, side, buffer, state, pairs)
                start, end = maps[side, gapless.START, element], maps[side, gapless.END, element]
                remember(side, maps[side, gapless.NAME, element], start, end, time, rules, buffer, state)
        for at in range(state[DUE]):
            side = agenda[NOW, at, SIDE]
            if agenda[NOW, at, WHAT] & EXPIRE:
                if state[BUFFERED + 1 - side]:
                    scan(maps, 1 - side, buffer, state, pairs)
                element = find(maps, side, agenda[NOW, at, HANDLE])
                if element >= 0:
                    remove_element(maps, side, element)
        state[CURSOR], state[DUE] = last, 0
    for side in range(2):
        if state[BUFFERED + side]:
            scan(maps, side, buffer, state, pairs)
    return done


@compiled
def has_room(coming: int, maps: Cells, agenda: Cells, state: Cells, pairs: Cells) -> bool:
    """Tell whether there is room for the events of an instant and for what is due; if not, note what they need."""
    live = max(maps[0, gapless.COUNT, 0], maps[1, gapless.COUNT, 0]) + coming
    wanted = (state[BUFFERED] + state[BUFFERED + 1] + state[DUE] + coming) * live + 1
    state[COMING], state[WANTED] = coming, wanted
    planned = state[PLANNED] + state[DUE] + 2 * coming
    return bool((live <= maps.shape[2]) & (planned <= agenda.shape[1]) & (state[PAIRS] + wanted <= pairs.shape[1]))
