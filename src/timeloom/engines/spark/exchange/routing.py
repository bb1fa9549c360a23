"""Where rows go: each to its task, and rows of buckets that are cut to every slice that they touch."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.spark.exchange.blocks import Destination
from timeloom.engines.spark.slicing.cuts import Cuts
from timeloom.engines.spark.slicing.sharing import Grid
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.tables.ticks import Ticks
from timeloom.kernels.slicing.copies import ONLY, SOLE, deal_copies, number_slices
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

    def of(self, task: int) -> "Routed":
        """What of it goes to one task."""
        mine = [number for number, destination in enumerate(self.destinations) if destination.task == task]
        spans = [slice(*self.edges[number : number + 2]) for number in mine]
        sizes = [span.stop - span.start for span in spans]
        return Routed(
            np.concatenate([self.rows[:0], *(self.rows[span] for span in spans)]),
            np.concatenate([self.bits[:0], *(self.bits[span] for span in spans)]),
            [self.destinations[number] for number in mine],
            np.cumsum([0, *sizes]).tolist(),
        )


@dataclass(frozen=True)
class Dealing:
    """How the rows of a source are dealt where tasks share a slice: by numbers that depend on what they say alone."""

    source: int
    numbers: Callable[[Positions], NDArray[np.uint64]]


def routed(
    rows: int,
    keys: Ticks | None,
    ticks: RowTicks | None,
    cuts: Cuts,
    slicing: Slicing,
    dealing: Dealing | None = None,
) -> Routed:
    """Route so many rows by the hashes of their keys, or all as one bucket. Ticks are needed if there are cuts.

    The slices of a bucket that is cut go to one task after the other. Those of a group begin at the task of its bucket,
    where it is put together again. Slices that are shared need a ``dealing``.
    """
    everywhere = np.arange(rows, dtype=np.int32)
    buckets = np.zeros(rows, np.int64) if keys is None else slicing.buckets(keys)
    if not cuts.bounds:
        return _whole(everywhere, buckets, slicing.tasks)
    assert ticks is not None
    one_cut = keys is None and 0 in cuts.bounds
    whole = everywhere[:0] if one_cut else np.flatnonzero(np.isin(buckets, list(cuts.bounds), invert=True))
    found = [_whole(whole.astype(np.int32), buckets[whole], slicing.tasks)] if whole.size else []
    for bucket, bounds in cuts.bounds.items():
        grids, first = cuts.grids.get(bucket, {}), cuts.first(bucket)
        mine = everywhere if one_cut and bucket == 0 else np.flatnonzero(buckets == bucket).astype(np.int32)
        if mine.size:
            some = ticks if mine.size == rows else ticks.take(mine)
            cut = _cut(mine, some, bounds, first, slicing.tasks)
            found.append(_shared(cut, grids, dealing, first, slicing.tasks) if grids and dealing else cut)
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
    return Routed(rows[copies], bits, destinations(bounds, first, tasks), edges.tolist())


def destinations(bounds: Ticks, first: int, tasks: int) -> list[Destination]:
    """Where the slices of a bucket go: to one task after the other from the first."""
    return [
        Destination((first + number) % tasks, number + 1, since, until)
        for number, (since, until) in enumerate(pairwise([MIN_TICK, *bounds.tolist(), FOREVER]))
    ]


def _shared(cut: Routed, grids: dict[int, Grid], dealing: Dealing, first: int, tasks: int) -> Routed:
    """The same with slices dealt out to the tasks that share them, each a part with a number of its own."""
    parts, offset = [], 0
    for number, at in enumerate(cut.destinations):
        span = slice(*cut.edges[number : number + 2])
        rows, bits, grid = cut.rows[span], cut.bits[span], grids.get(number, Grid(1, 1))
        own, other = grid.of(dealing.source)
        groups = dealing.numbers(rows) % np.uint64(own) if own > 1 else np.zeros(rows.size, np.uint64)
        for mine in range(own):
            chosen = np.flatnonzero(groups == mine) if own > 1 else slice(None)
            marks = bits[chosen] & ~np.int8(SOLE) if other > 1 else bits[chosen]
            for theirs in range(other):
                slot = offset + grid.task(dealing.source, mine, theirs)
                destination = at._replace(task=(first + slot) % tasks, slice=slot + 1)
                parts.append(Routed(rows[chosen], marks, [destination], [0, marks.size]))
        offset += grid.tasks
    return _together(parts)


def _together(parts: list[Routed]) -> Routed:
    shifts = np.cumsum([0, *(part.rows.size for part in parts)]).tolist()
    return Routed(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.bits for part in parts]),
        [destination for part in parts for destination in part.destinations],
        [*(edge + shift for part, shift in zip(parts, shifts, strict=False) for edge in part.edges[:-1]), shifts[-1]],
    )
