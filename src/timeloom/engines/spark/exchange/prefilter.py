"""A small side made ready to be sent to every task, with a prefilter that tells which rows can match anything in it.

The prefilter cuts the time between the first and the last start of the small side into cells of equal width, a power of
two; what lies outside belongs to the outermost ones. It knows how many cells before each are touched by a row of the
small side, so two look-ups tell whether any cell from one tick to another is.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.spark.exchange.blocks import ipc_stream
from timeloom.engines.spark.exchange.packed_rows import SideLayout, admitted
from timeloom.engines.spark.slicing.join_parts import JoinPart
from timeloom.engines.spark.slicing.tick_ranges import tick_range
from timeloom.engines.tables.ticks import Ticks
from timeloom.model.policy import Policy

CELLS = 1 << 19
"""A prefilter has no more cells than this."""

CELLS_PER_ROW = 32

MOST_TOUCHED = 0.5
"""If more of the cells are touched than this share, there is no prefilter: it would let nearly all rows pass."""

STREAM = "stream"
"""The column whose first value in a partition is the broadcast side, as an Arrow stream."""

SMALL = {STREAM: "array<binary>", "base": "bigint", "top": "bigint", "shift": "int", "before": "array<int>"}
"""The columns of the one row that comes out. ``before`` is empty if there is no prefilter."""

_TYPES = [pa.list_(pa.binary()), pa.int64(), pa.int64(), pa.int32(), pa.list_(pa.int32())]


@dataclass(frozen=True)
class Prefilter:
    """Cells of ``2**shift`` ticks from ``base`` to ``top``; ``before`` counts the touched ones before each, and all."""

    base: int
    top: int
    shift: int
    before: NDArray[np.int32]

    @classmethod
    def of(cls, starts: Ticks, low: Ticks, high: Ticks) -> "Prefilter":
        """A prefilter of rows that must be present from ``low`` to ``high``."""
        base = int(starts.min())
        top = min(int(starts.max()), base + 2**62)
        cells = min(CELLS, CELLS_PER_ROW * starts.size)
        shift = ((top - base) // cells).bit_length()
        first, last = ((np.clip(ticks, base, top) - base) >> shift for ticks in (low, high))
        size = ((top - base) >> shift) + 2
        begun, ended = np.bincount(first, minlength=size), np.bincount(last + 1, minlength=size)
        touched = np.cumsum(begun - ended)[:-1] > 0
        return cls(base, top, shift, np.concatenate([[0], np.cumsum(touched)]).astype(np.int32))

    @property
    def touched(self) -> float:
        """The share of the cells that are touched."""
        return float(self.before[-1]) / (self.before.size - 1)


@dataclass(frozen=True)
class SmallSide:
    """Turns all rows of a side into one: an Arrow stream of the valid rows, and their prefilter."""

    layout: SideLayout
    parts: tuple[JoinPart, ...]
    policy: Policy

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Make the row; none if there are no rows."""
        received = [batch for batch in batches if batch.num_rows]
        if received:
            values = self._row(pa.Table.from_batches(received))
            columns = [pa.array([value], kind) for value, kind in zip(values, _TYPES, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, names=list(SMALL))

    def _row(self, table: pa.Table) -> tuple[object, ...]:
        rows, starts, ends, _ = admitted(table, self.layout, self.policy)
        stream = [ipc_stream(table if rows.size == table.num_rows else table.take(pa.array(rows))).to_pybytes()]
        low, high = tick_range(self.layout.name, self.parts, starts, ends)
        some = low <= high
        if not some.any():
            return stream, None, None, None, None
        prefilter = Prefilter.of(starts[some], low[some], high[some])
        return (
            stream,
            prefilter.base,
            prefilter.top,
            prefilter.shift,
            prefilter.before if prefilter.touched <= MOST_TOUCHED else [],
        )
