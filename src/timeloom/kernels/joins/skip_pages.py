"""The skip-join in pages: the pairs leave as they are found, and no more are held than a page or one event has."""

from collections.abc import Iterator

import numpy as np

from timeloom.kernels.joins.skip_join import (
    HITS,
    LAST_TICK,
    LEFT_AT,
    LEFT_NODE,
    PAIRS,
    RIGHT_AT,
    RIGHT_NODE,
    new_state,
    skip_join_on,
)
from timeloom.kernels.joins.skip_parts import FEW
from timeloom.kernels.order import Ticks
from timeloom.kernels.stab_forest.layout import EVENTS, Forest
from timeloom.kernels.stab_forest.multi_stab import new_marks
from timeloom.kernels.stab_forest.stab import NO_MARKS, first_after, locate, visit

Pairs = tuple[Ticks, Ticks]


def skip_pages(left: Forest, right: Forest, left_reach: int, right_reach: int, most: int) -> Iterator[Pairs]:
    """All pairs that intersect, as positions in the two event lists, at most so many at a time."""
    hits, state, marks = np.empty(FEW, np.int64), new_state(), new_marks(2)
    done = False
    while not done:
        out_left, out_right = np.empty(most, np.int64), np.empty(most, np.int64)
        done = skip_join_on(left, right, left_reach, right_reach, LAST_TICK, marks, hits, state, out_left, out_right)
        written, state[PAIRS], marks[:] = int(state[PAIRS]), 0, 0
        if written:
            yield out_left[:written], out_right[:written]
        elif state[HITS] > hits.size:
            hits = np.empty(2 * int(state[HITS]), np.int64)
        elif not done:
            yield from wide_step(left, right, state, hits, most)


def wide_step(left: Forest, right: Forest, state: Ticks, hits: Ticks, most: int) -> Iterator[Pairs]:
    """Take the one step from the state that has more pairs than a page: an event, or those of a stab, with runs."""
    at, other_at = int(state[LEFT_AT]), int(state[RIGHT_AT])
    from_left = left.starts[at] <= right.starts[other_at]
    one, other, position, node_position = left, right, LEFT_AT, LEFT_NODE
    if not from_left:
        one, other, position, node_position, at, other_at = right, left, RIGHT_AT, RIGHT_NODE, other_at, at
    t, found = int(other.starts[other_at]), np.array([at])
    state[position] = at + 1
    if t >= one.ends[at]:
        node = locate(one, int(state[node_position]), t)
        found = hits[: visit(one, t, at, node, NO_MARKS, hits, 0)].copy()
        state[position], state[node_position] = first_after(one, node, t), node
    starts = other.starts[other_at : int(other.counts[EVENTS])]
    bounds = np.concatenate([[0], np.cumsum(np.searchsorted(starts, one.ends[found]))])
    for first in range(0, int(bounds[-1]), most):
        numbers = np.arange(first, min(first + most, int(bounds[-1])))
        hit = np.searchsorted(bounds, numbers, side="right") - 1
        ours, theirs = found[hit], other_at + numbers - bounds[hit]
        yield (ours, theirs) if from_left else (theirs, ours)
