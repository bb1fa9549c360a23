"""Where time is cut: the boundaries of each bucket, chosen from a sample by one small task inside the plan."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.spark.slicing.boundaries import sample_size, stand_for
from timeloom.engines.spark.slicing.least_ranks import least_ranked
from timeloom.engines.spark.slicing.sample import SAMPLED
from timeloom.engines.spark.slicing.sharing import Grid
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.spark.slicing.tick_ranges import TickRange
from timeloom.engines.tables.arrays import to_numpy
from timeloom.engines.tables.ticks import Ticks

CUTS = "cuts"

CHOSEN = f"{CUTS} array<bigint>"
"""The schema of the one row that comes out."""

TOLD = f"{CUTS} string"
"""The same where the cuts come as a text."""

_SAMPLE = pa.schema([(name, pa.int64()) for name in SAMPLED])


@dataclass(frozen=True)
class Cuts:
    """The boundaries of each bucket that is cut, and which of its slices several tasks share; other buckets are whole.

    Slices are numbered from 0 here. They go to one task after the other from the ``firsts`` on, or from the number of
    the bucket on, whose task has it if it is whole.
    """

    bounds: dict[int, Ticks]
    grids: dict[int, dict[int, Grid]] = field(default_factory=dict)
    firsts: dict[int, int] = field(default_factory=dict)

    @classmethod
    def read(cls, numbers: Sequence[int]) -> "Cuts":
        """Read what was written; nothing is cut if that is nothing."""
        rest = iter(numbers[1:])
        bounds, grids, firsts = {}, {}, {}
        for bucket in rest:
            firsts[bucket] = next(rest)
            bounds[bucket] = np.array([next(rest) for _ in range(next(rest))], np.int64)
            shared = {next(rest): Grid(next(rest), next(rest)) for _ in range(next(rest))}
            if shared:
                grids[bucket] = shared
        return cls(bounds, grids, firsts)

    def first(self, bucket: int) -> int:
        """The task that has the first slice of a bucket, but for multiples of the number of tasks."""
        return self.firsts.get(bucket, bucket)

    def written(self) -> list[int]:
        """As numbers, of which the first says how many there are."""
        found = [0]
        for bucket, bounds in self.bounds.items():
            grids = self.grids.get(bucket, {})
            found += [bucket, self.first(bucket), bounds.size, *bounds.tolist(), len(grids)]
            found += [number for at, grid in grids.items() for number in (at, *grid)]
        found[0] = len(found)
        return found


class Sampled(NamedTuple):
    """Sampled rows: where they must be present, the hashes of their keys, how many rows each stands for, and whose."""

    low: Ticks
    high: Ticks
    keys: Ticks
    counts: NDArray[np.float64]
    sources: Ticks

    def of(self, source: int) -> "Sampled":
        """The rows of one source."""
        return Sampled(*(column[self.sources == source] for column in self))


@dataclass(frozen=True)
class CutTask:
    """Turns a sample of the rows of all sources into one row; ``ranges`` are the tick ranges of each source."""

    slicing: Slicing
    ranges: tuple[TickRange, ...]
    as_text: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Choose the cuts."""
        numbers = self.chosen(self.read(batches)).written()
        found = pa.array([json.dumps(numbers)]) if self.as_text else pa.array([numbers], pa.list_(pa.int64()))
        yield pa.RecordBatch.from_arrays([found], names=[CUTS])

    def chosen(self, sample: "Sampled") -> Cuts:
        """The cuts that a sample asks for."""
        return Cuts(*self.slicing.chosen(sample.low, sample.high, sample.keys, sample.counts, sample.sources))

    def read(self, batches: Iterator[pa.RecordBatch]) -> "Sampled":
        """The sampled rows that must be present somewhere."""
        size = sample_size(self.slicing.slices)
        table = least_ranked(batches, size, _SAMPLE)
        source, start, end, key, rank = (to_numpy(table[name]) for name in SAMPLED)
        low, high = np.empty(start.size, np.int64), np.empty(start.size, np.int64)
        for number, found in enumerate(self.ranges):
            mine = source == number
            low[mine], high[mine] = found.of(start[mine], end[mine])
        some = low <= high
        counts = stand_for(start, end, rank, self.slicing.share, size)
        if some.all():
            return Sampled(low, high, key, counts, source)
        return Sampled(low[some], high[some], key[some], counts[some], source[some])
