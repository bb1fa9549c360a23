"""The sweep of points over steps where partners start together: the list of open rows is chained by start.

These are the virtual ends of the sweeping paper, section 6.2: a row is there to be matched by those that share its
start, and no other row is read. Chains hold the list together as those of a gapless map do.
"""

from timeloom.kernels.jit import compiled
from timeloom.kernels.streaming.gapless import Cells, bucket_of
from timeloom.kernels.streaming.layout import CANDIDATES, GETNEXT, INSTANT, PAIRS, SCANS, WANTED
from timeloom.kernels.streaming.step_sweep import NAMES, STARTS, start_range
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

AFTER, BEFORE, HEAD = range(2, 5)
CHAINED_SIZE = 5
"""Further rows of a list that is chained: the next place of a chain, or -1; the one before it, or ``-1 - b`` at the
beginning of the chain of bucket b; and for each bucket where its chain begins, or -1."""


@compiled
def link(listed: Cells, place: int) -> None:
    """Chain a place to those with its start."""
    bucket = bucket_of(listed[STARTS, place], listed.shape[1] - 1)
    head = listed[HEAD, bucket]
    listed[AFTER, place], listed[BEFORE, place] = head, -1 - bucket
    if head >= 0:
        listed[BEFORE, head] = place
    listed[HEAD, bucket] = place


@compiled
def point_to(listed: Cells, before: int, after: int, place: int) -> None:
    """Let the neighbours of a place point to another one, or if that is none, to each other."""
    if before >= 0:
        listed[AFTER, before] = place if place >= 0 else after
    else:
        listed[HEAD, -1 - before] = place if place >= 0 else after
    if after >= 0:
        listed[BEFORE, after] = place if place >= 0 else before


@compiled
def chain_all(listed: Cells, count: int) -> None:
    """Chain all rows of a list anew."""
    listed[HEAD] = -1
    for place in range(count):
        link(listed, place)


@compiled
def step_chained(steps: Cells, step: int, time: int, count: int, listed: Cells) -> tuple[int, int]:
    """Take all steps up to an instant; answers the next one, and how long the list is."""
    while step < steps.shape[0] and steps[step, STEP_TIME] <= time:
        place, length = steps[step, STEP_PLACE], steps[step, LENGTH]
        if length < count:
            point_to(listed, listed[BEFORE, place], listed[AFTER, place], -1)
        listed[NAMES, place], listed[STARTS, place] = steps[step, STEP_NAME], steps[step, STEP_START]
        if length > count:
            link(listed, place)
        elif place < length:
            before, after = listed[BEFORE, length], listed[AFTER, length]
            listed[BEFORE, place], listed[AFTER, place] = before, after
            point_to(listed, before, after, place)
        step, count = step + 1, length
    return step, count


@compiled
def sweep_chained(
    side: int, points: Cells, steps: Cells, rules: Cells, listed: Cells, cursors: Ids, state: Cells, pairs: Cells
) -> bool:
    """Let ends of a side meet the other side's open rows with their start; tell whether it is done, or has no room.

    ``listed`` is the chained list of the other side's open rows, which stands where the steps have led it in the end.
    """
    at, step, marked, count = cursors
    own, partner, instants, written = pairs[side], pairs[1 - side], pairs[INSTANT], state[PAIRS]
    while at < points.shape[0]:
        time = points[at, MARK_TIME]
        step, count = step_chained(steps, step, time, count, listed)
        if written + count > pairs.shape[1]:
            state[WANTED] = count
            break
        start, high = start_range(points[at, MARK_START], time, time, side, rules)
        place = listed[HEAD, bucket_of(start, listed.shape[1] - 1)] if start <= high else -1
        seen = written
        while place >= 0:
            if listed[STARTS, place] == start:
                own[written], partner[written], instants[written] = points[at, MARK_NAME], listed[NAMES, place], time
                written += 1
            place = listed[AFTER, place]
        state[SCANS] += 1
        state[GETNEXT] += written - seen
        state[CANDIDATES] += written - seen
        at += 1
    done = at == points.shape[0]
    if done:
        step, count = step_chained(steps, step, MAX_TICK, count, listed)
    cursors[:], state[PAIRS] = (at, step, marked, count), written
    return bool(done)
