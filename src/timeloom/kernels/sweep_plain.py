"""The streaming sweep where only pairs are asked for, of one box, from separate endpoints: the common case.

It does what `sweep_stream` does, in one loop, and passes arrays on to leaves only: compiled code counts references to
arrays at every call, which would cost more than the sweep itself. Where it runs out of room it stops between two
instants. Fired rows are collected and scan together, as long as the rows that they scan stay the same (lazy joining;
sweeping paper, section 7.2).
"""

from timeloom.kernels import gapless
from timeloom.kernels.gapless import Cells, append, find, remove_element
from timeloom.kernels.jit import compiled
from timeloom.kernels.open_rows import HANDLE as OPEN_HANDLE
from timeloom.kernels.open_rows import START as OPEN_START
from timeloom.kernels.open_rows import enter, slot_of, take_out
from timeloom.kernels.rectangles import shifted
from timeloom.kernels.sweep_agenda import push, take_due, write
from timeloom.kernels.sweep_arrival import ACCEPTED, ALREADY_OPEN, NEVER_STARTED, is_empty
from timeloom.kernels.sweep_layout import (
    BUFFERED,
    COMING,
    CURSOR,
    DECIDES,
    DUE,
    EVENT_SIDE,
    EXPIRE,
    FIRE,
    FROM,
    HANDLE,
    HANDLES,
    HEAP,
    ID,
    IS_OVER,
    KNOWN,
    LEFT_READY,
    NOW,
    PAIRS,
    PLANNED,
    SIDE,
    STARTING,
    TIGHT,
    TIME,
    VERDICT,
    WANTED,
    WHAT,
)
from timeloom.kernels.sweep_pairs import NEVER, ready
from timeloom.kernels.sweep_scan import remember, scan
from timeloom.kernels.sweep_schedule import furthest_of
from timeloom.model.ticks import MAX_TICK, MIN_TICK


