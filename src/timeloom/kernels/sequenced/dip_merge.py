"""DIPMerge: join and anti-join of disjoint partitions in one scan without backtracking (DIP paper, section 7)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks, sort
from timeloom.kernels.sequenced.dip import Partitions, partition
from timeloom.model.ticks import FOREVER, MIN_TICK

AT_ONCE = 1 << 14
"""So many partitions are merged at once unless asked otherwise: their current rows stay within a processor's cache."""

PAGE = 1 << 20
FIRST_PAGE = 1 << 12

GROUP, PART, INNER, TURN, LIVE, REACH, OPEN, COMPARISONS, MOVED = range(9)
"""Where a merge stands: first outer partition of the group, inner partition, inner row, current outer partition, how
many of these are left, the largest inner end so far, whether the group is open; and what was counted."""


@dataclass
class Counters:
    """What a merge did: rows compared, results, and current rows loaded or moved for it."""

    comparisons: int = 0
    moved: int = 0
    results: int = 0

    def add(self, counted: Ticks, results: int) -> None:
        """Take over the comparisons and moves that a kernel counted, which then begins from zero."""
        self.comparisons += int(counted[0])
        self.moved += int(counted[1])
        self.results += results
        counted[:2] = 0

    @property
    def unproductive(self) -> int:
        """Comparisons that gave no result."""
        return self.comparisons - self.results

    @property
    def work(self) -> int:
        """All that a merge spends time on."""
        return self.comparisons + self.moved


class Page(NamedTuple):
    """Result periods with the rows that they stem from; room for them before a merge has written any."""

    outer: Positions
    inner: Positions
    starts: Ticks
    ends: Ticks

    @classmethod
    def room(cls, size: int) -> "Page":
        """Space for so many results."""
        return cls(*np.empty((2, size), np.int32), *np.empty((2, size), np.int64))

    def first(self, size: int) -> "Page":
        """The results that are written; few are copied, so that they do not hold the room of many."""
        page = Page(self.outer[:size], self.inner[:size], self.starts[:size], self.ends[:size])
        if size >= self.outer.size // 4:
            return page
        return Page(page.outer.copy(), page.inner.copy(), page.starts.copy(), page.ends.copy())


class Merged(NamedTuple):
    """Result periods with the rows they stem from, and what it took to find them.

    For an anti-join ``inner`` is the position, by start, of the inner row before which the piece lies.
    """

    outer: Positions
    inner: Positions
    starts: Ticks
    ends: Ticks
    comparisons: int
    unproductive: int
    moved: int = 0


class Current(NamedTuple):
    """The outer partitions not yet exhausted, side by side: positions of their current rows, stops, periods."""

    at: Positions
    stops: Positions
    starts: Ticks
    ends: Ticks


def join(left_starts: Ticks, left_ends: Ticks, right_starts: Ticks, right_ends: Ticks, m: int = 0) -> Merged:
    """Sequenced join: every group of m outer partitions is merged with each inner partition (equation 1).

    With ``m=0`` as many as are good for the cache are merged at once.
    """
    return merged(partition(left_starts, left_ends), partition(right_starts, right_ends), m, pairs=True)


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
    inner = one_list(right_starts, right_ends)
    return merged(partition(left_starts, left_ends), inner, m, pairs=False, to_lead=to_lead)


def one_list(starts: Ticks, ends: Ticks) -> Partitions:
    """All rows in the order of their starts, as one list: what an anti-join takes the leads from."""
    by_start = sort(starts, 1, ends)
    return Partitions(by_start.values, by_start.beside, by_start.ids, np.array([0, starts.size], np.int32))


def at_once(depth: int, m: int = 0) -> int:
    """How many of so many partitions are merged at once if m is asked for; 0 leaves it to us."""
    return max(1, min(depth, m or AT_ONCE))


def merged(outer: Partitions, inner: Partitions, m: int, *, pairs: bool, to_lead: bool = False) -> Merged:
    """All results of a merge."""
    counters = Counters()
    pages = list(merge_pages(outer, inner, m, pairs=pairs, to_lead=to_lead, counters=counters))
    whole, at = Page.room(counters.results), 0
    for page in pages:
        part = slice(at, at + page.outer.size)
        whole.outer[part], whole.inner[part] = page.outer, page.inner
        whole.starts[part], whole.ends[part] = page.starts, page.ends
        at = part.stop
    return Merged(*whole, counters.comparisons, counters.unproductive, counters.moved)


