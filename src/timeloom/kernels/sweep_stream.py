"""The streaming sweep: an agenda of what happens at which instant, run against the live rows of both sides.

Live rows lie in one gapless map per side. At each instant ends come first, then starts, then rows *fire* that
are ready now: they scan the other side's live rows for partners that are ready, too. Rows that can match no
more leave last.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.gapless import GaplessMap, append, find, remove_element
from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Ticks
from timeloom.kernels.rectangles import shifted
from timeloom.kernels.sweep_pairs import NEVER, holds, possible_until, ready, window
from timeloom.model.ticks import MAX_TICK

END, START, FIRE, CHECK, EXPIRE = range(5)
"""What an entry of the agenda asks for, in the order in which it is done at one instant."""

TIME, WHAT, SIDE, DECISION, HANDLE, FROM, TO, NAME = range(8)
"""The columns of an agenda."""

INNER, LEFT, SEMI, ANTI = range(4)
UNMATCHED, MATCHED, WAITING = range(3)
"""Marks of left rows."""

PAIRS, ROWS, ENTRY, WAITERS = range(4)
"""Where a run stands: pairs and single rows written, the next entry, and the number of waiting rows."""


class Rules(NamedTuple):
    """The decisions of a relation: per side the bounds of each box and the constants of both sides' readiness.

    ``bounds[side]`` are those of the box seen from that side. ``ready[k]`` holds the constants of decision k:
    after start and after end of the left side, then of the right. ``both[k]`` tells whether either side may
    decide.
    """

    left_bounds: NDArray[np.int64]
    right_bounds: NDArray[np.int64]
    ready: NDArray[np.int64]
    both: NDArray[np.bool_]
    how: int


class Output(NamedTuple):
    """Certain pairs (names of both rows and the instant), and single left rows with their instant."""

    lefts: NDArray[np.int64]
    rights: NDArray[np.int64]
    instants: Ticks
    rows: NDArray[np.int64]
    row_instants: Ticks


class Waiters(NamedTuple):
    """Unmatched left rows that no future row can match: each waits for a witness, up to a last instant."""

    handles: NDArray[np.int64]
    witnesses: NDArray[np.int64]
    untils: Ticks


@compiled
def decided_before(r_start: int, r_end: int, s_start: int, s_end: int, time: int, decision: int, rules: Rules) -> bool:
    """Tell whether another decision of the union has found this pair already."""
    for other in range(rules.ready.shape[0]):
        if other == decision:
            continue
        constants = rules.ready[other]
        instant = max(
            ready(r_start, r_end, constants[0], constants[1]), ready(s_start, s_end, constants[2], constants[3])
        )
        earlier = instant < time or (instant == time and other < decision)
        if earlier and holds(r_start, r_end, s_start, s_end, rules.left_bounds[other]):
            return True
    return False


@compiled
def write_row(state: NDArray[np.int64], out: Output, name: int, time: int) -> None:
    """Report a single left row."""
    out.rows[state[ROWS]] = name
    out.row_instants[state[ROWS]] = time
    state[ROWS] += 1


@compiled
def fire(
    side: int,
    decision: int,
    element: int,
    time: int,
    live: tuple[GaplessMap, GaplessMap],
    rules: Rules,
    state: NDArray[np.int64],
    out: Output,
) -> None:
    """Find the partners of a row that is ready now. Of two rows ready at one instant, only the left one looks."""
    own, other = live[side], live[1 - side]
    start, end, name = own.starts[element], own.ends[element], own.names[element]
    bounds = rules.left_bounds[decision] if side == 0 else rules.right_bounds[decision]
    constants = rules.ready[decision]
    after_start, after_end = (constants[2], constants[3]) if side == 0 else (constants[0], constants[1])
    latest = time - 1 if side == 1 and rules.both[decision] else time
    start_low, start_high = window(start, end, bounds, 0, 2)
    end_low, end_high = window(start, end, bounds, 4, 6)
    if after_start != NEVER and latest < MAX_TICK:
        start_high = min(start_high, shifted(latest, -after_start))
    if after_end != NEVER and latest < MAX_TICK:
        end_high = min(end_high, shifted(latest, -after_end))
    several = rules.ready.shape[0] > 1
    at = 0
    while at < other.tail[0]:
        partner_start, partner_end = other.starts[at], other.ends[at]
        found = start_low <= partner_start <= start_high and end_low <= partner_end <= end_high
        if found and several:
            if side == 0:
                found = not decided_before(start, end, partner_start, partner_end, time, decision, rules)
            else:
                found = not decided_before(partner_start, partner_end, start, end, time, decision, rules)
        if not found:
            at += 1
            continue
        if rules.how in (INNER, LEFT):
            out.lefts[state[PAIRS]] = name if side == 0 else other.names[at]
            out.rights[state[PAIRS]] = other.names[at] if side == 0 else name
            out.instants[state[PAIRS]] = time
            state[PAIRS] += 1
        if rules.how == INNER:
            at += 1
        elif side == 0:
            settle(own, element, time, rules.how, state, out)
            if rules.how != LEFT:
                return
            at += 1
        elif not settle(other, at, time, rules.how, state, out):
            at += 1


@compiled
def settle(left: GaplessMap, element: int, time: int, how: int, state: NDArray[np.int64], out: Output) -> bool:
    """Note that a left row has a partner. For semi and anti it leaves; tell whether it did."""
    left.marks[element] = MATCHED
    if how == LEFT:
        return False
    if how == SEMI:
        write_row(state, out, left.names[element], time)
    remove_element(left, element)
    return True


@compiled
def check(
    left: GaplessMap,
    right: GaplessMap,
    element: int,
    time: int,
    rules: Rules,
    waiters: Waiters,
    place: int,
    state: NDArray[np.int64],
    out: Output,
) -> bool:
    """Look for the right row that may match this left row longest; without one report the left row.

    With one, the left row waits at this place among the waiters; tell whether it does.
    """
    start, end = left.starts[element], left.ends[element]
    witness, until = NEVER, NEVER
    for at in range(right.tail[0]):
        last = possible_until(start, end, right.starts[at], right.ends[at], time, rules.left_bounds)
        if last > until:
            witness, until = right.keys[at], last
    if until < time:
        write_row(state, out, left.names[element], time)
        remove_element(left, element)
        return False
    left.marks[element] = WAITING
    waiters.handles[place] = left.keys[element]
    waiters.witnesses[place] = witness
    waiters.untils[place] = until
    return True


@compiled
def review(
    live: tuple[GaplessMap, GaplessMap],
    time: int,
    rules: Rules,
    waiters: Waiters,
    state: NDArray[np.int64],
    out: Output,
) -> None:
    """Look again at every waiting row whose witness can match no more at this instant."""
    left, right = live
    place = 0
    while place < state[WAITERS]:
        element = find(left, waiters.handles[place])
        stays = element >= 0 and left.marks[element] == WAITING
        if stays:
            witness = find(right, waiters.witnesses[place])
            last = NEVER
            if witness >= 0:
                last = possible_until(
                    left.starts[element],
                    left.ends[element],
                    right.starts[witness],
                    right.ends[witness],
                    time,
                    rules.left_bounds,
                )
            waiters.untils[place] = last
            if last < time:
                stays = check(left, right, element, time, rules, waiters, place, state, out)
        if stays:
            place += 1
        else:
            state[WAITERS] -= 1
            gone = state[WAITERS]
            waiters.handles[place] = waiters.handles[gone]
            waiters.witnesses[place] = waiters.witnesses[gone]
            waiters.untils[place] = waiters.untils[gone]


@compiled
def next_review(waiters: Waiters, count: int) -> int:
    """The first instant at which a witness gives up although nothing happens."""
    instant = MAX_TICK
    for place in range(count):
        instant = min(instant, shifted(waiters.untils[place], 1))
    return instant


@compiled
def run(
    agenda: NDArray[np.int64],
    until: int,
    live: tuple[GaplessMap, GaplessMap],
    rules: Rules,
    waiters: Waiters,
    state: NDArray[np.int64],
    out: Output,
) -> bool:
    """Work off the agenda from entry state[ENTRY] on; tell whether it is done (else the output has no room)."""
    left, right = live
    waits = rules.how in (LEFT, ANTI)
    entries = agenda.shape[0]
    while True:
        at = state[ENTRY]
        time = agenda[at, TIME] if at < entries else until
        if out.lefts.size - state[PAIRS] < max(left.tail[0], right.tail[0]) or (
            out.rows.size - state[ROWS] <= left.tail[0] + state[WAITERS]
        ):
            return False
        if waits:
            due = next_review(waiters, state[WAITERS])
            if due < time or (at == entries and due == time < MAX_TICK):
                review(live, due, rules, waiters, state, out)
                continue
        if at == entries:
            return True
        if agenda[at, WHAT] == CHECK and not waits:
            state[ENTRY] += 1
            continue
        step(agenda, at, live, rules, waiters, state, out)
        state[ENTRY] += 1
        if state[WAITERS] and time < MAX_TICK and (at + 1 == entries or agenda[at + 1, TIME] != time):
            review(live, time, rules, waiters, state, out)


@compiled
def step(
    agenda: NDArray[np.int64],
    at: int,
    live: tuple[GaplessMap, GaplessMap],
    rules: Rules,
    waiters: Waiters,
    state: NDArray[np.int64],
    out: Output,
) -> None:
    """Do what one entry asks for."""
    time, what, side, handle = agenda[at, TIME], agenda[at, WHAT], agenda[at, SIDE], agenda[at, HANDLE]
    own = live[side]
    if what == START:
        append(own, handle, agenda[at, FROM], agenda[at, TO], agenda[at, NAME])
        return
    element = find(own, handle)
    if element < 0:
        return
    if what == END:
        own.ends[element] = agenda[at, TO]
    elif what == FIRE:
        fire(side, agenda[at, DECISION], element, time, live, rules, state, out)
    elif what == CHECK:
        if own.marks[element] == UNMATCHED:
            state[WAITERS] += check(own, live[1], element, time, rules, waiters, state[WAITERS], state, out)
    else:
        unmatched = own.marks[element] in (UNMATCHED, WAITING)
        if side == 0 and unmatched and rules.how in (LEFT, ANTI):
            write_row(state, out, own.names[element], time)
        remove_element(own, element)
