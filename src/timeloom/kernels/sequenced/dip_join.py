"""Joins of disjoint partitions: those of both sides are merged in one scan, without going back.

Rows of either side begin in the order of their starts. One that begins takes the place of the last row of its
partition, which has ended, so each partition has one current row, and these lie beside each other in memory. It meets
the current rows of the other side that have not ended: one comparison with each partition, so at most as many in vain
as there are partitions, the bound of the paper's lemma 5.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks
from timeloom.kernels.sequenced.dip import Numbered, gather, number_rows
from timeloom.kernels.sequenced.dip_merge import FIRST_PAGE, PAGE, Counters, Merged, Page, at_once, together
from timeloom.model.ticks import MIN_TICK

OUTER, INNER, LANE, OUTER_OPEN, INNER_OPEN, COMPARISONS, MOVED = range(7)
"""Where a join stands: the next rows of either side, the next partition that a row which begins is compared with, how
many partitions of either side have begun; and what was counted."""

WIDTH = 32
"""Current rows that are looked at together, whether any of them has not ended, before they are written one by one."""


class Current(NamedTuple):
    """The current row of each partition: its end, and which it is. A partition that has none meets nothing."""

    ends: Ticks
    rows: Positions

    @classmethod
    def room(cls, partitions: int) -> "Current":
        """Nothing has begun."""
        return cls(np.full(partitions, MIN_TICK), np.zeros(partitions, np.int32))


def join(left_starts: Ticks, left_ends: Ticks, right_starts: Ticks, right_ends: Ticks, m: int = 0) -> Merged:
    """Sequenced join of two tables: all pairs that share time, and the time that they share."""
    counters = Counters()
    sides = number_rows(left_starts, left_ends), number_rows(right_starts, right_ends)
    return together(join_pages(*sides, m, counters=counters), counters)


def join_pages(
    outer: Numbered, inner: Numbered, m: int = 0, *, most: int = PAGE, counters: Counters | None = None
) -> Iterator[Page]:
    """Merge each group of m outer partitions with all inner ones; results leave in pages of at most ``most``."""
    counters, room = counters or Counters(), min(most, FIRST_PAGE)
    for group in groups(outer, m):
        state, fronts = begin(group, inner)
        while state[OUTER] < group.starts.size or state[INNER] < inner.starts.size:
            page = Page.room(room)
            written = join_on(group, inner, fronts[0], fronts[1], state, *page)
            counters.add(state[COMPARISONS:], written)
            if written:
                yield page.first(written)
            room = most


def count_joined(outer: Numbered, inner: Numbered, m: int = 0) -> Counters:
    """What a join would find and do; no result is written."""
    counters = Counters()
    for group in groups(outer, m):
        state, fronts = begin(group, inner)
        found = join_on(group, inner, fronts[0], fronts[1], state, *Page.room(0))
        counters.add(state[COMPARISONS:], found)
    return counters


def begin(outer: Numbered, inner: Numbered) -> tuple[Ticks, tuple[Current, Current]]:
    """The state of a join that has not begun."""
    return np.zeros(7, np.int64), (Current.room(outer.depth), Current.room(inner.depth))


def groups(side: Numbered, m: int) -> Iterator[Numbered]:
    """The rows of m partitions at a time, by start, their partitions numbered from 0 on."""
    width = at_once(side.depth, m)
    if width >= side.depth:
        yield side
        return
    order, offsets = gather(side.number // np.int32(width), -(-side.depth // width))
    for group, first in enumerate(range(0, side.depth, width)):
        rows = order[offsets[group] : offsets[group + 1]]
        number, count = side.number[rows] - np.int32(first), min(width, side.depth - first)
        yield Numbered(side.starts[rows], side.ends[rows], side.rows[rows], number, count)


@compiled
def join_on(
    outer: Numbered,
    inner: Numbered,
    outer_front: Current,
    inner_front: Current,
    state: Ticks,
    rows: Positions,
    others: Positions,
    starts: Ticks,
    ends: Ticks,
) -> int:
    """Let rows of both sides begin until all have, or the room is full; without any room all is counted only.

    Of equal starts the outer row begins first, so that a pair is found once: by the row that begins later.
    """
    size, comparisons, moved, writes = 0, 0, 0, rows.size > 0
    r, s, lane, r_open, s_open = state[OUTER], state[INNER], state[LANE], state[OUTER_OPEN], state[INNER_OPEN]
    while r < outer.starts.size or s < inner.starts.size:
        if s == inner.starts.size or (r < outer.starts.size and outer.starts[r] <= inner.starts[s]):
            start, end, row, number = outer.starts[r], outer.ends[r], outer.rows[r], outer.number[r]
            if writes:
                size, lane = write_met(inner_front, s_open, lane, start, end, row, size, others, rows, starts, ends)
                if lane < s_open:
                    break
            else:
                size += count_met(inner_front.ends, s_open, start)
            comparisons += s_open
            outer_front.ends[number], outer_front.rows[number] = end, row
            r, r_open = r + 1, max(r_open, number + 1)
        else:
            start, end, row, number = inner.starts[s], inner.ends[s], inner.rows[s], inner.number[s]
            if writes:
                size, lane = write_met(outer_front, r_open, lane, start, end, row, size, rows, others, starts, ends)
                if lane < r_open:
                    break
            else:
                size += count_met(outer_front.ends, r_open, start)
            comparisons += r_open
            inner_front.ends[number], inner_front.rows[number] = end, row
            s, s_open = s + 1, max(s_open, number + 1)
        moved, lane = moved + 1, 0
    state[OUTER], state[INNER], state[LANE], state[OUTER_OPEN], state[INNER_OPEN] = r, s, lane, r_open, s_open
    state[COMPARISONS] += comparisons
    state[MOVED] += moved
    return size


@compiled
def count_met(ends: Ticks, opened: int, start: int) -> int:
    """How many current rows have not ended by a time."""
    found = 0
    for lane in range(opened):
        found += ends[lane] > start
    return found


@compiled
def write_met(
    front: Current,
    opened: int,
    lane: int,
    start: int,
    end: int,
    row: int,
    size: int,
    theirs: Positions,
    mine: Positions,
    starts: Ticks,
    ends: Ticks,
) -> tuple[int, int]:
    """Write a row that begins with each current row that has not ended, from a partition on, as far as the room goes.

    Gives how much is written, and the next partition.
    """
    while lane < opened and size < mine.size:
        stop = min(lane + WIDTH, opened, lane + mine.size - size)
        found = 0
        for k in range(lane, stop):
            found += front.ends[k] > start
        if found:
            for k in range(lane, stop):
                # Written before it is judged: whether a row has ended cannot be foretold, and a wrong guess costs more.
                theirs[size], mine[size], starts[size], ends[size] = front.rows[k], row, start, min(end, front.ends[k])
                size += front.ends[k] > start
        lane = stop
    return size, lane
