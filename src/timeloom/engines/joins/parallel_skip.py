"""The skip-join on all cores: a short one ends before others could help, what is left of a long one is shared out."""

from collections.abc import Callable
from functools import partial

import numpy as np

from timeloom.engines.resources.threads import SMALL, aside, in_parallel
from timeloom.kernels.joins.skip_join import (
    FIRST_TICK,
    LAST_TICK,
    LEFT_AT,
    PAIRS,
    PATIENCE,
    RIGHT_AT,
    WANTED,
    likely,
    new_state,
    widened,
)
from timeloom.kernels.joins.skip_parts import Pairs, SkipJoin, open_window
from timeloom.kernels.order import Ticks

SHORT = 1 << 17
"""So many steps the caller takes by itself: an interrupt waits for milliseconds at most."""

REST = 1 << 19
"""So many events that are left it joins, too: sharing them out, which counts all pairs first, takes as long."""

FEW, ROOM = 1 << 16, 1 << 22
"""So many pairs there is room for at first, and so many the caller writes by itself; none of them if there seem to be
twice as many."""

SAMPLE = 2048
"""After so many events it can be said how many pairs there seem to be: one that lasts for ever tells nothing."""


def skip_join_by(
    cores: Callable[[], int], join: SkipJoin, begin: int = FIRST_TICK, marks: Ticks | None = None
) -> Pairs:
    """All pairs that intersect from an instant on, as positions in the two event lists.

    A window opens with one stab on each side: those events pair with each other and with what starts later. Marks that
    are given tell afterwards what stabs looked at. How many threads there may be is asked if there is work for them.
    """
    state, opened = new_state(), None
    if begin > FIRST_TICK:
        opened = open_window(join.left, join.right, begin, join.limit, state)
    found, done = _begun(join, state, marks)
    if done and opened is None:
        return found
    before = [found] if opened is None else [opened, found]
    threads = 1 if done else cores()
    parts = [] if done else join.parts(state, max(1, min(8 * threads, _left(join, state) // SMALL)))
    return _with_the_rest(threads, join, before, parts)


def _begun(join: SkipJoin, state: Ticks, marks: Ticks | None) -> tuple[Pairs, bool]:
    """The pairs that are found in a short time, and whether these are all."""
    events = join.left.starts.size + join.right.starts.size
    left, right = (np.empty(min(FEW, 8 * events + 8), np.int64) for _ in range(2))
    state[PATIENCE] = SHORT
    done = join.go_on(state, (left, right), marks)
    while not done:
        if state[PATIENCE]:
            passed = state[LEFT_AT] + state[RIGHT_AT]
            many = passed >= SAMPLE and likely(state, events) > 2 * ROOM
            if many or state[PAIRS] + state[WANTED] > ROOM:
                break
            left, right = widened(left, state, events), widened(right, state, events)
        elif _left(join, state) > REST:
            break
        else:
            state[PATIENCE] = REST
        done = join.go_on(state, (left, right), marks)
    state[PATIENCE] = LAST_TICK
    return (left[: state[PAIRS]], right[: state[PAIRS]]), done


def _left(join: SkipJoin, state: Ticks) -> int:
    """How many events are not joined yet."""
    return sum(join.sizes()) - int(state[LEFT_AT] + state[RIGHT_AT])


def _with_the_rest(threads: int, join: SkipJoin, found: list[Pairs], parts: list[Ticks]) -> Pairs:
    """Pairs that were found, and those of some parts, counted first so that each is written once."""
    counts = aside(in_parallel, [partial(join.count, part) for part in parts], threads) if parts else []
    bounds = np.cumsum([0, *(pairs[0].size for pairs in found), *counts])
    left, right = np.empty(bounds[-1], np.int64), np.empty(bounds[-1], np.int64)
    for pairs, at in zip(found, bounds, strict=False):
        left[at : at + pairs[0].size], right[at : at + pairs[0].size] = pairs
    rooms = zip(parts, bounds[len(found) :], bounds[len(found) + 1 :], strict=False)
    tasks = [partial(join.fill, part, left[first:last], right[first:last]) for part, first, last in rooms]
    aside(in_parallel, tasks, threads)
    return left, right