def merge_pages(
    outer: Partitions,
    inner: Partitions,
    m: int = 0,
    *,
    pairs: bool,
    to_lead: bool = False,
    most: int = PAGE,
    counters: Counters | None = None,
) -> Iterator[Page]:
    """Merge each group of m outer partitions with each inner one; results leave in pages of at most ``most``."""
    m, state = at_once(outer.depth, m), np.zeros(9, np.int64)
    current = Current(*np.empty((2, m), np.int32), *np.empty((2, m), np.int64))
    counters, room = counters or Counters(), min(most, FIRST_PAGE)
    while inner.depth and state[GROUP] < outer.depth:
        page = Page.room(room)
        written = merge_on(outer, inner, pairs, to_lead, state, current, *page)
        counters.add(state[COMPARISONS:], written)
        if written:
            page = page.first(written)
            inner_rows = inner.rows[page.inner] if pairs else page.inner
            yield page._replace(outer=outer.rows[page.outer], inner=inner_rows)
        room = most


def count_merged(outer: Partitions, inner: Partitions, m: int = 0, *, pairs: bool) -> Counters:
    """What a merge would find and do; no result is written."""
    counters, state, m = Counters(), np.zeros(9, np.int64), at_once(outer.depth, m)
    current = Current(*np.empty((2, m), np.int32), *np.empty((2, m), np.int64))
    if inner.depth:
        found = merge_on(outer, inner, pairs, False, state, current, *Page.room(0))
        counters.add(state[COMPARISONS:], found)
    return counters


@compiled
def merge_on(
    outer: Partitions,
    inner: Partitions,
    pairs: bool,
    to_lead: bool,
    state: Ticks,
    current: Current,
    rows: Positions,
    others: Positions,
    starts: Ticks,
    ends: Ticks,
) -> int:
    """Merge on from the state until all groups are done or the room is full; answer how much was found.

    Without any room all is counted and nothing written.

    Each partition resumes where it stopped for the inner row before: no result lies behind. Without ``pairs`` the
    outer rows meet leads: the uncovered time before an inner row, from the largest end so far to its start, and at last
    the open time after all of them.
    """
    size, comparisons, moved, writes = 0, 0, 0, rows.size > 0
    at, stops, r_starts, r_ends = current
    while state[GROUP] < outer.offsets.size - 1:
        first, last = inner.offsets[state[PART]], inner.offsets[state[PART] + 1]
        live, turn, k, reach = state[LIVE], state[TURN], state[INNER], state[REACH]
        if not state[OPEN]:
            live, turn, k, reach = open_group(outer, state[GROUP], current), 0, first, MIN_TICK
            moved += live
        while live > 0 and (k < last or (k == last and not pairs)):
            s_start, s_end = FOREVER, FOREVER
            if k < last:
                s_start, s_end = inner.starts[k], inner.ends[k]
            limit = s_start if to_lead else s_end
            low_end, high_end = (s_start, s_end) if pairs else (reach, s_start)
            while turn < live:
                if writes and size == rows.size:
                    state[INNER], state[TURN], state[LIVE], state[REACH], state[OPEN] = k, turn, live, reach, 1
                    state[COMPARISONS] += comparisons
                    state[MOVED] += moved
                    return size
                comparisons += 1
                low, high = max(r_starts[turn], low_end), min(r_ends[turn], high_end)
                if writes:
                    # Written before it is judged: whether rows meet cannot be foretold, and a wrong guess costs more.
                    rows[size], others[size], starts[size], ends[size] = at[turn], k, low, high
                size += low < high
                if r_ends[turn] > limit:
                    turn += 1
                    continue
                at[turn] += 1
                moved += 1
                if at[turn] < stops[turn]:
                    r_starts[turn], r_ends[turn] = outer.starts[at[turn]], outer.ends[at[turn]]
                    continue
                live -= 1
                at[turn], stops[turn] = at[live], stops[live]
                r_starts[turn], r_ends[turn] = r_starts[live], r_ends[live]
            turn, k, reach = 0, k + 1, max(reach, s_end)
        state[OPEN] = 0
        state[PART] += 1
        if state[PART] >= inner.offsets.size - 1:
            state[PART] = 0
            state[GROUP] += at.size
    state[COMPARISONS] += comparisons
    state[MOVED] += moved
    return size


@compiled
def open_group(outer: Partitions, group: int, current: Current) -> int:
    """Set the partitions from ``group`` on to their first rows; how many of them there are."""
    at, stops, starts, ends = current
    live = min(at.size, outer.offsets.size - 1 - group)
    for turn in range(live):
        at[turn], stops[turn] = outer.offsets[group + turn], outer.offsets[group + turn + 1]
        starts[turn], ends[turn] = outer.starts[at[turn]], outer.ends[at[turn]]
    return live
