"""Buckets of application time over growing columns."""

from dataclasses import dataclass

import numpy as np

from timeloom.kernels.bitemporal.buckets import BLOCK, NO_BLOCK, Rows, bucket, crossing_buckets, file_rows
from timeloom.kernels.bitemporal.windows import Ticks
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK

MOST_BUCKETS = 1 << 22
ROWS_PER_BUCKET = 1024


@dataclass(frozen=True)
class Grid:
    """Equal ranges of application time, counted from a first instant."""

    base: int
    width: int
    buckets: int

    @classmethod
    def over(cls, instants: Ticks, width: int | None) -> "Grid":
        """Lay a grid over these instants: of the given width, or of about as many rows per bucket as pays.

        A width that would make too many buckets is multiplied; the edge buckets take what lies beyond the grid.
        """
        known = instants[instants != FOREVER]
        if not known.size:
            return cls(0, width or 1, 1)
        low, high = int(known.min()), int(known.max())
        if width is None:
            sample = np.sort(known[:: max(1, known.size // 4096)])
            edge = sample.size // 256
            low, high = int(sample[edge]), int(sample[-1 - edge])
            count = max(1, known.size // ROWS_PER_BUCKET)
            width = max(1, (high - low) // count + 1)
        else:
            low = max(MIN_TICK, low - low % width)
        width *= 1 + (high - low) // width // MOST_BUCKETS
        width = min(width, MAX_TICK - max(low, 0))
        buckets = (high - low) // width + 1
        return cls(low, width, max(1, min(buckets, (MAX_TICK - max(low, 0)) // width)))

    def number(self, instant: int) -> int:
        """The bucket of an instant."""
        return bucket(instant, self.base, self.width, self.buckets)


@dataclass(frozen=True)
class Buckets:
    """The rows by one of their application endpoints: per bucket in order of arrival.

    The blocks are shared with the states before: what these read of them is never written again.
    """

    grid: Grid
    newest: Rows
    filled: Rows
    earlier: Rows
    pool: Rows
    blocks: int

    @classmethod
    def empty(cls, grid: Grid) -> "Buckets":
        """No rows yet."""
        none = np.empty(0, np.int32)
        return cls(grid, np.full(grid.buckets, NO_BLOCK, np.int32), np.zeros(grid.buckets, np.int32), none, none, 0)

    def filed(self, instants: Ticks, begin: int, end: int) -> "Buckets":
        """These buckets and the rows begin..end."""
        added = end - begin
        wanted = self.blocks + min(added, self.grid.buckets + added // BLOCK + 1)
        newest, filled, earlier, pool = self.newest.copy(), self.filled.copy(), self.earlier, self.pool
        if wanted > earlier.size:
            room = max(wanted, earlier.size + earlier.size // 4)
            earlier, pool = _resized(earlier, room), _resized(pool, room * BLOCK)
        blocks = file_rows(
            instants, begin, end, self.grid.base, self.grid.width, newest, filled, earlier, pool, self.blocks
        )
        return Buckets(self.grid, newest, filled, earlier, pool, blocks)

    def crossing(
        self,
        after: int,
        upto: int,
        rows: tuple[int, int],
        level: int,
        reach: Ticks,
        keys: tuple[Ticks, Ticks, Ticks, Ticks],
    ) -> Ticks:
        """Of the rows whose endpoint lies in (after, upto], those that may enter or leave."""
        return crossing_buckets(
            self.grid.number(after),
            self.grid.number(upto),
            rows[0],
            rows[1],
            self.newest,
            self.filled,
            self.earlier,
            self.pool,
            level,
            reach,
            *keys,
        )

    @property
    def nbytes(self) -> int:
        """Bytes held, without room to grow."""
        return self.newest.nbytes + self.filled.nbytes + self.blocks * (BLOCK + 1) * 4


def _resized(array: Rows, size: int) -> Rows:
    resized = np.empty(size, np.int32)
    resized[: array.size] = array
    return resized
