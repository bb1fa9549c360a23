"""The streaming sweep where nothing has to be planned: rows look for partners, and leave, at their own endpoints.

That holds for one box without delays, such as all of Allen's relations but before and after. Rows that no other row
scans need not be kept at all. Where partners must start or end together, only those are looked at (the virtual ends of
the sweeping paper, section 6.2), so that the rows that are active cost nothing. As in `sweep_plain`, arrays are passed
on to leaves only.
"""

from timeloom.kernels.jit import compiled
from timeloom.kernels.streaming import gapless
from timeloom.kernels.streaming.gapless import Cells, append, chain, find, remove_element, unchain
from timeloom.kernels.streaming.layout import (
    BUFFERED,
    COMING,
    CURSOR,
    EVENT_HANDLE,
    EVENT_SIDE,
    FROM,
    ID,
    KNOWN,
    PAIRS,
    STARTING,
    TO,
    WANTED,
)
from timeloom.kernels.streaming.scan import remember, scan
from timeloom.kernels.streaming.together import scan_same_end, scan_same_start
from timeloom.model.ticks import MAX_TICK

AT_END, AT_START, NOT_AT_ALL, BEFORE_END, UNSEEN = range(5)
"""When rows of a side look for partners, and when they can match no more: the first two are as in the column
``STARTING``. Rows that no row of the other side looks for are unseen."""

ANY, SAME_START, SAME_END = range(3)
"""What partners have in common: nothing that helps to find them, their start up to a constant, or their end."""


@compiled
def sweep_direct(
    events: Cells,
    fires: tuple[int, int],
    leaves: tuple[int, int],
    same: int,
    rules: Cells,
    maps: Cells,
    buffer: Cells,
    state: Cells,
    pairs: Cells,
) -> bool:
    """Work off the events; tell whether it is done, or else has no room for the next instant."""
    done, first = True, state[CURSOR]
    linger = min(leaves[0], leaves[1]) <= AT_START
    while first < events.shape[0]:
        time, last = events[first, KNOWN], first + 1
        while last < events.shape[0] and events[last, KNOWN] == time:
            last += 1
        live = max(maps[0, gapless.COUNT, 0], maps[1, gapless.COUNT, 0]) + last - first
        wanted = (state[BUFFERED] + state[BUFFERED + 1] + last - first) * live + 1
        if same == SAME_END:
            wanted = (last - first) * (last - first)
        if live > maps.shape[2] or state[PAIRS] + wanted > pairs.shape[1]:
            state[COMING], state[WANTED], done = last - first, wanted, False
            break
        for at in range(first, last):
            side, handle = events[at, EVENT_SIDE], events[at, EVENT_HANDLE]
            if handle >= 0 and leaves[side] != UNSEEN:
                if state[BUFFERED + 1 - side]:
                    scan(maps, 1 - side, buffer, state, pairs)
                if events[at, STARTING]:
                    append(maps, side, handle, events[at, FROM], MAX_TICK, events[at, ID])
                    if same == SAME_START:
                        chain(maps, side)
                else:
                    element = find(maps, side, handle)
                    if element >= 0 and leaves[side] == BEFORE_END:
                        if same == SAME_START:
                            unchain(maps, side, element)
                        remove_element(maps, side, element)
                    elif element >= 0:
                        maps[side, gapless.END, element] = time
        for at in range(first, last):
            side = events[at, EVENT_SIDE]
            if events[at, STARTING] == fires[side] and events[at, EVENT_HANDLE] >= 0:
                if state[BUFFERED + side] == buffer.shape[1]:
                    scan(maps, side, buffer, state, pairs)
                remember(side, events[at, ID], events[at, FROM], events[at, TO], time, rules, buffer, state)
                if same == SAME_START:
                    scan_same_start(maps, side, buffer, state, pairs)
                elif same == SAME_END:
                    scan_same_end(events, first, last, side, buffer, state, pairs)
        for at in range(first, last if linger else first):
            side = events[at, EVENT_SIDE]
            if events[at, STARTING] == leaves[side] and events[at, EVENT_HANDLE] >= 0:
                if state[BUFFERED + 1 - side]:
                    scan(maps, 1 - side, buffer, state, pairs)
                element = find(maps, side, events[at, EVENT_HANDLE])
                if element >= 0:
                    if same == SAME_START:
                        unchain(maps, side, element)
                    remove_element(maps, side, element)
        first = last
    state[CURSOR] = first
    for side in range(2):
        if state[BUFFERED + side]:
            scan(maps, side, buffer, state, pairs)
    return done
