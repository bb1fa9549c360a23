"""Many stabs at once: which events are active at any of the instants.

Instants are taken in ascending order. Each step finds the events that are active at its instant and stand behind all
that was passed before: a multi-stab-query is these, each event once. A step reads the event list if its instant is near
and the index if it is far; ``reach`` is the number of events up to which it is near, the threshold constant c times the
height of the index (stab-forest paper, section 4).
"""

import numpy as np

from timeloom.kernels.jit import borrowing, compiled
from timeloom.kernels.order import Ticks
from timeloom.kernels.stab_forest.layout import EVENTS, Forest, end_at
from timeloom.kernels.stab_forest.stab import STEPS, first_after, locate, visit

THRESHOLD = 32
"""The threshold constant c, if none is given: at this value a join is about as fast as the better of its two ways."""


def reach_of(c: int, nodes: int) -> int:
    """How many events ahead an instant may lie before the index is used."""
    return c * max(1, nodes.bit_length())


def new_marks(forests: int = 1) -> Ticks:
    """A bookmark for each level: the list that was read last, and how far; and a count of what was looked at."""
    return np.zeros((STEPS + 1) * forests, np.int64)


@borrowing
def stab_step(
    forest: Forest, t: int, seen: int, node: int, reach: int, marks: Ticks, out: Ticks, at: int
) -> tuple[int, int, int]:
    """Write the events from position ``seen`` on that are active at t; the output must have room for all events.

    ``node`` is any node whose scope is not after t. Returns the new fill, the position of the first event that
    starts after t, and the node of t (or, if the index was not asked, the given one).
    """
    starts, ends, events = forest.starts, forest.ends, forest.counts[EVENTS]
    if seen + reach >= events or starts[seen + reach] > t:
        begun = seen
        while seen < events and starts[seen] <= t:
            if ends[seen] > t and end_at(forest, seen) > t:
                out[at] = seen
                at += 1
            seen += 1
        if marks.size:
            marks[STEPS] += seen - begun
        return at, seen, node
    node = locate(forest, node, t)
    return visit(forest, t, seen, node, marks, out, at), first_after(forest, node, t), node


@compiled
def multi_stab(forest: Forest, ts: Ticks, reach: int, marks: Ticks, seen: int = 0) -> tuple[Ticks, Ticks]:
    """The events active at any of the ascending instants, and where the new ones of each instant begin.

    Events that stand before ``seen`` are left out: whoever gives the first position behind an instant leaves out what
    has started by then, which is what later instants do by themselves.
    """
    out = np.empty(forest.counts[EVENTS], np.int64)
    offsets = np.zeros(ts.size + 1, np.int64)
    node, at = 1, 0
    for row in range(ts.size):
        at, seen, node = stab_step(forest, ts[row], seen, node, reach, marks, out, at)
        offsets[row + 1] = at
    return out[:at], offsets
