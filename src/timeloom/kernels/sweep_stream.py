"""The streaming sweep: events and plans of both sides, instant by instant, against the live rows.

Rows that are open lie in one gapless map per side, by id; rows that may still match in another one, by handle. At each
instant rows end, then rows start, then those *fire* that are ready now: they scan the other side's live rows for
partners. Rows that can match no more leave last. Where pairs are all that is asked for, fired rows are collected and
scan together, as long as the rows that they scan stay the same (lazy joining; sweeping paper, section 7.2).
"""

import numpy as np

from timeloom.kernels import gapless
from timeloom.kernels.gapless import Cells, append, find, grown, has_room, remove_element
from timeloom.kernels.jit import compiled
from timeloom.kernels.sweep_agenda import due, more_room
from timeloom.kernels.sweep_arrival import ACCEPTED, begin, finish
from timeloom.kernels.sweep_layout import (
    ANTI,
    BEFORE,
    BUFFERED,
    CHECK,
    EXPIRE,
    FIRE,
    HANDLE,
    HANDLES,
    INNER,
    LEFT,
    LEFT_SIDE,
    MATCHED,
    PAIRS,
    PLANNED,
    ROWS,
    SIDE,
    STRAYS,
    TIME,
    TODAY,
    UNMATCHED,
    WAITERS,
    WHAT,
    Arriving,
    Rules,
)
from timeloom.kernels.sweep_scan import remember, scan, scan_with_care, with_room
from timeloom.kernels.sweep_schedule import most_plans, schedule
from timeloom.kernels.sweep_unmatched import check, next_review, review, write_row
from timeloom.model.ticks import MAX_TICK


@compiled
def advance(
    left: Arriving,
    right: Arriving,
    until: int,
    rules: Rules,
    how: int,
    lazy: int,
    opened: Cells,
    live: Cells,
    plans: Cells,
    waiters: Cells,
    state: Cells,
) -> tuple[Cells, Cells, Cells, Cells, Cells, Cells]:
    """Work off the events and all that is planned up to an instant; at the end of the axis all open rows end.

    ``lazy`` is the number of fired rows that may share a scan. Answers the pairs and the single rows that were written,
    and the maps, plans and waiting rows, which may have grown.
    """
    waits = how == LEFT or how == ANTI
    pairs, rows = np.empty((3, 1024), np.int64), np.empty((2, 64), np.int64)
    today, buffer = np.empty((64, 4), np.int64), np.empty((2, lazy, 6), np.int64)
    firsts, stops = np.zeros(2, np.int64), np.zeros(2, np.int64)
    is_over = False
    while True:
        busy, time = next_instant(left, right, stops, plans, until, is_over, state)
        time = time if busy else until
        if waits:
            rows = with_room(rows, state[ROWS], live[LEFT_SIDE, gapless.COUNT, 0] + 1)
            review_due = next_review(waiters, state[WAITERS])
            if review_due < time or (not busy and review_due == time and time < MAX_TICK):
                review(review_due, live, rules.decisions, waiters, state, rows)
                continue
        if not busy:
            break
        is_over = time == MAX_TICK
        firsts[:] = stops
        stops[0], stops[1] = stop_of(left, firsts[0], time), stop_of(right, firsts[1], time)
        coming = stops.sum() - firsts.sum()
        if is_over:
            coming += opened[0, gapless.COUNT, 0] + opened[1, gapless.COUNT, 0]
        while not has_room(opened, coming):
            opened = grown(opened)
        while not has_room(live, coming):
            live = grown(live)
        while state[PLANNED] + coming * most_plans(rules) > plans.shape[0]:
            plans = more_room(plans)
        while coming + state[PLANNED] > today.shape[0]:
            today = more_room(today)
        state[TODAY] = 0
        for side in range(2):
            if stops[side] > firsts[side] and state[BUFFERED + 1 - side]:
                pairs = scan(live, 1 - side, buffer, pairs, state)
        move(left, right, firsts, stops, time, rules, waits, opened, live, today, plans, state)
        while state[PLANNED] and plans[0, TIME] == time:
            due(plans, today, state)
        rows = with_room(rows, state[ROWS], live[LEFT_SIDE, gapless.COUNT, 0] + 1)
        pairs = fire(time, rules, how, live, today, buffer, state, pairs, rows)
        while waits and state[WAITERS] + live[LEFT_SIDE, gapless.COUNT, 0] > waiters.shape[1]:
            waiters = wider(waiters)
        pairs = leave(time, rules, waits, live, today, buffer, waiters, state, pairs, rows)
        if waits and time < MAX_TICK:
            review(time, live, rules.decisions, waiters, state, rows)
        state[BEFORE] = time
    for side in range(2):
        if state[BUFFERED + side]:
            pairs = scan(live, side, buffer, pairs, state)
    return pairs, rows, opened, live, plans, waiters


@compiled
def next_instant(
    left: Arriving, right: Arriving, stops: Cells, plans: Cells, until: int, is_over: bool, state: Cells
) -> tuple[bool, int]:
    """Whether something happens, and when: events, plans, or the end of the axis if it is still to come."""
    busy, time = until == MAX_TICK and not is_over, MAX_TICK
    if stops[0] < left.ids.size:
        busy, time = True, left.known[stops[0]]
    if stops[1] < right.ids.size:
        busy, time = True, min(time, right.known[stops[1]])
    if state[PLANNED] and plans[0, TIME] <= until:
        busy, time = True, min(time, plans[0, TIME])
    return busy, time


