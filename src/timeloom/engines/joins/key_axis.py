"""Keys folded into the time axis: each key gets a stretch of one long axis for itself.

Kernels know nothing of keys. A row with key k at tick t stands at ``k * width + t - base`` on the folded axis, so rows
with different keys never meet, and every algorithm on one axis works for each key at once. Ticks are first replaced by
their ranks when keys and ticks together would not fit into int64. Rows without a key get no position at all.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.tables.keys import NO_KEY, Keys
from timeloom.kernels.order import distinct
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK

Ticks = NDArray[np.int64]

_ROOM = 2**62
_WRAP = 2**63
_BLOCK = 1 << 15


@dataclass(frozen=True)
class Fold:
    """The map from ticks to positions within a key's stretch. Monotone, and exact for the ticks it was made from."""

    base: int
    top: int
    width: int
    distinct: Ticks | None

    @classmethod
    def over(cls, columns: list[Ticks], keys: int) -> "Fold":
        """Make a fold for these columns of ticks and this number of keys."""
        finite = [finite_ticks(column) for column in columns if column.size]
        finite = [column for column in finite if column.size]
        if not finite:
            return cls(0, 0, 4, None)
        base, top = min(int(c.min()) for c in finite), max(int(c.max()) for c in finite)
        width = top - base + 4
        if width * max(keys, 1) < _ROOM:
            return cls(base, top, width, None)
        known = distinct(np.concatenate(finite))
        return cls(base, top, known.size + 4, known)

    def points(self, ticks: Ticks, keys: Keys) -> Ticks:
        """Place points of time: every tick here must be one that the fold was made from."""
        if self.distinct is not None or (ticks.size and int(ticks.max()) > self.top):
            return self._origin(keys) + self._at_least(ticks)
        # Sums may leave int64 on the way and come back; a block at a time stays within the cache meanwhile.
        found, above = np.empty(ticks.size, np.int64), (1 - self.base + _WRAP) % (2 * _WRAP) - _WRAP
        for first in range(0, ticks.size, _BLOCK):
            block = slice(first, first + _BLOCK)
            part = np.multiply(keys[block], self.width, out=found[block])
            part += ticks[block]
            part += above
        return found

    def ranges(self, low: Ticks, high: Ticks, keys: Keys) -> tuple[Ticks, Ticks]:
        """Place inclusive ranges; ranges beyond all points, and those of rows without a key, become empty."""
        origin = self._origin(keys)
        first, last = origin + self._at_least(low), origin + self._at_most(high)
        none = (keys == NO_KEY) | (first > last)
        return np.where(none, MAX_TICK, first), np.where(none, MIN_TICK, last)

    def unfold(self, positions: Ticks) -> Ticks:
        """Bring positions that stand for ticks back onto the time axis."""
        within = positions % self.width - 1
        forever = within == self.width - 3
        if self.distinct is None:
            return np.where(forever, FOREVER, within + self.base)
        return np.where(forever, FOREVER, self.distinct[np.where(forever, 0, within)])

    def _origin(self, keys: Keys) -> Ticks:
        return keys * self.width

    def _at_least(self, ticks: Ticks) -> Ticks:
        """The first position (from 1) whose tick is not below the given one; FOREVER has the last position."""
        if self.distinct is None:
            inside = np.clip(ticks, self.base, self.top)
            inside -= self.base
            inside += 1
        else:
            inside = np.searchsorted(self.distinct, ticks, side="left") + 1
        late = ticks > self.top
        if late.any():
            inside[late] = self.width - 2
        return inside

    def _at_most(self, ticks: Ticks) -> Ticks:
        """The last position whose tick is not above the given one, or 0 when there is none."""
        if self.distinct is None:
            inside = np.clip(ticks, self.base, self.top) - self.base + 1
        else:
            inside = np.searchsorted(self.distinct, ticks, side="right")
        inside = np.where(ticks < self.base, 0, inside)
        return np.where(ticks == FOREVER, self.width - 2, inside)


def finite_ticks(column: Ticks) -> Ticks:
    """The ticks of a column without FOREVER; copied only if it occurs."""
    return column if int(column.max()) < FOREVER else column[column != FOREVER]
