"""Many stabs with an answer for each: an answer is what lasts of the one before it, and what has started since.

Ascending instants are answered one after the other, into pages of positions; each answer is read from the one before,
which is still in the cache. Then it is known where answers belong, whatever order they are wanted in, and they are
handed out as ids. Windows get what starts within them behind.
"""

from typing import NamedTuple

import numpy as np

from timeloom.kernels.jit import borrowing
from timeloom.kernels.order import Positions, Ticks
from timeloom.kernels.stab_forest.layout import EVENTS, LATE, NODES, Forest
from timeloom.kernels.stab_forest.multi_stab import new_marks, reach_of
from timeloom.kernels.stab_forest.stab import drop_ended, first_after, locate, visit

PAGE = 1 << 22
"""So many positions a page holds, or those of one answer."""

NUMBER, SEEN, NODE, BEFORE, FILL, WANTED = range(6)
"""Where a listing stands: the next instant, the first event that starts after the last one, its node, where the last
answer begins in the page and where it ends, and how much room the next one may take."""


class Page(NamedTuple):
    """The answers to the instants from ``begin`` to ``stop``, behind each other."""

    begin: int
    stop: int
    positions: Positions


@borrowing
def list_on(
    forest: Forest,
    ts: Ticks,
    stop: int,
    reach: int,
    marks: Ticks,
    state: Ticks,
    page: Positions,
    rows: Positions,
    offsets: Ticks,
) -> None:
    """Answer the instants from the state on, before ``stop``, until the page is full.

    The answer to instant k has the number ``rows[k]``, or k if there are no rows; its size is written to ``offsets``
    behind that number. A step reads the event list if its instant is near and the index if it is far, as a multi-stab
    does.
    """
    starts, ends, events, some_late = forest.starts, forest.ends, forest.counts[EVENTS], forest.counts[LATE] > 0
    seen, node, before, at, wanted = state[SEEN], state[NODE], state[BEFORE], state[FILL], 0
    number, room, ordered = state[NUMBER], page.size, rows.size == 0
    while number < stop:
        t, now = ts[number], at
        wanted = now - before + min(reach, events - seen)
        if now + wanted > room:
            break
        for hit in range(before, now):
            position = page[hit]
            page[at] = position
            at += ends[position] > t
        if seen + reach < events and starts[seen + reach] <= t:
            node = locate(forest, node, t)
            at = visit(forest, t, seen, node, marks, page, at)
            if at > room:
                wanted, at = at - now, now
                break
            seen = first_after(forest, node, t)
        while seen < events and starts[seen] <= t:
            page[at] = seen
            at += ends[seen] > t
            seen += 1
        if some_late:
            at = drop_ended(ends, forest.late, forest.late_ends, t, page, now, at)
        offsets[(number if ordered else rows[number]) + 1] = at - now
        before = now
        number += 1
    state[NUMBER], state[SEEN], state[NODE], state[BEFORE], state[FILL], state[WANTED] = (
        number,
        seen,
        node,
        before,
        at,
        wanted,
    )


@borrowing
def add_runs(rows: Positions, begins: Ticks, stops: Ticks, offsets: Ticks) -> None:
    """Add to the size of each answer that of a run of positions, which may be empty."""
    for number in range(begins.size):
        offsets[(rows[number] if rows.size else number) + 1] += max(0, stops[number] - begins[number])


@borrowing
def place(offsets: Ticks) -> int:
    """Turn sizes, each behind its answer's number, into where answers end; tell the size of all together."""
    total = 0
    for number in range(offsets.size):
        total += offsets[number]
        offsets[number] = total
    return total


@borrowing
def hand_out(
    rows: Positions,
    begins: Ticks,
    stops: Ticks,
    offsets: Ticks,
    ids: Positions,
    out: Ticks,
    begin: int,
    stop: int,
    positions: Positions,
) -> None:
    """Write the answers of a page to their places, each with its run behind if there are runs.

    Positions become ids, if these are others.
    """
    ordered, named, hit = rows.size == 0, ids.size > 0, 0
    if ordered and not begins.size:
        part = out[offsets[begin] : offsets[stop]]
        for at in range(part.size):
            part[at] = ids[positions[at]] if named else positions[at]
        return
    for number in range(begin, stop):
        answer = number if ordered else rows[number]
        at, last = offsets[answer], offsets[answer + 1]
        behind = max(0, stops[number] - begins[number]) if begins.size else 0
        for place in range(at, last - behind):
            out[place] = ids[positions[hit]] if named else positions[hit]
            hit += 1
        for more in range(behind):
            position = begins[number] + more
            out[last - behind + more] = ids[position] if named else position


def answered(forest: Forest, ts: Ticks, c: int, rows: Positions, offsets: Ticks, begin: int, stop: int) -> list[Page]:
    """The answers to some of the ascending instants in pages, their sizes in the offsets."""
    reach, state = reach_of(c, int(forest.counts[NODES])), np.array([begin, 0, 1, 0, 0, 0])
    pages, last, size = [], np.zeros(0, np.int32), 4 * (stop - begin)
    while state[NUMBER] < stop:
        first, kept = int(state[NUMBER]), last.size
        page = np.empty(kept + max(int(state[WANTED]), min(size, PAGE)), np.int32)
        page[:kept] = last
        state[BEFORE], state[FILL] = 0, kept
        list_on(forest, ts, stop, reach, new_marks(), state, page, rows, offsets)
        number, fill = int(state[NUMBER]), int(state[FILL])
        pages.append(Page(first, number, page[kept:fill]))
        last = page[int(state[BEFORE]) : fill].copy()
        size = max(2 * size, 9 * (stop - number) * (fill - kept) // (8 * max(1, number - first)))
    return pages
