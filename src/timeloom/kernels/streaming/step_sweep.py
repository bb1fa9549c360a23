"""The streaming sweep of one side's points over the other side's steps: the common case, where nothing is planned.

Rows of one side look for partners at their start, or at their end: a point. They meet the rows of the other side that
are open then, and those that begin or end right now. As in the sweep of whole tables, each side comes from columns of
its own, which are merged by time; and points between which the list of open rows stays the same share a scan of it
(lazy joining; sweeping paper, section 7.2). Where only rows that begin or end together can match, the list is not
needed at all (the virtual ends of section 6.2), and what is read follows the answers.
"""

import numpy as np

from timeloom.kernels.jit import compiled, written_out
from timeloom.kernels.streaming.foresight import above, below
from timeloom.kernels.streaming.gapless import Cells
from timeloom.kernels.streaming.layout import (
    CANDIDATES,
    DECIDES,
    GETNEXT,
    INSTANT,
    LEFT_BOUNDS,
    LEFT_READY,
    PAIRS,
    RIGHT_SIDE,
    SCANS,
    WANTED,
)
from timeloom.kernels.streaming.pairs import NEVER
from timeloom.kernels.streaming.scan import BLOCK, FEW
from timeloom.kernels.streaming.steps import (
    LENGTH,
    MARK_NAME,
    MARK_START,
    MARK_TIME,
    STEP_NAME,
    STEP_PLACE,
    STEP_START,
    STEP_TIME,
    Ids,
)
from timeloom.model.ticks import MAX_TICK

NEXT_POINT, NEXT_STEP, NEXT_NOW, OPEN_COUNT = range(4)
"""Where a sweep stands: in its points, in the steps and the marks of the other side, and how long its list is."""

NAMES, STARTS = range(2)
"""The rows of a list as a sweep has it."""

POINTS_END, NOW_ENDS, EVERY_ONE = 1, 2, 4
"""Bits of a sweep: points are ends; rows of now are those that end now; whatever is open matches."""


@compiled
def start_range(start: int, end: int, time: int, side: int, rules: Cells) -> tuple[int, int]:
    """The range of the starts of a row's partners, which must be ready by an instant."""
    own, after = LEFT_BOUNDS + 8 * side, rules[0, LEFT_READY + 2 * (1 - side)]
    low = max(below(start, rules[0, own]), below(end, rules[0, own + 2]))
    high = min(above(start, rules[0, own + 1]), above(end, rules[0, own + 3]))
    return low, high if after == NEVER else min(high, time - after)


@compiled
def end_range(start: int, end: int, time: int, side: int, rules: Cells) -> tuple[int, int]:
    """The range of the ends of a row's partners, which must be ready by an instant."""
    own, after = LEFT_BOUNDS + 8 * side + 4, rules[0, LEFT_READY + 2 * (1 - side) + 1]
    low = max(below(start, rules[0, own]), below(end, rules[0, own + 2]))
    high = min(above(start, rules[0, own + 1]), above(end, rules[0, own + 3]))
    return low, high if after == NEVER else min(high, time - after)


@compiled
def step_up(steps: Cells, step: int, time: int, count: int, names: Ids, starts: Ids) -> tuple[int, int]:
    """Take all steps up to an instant; answers the next one, and how long the list is."""
    while step < steps.shape[0] and steps[step, STEP_TIME] <= time:
        place, count = steps[step, STEP_PLACE], steps[step, LENGTH]
        names[place], starts[place] = steps[step, STEP_NAME], steps[step, STEP_START]
        step += 1
    return step, count


@compiled
def seen_together(points: Cells, at: int, lazy: int, steps: Cells, step: int) -> int:
    """Up to which point, of at most so many, all see the same list."""
    quiet, stop = steps[step, STEP_TIME] if step < steps.shape[0] else MAX_TICK, at + 1
    while stop < points.shape[0] and stop - at < lazy and points[stop, MARK_TIME] < quiet:
        stop += 1
    return stop


@compiled
def first_now(now: Cells, marked: int, time: int) -> int:
    """The first row, from this one on, that begins or ends at an instant, or later."""
    while marked < now.shape[0] and now[marked, MARK_TIME] < time:
        marked += 1
    return marked


@compiled
def write_open(
    names: Ids, starts: Ids, first: int, last: int, low: int, high: int, every: bool, written: int, out: Ids
) -> int:
    """Write the rows of a part of the list that start in a range; answers how much is written then.

    A row is written before it is judged. Where many are, it pays to look first whether all match, or none. The loops
    begin at a position that is seen not to be negative: only then does the compiler read contiguous memory.
    """
    outside, at = 0, max(first, 0)
    if not every:
        while at < last and last - first > FEW:
            outside += (starts[at] < low) | (starts[at] > high)
            at += 1
        every = (last - first > FEW) & (outside == 0)
    at, written = max(first, 0), max(written, 0)
    if every:
        while at < last:
            out[written] = names[at]
            written += 1
            at += 1
    elif outside < last - first:
        while at < last:
            out[written] = names[at]
            written += (starts[at] >= low) & (starts[at] <= high)
            at += 1
    return written


