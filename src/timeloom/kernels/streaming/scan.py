"""Scans of the live rows of a stream: the partners of rows that have just become ready."""

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.rectangles import shifted
from timeloom.kernels.streaming import gapless
from timeloom.kernels.streaming.certainty import comes_silently, newly_certain
from timeloom.kernels.streaming.foresight import above, below
from timeloom.kernels.streaming.gapless import Cells, bucket_of
from timeloom.kernels.streaming.layout import (
    BEFORE,
    BUFFERED,
    CANDIDATES,
    DECIDES,
    EVERY,
    FULL,
    GETNEXT,
    INNER,
    INSTANT,
    LEFT_BOUNDS,
    LEFT_READY,
    LEFT_SIDE,
    PAIRS,
    RIGHT_SIDE,
    SCANS,
    SEMI,
    TIGHT,
    WHOLE,
)
from timeloom.kernels.streaming.pairs import NEVER, window
from timeloom.kernels.streaming.unmatched import write_row
from timeloom.kernels.streaming.waiting import drop, mark_matched
from timeloom.model.ticks import MAX_TICK, MIN_TICK

BUFFER = 32
"""Fired rows that share one scan, as long as the rows that they scan stay the same."""

BLOCK, FEW = 512, 32
"""Live rows that are scanned for one fired row after the other; and how many are too few to look ahead."""

FIRED_NAME, FIRED_AT, START_LOW, START_HIGH, END_LOW, END_HIGH = range(6)
"""The columns of the buffer: a fired row, its instant, and the ranges of its partners' start and end."""


@compiled
def with_room(pairs: Cells, used: int, more: int) -> Cells:
    """The same output, or a larger copy if there is no room for this much more."""
    if used + more <= pairs.shape[1]:
        return pairs
    larger = np.empty((pairs.shape[0], max(used + more, 2 * pairs.shape[1])), np.int64)
    larger[:, :used] = pairs[:, :used]
    return larger


@compiled
def remember(side: int, name: int, start: int, end: int, time: int, rules: Cells, buffer: Cells, state: Cells) -> None:
    """Keep a row that fires, with the ranges of its partners, for the next scan of the other side."""
    at, tie = state[BUFFERED + side], (side == RIGHT_SIDE) & (rules[0, DECIDES] != 0)
    own, other, ready = LEFT_BOUNDS + 8 * side, LEFT_READY + 2 * (1 - side), time - tie
    after_start, after_end = rules[0, other], rules[0, other + 1]
    buffer[side, at, FIRED_NAME] = name
    buffer[side, at, FIRED_AT] = time
    buffer[side, at, START_LOW] = max(below(start, rules[0, own]), below(end, rules[0, own + 2]))
    start_high = min(above(start, rules[0, own + 1]), above(end, rules[0, own + 3]))
    buffer[side, at, START_HIGH] = start_high if after_start == NEVER else min(start_high, ready - after_start)
    buffer[side, at, END_LOW] = max(below(start, rules[0, own + 4]), below(end, rules[0, own + 6]))
    end_high = min(above(start, rules[0, own + 5]), above(end, rules[0, own + 7]))
    buffer[side, at, END_HIGH] = end_high if after_end == NEVER else min(end_high, ready - after_end)
    state[BUFFERED + side] += 1


@compiled
def partners(maps: Cells, side: int, element: int, latest: int, rules: Cells) -> tuple[int, int, int, int]:
    """The ranges of start and of end of the rows that match this one and are ready by ``latest``."""
    start, end = maps[side, gapless.START, element], maps[side, gapless.END, element]
    first, other = LEFT_BOUNDS + 8 * side, LEFT_READY + 2 * (1 - side)
    start_low, start_high = window(start, end, rules, 0, first, first + 2)
    end_low, end_high = window(start, end, rules, 0, first + 4, first + 6)
    start_high = min(start_high, latest_of(latest, rules[0, other]))
    end_high = min(end_high, latest_of(latest, rules[0, other + 1]))
    return start_low, start_high, end_low, end_high


@compiled
def latest_of(latest: int, after: int) -> int:
    """The last endpoint of a row that is ready by an instant, so long after that endpoint."""
    return MAX_TICK if after == NEVER or latest == MAX_TICK else shifted(latest, -after)


@compiled
def scan(maps: Cells, side: int, buffer: Cells, state: Cells, pairs: Cells) -> None:
    """Write the pairs of the buffered rows of a side with their live partners, in one scan of these.

    The scan goes block by block, so that the partners are read from memory once for all rows. A candidate is written
    before it is judged, so there must be room for all of them; where all of a block match, none needs to be. The
    loops begin at a position that is seen not to be negative: only then does the compiler read contiguous memory.
    """
    other, written, count = 1 - side, state[PAIRS], maps[1 - side, gapless.COUNT, 0]
    first = 0
    while first < count:
        last = min(count, first + BLOCK)
        for row in range(state[BUFFERED + side]):
            name, time, begin = buffer[side, row, FIRED_NAME], buffer[side, row, FIRED_AT], max(written, 0)
            start_low, start_high = buffer[side, row, START_LOW], buffer[side, row, START_HIGH]
            end_low, end_high = buffer[side, row, END_LOW], buffer[side, row, END_HIGH]
            outside, at = 0, max(first, 0)
            while at < last and last - first > FEW:
                start, end = maps[other, gapless.START, at], maps[other, gapless.END, at]
                outside += (start < start_low) | (start > start_high) | (end < end_low) | (end > end_high)
                at += 1
            at = max(first, 0)
            if last - first > FEW and outside == 0:
                while at < last:
                    pairs[other, written] = maps[other, gapless.NAME, at]
                    written += 1
                    at += 1
            elif outside < last - first:
                while at < last:
                    pairs[other, written] = maps[other, gapless.NAME, at]
                    start, end = maps[other, gapless.START, at], maps[other, gapless.END, at]
                    written += (start >= start_low) & (start <= start_high) & (end >= end_low) & (end <= end_high)
                    at += 1
            at = begin
            while at < written:
                pairs[side, at] = name
                pairs[INSTANT, at] = time
                at += 1
        first = last
    state[SCANS] += 1
    state[GETNEXT] += count
    state[CANDIDATES] += count * state[BUFFERED + side]
    state[PAIRS], state[BUFFERED + side] = written, 0


