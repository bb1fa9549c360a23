"""What an exchange would cost, from the sample by which its cuts are chosen: copies, bytes, the largest task."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.spark.exchange.routing import Dealing, RowTicks, routed
from timeloom.engines.spark.slicing.cuts import CutTask
from timeloom.engines.spark.slicing.sharing import mixed

FORECAST = "forecast string"
"""The schema of the one row that comes out."""

TICK_BYTES = 32
"""What a task holds for each row besides its columns: ticks, bits, its position in an order."""

TEXT_BYTES = 20
"""What a value without a fixed width is taken to have, as Spark does."""


@dataclass(frozen=True)
class ForecastTask:
    """Chooses cuts as the plan would, and routes the sampled rows, each of which stands for so many."""

    chooser: CutTask
    row_bytes: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Foretell one exchange."""
        sample = self.chooser.read(batches)
        cuts, slicing = self.chooser.chosen(sample), self.chooser.slicing
        received = np.zeros(slicing.tasks)
        filled: set[tuple[int, int]] = set()
        for source in range(len(self.chooser.ranges)):
            mine = sample.of(source)
            ticks = RowTicks(mine.low, mine.high, mine.low, mine.high)
            found = routed(mine.low.size, mine.keys, ticks, cuts, slicing, Dealing(source, mixed))
            weights = np.concatenate([[0.0], np.cumsum(mine.counts[found.rows])])
            for number, destination in enumerate(found.destinations):
                first, last = found.edges[number : number + 2]
                received[destination.task] += weights[last] - weights[first]
                filled |= {destination[:2]} if first < last else set()
        if slicing.agreed:
            received[:] = sample.counts.sum()
        told = json.dumps(self.facts(float(sample.counts.sum()), len(filled), received))
        yield pa.RecordBatch.from_arrays([pa.array([told])], names=["forecast"])

    def facts(self, rows: float, slices: int, received: NDArray[np.float64]) -> dict[str, float | int]:
        """What is told, by name."""
        largest, copied = float(received.max()), float(received.sum())
        return {
            "sampled rows stand for": round(rows),
            "slices with rows": slices,
            "expected copies": copied / max(1.0, rows),
            "bytes shuffled": round(copied * self.row_bytes),
            "largest task rows": round(largest),
            "largest task memory": round(largest * (self.row_bytes + TICK_BYTES)),
            "largest task over mean": largest / max(1.0, copied / received.size),
        }


def row_bytes(schema: pa.Schema) -> int:
    """About how many bytes a row has."""
    widths = [kind.bit_width / 8 if _is_fixed(kind) else TEXT_BYTES for kind in schema.types]
    return max(1, round(sum(widths)))


def _is_fixed(kind: pa.DataType) -> bool:
    try:
        return bool(kind.bit_width)
    except ValueError:
        return False