@compiled
def stop_of(events: Arriving, first: int, time: int) -> int:
    """Where the events of this instant, which begin at ``first``, stop."""
    while first < events.ids.size and events.known[first] == time:
        first += 1
    return first


@compiled
def wider(waiters: Cells) -> Cells:
    """The same waiting rows with twice the room."""
    larger = np.empty((waiters.shape[0], 2 * waiters.shape[1]), np.int64)
    larger[:, : waiters.shape[1]] = waiters
    return larger


@compiled
def move(
    left: Arriving,
    right: Arriving,
    firsts: Cells,
    stops: Cells,
    time: int,
    rules: Rules,
    waits: bool,
    opened: Cells,
    live: Cells,
    today: Cells,
    plans: Cells,
    state: Cells,
) -> None:
    """Let the rows of one instant end, then start; at the end of the axis let all others end that are open."""
    for side in range(2):
        events = left if side == LEFT_SIDE else right
        strays = 0
        for at in range(firsts[side], stops[side]):
            if events.starting[at]:
                break
            element = finish(events, at, side, opened)
            strays += element < 0
            if element >= 0:
                end_row(side, element, time, rules, waits, opened, live, today, plans, state)
        state[STRAYS + side] = strays
    for side in range(2):
        events = left if side == LEFT_SIDE else right
        for at in range(firsts[side], stops[side]):
            if not events.starting[at]:
                continue
            handle, end = state[HANDLES + side], MAX_TICK
            if rules.whole[side]:
                if events.verdicts[at] != ACCEPTED:
                    continue
                end = events.ends[at]
            elif not begin(events, at, firsts[side], state[STRAYS + side], side, handle, opened):
                continue
            state[HANDLES + side] += 1
            append(live, side, handle, events.starts[at], end, events.ids[at])
            schedule(side, handle, events.starts[at], end, time, False, rules, waits, today, plans, state)
        while time == MAX_TICK and opened[side, gapless.COUNT, 0]:
            end_row(side, opened[side, gapless.COUNT, 0] - 1, time, rules, waits, opened, live, today, plans, state)


@compiled
def end_row(
    side: int,
    element: int,
    time: int,
    rules: Rules,
    waits: bool,
    opened: Cells,
    live: Cells,
    today: Cells,
    plans: Cells,
    state: Cells,
) -> None:
    """Close an open row."""
    handle, start = opened[side, gapless.NAME, element], opened[side, gapless.START, element]
    remove_element(opened, side, element)
    element = find(live, side, handle)
    if element >= 0:
        live[side, gapless.END, element] = time
        schedule(side, handle, start, time, time, True, rules, waits, today, plans, state)


@compiled
def fire(
    time: int,
    rules: Rules,
    how: int,
    live: Cells,
    today: Cells,
    buffer: Cells,
    state: Cells,
    pairs: Cells,
    rows: Cells,
) -> Cells:
    """Let the rows that are ready now find their partners, or remember them for the next scan; answers the pairs."""
    plain = how == INNER and rules.decisions.shape[0] == 1
    for at in range(state[TODAY]):
        if not today[at, WHAT] & FIRE:
            continue
        side = today[at, SIDE]
        element = find(live, side, today[at, HANDLE])
        if element < 0:
            continue
        if plain:
            remember(live, side, element, time, rules, buffer, state)
            if state[BUFFERED + side] == buffer.shape[1]:
                pairs = scan(live, side, buffer, pairs, state)
        else:
            pairs = with_room(pairs, state[PAIRS], live[1 - side, gapless.COUNT, 0])
            scan_with_care(live, side, element, time, rules, how, state, pairs, rows)
    return pairs


@compiled
def leave(
    time: int,
    rules: Rules,
    waits: bool,
    live: Cells,
    today: Cells,
    buffer: Cells,
    waiters: Cells,
    state: Cells,
    pairs: Cells,
    rows: Cells,
) -> Cells:
    """Look at the left rows that nothing new can match; then let go of all rows that can match no more."""
    for at in range(state[TODAY]):
        if waits and today[at, WHAT] & CHECK:
            element = find(live, LEFT_SIDE, today[at, HANDLE])
            if element >= 0 and live[LEFT_SIDE, gapless.MARK, element] == UNMATCHED:
                place = state[WAITERS]
                state[WAITERS] += check(element, time, live, rules.decisions, waiters, place, state, rows)
    for at in range(state[TODAY]):
        if not today[at, WHAT] & EXPIRE:
            continue
        side = today[at, SIDE]
        element = find(live, side, today[at, HANDLE])
        if element < 0:
            continue
        if waits and side == LEFT_SIDE and live[side, gapless.MARK, element] != MATCHED:
            write_row(live[side, gapless.NAME, element], time, state, rows)
        if state[BUFFERED + 1 - side]:
            pairs = scan(live, 1 - side, buffer, pairs, state)
        remove_element(live, side, element)
    return pairs
