"""The temporal join of two event lists: forward scan, and the skip-join that leaps over whatever cannot match.

Both walk two lists by start and join the event that starts first with what starts during it. Where the first event
ends before the other side's next start t, the skip-join stabs its list at t instead: whatever is active then is joined,
everything else that starts up to t is passed over unread (stab-forest paper, section 2). A stab reads the event list if
the leap is short, ``reach`` events at most, and the index otherwise.
"""

import numpy as np

from timeloom.kernels.jit import borrowing
from timeloom.kernels.order import Positions, Ticks
from timeloom.kernels.stab_forest.layout import EVENTS, FOREVER, Forest
from timeloom.kernels.stab_forest.rectangle import rank
from timeloom.kernels.stab_forest.stab import first_after, locate, visit

FIRST_TICK, LAST_TICK = -(2**63), 2**63 - 1
ROOM = 1 << 16

LEFT_AT, RIGHT_AT, LEFT_NODE, RIGHT_NODE, PAIRS, WANTED, HITS, LEFT_STOP, RIGHT_STOP, PATIENCE = range(10)
"""Where a join stands: events of either side, nodes of the index, pairs found, pairs for which there was no room, and
how many events a stab found for which there was none.

It ends before the two stops, or when no patience is left, of which each step takes one.
"""


BEGINNING = np.array([0, 0, 1, 1, 0, 0, 0, LAST_TICK, LAST_TICK, LAST_TICK])


def new_state() -> Ticks:
    """The state of a join that begins, and goes on to the end of both lists."""
    return BEGINNING.copy()


@borrowing
def run_stop(starts: Ticks, begin: int, stop: int, limit: int) -> int:
    """The first position from ``begin`` on, before ``stop``, whose start is not before the limit."""
    while begin + 8 <= stop and starts[begin + 7] < limit:
        begin += 8
    while begin < stop and starts[begin] < limit:
        begin += 1
    return begin


@borrowing
def write_run(one: Ticks, other: Ticks, at: int, position: int, begin: int, stop: int) -> None:
    """Write the pairs of one event with a run of the other list."""
    for match in range(begin, stop):
        one[at + match - begin] = position
        other[at + match - begin] = match


@borrowing
def forward_scan_on(
    left_starts: Ticks,
    left_ends: Ticks,
    right_starts: Ticks,
    right_ends: Ticks,
    state: Ticks,
    out_left: Ticks,
    out_right: Ticks,
) -> bool:
    """Scan on from the state until the lists or the room end; tell whether the lists did."""
    left_size, right_size = left_starts.size, right_starts.size
    i, j, at, wanted = state[LEFT_AT], state[RIGHT_AT], state[PAIRS], 0
    while i < left_size and j < right_size:
        if left_starts[i] <= right_starts[j]:
            stop = run_stop(right_starts, j, right_size, left_ends[i])
            wanted = stop - j
            if at + wanted > out_left.size:
                break
            write_run(out_left, out_right, at, i, j, stop)
            i += 1
        else:
            stop = run_stop(left_starts, i, left_size, right_ends[j])
            wanted = stop - i
            if at + wanted > out_left.size:
                break
            write_run(out_right, out_left, at, j, i, stop)
            j += 1
        at += wanted
    state[LEFT_AT], state[RIGHT_AT], state[PAIRS], state[WANTED] = i, j, at, wanted
    return bool(i == left_size or j == right_size)


@borrowing
def join_hits(
    hits: Ticks,
    count: int,
    before: int,
    lasting: tuple[Ticks, Positions, Ticks],
    starts: Ticks,
    begin: int,
    stop: int,
    one: Ticks,
    other: Ticks,
    at: int,
) -> int:
    """Join each hit that stands before a position with the other list from ``begin`` on, as far as it lasts.

    ``lasting`` tells the ends of events, as a forest keeps them. What found no room is counted, too.
    """
    ends, late, late_ends = lasting
    for hit in range(count):
        position = hits[hit]
        if position >= before:
            continue
        end = ends[position]
        if end == FOREVER and late[position]:
            end = late_ends[late[position] - 1]
        last = run_stop(starts, begin, stop, end)
        if at + last - begin <= one.size:
            write_run(one, other, at, position, begin, last)
        at += last - begin
    return at


