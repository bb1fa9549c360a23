"""The streaming sweep: an agenda of what happens at which instant, run against the live rows of both sides.

Live rows lie in a gapless map per side. At each instant ends come first, then starts, then rows *fire* that
are ready now: they scan the other side's live rows for partners that are ready, too. Rows that can match no
more leave last.
"""

from timeloom.kernels import gapless
from timeloom.kernels.gapless import Cells, append, find, remove_element
from timeloom.kernels.jit import compiled
from timeloom.kernels.rectangles import shifted
from timeloom.kernels.sweep_pairs import NEVER, holds, possible_until, ready, window
from timeloom.model.ticks import MAX_TICK

LEFT_SIDE, RIGHT_SIDE = 0, 1

TIME, WHAT, SIDE, FIRES, HANDLE, FROM, TO, NAME = range(8)
"""The columns of an agenda. ``FIRES`` has a bit for each decision for which the row is ready now."""

END, START, FIRE, CHECK, EXPIRE = 1, 2, 4, 8, 16
"""What an entry asks for, as bits, in the order in which it is done at one instant."""

INNER, LEFT, SEMI, ANTI = range(4)
UNMATCHED, MATCHED, WAITING = range(3)
"""Marks of left rows."""

PAIRS, ROWS, ENTRY, FIRING, WAITERS = range(5)
"""Where a run stands: what is written; the first entry of its instant; the next entry of it that may fire, or -1
while the instant has not begun; the number of waiting rows."""

WAITER, WITNESS, UNTIL = range(3)
"""Unmatched left rows that nothing new can match: each waits for a witness, which may match up to an instant."""


LEFT_BOUNDS, RIGHT_BOUNDS, LEFT_READY, RIGHT_READY, BOTH = 0, 8, 16, 18, 20
"""The columns of the rules, which have a row per decision: the bounds of its box as seen from either side; how long
after its start and its end a row of either side is ready; whether either side may be ready last."""

LEFT_NAME, RIGHT_NAME, INSTANT, ROW_NAME, ROW_INSTANT = range(5)
"""The rows of the output: pairs with their instant, and single left rows with theirs."""


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
def write_row(name: int, time: int, state: Cells, out: Cells) -> None:
    """Report a single left row."""
    out[ROW_NAME, state[ROWS]] = name
    out[ROW_INSTANT, state[ROWS]] = time
    state[ROWS] += 1


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


@compiled
def check(
    element: int,
    time: int,
    maps: Cells,
    rules: Cells,
    waiters: Cells,
    place: int,
    state: Cells,
    out: Cells,
) -> bool:
    """Look for the right row that may match this left row longest; without one report the left row.

    With one, the left row waits at this place among the waiters; tell whether it does.
    """
    start, end = maps[LEFT_SIDE, gapless.START, element], maps[LEFT_SIDE, gapless.END, element]
    witness, until = -1, NEVER
    for at in range(maps[RIGHT_SIDE, gapless.COUNT, 0]):
        other_start, other_end = maps[RIGHT_SIDE, gapless.START, at], maps[RIGHT_SIDE, gapless.END, at]
        last = possible_until(start, end, other_start, other_end, time, rules)
        if last > until:
            witness, until = maps[RIGHT_SIDE, gapless.KEY, at], last
    if until < time:
        write_row(maps[LEFT_SIDE, gapless.NAME, element], time, state, out)
        remove_element(maps, LEFT_SIDE, element)
        return False
    maps[LEFT_SIDE, gapless.MARK, element] = WAITING
    waiters[WAITER, place] = maps[LEFT_SIDE, gapless.KEY, element]
    waiters[WITNESS, place] = witness
    waiters[UNTIL, place] = until
    return True


@compiled
def review(time: int, maps: Cells, rules: Cells, waiters: Cells, state: Cells, out: Cells) -> None:
    """Look again at every waiting row whose witness can match no more at this instant."""
    place = 0
    while place < state[WAITERS]:
        element = find(maps, LEFT_SIDE, waiters[WAITER, place])
        stays = element >= 0 and maps[LEFT_SIDE, gapless.MARK, element] == WAITING
        if stays:
            witness = find(maps, RIGHT_SIDE, waiters[WITNESS, place])
            last = NEVER
            if witness >= 0:
                last = possible_until(
                    maps[LEFT_SIDE, gapless.START, element],
                    maps[LEFT_SIDE, gapless.END, element],
                    maps[RIGHT_SIDE, gapless.START, witness],
                    maps[RIGHT_SIDE, gapless.END, witness],
                    time,
                    rules,
                )
            waiters[UNTIL, place] = last
            if last < time:
                stays = check(element, time, maps, rules, waiters, place, state, out)
        if stays:
            place += 1
        else:
            state[WAITERS] -= 1
            waiters[:, place] = waiters[:, state[WAITERS]]


@compiled
def next_review(waiters: Cells, count: int) -> int:
    """The first instant at which a witness gives up although nothing happens."""
    instant = MAX_TICK
    for place in range(count):
        instant = min(instant, shifted(waiters[UNTIL, place], 1))
    return instant
