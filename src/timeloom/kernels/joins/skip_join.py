"""The temporal join of two event lists: forward scan, and the skip-join that leaps over whatever cannot match.

Both walk two lists by start and join the event that starts first with what starts during it. Where the first event
ends before the other side's next start t, the skip-join stabs its list at t instead: whatever is active then is joined,
everything else that starts up to t is passed over unread (stab-forest paper, section 2). A stab reads the event list if
the leap is short, ``reach`` events at most, and the index otherwise.
"""

from itertools import pairwise

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks
from timeloom.kernels.stab_forest.layout import EVENTS, FOREVER, Forest, ends_of
from timeloom.kernels.stab_forest.multi_stab import new_marks
from timeloom.kernels.stab_forest.stab import STEPS, first_after, locate, stab, visit

FIRST_TICK, LAST_TICK = -(2**63), 2**63 - 1
ROOM = 1 << 16

LEFT_AT, RIGHT_AT, LEFT_NODE, RIGHT_NODE, PAIRS, WANTED = range(6)


@compiled
def run_stop(starts: Ticks, begin: int, stop: int, limit: int) -> int:
    """The first position from ``begin`` on, before ``stop``, whose start is not before the limit."""
    while begin < stop and starts[begin] < limit:
        begin += 1
    return begin


@compiled
def write_run(one: Ticks, other: Ticks, at: int, position: int, begin: int, stop: int) -> None:
    """Write the pairs of one event with a run of the other list."""
    for match in range(begin, stop):
        one[at + match - begin] = position
        other[at + match - begin] = match


@compiled
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


@compiled
def join_hits(
    hits: Ticks,
    count: int,
    ends: Ticks,
    late: Positions,
    late_ends: Ticks,
    starts: Ticks,
    begin: int,
    stop: int,
    one: Ticks,
    other: Ticks,
    at: int,
) -> int:
    """Join each hit with the other list from ``begin`` on, as far as it lasts; count also what found no room."""
    for hit in range(count):
        position = hits[hit]
        end = ends[position]
        if end == FOREVER and late[position]:
            end = late_ends[late[position] - 1]
        last = run_stop(starts, begin, stop, end)
        if at + last - begin <= one.size:
            write_run(one, other, at, position, begin, last)
        at += last - begin
    return at


