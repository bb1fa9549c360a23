"""Pairs handed to Spark as runs: each probe row once, with the run of sorted rows that it meets.

A pair that goes to Spark as a row of its own has to be written, sent and read. Where a relation's pairs are runs of a
sorted column, a task sends run batches instead: the values of some probe rows, those of a window of the sorted rows,
and which part of the window each probe row meets. SQL writes out the pairs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.joins.few_rows import FewScan, stretches
from timeloom.engines.joins.forward_scan import Scan
from timeloom.engines.spark.exchange.packed_rows import JoinRows, PackedSide
from timeloom.engines.spark.matching.tasks import Matcher
from timeloom.engines.tables.arrays import from_numpy
from timeloom.kernels.slicing import run_windows as windows

WINDOW = 11
"""The sorted rows of a run batch lie in one window of ``2**11``: long runs are cut, and share windows."""

WINDOW_BYTES = 1 << 18
"""If rows are large, a window has fewer, so that it has no more bytes than this."""

PAIRS = 3
"""A run batch has about ``2**3`` pairs for each row of a window: Spark holds as many rows at a time."""

RUN_BATCHES = 16
"""So many run batches are sent at a time, or fewer if windows are small."""

FLIP, FIRSTS, COUNTS = "flip", "firsts", "counts"

Numbers = NDArray[np.int64]


class RunBatches(NamedTuple):
    """Runs, cut at windows, in run batches: the probe row, where the run begins and how long it is.

    Batch number k has the runs from ``edges[k]`` to ``edges[k + 1]``, between ``lows[k]`` and ``highs[k]``.
    """

    rows: Numbers
    firsts: Numbers
    counts: Numbers
    edges: Numbers
    lows: Numbers
    highs: Numbers


@dataclass(frozen=True)
class RunTask:
    """Joins the rows of one partition and returns batches; ``columns`` are sides and positions."""

    matcher: Matcher
    columns: tuple[tuple[str, int], ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Join one partition."""
        for held in self.matcher.held(batches):
            for scan, left, right in self.matcher.scans(held):
                yield from self._batches(held, scan, left, right)

    def _batches(self, held: JoinRows, scan: Scan, left: PackedSide, right: PackedSide) -> Iterator[pa.RecordBatch]:
        probe, indexed = (right, left) if scan.driver.flip else (left, right)
        window = min(WINDOW, max(1, WINDOW_BYTES // max(1, held.row_bytes)).bit_length() - 1)
        cut_at_windows = cut_few if isinstance(scan, FewScan) else cut
        batches, at_once = cut_at_windows(*scan.runs(), window), max(1, RUN_BATCHES >> (WINDOW - window))
        owners, others = probe.rows[scan.owners], indexed.rows[scan.axis.ids]
        for first in range(0, batches.lows.size, at_once):
            edges = batches.edges[first : first + at_once + 1]
            lows, highs = batches.lows[first : first + at_once], batches.highs[first : first + at_once]
            runs = slice(int(edges[0]), int(edges[-1]))
            offsets = {False: edges - edges[0], True: np.concatenate([[0], np.cumsum(highs - lows)])}
            rows = {False: owners[batches.rows[runs]], True: others[stretches(lows, highs)]}
            firsts = batches.firsts[runs] - np.repeat(lows, np.diff(edges))
            columns = [
                from_numpy(np.full(lows.size, scan.driver.flip)),
                _lists(offsets[False], from_numpy(firsts.astype(np.int32))),
                _lists(offsets[False], from_numpy(batches.counts[runs].astype(np.int32))),
            ]
            for side, position in self.columns:
                is_driven = (side == "left") == scan.driver.flip
                values = held.source.take(f"p{position}", from_numpy(rows[is_driven])).combine_chunks()
                columns.append(_lists(offsets[is_driven], values))
            yield pa.RecordBatch.from_arrays(columns, names=names(len(self.columns)))


def names(columns: int) -> list[str]:
    """The columns of run batches, with so many values."""
    return [FLIP, FIRSTS, COUNTS, *(f"v{number}" for number in range(columns))]


def cut(begins: NDArray[np.integer], counts: Numbers, window: int = WINDOW) -> RunBatches:
    """Cut runs at windows of ``2**window`` rows, and put those of a window into batches."""
    at, most = begins.astype(np.int64), 1 << (window + PAIRS)
    sizes = np.zeros(((int((at + counts).max(initial=0)) - 1) >> window) + 1, np.int64)
    windows.count_parts(at, counts, window, sizes)
    rows, firsts, lengths = np.empty((3, int(sizes.sum())), np.int64)
    windows.place_parts(at, counts, window, np.cumsum(sizes) - sizes, rows, firsts, lengths)
    edges, lows, highs = np.empty((3, sizes.size + int(lengths.sum()) // most + 1), np.int64)
    found = windows.mark_batches(firsts, lengths, window, most, edges, lows, highs)
    edges[found] = rows.size
    return RunBatches(rows, firsts, lengths, edges[: found + 1], lows[:found], highs[:found])


def cut_few(begins: NDArray[np.integer], counts: Numbers, window: int = WINDOW) -> RunBatches:
    """Put few runs, in order of where they begin, into batches of about as many pairs, without kernels."""
    rows = np.flatnonzero(counts)
    firsts, lengths = begins[rows].astype(np.int64), counts[rows]
    batch = (np.cumsum(lengths) - lengths) >> (window + PAIRS)
    edges = np.flatnonzero(np.diff(batch, prepend=-1, append=-1))
    if not rows.size:
        return RunBatches(rows, firsts, lengths, np.zeros(1, np.int64), rows, rows)
    lows = np.minimum.reduceat(firsts, edges[:-1])
    highs = np.maximum.reduceat(firsts + lengths, edges[:-1])
    return RunBatches(rows, firsts, lengths, edges, lows, highs)


def _lists(offsets: Numbers, values: pa.Array) -> pa.ListArray:
    return pa.ListArray.from_arrays(from_numpy(offsets.astype(np.int32)), values)
