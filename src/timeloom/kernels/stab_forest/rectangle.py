"""Rectangles over the starts and ends of a stab-forest's events: every relation to a fixed period is a few of these.

An event of the rectangle ends at or after ``low_end``, so it is active at the instant before, or starts later. One
stab there and one run of the event list therefore hold all of them; if the run of all starts within the rectangle is
shorter, it is read instead. What either way meets and the rectangle does not hold is dropped.
"""

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Ticks
from timeloom.kernels.stab_forest.layout import EVENTS, FOREVER, NEVER, Forest, end_at
from timeloom.kernels.stab_forest.stab import NO_MARKS, count_at, stab_into

SHORT = 64
"""A run of so many events is read without asking for a shorter way."""


@compiled
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


@compiled
def rank_through(starts: Ticks, events: int, t: int) -> int:
    """How many of the sorted starts lie at or before t."""
    return events if t == FOREVER else rank(starts, events, t + 1)


@compiled
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


@compiled
def search(
    forest: Forest, low_start: int, high_start: int, low_end: int, high_end: int, out: Ticks, at: int
) -> tuple[int, int]:
    """Write the events of a rectangle; return the new fill, beyond the room if there was too little, and the steps."""
    t, begin, stop, stabs = candidates(forest, low_start, high_start, low_end, high_end)
    steps = stop - begin
    if at + steps > out.size:
        return at + steps, 0
    if stabs:
        fill = stab_into(forest, t, NO_MARKS, out, at)
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


@compiled
def search_rows(
    forest: Forest, starts: tuple[Ticks, Ticks], ends: tuple[Ticks, Ticks], state: Ticks, offsets: Ticks, out: Ticks
) -> bool:
    """Answer rectangles from the state on until the output is full; tell whether all are answered.

    The state is the next row, the room that it needs, and how many steps were taken.
    """
    row = state[0]
    while row < offsets.size - 1:
        fill, steps = search(forest, starts[0][row], starts[1][row], ends[0][row], ends[1][row], out, offsets[row])
        if fill > out.size:
            state[0], state[1] = row, fill
            return False
        state[2] += steps
        row += 1
        offsets[row] = fill
    state[0] = row
    return True


def search_many(forest: Forest, starts: tuple[Ticks, Ticks], ends: tuple[Ticks, Ticks]) -> tuple[Ticks, Ticks, int]:
    """The positions of each rectangle's events, ``positions[offsets[j]:offsets[j + 1]]``, and how many were met.

    Rectangles are given as least and greatest start, least and greatest end, all included.
    """
    offsets, state = np.zeros(starts[0].size + 1, np.int64), np.zeros(3, np.int64)
    out = np.empty(max(256, 2 * starts[0].size), np.int64)
    while not search_rows(forest, starts, ends, state, offsets, out):
        used = int(offsets[state[0]])
        wider = np.empty(max(2 * out.size, int(state[1])), np.int64)
        wider[:used] = out[:used]
        out = wider
    return offsets, out[: offsets[-1]], int(state[2])


@compiled
def count_rows(
    forest: Forest, starts: tuple[Ticks, Ticks], ends: tuple[Ticks, Ticks], begin: int, found: Ticks
) -> None:
    """Count the events of each rectangle, from a row on; a rectangle that only ranks bound needs no look at events."""
    out, events = np.empty(256, np.int64), forest.counts[EVENTS]
    for row in range(found.size):
        low_start, high_start, low_end, high_end = (
            starts[0][begin + row],
            starts[1][begin + row],
            ends[0][begin + row],
            ends[1][begin + row],
        )
        if low_start == NEVER and high_end == FOREVER and low_end != NEVER:
            t = min(low_end - 1, high_start)
            last = rank_through(forest.starts, events, high_start) - rank_through(forest.starts, events, t)
            if low_end - 1 <= high_start:
                found[row] = count_at(forest, t) + last
                continue
        fill, _ = search(forest, low_start, high_start, low_end, high_end, out, 0)
        while fill > out.size:
            out = np.empty(2 * fill, np.int64)
            fill, _ = search(forest, low_start, high_start, low_end, high_end, out, 0)
        found[row] = fill