@compiled
def count_scan(state: Cells, read: int, points: int) -> None:
    """Count a scan of so many rows for so many points."""
    state[SCANS] += read > 0
    state[GETNEXT] += read
    state[CANDIDATES] += read * points


@written_out
def write_now(
    point: int,
    side: int,
    what: int,
    tie: int,
    rules: Cells,
    points: Cells,
    now: Cells,
    first: int,
    written: int,
    own: Ids,
    partner: Ids,
    instants: Ids,
) -> tuple[int, int]:
    """Write the pairs of a point with rows of its instant, from the first one on; answers how much is written, and the
    next row. If there is no room for more it stops there.
    """
    time, name, start, at = points[point, MARK_TIME], points[point, MARK_NAME], points[point, MARK_START], first
    own_end, end = time if what & POINTS_END else MAX_TICK, time if what & NOW_ENDS else MAX_TICK
    low, high = start_range(start, own_end, time - tie, side, rules)
    end_low, end_high = end_range(start, own_end, time - tie, side, rules)
    while at < now.shape[0] and now[np.uint64(at), MARK_TIME] == time and written < own.size:
        here = np.uint64(at)
        own[written], partner[written], instants[written] = name, now[here, MARK_NAME], time
        written += (low <= now[here, MARK_START] <= high) & (end_low <= end <= end_high)
        at += 1
    return written, at


@compiled
def sweep_now(
    side: int, points: Cells, now: Cells, what: int, rules: Cells, cursors: Ids, state: Cells, pairs: Cells
) -> bool:
    """Let the points of a side meet the rows that begin or end at their instants; tell whether it is done, or else has
    no room for the pairs of the next point.

    Which of the two columns goes on is counted, not asked: it is as hard to guess as what comes next in a stream.
    """
    at, _, marked, _ = cursors
    own, partner, instants, written = pairs[side], pairs[1 - side], pairs[INSTANT], state[PAIRS]
    tie = (side == RIGHT_SIDE) & (rules[0, DECIDES] != 0)
    while at < points.shape[0] and marked < now.shape[0]:
        time, other_time = points[np.uint64(at), MARK_TIME], now[np.uint64(marked), MARK_TIME]
        if time != other_time:
            at += time < other_time
            marked += other_time < time
            continue
        more, seen = write_now(at, side, what, tie, rules, points, now, marked, written, own, partner, instants)
        if more == own.size:
            state[WANTED] = first_now(now, marked, time + 1) - marked + 1
            break
        count_scan(state, seen - marked, 1)
        at, written = at + 1, more
    cursors[:], state[PAIRS] = (at, 0, marked, 0), written
    return bool((at == points.shape[0]) | (marked == now.shape[0]))


@compiled
def sweep_steps(
    side: int,
    points: Cells,
    steps: Cells,
    now: Cells,
    what: int,
    lazy: int,
    rules: Cells,
    listed: Cells,
    cursors: Ids,
    state: Cells,
    pairs: Cells,
) -> bool:
    """Let the points of a side meet the other side's rows; tell whether it is done, or else has no room for more.

    ``listed`` is the list of the other side's open rows, which stands where the steps have led it when it is done.
    """
    at, step, marked, count = cursors
    names, starts, tie = listed[NAMES], listed[STARTS], (side == RIGHT_SIDE) & (rules[0, DECIDES] != 0)
    own, partner, instants, written = pairs[side], pairs[1 - side], pairs[INSTANT], state[PAIRS]
    while at < points.shape[0]:
        time = points[at, MARK_TIME]
        step, count = step_up(steps, step, time, count, names, starts)
        stop = seen_together(points, at, lazy, steps, step)
        marked = first_now(now, marked, time)
        wanted = (count + first_now(now, marked, points[stop - 1, MARK_TIME] + 1) - marked) * (stop - at) + 1
        if written + wanted > pairs.shape[1]:
            state[WANTED] = wanted
            break
        for first in range(0, count, BLOCK):
            last = min(count, first + BLOCK)
            for point in range(at, stop):
                time, begin = points[point, MARK_TIME], max(written, 0)
                end = time if what & POINTS_END else MAX_TICK
                low, high = start_range(points[point, MARK_START], end, time - tie, side, rules)
                written = write_open(names, starts, first, last, low, high, what & EVERY_ONE != 0, written, partner)
                for pair in range(begin, written):
                    own[pair] = points[point, MARK_NAME]
                    instants[pair] = time
        count_scan(state, count, stop - at)
        for point in range(at, stop if marked < now.shape[0] else at):
            marked = first_now(now, marked, points[point, MARK_TIME])
            written, seen = write_now(
                point, side, what, tie, rules, points, now, marked, written, own, partner, instants
            )
            count_scan(state, seen - marked, 1)
        at = stop
    done = at == points.shape[0]
    if done:
        step, count = step_up(steps, step, MAX_TICK, count, names, starts)
    cursors[:], state[PAIRS] = (at, step, marked, count), written
    return bool(done)