@compiled
def sweep_plain(
    events: Cells,
    until: int,
    rules: Cells,
    opened: Cells,
    maps: Cells,
    agenda: Cells,
    buffer: Cells,
    state: Cells,
    pairs: Cells,
) -> bool:
    """Work off the events and all that is planned up to an instant; tell whether it is done, or else has no room."""
    done, slots = False, opened.shape[1] - 1
    while True:
        first, time = state[CURSOR], until
        busy = until == MAX_TICK and not state[IS_OVER]
        if first < events.shape[0]:
            busy, time = True, events[first, KNOWN]
        if state[PLANNED] and agenda[HEAP, 0, TIME] <= time:
            busy, time = True, agenda[HEAP, 0, TIME]
        if not busy:
            done = True
            break
        last = first
        while last < events.shape[0] and events[last, KNOWN] == time:
            last += 1
        is_over = time == MAX_TICK
        closing = opened[0, slots, 0] + opened[1, slots, 0] if is_over else 0
        coming, planned = last - first + closing, 0
        if state[PLANNED] and agenda[HEAP, 0, TIME] == time:
            for at in range(state[PLANNED]):
                planned += agenda[HEAP, at, TIME] == time
        live = max(maps[0, gapless.COUNT, 0], maps[1, gapless.COUNT, 0]) + coming
        wanted = (state[BUFFERED] + state[BUFFERED + 1] + coming + planned) * live + 1
        has_room = (live <= maps.shape[2]) & (max(opened[0, slots, 0], opened[1, slots, 0]) + coming <= slots // 2)
        has_room &= (state[PLANNED] + 2 * coming <= agenda.shape[1]) & (state[PAIRS] + wanted <= pairs.shape[1])
        if not has_room:
            state[COMING], state[WANTED] = coming, wanted
            break
        is_alone = (coming == 1) & (planned == 0) & (not is_over)
        state[DUE], strays, at, slot = 0, False, first, 0
        for side in range(2):
            if state[BUFFERED + side] == buffer.shape[1]:
                scan(maps, side, buffer, state, pairs)
        while at < last or closing:
            has_ended, handle, start, end = True, -1, 0, time
            if at < last:
                side, key, has_ended = events[at, EVENT_SIDE], events[at, ID], events[at, STARTING] == 0
                if events[at, VERDICT] == ACCEPTED:
                    slot = slot_of(opened, side, key)
                    handle, start = opened[side, slot, OPEN_HANDLE], opened[side, slot, OPEN_START]
                    if has_ended and handle < 0:
                        events[at, VERDICT], strays = NEVER_STARTED, True
                    elif not has_ended and handle >= 0:
                        events[at, VERDICT], handle = ALREADY_OPEN, -1
                    elif not has_ended and not (strays and is_empty(events, at, first)):
                        handle, start, end = state[HANDLES + side], events[at, FROM], MAX_TICK
                at, slot_now, slot = at + 1, slot, 0
            else:
                side = 0 if opened[0, slots, 0] else 1
                while opened[side, slot, OPEN_HANDLE] < 0:
                    slot = (slot + 1) % slots
                handle, start, slot_now = opened[side, slot, OPEN_HANDLE], opened[side, slot, OPEN_START], slot
                closing -= 1
            if handle < 0:
                continue
            if state[BUFFERED + 1 - side]:
                scan(maps, 1 - side, buffer, state, pairs)
            if has_ended:
                take_out(opened, side, slot_now)
                element = find(maps, side, handle)
                if element < 0:
                    continue
                maps[side, gapless.END, element] = end
            else:
                state[HANDLES + side] += 1
                enter(opened, side, slot_now, key, handle, start)
                append(maps, side, handle, start, end, key)
                element = maps[side, gapless.COUNT, 0] - 1
            own, other, bound = LEFT_READY + 2 * side, LEFT_READY + 2 * (1 - side), TIGHT + 8 * side
            what, fires = 0, MAX_TICK
            is_ready = ready(start, end, rules[0, own], rules[0, own + 1])
            if rules[0, DECIDES + side] and has_ended == (rules[0, own + 1] != NEVER):
                what, fires = (FIRE, MAX_TICK) if is_ready <= time else (0, is_ready)
            leaves = leaving(
                furthest_of(start, end, rules[0, bound], rules[0, bound + 1], rules[0, bound + 2], rules[0, bound + 3]),
                furthest_of(
                    start, end, rules[0, bound + 4], rules[0, bound + 5], rules[0, bound + 6], rules[0, bound + 7]
                ),
                is_ready if rules[0, DECIDES + side] else MIN_TICK,
                rules[0, other],
                rules[0, other + 1],
                rules[0, DECIDES + 1 - side] != 0,
            )
            what |= EXPIRE if leaves <= time else 0
            if is_alone:
                if what & FIRE:
                    remember(maps, side, element, time, rules, buffer, state)
                if what & EXPIRE:
                    remove_element(maps, side, element)
            elif what:
                write(agenda, NOW, state[DUE], time, what, side, handle)
                state[DUE] += 1
            if fires < MAX_TICK:
                push(agenda, fires, FIRE, side, handle, state)
            if time < leaves < MAX_TICK:
                push(agenda, leaves, EXPIRE, side, handle, state)
        while state[PLANNED] and agenda[HEAP, 0, TIME] == time:
            take_due(agenda, state)
        for at in range(state[DUE]):
            side = agenda[NOW, at, SIDE]
            element = find(maps, side, agenda[NOW, at, HANDLE])
            if agenda[NOW, at, WHAT] & FIRE and element >= 0:
                if state[BUFFERED + side] == buffer.shape[1]:
                    scan(maps, side, buffer, state, pairs)
                remember(maps, side, element, time, rules, buffer, state)
        for at in range(state[DUE]):
            side = agenda[NOW, at, SIDE]
            if agenda[NOW, at, WHAT] & EXPIRE:
                if state[BUFFERED + 1 - side]:
                    scan(maps, 1 - side, buffer, state, pairs)
                element = find(maps, side, agenda[NOW, at, HANDLE])
                if element >= 0:
                    remove_element(maps, side, element)
        state[CURSOR], state[IS_OVER] = last, is_over
    for side in range(2):
        if state[BUFFERED + side]:
            scan(maps, side, buffer, state, pairs)
    return done


@compiled
def leaving(by_start: int, by_end: int, own_ready: int, after_start: int, after_end: int, other_decides: bool) -> int:
    """The last instant at which a pair of a row can become certain, from the last start and end that partners have."""
    last = MIN_TICK
    if by_start > MIN_TICK and by_end > MIN_TICK:
        last = own_ready
        if other_decides:
            last = max(last, by_start if after_start == NEVER else shifted(by_start, after_start))
            if after_end != NEVER:
                last = max(last, shifted(by_end, after_end))
    return last