@compiled
def first_candidate(maps: Cells, side: int, element: int, time: int, rules: Cells, state: Cells) -> tuple[int, int]:
    """The first row of the other side to look at as a partner, or -1; and what partners have in common, if anything.

    Where partners start or end together, that is their start or end. An end that is not known has no partner yet.
    """
    other, by = 1 - side, maps[side, gapless.COUNT, gapless.BY]
    start, end = maps[side, gapless.START, element], maps[side, gapless.END, element]
    if by == 0:
        return (0 if maps[other, gapless.COUNT, 0] else -1), 0
    if by == gapless.END and end == MAX_TICK and time < MAX_TICK and not (state[WHOLE] and state[WHOLE + 1]):
        return -1, 0
    value = end if by == gapless.END else shifted(start, rules[0, TIGHT + 8 * side])
    return maps[other, gapless.FIRST_ALIKE, bucket_of(value, maps.shape[2] - 1)], value


@compiled
def scan_with_care(
    maps: Cells,
    side: int,
    element: int,
    time: int,
    how: int,
    rules: Cells,
    union: Cells,
    waiters: Cells,
    state: Cells,
    pairs: Cells,
    rows: Cells,
) -> None:
    """The pairs of one row, where a union is looked at as a whole, or where rows are marked or leave."""
    other, whole, by = 1 - side, union.shape[0] > 0, maps[side, gapless.COUNT, gapless.BY]
    own_start, own_end = maps[side, gapless.START, element], maps[side, gapless.END, element]
    if maps[side, gapless.FIRED, element] == time:
        return
    maps[side, gapless.FIRED, element] = time
    start_low, start_high, end_low, end_high = 0, 0, 0, 0
    if not whole:
        latest = time - 1 if side == RIGHT_SIDE and rules[0, DECIDES] else time
        start_low, start_high, end_low, end_high = partners(maps, side, element, latest, rules)
    at, value = first_candidate(maps, side, element, time, rules, state)
    before, silently = state[BEFORE], whole and comes_silently(state[BEFORE], union)
    if by == gapless.END and own_end == MAX_TICK and not (state[WHOLE] and state[WHOLE + 1]):
        before = MIN_TICK  # partners that end together were not looked at while an end was awaited
    state[SCANS] += 1
    while 0 <= at < maps[other, gapless.COUNT, 0]:
        start, end = maps[other, gapless.START, at], maps[other, gapless.END, at]
        after = maps[other, gapless.NEXT_ALIKE, at] if by else at + 1
        is_candidate = by == 0 or maps[other, by, at] == value
        state[GETNEXT] += is_candidate
        state[CANDIDATES] += is_candidate
        if not is_candidate:
            found = False
        elif not whole:
            found = start_low <= start <= start_high and end_low <= end <= end_high
        elif maps[other, gapless.FIRED, at] == time:
            found = False
        elif side == LEFT_SIDE:
            found = newly_certain(own_start, own_end, start, end, time, before, silently, union, state)
        else:
            found = newly_certain(start, end, own_start, own_end, time, before, silently, union, state)
        if found and (how <= FULL or how == EVERY):
            pairs[side, state[PAIRS]] = maps[side, gapless.NAME, element]
            pairs[other, state[PAIRS]] = maps[other, gapless.NAME, at]
            pairs[INSTANT, state[PAIRS]] = time
            state[PAIRS] += 1
        if found and how != INNER and how != EVERY:
            left, right = (element, at) if side == LEFT_SIDE else (at, element)
            gone = settle(maps, left, right, time, how, waiters, state, rows)
            if gone and side == LEFT_SIDE:
                return
            if gone and (by == 0 or after == maps[other, gapless.COUNT, 0]):
                after = at
        at = after


@compiled
def settle(maps: Cells, left: int, right: int, time: int, how: int, waiters: Cells, state: Cells, rows: Cells) -> bool:
    """Note that both rows have a partner. For semi and anti the left one leaves; tell whether it did."""
    if how <= FULL:
        mark_matched(LEFT_SIDE, left, maps, waiters, state)
        mark_matched(RIGHT_SIDE, right, maps, waiters, state)
        return False
    if how == SEMI:
        write_row(LEFT_SIDE, maps[LEFT_SIDE, gapless.NAME, left], time, state, rows)
    drop(LEFT_SIDE, left, maps, waiters, state)
    return True
