"""Outer joins by disjoint partitions: matches and the remainders of both sides in one merge.

The paper's full outer operator is for one partition on either side. Here all outer partitions are merged at once with
the whole inner side in the order of its starts: an inner row meets, in each outer partition, the rows from the first
one that has not ended by its start to the first one that reaches its end, so only the last comparison may be in vain.
The leads of the inner rows give the remainders of outer rows. The leads of the outer side as a whole form one more
partition, which gives the remainders of inner rows.
"""

from collections.abc import Iterator

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks
from timeloom.kernels.sequenced.difference import unite
from timeloom.kernels.sequenced.dip import Partitions
from timeloom.kernels.sequenced.dip_merge import FIRST_PAGE, PAGE, Counters, Page, one_list
from timeloom.model.ticks import FOREVER, MIN_TICK

INNER, TURN, AT, LIVE, REACH, COMPARISONS, MOVED = range(7)
BEGIN = -1
"""Stands for the position in a partition where its look at an inner row begins."""


def outer_pages(
    outer: Partitions,
    inner: Partitions,
    *,
    keep_outer: bool,
    keep_inner: bool,
    most: int = PAGE,
    counters: Counters | None = None,
) -> Iterator[Page]:
    """Merge all outer partitions with an inner list by start; -1 stands for the absent side of a remainder."""
    counters, room = counters or Counters(), max(2, min(most, FIRST_PAGE))
    parts = leads_of(outer) if keep_inner else outer
    cursors, stops = parts.offsets[:-1].copy(), parts.offsets[1:].copy()
    names = np.arange(cursors.size, dtype=np.int32)
    state = np.array([0, 0, BEGIN, cursors.size, MIN_TICK, 0, 0], np.int64)
    done = False
    while not done:
        page = Page.room(room)
        done, written = outer_on(parts, inner, outer.depth, keep_outer, state, cursors, stops, names, *page)
        counters.add(state[COMPARISONS:], written)
        if written:
            yield _named(page.first(written), outer, inner)
        room = max(2, most)


def _named(page: Page, outer: Partitions, inner: Partitions) -> Page:
    """Positions as rows of the input."""
    outer_rows, inner_rows = np.append(outer.rows, np.int32(-1)), np.append(inner.rows, np.int32(-1))
    return page._replace(outer=outer_rows[page.outer], inner=inner_rows[page.inner])


def leads_of(outer: Partitions) -> Partitions:
    """The partitions, and after them one more: the time that no row of any of them covers."""
    by_start = one_list(outer.starts, outer.ends)
    edges = np.concatenate([[MIN_TICK], unite(by_start.starts, by_start.ends), [FOREVER]])
    starts, ends = edges[::2], edges[1::2]
    held = starts < ends
    size = outer.starts.size + int(held.sum())
    return Partitions(
        np.concatenate([outer.starts, starts[held]]),
        np.concatenate([outer.ends, ends[held]]),
        outer.rows,
        np.append(outer.offsets, np.int32(size)),
    )


@compiled
def outer_on(
    parts: Partitions,
    inner: Partitions,
    depth: int,
    keep_outer: bool,
    state: Ticks,
    cursors: Positions,
    stops: Positions,
    names: Positions,
    rows: Positions,
    others: Positions,
    starts: Ticks,
    ends: Ticks,
) -> tuple[bool, int]:
    """Merge on from the state until all is done or the room is full; tell which, and how much was written.

    Partitions from ``depth`` on hold leads. Every comparison gives at most two results.
    """
    size, comparisons, moved, none = 0, 0, 0, np.int32(-1)
    k, turn, at, live, reach = state[INNER], state[TURN], state[AT], state[LIVE], state[REACH]
    while k <= inner.starts.size and live > 0:
        s_start, s_end = FOREVER, FOREVER
        if k < inner.starts.size:
            s_start, s_end = inner.starts[k], inner.ends[k]
        while turn < live:
            if at == BEGIN:
                at = cursors[turn]
            if at == stops[turn]:
                if cursors[turn] < at:
                    turn += 1
                else:
                    live -= 1
                    moved += 1
                    cursors[turn], stops[turn], names[turn] = cursors[live], stops[live], names[live]
                at = BEGIN
                continue
            if size + 2 > rows.size:
                state[INNER], state[TURN], state[AT], state[LIVE], state[REACH] = k, turn, at, live, reach
                state[COMPARISONS] += comparisons
                state[MOVED] += moved
                return False, size
            comparisons += 1
            r_start, r_end, is_lead = parts.starts[at], parts.ends[at], names[turn] >= depth
            low, high = max(r_start, reach), min(r_end, s_start)
            if keep_outer and not is_lead and low < high:
                rows[size], others[size], starts[size], ends[size] = at, none, low, high
                size += 1
            low, high = max(r_start, s_start), min(r_end, s_end)
            if low < high:
                rows[size], others[size], starts[size], ends[size] = none if is_lead else at, k, low, high
                size += 1
            if r_end <= s_start:
                cursors[turn] = at + 1
                moved += 1
            if r_end < s_end or r_end <= s_start:
                at += 1
            else:
                turn, at = turn + 1, BEGIN
        turn, at, k, reach = 0, BEGIN, k + 1, max(reach, s_end)
    state[COMPARISONS] += comparisons
    state[MOVED] += moved
    return True, size
