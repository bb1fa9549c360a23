"""The skip-join in parts: a pair belongs to the stretch of time in which the first of its events starts.

A join may stop after any step and go on from its state. It may also begin anywhere: at an instant with the first event
of each side that starts no earlier. Events before that were joined with everything that they last for.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from timeloom.kernels.joins.skip_join import (
    HITS,
    LAST_TICK,
    LEFT_AT,
    LEFT_STOP,
    PAIRS,
    RIGHT_AT,
    RIGHT_STOP,
    new_state,
    skip_join_on,
)
from timeloom.kernels.order import Ticks
from timeloom.kernels.stab_forest.layout import EVENTS, Forest, ends_of
from timeloom.kernels.stab_forest.multi_stab import new_marks
from timeloom.kernels.stab_forest.stab import STEPS, stab

Pairs = tuple[Ticks, Ticks]

FEW = 512
"""So many events a stab may find before it is given more room."""

NO_ROOM = np.zeros(0, np.int64), np.zeros(0, np.int64)
"""Where pairs are only counted."""


class SkipJoin(NamedTuple):
    """What is joined, and how far ahead events are read; nothing that starts at or after the limit."""

    left: Forest
    right: Forest
    left_reach: int
    right_reach: int
    limit: int = LAST_TICK

    def go_on(self, state: Ticks, out: Pairs, marks: Ticks | None = None) -> bool:
        """Join on from a state as far as it allows; tell whether nothing is left.

        Marks that are given tell afterwards what stabs looked at.
        """
        if marks is None:
            marks = new_marks(2)
        else:
            marks.reshape(2, -1)[:, :STEPS] = 0
        hits = np.empty(FEW, np.int64)
        while True:
            done = skip_join_on(*self, marks, hits, state, *out)
            if state[HITS] <= hits.size:
                return done
            hits = np.empty(2 * int(state[HITS]), np.int64)
            marks.reshape(2, -1)[:, :STEPS] = 0

    def count(self, part: Ticks) -> int:
        """How many pairs a part has, which begins at a state."""
        state = part.copy()
        state[PAIRS] = 0
        self.go_on(state, NO_ROOM)
        return int(state[PAIRS])

    def fill(self, part: Ticks, left: Ticks, right: Ticks) -> None:
        """Write the pairs of a part, for which there is just enough room."""
        if left.size:
            state = part.copy()
            state[PAIRS] = 0
            self.go_on(state, (left, right))

    def sizes(self) -> tuple[int, int]:
        """How many events of either side start before the limit."""
        left, right = (side.starts[: int(side.counts[EVENTS])] for side in (self.left, self.right))
        return int(np.searchsorted(left, self.limit)), int(np.searchsorted(right, self.limit))

    def parts(self, state: Ticks, number: int) -> list[Ticks]:
        """What is left of a join as parts in which about equally many events start."""
        sizes = self.sizes()
        left, right = self.left.starts[: sizes[0]], self.right.starts[: sizes[1]]
        at = int(state[LEFT_AT]), int(state[RIGHT_AT])
        longer, first = max((left, at[0]), (right, at[1]), key=lambda side: side[0].size - side[1])
        inner = {first + (longer.size - first) * part // number for part in range(1, number)}
        times = sorted({int(longer[position]) for position in inner if position < longer.size})
        cuts = zip(np.searchsorted(left, times).tolist(), np.searchsorted(right, times).tolist(), strict=True)
        edges = [at, *(cut for cut in cuts if cut[0] >= at[0] and cut[1] >= at[1]), sizes]
        found = []
        for begin, stop in pairwise(edges):
            part = new_state()
            part[[LEFT_AT, RIGHT_AT]], part[[LEFT_STOP, RIGHT_STOP]] = begin, stop
            found.append(part)
        return found


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
    return np.concatenate(out_left), np.concatenate(out_right)


def later_pairs(forest: Forest, hits: Ticks, starts: Ticks, at: int, limit: int) -> tuple[Ticks, Ticks]:
    """Pair some events with what starts on the other side, from a position on, while they last and before a limit."""
    limits = np.minimum(ends_of(forest, hits), limit)
    counts = np.maximum(np.searchsorted(starts, limits, side="left") - at, 0)
    return np.repeat(hits, counts), at + np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
