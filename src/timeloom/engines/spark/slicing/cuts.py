"""Where time is cut: the boundaries of each bucket, chosen from a sample by one small task inside the plan."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.spark.slicing.boundaries import sample_size, stand_for
from timeloom.engines.spark.slicing.sample import SAMPLED
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.spark.slicing.tick_ranges import TickRange
from timeloom.engines.tables.ticks import Ticks

CUTS = "cuts"

CHOSEN = f"{CUTS} string"
"""The schema of the one row that comes out. A text: lists and maps that are mostly null take Spark long to send on."""

_SAMPLE = pa.schema([(name, pa.int64()) for name in SAMPLED])


@dataclass(frozen=True)
class Cuts:
    """The boundaries of each bucket that is cut; all other buckets are whole."""

    bounds: dict[int, Ticks]

    @classmethod
    def read(cls, text: str | None) -> "Cuts":
        """Read what was written."""
        found = json.loads(text or "{}")
        return cls({int(bucket): np.array(bounds, np.int64) for bucket, bounds in found.items()})

    def written(self) -> str:
        """As text."""
        return json.dumps({bucket: bounds.tolist() for bucket, bounds in self.bounds.items()})


class Sampled(NamedTuple):
    """Sampled rows: where they must be present, the hashes of their keys, and how many rows each stands for."""

    low: Ticks
    high: Ticks
    keys: Ticks
    counts: NDArray[np.float64]


@dataclass(frozen=True)
class CutTask:
    """Turns a sample of the rows of all sources into one row; ``ranges`` are the tick ranges of each source."""

    slicing: Slicing
    ranges: tuple[TickRange, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Choose the cuts."""
        cuts = self.chosen(self.read(batches))
        yield pa.RecordBatch.from_arrays([pa.array([cuts.written()])], names=[CUTS])

    def chosen(self, sample: "Sampled") -> Cuts:
        """The cuts that a sample asks for."""
        return Cuts(self.slicing.choose(sample.low, sample.high, sample.keys, sample.counts))

    def read(self, batches: Iterator[pa.RecordBatch]) -> "Sampled":
        """The sampled rows that must be present somewhere."""
        table = pa.Table.from_batches(list(batches) or [pa.RecordBatch.from_pylist([], _SAMPLE)])
        source, start, end, key, rank = (np.asarray(table[name].combine_chunks()) for name in SAMPLED)
        low, high = np.empty(start.size, np.int64), np.empty(start.size, np.int64)
        for number, found in enumerate(self.ranges):
            mine = source == number
            low[mine], high[mine] = found.of(start[mine], end[mine])
        some = low <= high
        size = sample_size(self.slicing.slices)
        counts = stand_for(start, end, rank, self.slicing.share, size)[some]
        return Sampled(low[some], high[some], key[some], counts)
