"""The streaming sweep: events and plans of both sides, instant by instant, against the live rows.

Rows that may still match lie in a gapless map per side, by handle. At each instant rows end, then rows start, then
those *fire* that are ready now: they scan the other side's live rows for partners. Rows that can match no more leave
last.
"""

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.streaming import gapless
from timeloom.kernels.streaming.agenda import more_room, take_due, write
from timeloom.kernels.streaming.gapless import Cells, append, chain_element, end_at, find, grown, has_room
from timeloom.kernels.streaming.layout import (
    BEFORE,
    CHECK,
    DECIDES,
    DUE,
    EVENT_HANDLE,
    EVENT_SIDE,
    EVERY,
    EXPIRE,
    FIRE,
    FROM,
    HANDLE,
    HEAP,
    ID,
    INNER,
    KNOWN,
    LATE,
    LEFT_READY,
    MATCHED,
    NOW,
    PAIRS,
    PLANNED,
    ROWS,
    SIDE,
    STARTING,
    TIME,
    TO,
    TO_REVIEW,
    UNMATCHED,
    UNTIL,
    WAITERS,
    WAITING,
    WHAT,
    WHOLE,
)
from timeloom.kernels.streaming.pairs import ready
from timeloom.kernels.streaming.scan import scan_with_care, with_room
from timeloom.kernels.streaming.schedule import closing_instant, schedule
from timeloom.kernels.streaming.unmatched import kept_sides, review, write_row
from timeloom.kernels.streaming.waiting import begin_to_wait, changed, drop, queue
from timeloom.model.ticks import MAX_TICK


@compiled
def advance(
    events: Cells,
    until: int,
    how: int,
    rules: Cells,
    union: Cells,
    maps: Cells,
    agenda: Cells,
    waiters: Cells,
    state: Cells,
    pairs: Cells,
    rows: Cells,
) -> tuple[Cells, Cells, Cells, Cells, Cells]:
    """Work off the events and all that is planned up to an instant.

    Answers the maps, the agenda and the waiting rows, the pairs and the single rows that were written; all may have
    grown.
    """
    kept, first = kept_sides(how), 0
    closing = (kept[0] and how != EVERY, kept[1] and how != EVERY)
    waits = closing[0] or closing[1]
    while True:
        busy, time = until == MAX_TICK and state[BEFORE] < MAX_TICK, until
        if first < events.shape[0]:
            busy, time = True, events[first, KNOWN]
        if state[PLANNED] and agenda[HEAP, 0, TIME] <= time:
            busy, time = True, agenda[HEAP, 0, TIME]
        if not busy:
            break
        last = first
        while last < events.shape[0] and events[last, KNOWN] == time:
            last += 1
        while not has_room(maps, last - first):
            maps = grown(maps)
        entries = state[PLANNED] + (last - first) * (2 * union.shape[0] + 3)
        if time == MAX_TICK:
            entries += live_rows(maps) + last - first
        while entries > agenda.shape[1]:
            agenda = more_room(agenda)
        state[DUE] = 0
        move(events, first, last, time, closing, rules, union, maps, agenda, waiters, state)
        while state[PLANNED] and agenda[HEAP, 0, TIME] == time:
            take_due(agenda, state)
        if time == MAX_TICK:
            finish(rules, union, maps, agenda, state)
        if state[DUE]:
            if how != INNER:
                rows = with_room(rows, state[ROWS], live_rows(maps) + 1)
            pairs = fire(time, how, rules, union, maps, agenda, waiters, state, pairs, rows)
            while waits and state[WAITERS] + live_rows(maps) > waiters.shape[1]:
                waiters = wider(waiters)
            leave(time, kept, rules, maps, agenda, waiters, state, rows)
        if state[TO_REVIEW] >= 0 and time < MAX_TICK:
            rows = with_room(rows, state[ROWS], live_rows(maps) + 1)
            agenda = review(time, maps, rules, agenda, waiters, state, rows)
        state[BEFORE], first = time, last
    return maps, agenda, waiters, pairs, rows


@compiled
def live_rows(maps: Cells) -> int:
    """The rows of both sides that may still match."""
    return int(maps[0, gapless.COUNT, 0] + maps[1, gapless.COUNT, 0])


@compiled
def wider(waiters: Cells) -> Cells:
    """The same waiting rows with twice the room."""
    larger = np.empty((waiters.shape[0], 2 * waiters.shape[1]), np.int64)
    larger[:, : waiters.shape[1]] = waiters
    return larger


