"""Where time is cut: chosen from a sample by one small task inside the plan."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from timeloom.engines.spark.slicing.boundaries import Slicing, stand_for
from timeloom.engines.spark.slicing.join_parts import Piece
from timeloom.engines.spark.slicing.tick_ranges import reach

CUTS = "cuts"

RESULT = f"{CUTS} struct<bounds: array<bigint>, hot: array<int>>"
"""The schema of the one row that comes out: the boundaries between slices, and the homes that are cut, if not all."""

_SAMPLE = pa.schema([(name, pa.int64()) for name in ("side", "start", "end", "key", "rank")])
_CUTS = pa.struct([("bounds", pa.list_(pa.int64())), ("hot", pa.list_(pa.int32()))])


@dataclass(frozen=True)
class CutTask:
    """Turns a sample of the rows of both sides into one row: the boundaries, and the hot homes."""

    slicing: Slicing
    pieces: tuple[Piece, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Choose the cuts."""
        table = pa.Table.from_batches(list(batches) or [pa.RecordBatch.from_pylist([], _SAMPLE)])
        side, start, end, key, rank = (np.asarray(table[name].combine_chunks()) for name in _SAMPLE.names)
        low, high = np.empty(start.size, np.int64), np.empty(start.size, np.int64)
        for number, name in enumerate(("left", "right")):
            mine = side == number
            low[mine], high[mine] = reach(name, self.pieces, start[mine], end[mine])
        some = low <= high
        homes, counts = key[some] % self.slicing.slices, stand_for(start, end, rank, self.slicing.share)[some]
        bounds, hot = self.slicing.choose(low[some], high[some], homes, counts)
        row = pa.array([{"bounds": bounds, "hot": hot}], _CUTS)
        yield pa.RecordBatch.from_arrays([row], names=[CUTS])
