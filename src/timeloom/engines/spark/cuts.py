"""Where time is cut: chosen from a sample by one small task inside the plan, and read by the tasks that send rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.spark.boundaries import Slicing
from timeloom.engines.spark.pieces import Piece
from timeloom.engines.spark.reach import reach
from timeloom.engines.ticks import Ticks

CUTS = "cuts"
"""The column whose first value in a partition says where time is cut."""

RESULT = f"{CUTS} binary"
"""The schema of the one row that comes out. Bytes, as lists that are mostly null take Spark very long to send."""

_SAMPLE = pa.schema([(name, pa.int64()) for name in ("side", "start", "end", "key", "rank")])


class Cuts(NamedTuple):
    """The boundaries between slices, and the hashes of the keys that are cut, if not all are."""

    bounds: Ticks
    hot: Ticks | None

    @classmethod
    def of(cls, table: pa.Table, *, by_key: bool) -> "Cuts":
        """Read the cuts that the first row carries; without any, time is one slice."""
        found = table[CUTS][0].as_py() if CUTS in table.column_names else None
        bounds, hot = unpacked(found) if found else (np.zeros(0, np.int64), np.zeros(0, np.int64))
        return cls(bounds, hot if by_key else None)

    def slices(self, ticks: Ticks) -> NDArray[np.int64]:
        """The number of the slice in which each tick lies."""
        return np.searchsorted(self.bounds, ticks, side="right")


@dataclass(frozen=True)
class CutTask:
    """Turns a sample of the rows of both sides into one row: the boundaries, and the hashes of the hot keys."""

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
        bounds, hot = self.slicing.choose(low[some], high[some], key[some], rank[some])
        yield pa.RecordBatch.from_arrays([pa.array([packed([bounds, hot])], pa.binary())], names=[CUTS])


def packed(arrays: Sequence[Ticks]) -> bytes:
    """Several arrays of ticks as bytes: their number, their sizes, and themselves."""
    sizes = np.array([len(arrays), *(array.size for array in arrays)], np.int64)
    return np.concatenate([sizes, *arrays]).tobytes()


def unpacked(sealed: bytes) -> list[Ticks]:
    """The arrays again."""
    numbers = np.frombuffer(sealed, np.int64)
    count = int(numbers[0])
    return np.split(numbers[1 + count :], np.cumsum(numbers[1 : 1 + count])[:-1])
