"""DIPMerge: join and anti-join of disjoint partitions in one scan without backtracking (DIP paper, section 7)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from timeloom.kernels.order import Positions, Ticks, sort
from timeloom.kernels.sequenced.dip import Partitions, partition
from timeloom.kernels.sequenced.dip_steps import COMPARISONS, GROUP, Lanes, join_on, leads_on

JOINED_AT_ONCE = 16
"""Outer partitions that a join merges at once unless asked otherwise: while rows of one are on their way, the processor
works on the others, and all of them stay in its cache."""

PASSED_AT_ONCE = 1 << 14
"""The same of an anti-join, which goes through the whole inner side for each group: the fewer groups, the better."""

PAGE = 1 << 20
FIRST_PAGE = 1 << 12


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


def at_once(depth: int, m: int = 0, *, pairs: bool) -> int:
    """How many of so many partitions are merged at once if m is asked for; 0 leaves it to us."""
    return max(1, min(depth, m or (JOINED_AT_ONCE if pairs else PASSED_AT_ONCE)))


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
    merge = Merge(outer, inner, min(most, at_once(outer.depth, m, pairs=pairs)), pairs=pairs, to_lead=to_lead)
    counters, room = counters or Counters(), max(min(most, FIRST_PAGE), merge.lanes.at.size)
    while not merge.done:
        page = Page.room(room)
        written = merge.on(page)
        counters.add(merge.state[COMPARISONS:], written)
        if written:
            page = page.first(written)
            inner_rows = inner.rows[page.inner] if pairs else page.inner
            yield page._replace(outer=outer.rows[page.outer], inner=inner_rows)
        room = most


def count_merged(outer: Partitions, inner: Partitions, m: int = 0, *, pairs: bool) -> Counters:
    """What a merge would find and do; no result is written."""
    counters, merge = Counters(), Merge(outer, inner, at_once(outer.depth, m, pairs=pairs), pairs=pairs)
    if not merge.done:
        found = merge.on(Page.room(0))
        counters.add(merge.state[COMPARISONS:], found)
    return counters


class Merge:
    """A merge that is under way: how far it has come, and what it has counted."""

    def __init__(self, outer: Partitions, inner: Partitions, m: int, *, pairs: bool, to_lead: bool = False) -> None:
        self.outer, self.inner, self.pairs, self.to_lead = outer, inner, pairs, to_lead
        self.state, self.lanes = np.zeros(9, np.int64), Lanes.room(m)

    @property
    def done(self) -> bool:
        """Whether every group has been merged with every inner partition."""
        return not self.inner.depth or int(self.state[GROUP]) >= self.outer.depth

    def on(self, page: Page) -> int:
        """Go on until all is done or the page has no room for what may come next; how much was found."""
        if self.pairs:
            return join_on(self.outer, self.inner, self.state, self.lanes, *page)
        return leads_on(self.outer, self.inner, self.to_lead, self.state, self.lanes, *page)
