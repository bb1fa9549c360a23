"""The streaming sweep: an agenda of what happens at which instant, run against the live rows of both sides.

Live rows lie in a gapless map per side. At each instant ends come first, then starts, then rows *fire* that
are ready now: they scan the other side's live rows for partners that are ready, too. Rows that can match no
more leave last.
"""

from timeloom.kernels import gapless
from timeloom.kernels.gapless import Cells, append, find, remove_element
from timeloom.kernels.jit import compiled
from timeloom.kernels.rectangles import shifted
from timeloom.kernels.sweep_layout import (
    ANTI,
    BOTH,
    CHECK,
    END,
    ENTRY,
    EXPIRE,
    FIRES,
    FIRING,
    FROM,
    HANDLE,
    INNER,
    INSTANT,
    LEFT,
    LEFT_BOUNDS,
    LEFT_READY,
    LEFT_SIDE,
    MATCHED,
    NAME,
    PAIRS,
    RIGHT_BOUNDS,
    RIGHT_READY,
    RIGHT_SIDE,
    ROWS,
    SEMI,
    SIDE,
    START,
    TIME,
    TO,
    UNMATCHED,
    WAITERS,
    WHAT,
)
from timeloom.kernels.sweep_pairs import NEVER, holds, ready, window
from timeloom.kernels.sweep_unmatched import check, next_review, review, write_row
from timeloom.model.ticks import MAX_TICK


@compiled
def run(
    agenda: Cells,
    until: int,
    maps: Cells,
    rules: Cells,
    how: int,
    waiters: Cells,
    state: Cells,
    out: Cells,
) -> bool:
    """Work off the agenda from where the state says; tell whether it is done, or else the output has no room."""
    waits = how == LEFT or how == ANTI
    entries = agenda.shape[0]
    while True:
        first = state[ENTRY]
        time = agenda[first, TIME] if first < entries else until
        if state[FIRING] < 0:
            if out.shape[1] - state[ROWS] <= maps[LEFT_SIDE, gapless.COUNT, 0]:
                return False
            due = next_review(waiters, state[WAITERS])
            if due < time or (first == entries and due == time < MAX_TICK):
                review(due, maps, rules, waiters, state, out)
                continue
            if first == entries:
                return True
        last = first + 1
        while last < entries and agenda[last, TIME] == time:
            last += 1
        if state[FIRING] < 0:
            move(agenda, first, last, maps)
            state[FIRING] = first
        while state[FIRING] < last:
            at = state[FIRING]
            if agenda[at, FIRES]:
                wanted = rules.shape[0] * max(maps[LEFT_SIDE, gapless.COUNT, 0], maps[RIGHT_SIDE, gapless.COUNT, 0])
                if (
                    out.shape[1] - state[PAIRS] <= wanted
                    or out.shape[1] - state[ROWS] <= maps[LEFT_SIDE, gapless.COUNT, 0]
                ):
                    return False
                fire(agenda, at, maps, rules, how, state, out)
            state[FIRING] += 1
        if out.shape[1] - state[ROWS] <= maps[LEFT_SIDE, gapless.COUNT, 0]:
            return False
        leave(agenda, first, last, maps, rules, how, waiters, state, out)
        if waits and time < MAX_TICK:
            review(time, maps, rules, waiters, state, out)
        state[ENTRY], state[FIRING] = last, -1


@compiled
def move(agenda: Cells, first: int, last: int, maps: Cells) -> None:
    """Let the rows of one instant end, then start."""
    for at in range(first, last):
        if agenda[at, WHAT] & END:
            side = agenda[at, SIDE]
            element = find(maps, side, agenda[at, HANDLE])
            if element >= 0:
                maps[side, gapless.END, element] = agenda[at, TO]
    for at in range(first, last):
        if agenda[at, WHAT] & START:
            append(
                maps,
                agenda[at, SIDE],
                agenda[at, HANDLE],
                agenda[at, FROM],
                agenda[at, TO],
                agenda[at, NAME],
            )


@compiled
def fire(
    agenda: Cells,
    at: int,
    maps: Cells,
    rules: Cells,
    how: int,
    state: Cells,
    out: Cells,
) -> None:
    """Find the partners of a row that is ready now, for each of the decisions for which it is."""
    side, fires, time = agenda[at, SIDE], agenda[at, FIRES], agenda[at, TIME]
    for decision in range(rules.shape[0]):
        if not (fires >> decision) & 1:
            continue
        element = find(maps, side, agenda[at, HANDLE])
        if element < 0:
            return
        only = rules.shape[0] == 1
        latest = time - 1 if side == RIGHT_SIDE and rules[decision, BOTH] else time
        start_low, start_high, end_low, end_high = partners(maps, side, element, latest, rules, decision)
        if how == INNER and only:
            state[PAIRS] = scan(maps, side, element, time, start_low, start_high, end_low, end_high, state[PAIRS], out)
            continue
        scan_with_care(
            maps,
            side,
            element,
            time,
            (start_low, start_high, end_low, end_high),
            decision,
            rules,
            how,
            state,
            out,
        )


