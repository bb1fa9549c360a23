"""Where rows go: each to its task, and rows of buckets that are cut to every slice that they touch."""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.spark.exchange.blocks import Destination
from timeloom.engines.spark.slicing.cuts import Cuts
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.tables.ticks import Ticks
from timeloom.kernels.slicing.copies import ONLY, deal_copies, number_slices
from timeloom.model.ticks import FOREVER, MIN_TICK

Positions = NDArray[np.int32]
Bits = NDArray[np.int8]


class RowTicks(NamedTuple):
    """The ticks of rows, and from which tick to which each must be present; if nowhere, low > high."""

    starts: Ticks
    ends: Ticks
    low: Ticks
    high: Ticks

    def take(self, rows: Positions) -> "RowTicks":
        """Some of the rows."""
        return RowTicks(*(ticks[rows] for ticks in self))


@dataclass(frozen=True)
class Routed:
    """Copies of rows by destination: the row and the bits of each, where destinations begin, where the last ends."""

    rows: Positions
    bits: Bits
    destinations: list[Destination]
    edges: list[int]


def routed(rows: int, keys: Ticks | None, ticks: RowTicks | None, cuts: Cuts, slicing: Slicing) -> Routed:
    """Route so many rows by the hashes of their keys, or all as one bucket. Ticks are needed if there are cuts.

    The slices of all buckets that are cut go to one task after the other, so that each task has as many. Those of a
    group begin at the task of its bucket, where it is put together again.
    """
    buckets = slicing.buckets(np.zeros(rows, np.int64) if keys is None else keys)
    if not cuts.bounds:
        return _whole(np.arange(rows, dtype=np.int32), buckets, slicing.tasks)
    assert ticks is not None
    whole = np.isin(buckets, list(cuts.bounds), invert=True)
    found = [_whole(np.flatnonzero(whole).astype(np.int32), buckets[whole], slicing.tasks)] if whole.any() else []
    next_task = 0
    for bucket, bounds in cuts.bounds.items():
        first, next_task = bucket if slicing.groups else next_task, next_task + bounds.size + 1
        mine = np.flatnonzero(buckets == bucket).astype(np.int32)
        if mine.size:
            some = ticks if mine.size == rows else ticks.take(mine)
            found.append(_cut(mine, some, bounds, first, slicing.tasks))
    return found[0] if len(found) == 1 else _together(found)


def _whole(rows: Positions, buckets: Ticks, count: int) -> Routed:
    """Rows of buckets that are not cut, by their tasks."""
    bits = np.full(rows.size, ONLY, np.int8)
    if count == 1:
        return Routed(rows, bits, [Destination(0)], [0, rows.size])
    tasks = (buckets % count).astype(np.int16 if count < 2**15 else np.int64)
    order = np.argsort(tasks, kind="stable")
    edges = np.searchsorted(tasks[order], np.arange(count + 1))
    return Routed(rows[order], bits, [Destination(task) for task in range(count)], edges.tolist())


def _cut(rows: Positions, ticks: RowTicks, bounds: Ticks, first: int, tasks: int) -> Routed:
    """Copies of the rows of one bucket for each of its slices, which go to one task after the other from the first."""
    firsts, lasts = np.empty(rows.size, np.int32), np.empty(rows.size, np.int32)
    sizes = np.zeros(bounds.size + 1, np.int64)
    number_slices(ticks.low, ticks.high, bounds, firsts, lasts, sizes)
    edges = np.concatenate([[0], np.cumsum(sizes)])
    copies, bits = np.empty(edges[-1], np.int32), np.empty(edges[-1], np.int8)
    deal_copies(ticks.starts, ticks.ends, bounds, firsts, lasts, edges[:-1].copy(), copies, bits)
    destinations = [
        Destination((first + number) % tasks, number + 1, since, until)
        for number, (since, until) in enumerate(pairwise([MIN_TICK, *bounds.tolist(), FOREVER]))
    ]
    return Routed(rows[copies], bits, destinations, edges.tolist())


def _together(parts: list[Routed]) -> Routed:
    shifts = np.cumsum([0, *(part.rows.size for part in parts)]).tolist()
    return Routed(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.bits for part in parts]),
        [destination for part in parts for destination in part.destinations],
        [*(edge + shift for part, shift in zip(parts, shifts, strict=False) for edge in part.edges[:-1]), shifts[-1]],
    )
