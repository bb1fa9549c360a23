"""DIPMerge: join and anti-join of disjoint partitions in one scan without backtracking (DIP paper, section 7)."""

from typing import NamedTuple

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks, sort
from timeloom.kernels.sequenced.dip import Partitions, partition
from timeloom.model.ticks import FOREVER, MIN_TICK


class Merged(NamedTuple):
    """Result periods with the rows they stem from, and what it took to find them.

    For an anti-join ``inner`` is the place, by start, of the inner row before which the piece lies.
    """

    outer: Positions
    inner: Positions
    starts: Ticks
    ends: Ticks
    comparisons: int
    unproductive: int


def join(left_starts: Ticks, left_ends: Ticks, right_starts: Ticks, right_ends: Ticks, m: int = 0) -> Merged:
    """Sequenced join: every group of m outer partitions is merged with each inner partition (equation 1).

    With ``m=0`` all outer partitions are merged at once.
    """
    outer, inner = partition(left_starts, left_ends), partition(right_starts, right_ends)
    return merge_groups(outer, m, inner, pairs=True)


def antijoin(
    left_starts: Ticks,
    left_ends: Ticks,
    right_starts: Ticks,
    right_ends: Ticks,
    m: int = 0,
    to_lead: bool = False,
) -> Merged:
    """Sequenced anti-join: every group of m outer partitions against the leads of the whole inner side (equation 3).

    ``to_lead`` passes an outer row only when it ends by the end of the current lead, as the paper's figure 15 does;
    otherwise a row that ends within the inner row is passed at once, as in its algorithm 2. Both give the same pieces.
    """
    by_start = sort(right_starts)
    whole = np.array([0, right_starts.size], np.int32)
    inner = Partitions(by_start.values, right_ends[by_start.ids], by_start.ids, whole)
    return merge_groups(partition(left_starts, left_ends), m, inner, False, to_lead)


def merge_groups(outer: Partitions, m: int, inner: Partitions, pairs: bool, to_lead: bool = False) -> Merged:
    """Merge each group of m outer partitions with each inner one: count all results first, then write them."""
    m = m or max(outer.depth, 1)
    calls, size, comparisons = [], 0, 0
    for first in range(0, outer.depth, m):
        for k in range(inner.depth):
            stretch = slice(inner.offsets[k], inner.offsets[k + 1])
            call = (
                *(outer.starts, outer.ends, outer.offsets[first : first + m + 1]),
                *(inner.starts[stretch], inner.ends[stretch], pairs, to_lead),
            )
            calls.append((call, size, inner.rows[stretch]))
            found, compared = merge(*call, *room(0))
            size, comparisons = size + found, comparisons + compared
    rows, others, starts, ends = room(size)
    for call, at, inner_rows in calls:
        found = merge(*call, rows[at:], others[at:], starts[at:], ends[at:])[0]
        if pairs:
            others[at : at + found] = inner_rows[others[at : at + found]]
    return Merged(outer.rows[rows], others, starts, ends, comparisons, comparisons - size)


def room(size: int) -> tuple[Positions, Positions, Ticks, Ticks]:
    """Arrays for so many results."""
    return np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int64), np.empty(size, np.int64)


@compiled
def merge(
    outer_starts: Ticks,
    outer_ends: Ticks,
    offsets: Positions,
    inner_starts: Ticks,
    inner_ends: Ticks,
    pairs: bool,
    to_lead: bool,
    rows: Positions,
    others: Positions,
    starts: Ticks,
    ends: Ticks,
) -> tuple[int, int]:
    """Scan outer partitions against one inner list; count the results and write as many as the arrays hold.

    Each partition resumes where it stopped for the inner row before: no result lies behind. Without ``pairs`` the
    outer rows meet leads: the uncovered time before an inner row, from the largest end so far to its start, and at last
    the open time after all of them. The current rows of the partitions that are not yet exhausted lie side by side.
    Returns the numbers of results and of comparisons.
    """
    at, stops, live, size, comparisons, reach = offsets[:-1].copy(), offsets[1:].copy(), 0, 0, 0, MIN_TICK
    r_starts, r_ends = np.empty(at.size, np.int64), np.empty(at.size, np.int64)
    for turn in range(at.size):
        if at[turn] < stops[turn]:
            at[live], stops[live] = at[turn], stops[turn]
            r_starts[live], r_ends[live] = outer_starts[at[live]], outer_ends[at[live]]
            live += 1
    for k in range(inner_starts.size if pairs else inner_starts.size + 1):
        s_start, s_end = FOREVER, FOREVER
        if k < inner_starts.size:
            s_start, s_end = inner_starts[k], inner_ends[k]
        limit = s_start if to_lead else s_end
        first, last = (s_start, s_end) if pairs else (reach, s_start)
        turn = 0
        while turn < live:
            comparisons += 1
            low, high = max(r_starts[turn], first), min(r_ends[turn], last)
            if low < high:
                if size < rows.size:
                    rows[size], others[size] = at[turn], k
                    starts[size], ends[size] = low, high
                size += 1
            if r_ends[turn] > limit:
                turn += 1
                continue
            at[turn] += 1
            if at[turn] == stops[turn]:
                live -= 1
                for later in range(turn, live):
                    at[later], stops[later] = at[later + 1], stops[later + 1]
                    r_starts[later], r_ends[later] = r_starts[later + 1], r_ends[later + 1]
            else:
                r_starts[turn], r_ends[turn] = outer_starts[at[turn]], outer_ends[at[turn]]
        reach = max(reach, s_end)
    return size, comparisons
