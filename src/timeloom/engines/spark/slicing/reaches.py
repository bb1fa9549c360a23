"""How far rows reach that others look for as their neighbours, perhaps from another slice.

A left row is in one slice, that of its instant. A right row is wanted there if it is one of the next k of its key, so
it is present from its own slice on until k other rows lie between. Whoever sends rows knows some of the others, those
in its own chunk, and need not know more: a row that reaches too far is one too many, and none is missing.
"""

from dataclasses import dataclass

import numpy as np

from timeloom.engines.spark.slicing.tick_ranges import shifted
from timeloom.engines.tables.keys import Keys
from timeloom.engines.tables.ticks import Ticks
from timeloom.model.ticks import MAX_TICK, MIN_TICK

ALL_ROWS = 1 << 62
"""More rows than there are: who must be found by all reaches to the end of time."""


@dataclass(frozen=True)
class PointRange:
    """Rows must be present from one of their ends to one of their ends."""

    from_end: bool
    to_end: bool

    def of(self, starts: Ticks, ends: Ticks) -> tuple[Ticks, Ticks]:
        """The first and the last tick of each row, as arrays of their own."""
        return (ends if self.from_end else starts).copy(), (ends if self.to_end else starts).copy()


@dataclass(frozen=True)
class Reach:
    """Behind how many others rows are still found, from earlier and from later ticks; 0 if not at all.

    ``earlier_span`` and ``later_span`` say how many ticks away they are found at the most.
    """

    earlier: int = 0
    later: int = 0
    earlier_span: int = MAX_TICK
    later_span: int = MAX_TICK

    def of(self, low: Ticks, high: Ticks, keys: Keys | None) -> tuple[Ticks, Ticks]:
        """From where to where rows must be present that are themselves at these ticks."""
        if self.earlier:  # all bits turned, ticks descend, and none leaves the axis
            within = MIN_TICK if self.earlier_span == MAX_TICK else -self.earlier_span
            low = np.maximum(~following(~low, keys, self.earlier), shifted(low, within))
        if self.later:
            high = np.minimum(following(high, keys, self.later), shifted(high, self.later_span))
        return low, high


def following(ticks: Ticks, keys: Keys | None, k: int) -> Ticks:
    """For each row the tick of the k-th row of its key at a later tick; the last tick of all if there is none."""
    if not ticks.size:
        return ticks
    order = np.argsort(ticks, kind="stable") if keys is None else np.lexsort((ticks, keys))
    ordered, owner = ticks[order], np.zeros(ticks.size, np.int64) if keys is None else keys[order]
    fresh = (np.diff(ordered) != 0) | (np.diff(owner) != 0)
    firsts = np.concatenate([[0], np.flatnonzero(fresh) + 1, [ticks.size]])
    behind = np.repeat(firsts[1:], np.diff(firsts)) + (min(k, ALL_ROWS) - 1)
    at = np.minimum(behind, ticks.size - 1)
    found = np.empty_like(ticks)
    found[order] = np.where((behind < ticks.size) & (owner[at] == owner), ordered[at], MAX_TICK)
    return found