@compiled
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
    """Join on from the state until the lists, the window or the room end; tell whether nothing is left to join.

    Events that start at or after the limit are left out. A step whose pairs find no room is taken again when there is
    more.
    """
    left_starts, left_ends, right_starts, right_ends = left.starts, left.ends, right.starts, right.ends
    left_size = int(np.searchsorted(left_starts[: left.counts[EVENTS]], limit))
    right_size = int(np.searchsorted(right_starts[: right.counts[EVENTS]], limit))
    left_marks, right_marks = marks[: marks.size // 2], marks[marks.size // 2 :]
    i, j, at, total, room = state[LEFT_AT], state[RIGHT_AT], state[PAIRS], 0, out_left.size
    while i < left_size and j < right_size:
        if left_starts[i] <= right_starts[j]:
            t, end = right_starts[j], left_ends[i]
            if end == FOREVER and left.late[i]:
                end = left.late_ends[left.late[i] - 1]
            if t < end:
                stop = run_stop(right_starts, j, right_size, end)
                total = at + stop - j
                if total > room:
                    break
                write_run(out_left, out_right, at, i, j, stop)
                at, i = total, i + 1
                continue
            if left_reach:
                i += 1
                if i == left_size or left_ends[i] > t:
                    continue
            if is_near(left_starts, left_size, i + left_reach, t):
                i = first_lasting(left_ends, i, left_size, t)
                continue
            node = locate(left, state[LEFT_NODE], t)
            count = visit(left, t, i, node, left_marks, hits, 0)
            total = join_hits(
                hits, count, left_ends, left.late, left.late_ends, right_starts, j, right_size, out_left, out_right, at
            )
            if total > room:
                break
            at, i, state[LEFT_NODE] = total, first_after(left, node, t), node
        else:
            t, end = left_starts[i], right_ends[j]
            if end == FOREVER and right.late[j]:
                end = right.late_ends[right.late[j] - 1]
            if t < end:
                stop = run_stop(left_starts, i, left_size, end)
                total = at + stop - i
                if total > room:
                    break
                write_run(out_right, out_left, at, j, i, stop)
                at, j = total, j + 1
                continue
            if right_reach:
                j += 1
                if j == right_size or right_ends[j] > t:
                    continue
            if is_near(right_starts, right_size, j + right_reach, t):
                j = first_lasting(right_ends, j, right_size, t)
                continue
            node = locate(right, state[RIGHT_NODE], t)
            count = visit(right, t, j, node, right_marks, hits, 0)
            total = join_hits(
                hits, count, right_ends, right.late, right.late_ends, left_starts, i, left_size, out_right, out_left, at
            )
            if total > room:
                break
            at, j, state[RIGHT_NODE] = total, first_after(right, node, t), node
    state[LEFT_AT], state[RIGHT_AT], state[PAIRS], state[WANTED] = i, j, at, total - at
    return bool(i >= left_size or j >= right_size)


@compiled
def is_near(starts: Ticks, size: int, probe: int, t: int) -> bool:
    """Tell whether an instant comes before the event at the probed position."""
    return probe >= size or starts[probe] > t


@compiled
def first_lasting(ends: Ticks, position: int, size: int, t: int) -> int:
    """The first event from a position on that does not end by t: it is active at t or starts later."""
    while position < size and ends[position] <= t:
        position += 1
    return position


def forward_scan(left_starts: Ticks, left_ends: Ticks, right_starts: Ticks, right_ends: Ticks) -> tuple[Ticks, Ticks]:
    """All pairs that intersect, as positions, by scanning both lists (sorted by start) once."""
    out_left, out_right = np.empty(ROOM, np.int64), np.empty(ROOM, np.int64)
    state = np.zeros(6, np.int64)
    while not forward_scan_on(left_starts, left_ends, right_starts, right_ends, state, out_left, out_right):
        events = left_starts.size + right_starts.size
        out_left, out_right = widened(out_left, state, events), widened(out_right, state, events)
    return out_left[: state[PAIRS]], out_right[: state[PAIRS]]


def widened(array: Ticks, state: Ticks, events: int) -> Ticks:
    """Copy what is written to a larger array.

    It gets the size that all events would need if they went on like those so far, but between twice and sixteen
    times what it had.
    """
    used, wanted = int(state[PAIRS]), int(state[WANTED])
    passed = max(1, int(state[LEFT_AT] + state[RIGHT_AT]))
    likely = (used + wanted) * events // passed * 9 // 8
    size = max(used + wanted, 2 * array.size, min(likely, 16 * array.size))
    wider = np.empty(size, np.int64)
    wider[:used] = array[:used]
    return wider


def skip_join(
    left: Forest,
    right: Forest,
    left_reach: int,
    right_reach: int,
    begin: int = FIRST_TICK,
    limit: int = LAST_TICK,
    marks: Ticks | None = None,
) -> tuple[Ticks, Ticks]:
    """All pairs that intersect within the window [begin, limit), as positions in the two event lists.

    The window opens with one stab on each side: those events pair with each other and with what starts later. Marks
    that are given tell afterwards what stabs looked at.
    """
    marks = new_marks(2) if marks is None else marks
    hits = np.empty(max(left.starts.size, right.starts.size), np.int64)
    state = np.zeros(6, np.int64)
    state[LEFT_NODE] = state[RIGHT_NODE] = 1
    out_left, out_right = np.empty(ROOM, np.int64), np.empty(ROOM, np.int64)
    if begin > FIRST_TICK:
        out_left, out_right = open_window(left, right, begin, limit, state)
    events = int(left.counts[EVENTS] + right.counts[EVENTS])
    while not skip_join_on(left, right, left_reach, right_reach, limit, marks, hits, state, out_left, out_right):
        out_left, out_right = widened(out_left, state, events), widened(out_right, state, events)
        marks.reshape(2, -1)[:, :STEPS] = 0
    return out_left[: state[PAIRS]], out_right[: state[PAIRS]]


def open_window(left: Forest, right: Forest, begin: int, limit: int, state: Ticks) -> tuple[Ticks, Ticks]:
    """The pairs of all events that are active when a window opens; the state then stands at those that follow."""
    left_size, right_size = int(left.counts[EVENTS]), int(right.counts[EVENTS])
    left_hits, right_hits = stab(left, begin), stab(right, begin)
    state[LEFT_AT] = np.searchsorted(left.starts[:left_size], begin, side="right")
    state[RIGHT_AT] = np.searchsorted(right.starts[:right_size], begin, side="right")
    out_left = [np.repeat(left_hits, right_hits.size)]
    out_right = [np.tile(right_hits, left_hits.size)]
    for hits, one, other, ours, theirs, at in (
        (left_hits, out_left, out_right, left, right.starts[:right_size], state[RIGHT_AT]),
        (right_hits, out_right, out_left, right, left.starts[:left_size], state[LEFT_AT]),
    ):
        mine, yours = later_pairs(ours, hits, theirs, int(at), limit)
        one.append(mine)
        other.append(yours)
    state[PAIRS] = sum(part.size for part in out_left)
    room = np.empty(ROOM, np.int64)
    return np.concatenate([*out_left, room]), np.concatenate([*out_right, room])


def skip_join_part(
    left: Forest, right: Forest, left_reach: int, right_reach: int, begin: int, limit: int
) -> tuple[Ticks, Ticks]:
    """The pairs of which the later one starts in [begin, limit): parts of a join that together are the whole.

    What is active just before pairs with what starts later on the other side; what started earlier on both sides
    belongs to an earlier part.
    """
    state = np.zeros(6, np.int64)
    state[LEFT_NODE] = state[RIGHT_NODE] = 1
    out_left, out_right = open_part(left, right, begin, limit, state)
    hits, marks = np.empty(max(left.starts.size, right.starts.size), np.int64), new_marks(2)
    events = int(left.counts[EVENTS] + right.counts[EVENTS])
    while not skip_join_on(left, right, left_reach, right_reach, limit, marks, hits, state, out_left, out_right):
        out_left, out_right = widened(out_left, state, events), widened(out_right, state, events)
        marks.reshape(2, -1)[:, :STEPS] = 0
    return out_left[: state[PAIRS]], out_right[: state[PAIRS]]


def open_part(left: Forest, right: Forest, begin: int, limit: int, state: Ticks) -> tuple[Ticks, Ticks]:
    """The pairs of what lasts when a part begins with what starts later; the state then stands at that begin."""
    room = np.empty(ROOM, np.int64)
    if begin == FIRST_TICK:
        return room, np.empty(ROOM, np.int64)
    starts = [side.starts[: int(side.counts[EVENTS])] for side in (left, right)]
    state[LEFT_AT], state[RIGHT_AT] = (np.searchsorted(part, begin) for part in starts)
    hits = stab(left, begin - 1), stab(right, begin - 1)
    firsts, seconds = later_pairs(left, hits[0], starts[1], int(state[RIGHT_AT]), limit)
    others, ones = later_pairs(right, hits[1], starts[0], int(state[LEFT_AT]), limit)
    state[PAIRS] = firsts.size + ones.size
    return np.concatenate([firsts, ones, room]), np.concatenate([seconds, others, room])


def later_pairs(forest: Forest, hits: Ticks, starts: Ticks, at: int, limit: int) -> tuple[Ticks, Ticks]:
    """Pair some events with what starts on the other side, from a position on, while they last and before a limit."""
    limits = np.minimum(ends_of(forest, hits), limit)
    counts = np.maximum(np.searchsorted(starts, limits, side="left") - at, 0)
    return np.repeat(hits, counts), at + np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def cuts(left: Forest, right: Forest, parts: int) -> list[tuple[int, int]]:
    """Stretches of time in which about equally many events start, for parts of a join; at least one."""
    sides = [side.starts[: int(side.counts[EVENTS])] for side in (left, right)]
    larger = max(sides, key=len)
    inner = {int(larger[larger.size * part // parts]) for part in range(1, parts)} if larger.size else set()
    edges = [FIRST_TICK, *sorted(inner - {FIRST_TICK}), LAST_TICK]
    return list(pairwise(edges))