@borrowing
def skip_join_on(
    left: Forest,
    right: Forest,
    left_reach: int,
    right_reach: int,
    limit: int,
    marks: Ticks,
    hits: Ticks,
    state: Ticks,
    out_left: Ticks,
    out_right: Ticks,
) -> bool:
    """Join on from the state until the lists, the window, the patience or the room end; tell whether nothing is left.

    What is joined is a pair whose first event stands before the stop of its side. Events that start at or after the
    limit are left out. A step whose hits or pairs find no room is taken again when there is more, with other marks.
    Pairs are only counted if there is no room at all.
    """
    left_starts, left_ends, right_starts, right_ends = left.starts, left.ends, right.starts, right.ends
    left_size, right_size, count = left.counts[EVENTS], right.counts[EVENTS], 0
    if limit < LAST_TICK:
        left_size, right_size = rank(left_starts, left_size, limit), rank(right_starts, right_size, limit)
    left_marks, right_marks = marks[: marks.size // 2], marks[marks.size // 2 :]
    i, j, at, total, patience = state[LEFT_AT], state[RIGHT_AT], state[PAIRS], 0, state[PATIENCE]
    left_stop, right_stop = min(state[LEFT_STOP], left_size), min(state[RIGHT_STOP], right_size)
    room, writes = out_left.size if out_left.size else FOREVER, out_left.size > 0
    while i < left_size and j < right_size and patience > 0:
        patience -= 1
        if left_starts[i] <= right_starts[j]:
            if i >= left_stop:
                break
            t, end = right_starts[j], left_ends[i]
            if t < end:
                if end == FOREVER and left.late[i]:
                    end = left.late_ends[left.late[i] - 1]
                stop = run_stop(right_starts, j, right_size, end)
                total = at + stop - j
                if total > room:
                    break
                if writes:
                    write_run(out_left, out_right, at, i, j, stop)
                at, i = total, i + 1
                continue
            if left_reach:
                i += 1
                if i == left_size or left_ends[i] > t:
                    continue
            if is_near(left_starts, left_size, i + left_reach, t):
                i = first_lasting(left_ends, i, left_stop, t)
                continue
            node = locate(left, state[LEFT_NODE], t)
            count = visit(left, t, i, node, left_marks, hits, 0)
            if count > hits.size:
                break
            lasting = left_ends, left.late, left.late_ends
            total = join_hits(hits, count, left_stop, lasting, right_starts, j, right_size, out_left, out_right, at)
            if total > room:
                break
            at, i, state[LEFT_NODE] = total, min(left_stop, first_after(left, node, t)), node
        else:
            if j >= right_stop:
                break
            t, end = left_starts[i], right_ends[j]
            if t < end:
                if end == FOREVER and right.late[j]:
                    end = right.late_ends[right.late[j] - 1]
                stop = run_stop(left_starts, i, left_size, end)
                total = at + stop - i
                if total > room:
                    break
                if writes:
                    write_run(out_right, out_left, at, j, i, stop)
                at, j = total, j + 1
                continue
            if right_reach:
                j += 1
                if j == right_size or right_ends[j] > t:
                    continue
            if is_near(right_starts, right_size, j + right_reach, t):
                j = first_lasting(right_ends, j, right_stop, t)
                continue
            node = locate(right, state[RIGHT_NODE], t)
            count = visit(right, t, j, node, right_marks, hits, 0)
            if count > hits.size:
                break
            lasting = right_ends, right.late, right.late_ends
            total = join_hits(hits, count, right_stop, lasting, left_starts, i, left_size, out_right, out_left, at)
            if total > room:
                break
            at, j, state[RIGHT_NODE] = total, min(right_stop, first_after(right, node, t)), node
    state[LEFT_AT], state[RIGHT_AT], state[PAIRS], state[WANTED] = i, j, at, max(0, total - at)
    state[HITS], state[PATIENCE] = count, patience
    return bool(i >= left_size or j >= right_size)


@borrowing
def is_near(starts: Ticks, size: int, probe: int, t: int) -> bool:
    """Tell whether an instant comes before the event at the probed position."""
    return probe >= size or starts[probe] > t


@borrowing
def first_lasting(ends: Ticks, position: int, size: int, t: int) -> int:
    """The first event from a position on that does not end by t: it is active at t or starts later."""
    while position < size and ends[position] <= t:
        position += 1
    return position


def forward_scan(left_starts: Ticks, left_ends: Ticks, right_starts: Ticks, right_ends: Ticks) -> tuple[Ticks, Ticks]:
    """All pairs that intersect, as positions, by scanning both lists (sorted by start) once."""
    out_left, out_right = np.empty(ROOM, np.int64), np.empty(ROOM, np.int64)
    state = new_state()
    while not forward_scan_on(left_starts, left_ends, right_starts, right_ends, state, out_left, out_right):
        events = left_starts.size + right_starts.size
        out_left, out_right = widened(out_left, state, events), widened(out_right, state, events)
    return out_left[: state[PAIRS]], out_right[: state[PAIRS]]


def likely(state: Ticks, events: int) -> int:
    """How many pairs all events have if they go on like those so far."""
    passed = max(1, int(state[LEFT_AT] + state[RIGHT_AT]))
    return int(state[PAIRS] + state[WANTED]) * events // passed


def widened(array: Ticks, state: Ticks, events: int) -> Ticks:
    """Copy what is written to a larger array.

    It gets the size that all events would need if they went on like those so far, but between twice and 64 times what
    it had: memory that is never written costs nothing, and copying does.
    """
    used, needed = int(state[PAIRS]), int(state[PAIRS] + state[WANTED])
    size = max(needed, 2 * array.size, min(likely(state, events) * 9 // 8, 64 * array.size))
    wider = np.empty(size, np.int64)
    wider[:used] = array[:used]
    return wider