@compiled
def partners(
    maps: Cells, side: int, element: int, latest: int, rules: Cells, decision: int
) -> tuple[int, int, int, int]:
    """The ranges of start and of end of the rows that match this one and are ready by ``latest``."""
    start, end = maps[side, gapless.START, element], maps[side, gapless.END, element]
    first, other = (LEFT_BOUNDS, RIGHT_READY) if side == LEFT_SIDE else (RIGHT_BOUNDS, LEFT_READY)
    start_low, start_high = window(start, end, rules, decision, first, first + 2)
    end_low, end_high = window(start, end, rules, decision, first + 4, first + 6)
    after_start, after_end = rules[decision, other], rules[decision, other + 1]
    if after_start != NEVER and latest < MAX_TICK:
        start_high = min(start_high, shifted(latest, -after_start))
    if after_end != NEVER and latest < MAX_TICK:
        end_high = min(end_high, shifted(latest, -after_end))
    return start_low, start_high, end_low, end_high


@compiled
def scan(
    maps: Cells,
    side: int,
    element: int,
    time: int,
    start_low: int,
    start_high: int,
    end_low: int,
    end_high: int,
    written: int,
    out: Cells,
) -> int:
    """Write the pairs of one row with all live partners in these ranges; each is written before it is judged."""
    other, begin = 1 - side, written
    for at in range(maps[other, gapless.COUNT, 0]):
        out[other, written] = maps[other, gapless.NAME, at]
        start, end = maps[other, gapless.START, at], maps[other, gapless.END, at]
        written += (start >= start_low) & (start <= start_high) & (end >= end_low) & (end <= end_high)
    for at in range(begin, written):
        out[side, at] = maps[side, gapless.NAME, element]
        out[INSTANT, at] = time
    return written


@compiled
def scan_with_care(
    maps: Cells,
    side: int,
    element: int,
    time: int,
    ranges: tuple[int, int, int, int],
    decision: int,
    rules: Cells,
    how: int,
    state: Cells,
    out: Cells,
) -> None:
    """The same where another decision may have found a pair, or where left rows are marked or leave."""
    other, at = 1 - side, 0
    start_low, start_high, end_low, end_high = ranges
    own_start, own_end = maps[side, gapless.START, element], maps[side, gapless.END, element]
    while at < maps[other, gapless.COUNT, 0]:
        start, end = maps[other, gapless.START, at], maps[other, gapless.END, at]
        found = start_low <= start <= start_high and end_low <= end <= end_high
        if found:
            if side == LEFT_SIDE:
                found = not decided_before(own_start, own_end, start, end, time, decision, rules)
            else:
                found = not decided_before(start, end, own_start, own_end, time, decision, rules)
        if found and how <= LEFT:
            out[side, state[PAIRS]] = maps[side, gapless.NAME, element]
            out[other, state[PAIRS]] = maps[other, gapless.NAME, at]
            out[INSTANT, state[PAIRS]] = time
            state[PAIRS] += 1
        if found and how != INNER:
            left = settle(maps, element if side == LEFT_SIDE else at, time, how, state, out)
            if left and side == LEFT_SIDE:
                return
            at -= left
        at += 1


@compiled
def decided_before(r_start: int, r_end: int, s_start: int, s_end: int, time: int, decision: int, rules: Cells) -> bool:
    """Tell whether another decision of the union has found this pair already."""
    for other in range(rules.shape[0]):
        if other == decision:
            continue
        left = ready(r_start, r_end, rules[other, LEFT_READY], rules[other, LEFT_READY + 1])
        right = ready(s_start, s_end, rules[other, RIGHT_READY], rules[other, RIGHT_READY + 1])
        instant = max(left, right)
        earlier = instant < time or (instant == time and other < decision)
        if earlier and holds(r_start, r_end, s_start, s_end, rules, other):
            return True
    return False


@compiled
def settle(maps: Cells, element: int, time: int, how: int, state: Cells, out: Cells) -> bool:
    """Note that a left row has a partner. For semi and anti it leaves; tell whether it did."""
    if how == LEFT:
        maps[LEFT_SIDE, gapless.MARK, element] = MATCHED
        return False
    if how == SEMI:
        write_row(maps[LEFT_SIDE, gapless.NAME, element], time, state, out)
    remove_element(maps, LEFT_SIDE, element)
    return True


@compiled
def leave(
    agenda: Cells,
    first: int,
    last: int,
    maps: Cells,
    rules: Cells,
    how: int,
    waiters: Cells,
    state: Cells,
    out: Cells,
) -> None:
    """Look at the left rows that nothing new can match; then let go of all rows that can match no more."""
    waits = how == LEFT or how == ANTI
    for at in range(first, last):
        if waits and agenda[at, WHAT] & CHECK:
            element = find(maps, LEFT_SIDE, agenda[at, HANDLE])
            if element >= 0 and maps[LEFT_SIDE, gapless.MARK, element] == UNMATCHED:
                time, place = agenda[at, TIME], state[WAITERS]
                state[WAITERS] += check(element, time, maps, rules, waiters, place, state, out)
    for at in range(first, last):
        if agenda[at, WHAT] & EXPIRE:
            side = agenda[at, SIDE]
            element = find(maps, side, agenda[at, HANDLE])
            if element < 0:
                continue
            if waits and side == LEFT_SIDE and maps[side, gapless.MARK, element] != MATCHED:
                write_row(maps[side, gapless.NAME, element], agenda[at, TIME], state, out)
            remove_element(maps, side, element)
