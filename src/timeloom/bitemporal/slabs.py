"""Settled versions in slabs: those that arrived one after the other, in order of their application starts."""

from dataclasses import dataclass, field

import numpy as np

from timeloom.bitemporal.columns import GrowingArray
from timeloom.kernels.bitemporal.believed import BLOCK, SLAB, latest_ends
from timeloom.kernels.bitemporal.buckets import Rows
from timeloom.kernels.bitemporal.windows import Ticks


def _ticks() -> GrowingArray:
    return GrowingArray(np.empty(0, np.int64))


@dataclass(frozen=True)
class Slabs:
    """The rows of whole slabs by application start, their application ends, and of each block the first start and the
    latest end.

    What came since a checkpoint is found through them: of a slab only the blocks are read that reach an instant.
    """

    order: GrowingArray = field(default_factory=lambda: GrowingArray(np.empty(0, np.int32)))
    ends: GrowingArray = field(default_factory=_ticks)
    heads: GrowingArray = field(default_factory=_ticks)
    latest: GrowingArray = field(default_factory=_ticks)

    def __len__(self) -> int:
        return self.order.size // SLAB

    @property
    def arrays(self) -> tuple[Rows, Ticks, Ticks, Ticks]:
        """What kernels read."""
        return self.order.room, self.ends.values, self.heads.values, self.latest.values  # type: ignore[return-value]

    def grown(self, app_start: Ticks, app_end: Ticks) -> "Slabs":
        """These slabs and those that have become whole."""
        begin, end = self.order.size, app_start.size - app_start.size % SLAB
        if begin >= end:
            return self
        within = app_start[begin:end].reshape(-1, SLAB).argsort(axis=1, kind="stable")
        rows = (within + np.arange(begin, end, SLAB)[:, None]).ravel().astype(np.int32)
        return Slabs(
            self.order.appended(rows),
            self.ends.appended(app_end[rows]),
            self.heads.appended(app_start[rows[::BLOCK]]),
            self.latest.appended(latest_ends(rows, app_end)),
        )

    def before(self, row: int) -> "Slabs":
        """The slabs that lie before a row."""
        rows = min(len(self), row // SLAB) * SLAB
        sizes = ((self.order, rows), (self.ends, rows), (self.heads, rows // BLOCK), (self.latest, rows // BLOCK))
        return Slabs(*(GrowingArray.of(array.values[:size]) for array, size in sizes))
