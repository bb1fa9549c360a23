"""Rectangles over the starts and ends of a stab-forest's events: every relation to a fixed period is a few of these.

An event of the rectangle ends at or after ``low_end``, so it is active at the instant before, or starts later. One
stab there and one run of the event list therefore hold all of them; if the run of all starts within the rectangle is
shorter, it is read instead. What either way meets and the rectangle does not hold is dropped.
"""

import numpy as np

from timeloom.kernels.jit import borrowing, compiled
from timeloom.kernels.order import MAX_ROWS, Ticks
from timeloom.kernels.rectangles import saturated_range
from timeloom.kernels.stab_forest.layout import EVENTS, FOREVER, NEVER, Forest, end_at
from timeloom.kernels.stab_forest.stab import count_at, stab_into

ROW, FILL, NEEDED, TAKEN = range(4)
Limits = tuple[int, int, int, int]
SHORT = 64
"""A run of so many events is read without asking for a shorter way."""


@borrowing
def rank(starts: Ticks, events: int, t: int) -> int:
    """How many of the sorted starts lie before t."""
    low, high = 0, events
    while low < high:
        middle = (low + high) >> 1
        if starts[middle] < t:
            low = middle + 1
        else:
            high = middle
    return low


@borrowing
def rank_through(starts: Ticks, events: int, t: int) -> int:
    """How many of the sorted starts lie at or before t."""
    return events if t == FOREVER else rank(starts, events, t + 1)


@borrowing
def candidates(
    forest: Forest, low_start: int, high_start: int, low_end: int, high_end: int
) -> tuple[int, int, int, bool]:
    """Where to look: the instant to stab, the run of positions to read, and whether to stab at all."""
    events = forest.counts[EVENTS]
    if events == 0 or high_end == NEVER or low_end > high_end:
        return 0, 0, 0, False
    last_start = min(high_start, high_end - 1)
    first, stop = rank(forest.starts, events, low_start), rank_through(forest.starts, events, last_start)
    if low_start > last_start or first >= stop:
        return 0, 0, 0, False
    if low_end == NEVER:
        return 0, first, stop, False
    t = min(low_end - 1, last_start)
    if t < low_start:
        return 0, first, stop, False
    middle = rank_through(forest.starts, events, t)
    if middle - first <= SHORT or count_at(forest, t) >= middle - first:
        return 0, first, stop, False
    return t, middle, stop, True


@borrowing
def search(
    forest: Forest, low_start: int, high_start: int, low_end: int, high_end: int, out: Ticks, at: int
) -> tuple[int, int]:
    """Write the events of a rectangle; return the new fill, beyond the room if there was too little, and the steps."""
    t, begin, stop, stabs = candidates(forest, low_start, high_start, low_end, high_end)
    steps = stop - begin
    if at + steps > out.size:
        return at + steps, 0
    if stabs:
        fill = stab_into(forest, t, out[:0], out, at)
        if fill + steps > out.size:
            return fill + steps, 0
        steps += fill - at
        for hit in range(at, fill):
            position = out[hit]
            if forest.starts[position] >= low_start and low_end <= end_at(forest, position) <= high_end:
                out[at] = position
                at += 1
    for position in range(begin, stop):
        if low_end <= end_at(forest, position) <= high_end:
            out[at] = position
            at += 1
    return at, steps


@borrowing
def rectangle(
    start: int, end: int, by_start: Limits, by_end: Limits, window: tuple[int, int]
) -> tuple[int, int, int, int]:
    """The rectangle of one row: bounds of a relation, and of a window into which both periods must reach."""
    if start >= window[1] or end <= window[0]:
        return FOREVER, NEVER, FOREVER, NEVER
    low_start, high_start = saturated_range(start, end, by_start)
    low_end, high_end = saturated_range(start, end, by_end)
    if window[0] != NEVER:
        low_end = max(low_end, window[0] + 1)
    if window[1] != FOREVER:
        high_start = min(high_start, window[1] - 1)
    return low_start, high_start, low_end, high_end


@borrowing
def search_rows(
    forest: Forest,
    starts: Ticks,
    ends: Ticks,
    by_start: Limits,
    by_end: Limits,
    window: tuple[int, int],
    state: Ticks,
    rows: Ticks,
    out: Ticks,
) -> bool:
    """Write each row with each of its events, from the state on until the output is full; tell whether that is all.

    The state is the next row, the fill, the room that the next row needs, and how many steps were taken.
    """
    row, at = state[ROW], state[FILL]
    while row < starts.size:
        low_start, high_start, low_end, high_end = rectangle(starts[row], ends[row], by_start, by_end, window)
        fill, steps = search(forest, low_start, high_start, low_end, high_end, out, at)
        if fill > out.size:
            state[ROW], state[FILL], state[NEEDED] = row, at, fill
            return False
        for found in range(at, fill):
            rows[found] = row
        state[TAKEN] += steps
        row, at = row + 1, fill
    state[ROW], state[FILL] = row, at
    return True


class TooMany(Exception):  # noqa: N818 - a signal, never seen by users
    """More events were found than the caller wants to have listed."""


def search_many(
    forest: Forest,
    starts: Ticks,
    ends: Ticks,
    by_start: Limits,
    by_end: Limits,
    window: tuple[int, int] = (NEVER, FOREVER),
    most: int = MAX_ROWS,
) -> tuple[Ticks, Ticks, int]:
    """Each row with each event that lies in its rectangle, as rows and positions; and how many events were met.

    The limits bound the start, and the end, of an event against the start and the end of the row.
    """
    state = np.zeros(4, np.int64)
    rows, out = np.empty(256, np.int64), np.empty(256, np.int64)
    while not search_rows(forest, starts, ends, by_start, by_end, window, state, rows, out):
        used, needed = int(state[FILL]), int(state[NEEDED])
        if needed > most:
            raise TooMany
        room = max(2 * out.size, needed)
        rows, out = (np.concatenate([part[:used], np.empty(room - used, np.int64)]) for part in (rows, out))
    return rows[: state[FILL]], out[: state[FILL]], int(state[TAKEN])


@compiled
def count_rows(
    forest: Forest,
    starts: Ticks,
    ends: Ticks,
    by_start: Limits,
    by_end: Limits,
    begin: int,
    found: Ticks,
) -> None:
    """Add to each row the number of its events, from a row on; where ranks tell it, no event is looked at."""
    out, events = np.empty(256, np.int64), forest.counts[EVENTS]
    for row in range(found.size):
        low_start, high_start, low_end, high_end = rectangle(
            starts[begin + row], ends[begin + row], by_start, by_end, (NEVER, FOREVER)
        )
        if low_start == NEVER and high_end == FOREVER and low_end != NEVER and low_end - 1 <= high_start:
            t = low_end - 1
            later = rank_through(forest.starts, events, high_start) - rank_through(forest.starts, events, t)
            found[row] += count_at(forest, t) + later
            continue
        fill, _ = search(forest, low_start, high_start, low_end, high_end, out, 0)
        while fill > out.size:
            out = np.empty(2 * fill, np.int64)
            fill, _ = search(forest, low_start, high_start, low_end, high_end, out, 0)
        found[row] += fill