@compiled
def move(
    events: Cells,
    first: int,
    last: int,
    time: int,
    closing: tuple[bool, bool],
    rules: Cells,
    union: Cells,
    maps: Cells,
    agenda: Cells,
    waiters: Cells,
    state: Cells,
) -> None:
    """Let the rows of one instant end, then start; a row that has left needs no end."""
    for at in range(first, last):
        side, handle, has_ended = events[at, EVENT_SIDE], events[at, EVENT_HANDLE], events[at, STARTING] == 0
        start, end = events[at, FROM], events[at, TO]
        if handle < 0:
            continue
        if has_ended:
            element = find(maps, side, handle)
            if element < 0:
                continue
            end_at(maps, side, element, end)
            changed(side, element, maps, waiters, state)
        else:
            append(maps, side, handle, start, end, events[at, ID])
            element = maps[side, gapless.COUNT, 0] - 1
            maps[side, gapless.ENTRY, element] = maps[side, gapless.WATCHED, element] = -1
            if maps[side, gapless.COUNT, gapless.BY]:
                chain_element(maps, side, element)
        schedule(side, handle, start, end, time, has_ended, closing, rules, union, agenda, state)


@compiled
def finish(rules: Cells, union: Cells, maps: Cells, agenda: Cells, state: Cells) -> None:
    """At the end of the axis let all rows fire that could be ready only then: whatever is open never ends."""
    for side in range(2):
        own = LEFT_READY + 2 * side
        for element in range(maps[side, gapless.COUNT, 0]):
            start, end = maps[side, gapless.START, element], maps[side, gapless.END, element]
            fires = union.shape[0] > 0
            if not fires and rules[0, DECIDES + side]:
                fires = ready(start, end, rules[0, own], rules[0, own + 1]) == MAX_TICK
            if fires:
                write(agenda, NOW, state[DUE], MAX_TICK, FIRE, side, maps[side, gapless.KEY, element])
                state[DUE] += 1


@compiled
def fire(
    time: int,
    how: int,
    rules: Cells,
    union: Cells,
    maps: Cells,
    agenda: Cells,
    waiters: Cells,
    state: Cells,
    pairs: Cells,
    rows: Cells,
) -> Cells:
    """Let the rows that are ready now find their partners; answers the pairs."""
    for at in range(state[DUE]):
        if agenda[NOW, at, WHAT] & FIRE:
            side = agenda[NOW, at, SIDE]
            element = find(maps, side, agenda[NOW, at, HANDLE])
            if element >= 0:
                pairs = with_room(pairs, state[PAIRS], maps[1 - side, gapless.COUNT, 0])
                scan_with_care(maps, side, element, time, how, rules, union, waiters, state, pairs, rows)
    return pairs


@compiled
def leave(
    time: int,
    kept: tuple[bool, bool],
    rules: Cells,
    maps: Cells,
    agenda: Cells,
    waiters: Cells,
    state: Cells,
    rows: Cells,
) -> None:
    """Queue the rows that nothing new can match; then let go of all rows that can match no more.

    A look that was planned for a row that lasts comes too early for one that has ended: it has another one planned.
    """
    for at in range(state[DUE]):
        side = agenda[NOW, at, SIDE]
        if kept[side] and agenda[NOW, at, WHAT] & CHECK:
            element = find(maps, side, agenda[NOW, at, HANDLE])
            if element >= 0 and maps[side, gapless.MARK, element] == WAITING:
                if waiters[UNTIL, maps[side, gapless.ENTRY, element]] < time:
                    queue(maps[side, gapless.ENTRY, element], maps, waiters, state)
            elif element >= 0 and maps[side, gapless.MARK, element] == UNMATCHED:
                start, end = maps[side, gapless.START, element], maps[side, gapless.END, element]
                is_open = end == MAX_TICK and not state[WHOLE + side]
                if closing_instant(side, start, end, is_open, state[LATE + 1 - side] != 0, rules) <= time:
                    begin_to_wait(side, element, maps, waiters, state)
    for at in range(state[DUE]):
        if not agenda[NOW, at, WHAT] & EXPIRE:
            continue
        side = agenda[NOW, at, SIDE]
        element = find(maps, side, agenda[NOW, at, HANDLE])
        if element < 0:
            continue
        if kept[side] and maps[side, gapless.MARK, element] != MATCHED:
            write_row(side, maps[side, gapless.NAME, element], time, state, rows)
        drop(side, element, maps, waiters, state)
