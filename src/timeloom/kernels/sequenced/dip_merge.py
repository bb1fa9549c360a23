"""DIPMerge: anti-joins of disjoint partitions in one scan without backtracking (DIP paper, section 7)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from timeloom.kernels.order import Positions, Ticks, sort
from timeloom.kernels.sequenced.dip import Partitions, partition
from timeloom.kernels.sequenced.dip_steps import COMPARISONS, GROUP, Lanes, leads_on

AT_ONCE = 1 << 14
"""Outer partitions that are merged at once unless asked otherwise. The whole inner side is gone through for each group:
the fewer groups, the better, as long as the cache holds the current rows."""

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
    return merged(partition(left_starts, left_ends), inner, m, to_lead=to_lead)


def one_list(starts: Ticks, ends: Ticks) -> Partitions:
    """All rows in the order of their starts, as one list: what an anti-join takes the leads from."""
    by_start = sort(starts, 1, ends)
    return Partitions(by_start.values, by_start.beside, by_start.ids, np.array([0, starts.size], np.int32))


def at_once(depth: int, m: int = 0) -> int:
    """How many of so many partitions are merged at once if m is asked for; 0 leaves it to us."""
    return max(1, min(depth, m or AT_ONCE))


def merged(outer: Partitions, inner: Partitions, m: int, *, to_lead: bool = False) -> Merged:
    """All results of a merge."""
    counters = Counters()
    return together(merge_pages(outer, inner, m, to_lead=to_lead, counters=counters), counters)


def together(pages: Iterable[Page], counters: Counters) -> Merged:
    """Pages as one, and what was counted while they were made."""
    held = list(pages)
    whole, at = Page.room(counters.results), 0
    for page in held:
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
    to_lead: bool = False,
    most: int = PAGE,
    counters: Counters | None = None,
) -> Iterator[Page]:
    """Merge each group of m outer partitions with the leads of an inner list, in pages of at most ``most`` results."""
    state, lanes = np.zeros(8, np.int64), Lanes.room(at_once(outer.depth, m))
    counters, room = counters or Counters(), min(most, FIRST_PAGE)
    while int(state[GROUP]) < outer.depth:
        page = Page.room(room)
        written = leads_on(outer, inner, to_lead, state, lanes, *page)
        counters.add(state[COMPARISONS:], written)
        if written:
            page = page.first(written)
            yield page._replace(outer=outer.rows[page.outer])
        room = most
