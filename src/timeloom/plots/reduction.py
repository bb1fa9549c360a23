"""Tables as few enough marks: whole if they are small, else by what holds in each of some buckets of time.

A bucket keeps the least and the greatest value within it, so that no peak and no dip disappears, however narrow.
"""

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.tables.ticks import Ticks, TimeType
from timeloom.engines.tables.validity import admit
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import FOREVER, Axis

MOST = 500
"""Up to so many rows are drawn one by one."""

BUCKETS = 300
BINS = 40


@dataclass(frozen=True)
class Times:
    """Periods of rows, open ends drawn up to the last instant that any row has."""

    table: pa.Table
    starts: Ticks
    ends: Ticks
    kind: TimeType

    @property
    def axis(self) -> Axis:
        """What the times are."""
        return self.kind.axis


def read_times(table: pa.Table, period: Period, side: str = "input") -> Times:
    """Read the periods; rows without a usable one are refused, as verbs do."""
    found = admit(table, period, side, Policy(), options=False)
    starts, ends = found.starts, found.ends
    return Times(found.table, starts, closed_ends(starts, ends), found.ticks.type)


def closed_ends(starts: Ticks, ends: Ticks) -> Ticks:
    """Open ends reach beyond all other instants, far enough for rows that have only begun to be seen."""
    is_open = ends == FOREVER
    if not is_open.any():
        return ends
    known = np.concatenate([starts, ends[~is_open]])
    last, first = int(known.max()), int(known.min())
    return np.where(is_open, last + max(1, (last - first) // 8), ends)


def shown(ticks: Ticks, axis: Axis) -> list[float]:
    """Ticks as pictures have them: milliseconds since 1970, or plain numbers."""
    if axis is Axis.INTEGER:
        return list(ticks.tolist())
    return list((ticks * 86_400_000.0 if axis is Axis.DATE else ticks / 1000.0).tolist())


def packed(starts: Ticks, ends: Ticks) -> list[int]:
    """The lane of each row: as few lanes as possible, no two rows of one overlap."""
    lanes = [0] * len(starts)
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    opened = 0
    for row in np.lexsort((ends, starts)).tolist():
        while busy and busy[0][0] <= starts[row]:
            heappush(free, heappop(busy)[1])
        if free:
            lane = heappop(free)
        else:
            lane, opened = opened, opened + 1
        lanes[row] = lane
        heappush(busy, (int(ends[row]), lane))
    return lanes


def grouped_lanes(times: Times, groups: list[Any] | None) -> tuple[list[int], dict[int, str]]:
    """The lane of each row, and the name of each group at its first lane; groups follow each other as they come."""
    if groups is None:
        return packed(times.starts, times.ends), {}
    lanes, names, first = [0] * len(groups), {}, 0
    for group in dict.fromkeys(groups):
        rows = [row for row, one in enumerate(groups) if one == group]
        found = packed(times.starts[rows], times.ends[rows])
        for row, lane in zip(rows, found, strict=True):
            lanes[row] = first + lane
        names[first] = str(group)
        first += max(found) + 1
    return lanes, names


def edges(first: int, last: int) -> Ticks:
    """The boundaries of the buckets of time."""
    count = max(1, min(BUCKETS, last - first))
    return np.array([first + (last - first) * number // count for number in range(count + 1)], np.int64)


def bucketed(starts: Ticks, ends: Ticks, values: NDArray[np.float64]) -> dict[str, Any]:
    """The least and the greatest value in each bucket, of rows that reach into it; buckets without any are left out."""
    bounds = edges(int(starts.min()), int(ends.max()))
    first = np.searchsorted(bounds, starts, side="right") - 1
    last = np.searchsorted(bounds, ends, side="left") - 1
    size = bounds.size - 1
    least, greatest = np.full(size, np.inf), np.full(size, -np.inf)
    reach = last - first
    for step in range(int(reach.max()) + 1):
        rows = reach >= step
        np.minimum.at(least, first[rows] + step, values[rows])
        np.maximum.at(greatest, first[rows] + step, values[rows])
    kept = np.isfinite(least)
    return {
        "starts": bounds[:-1][kept],
        "ends": bounds[1:][kept],
        "least": least[kept].tolist(),
        "greatest": greatest[kept].tolist(),
    }


def bin_edges(low: float, high: float, *, whole: bool) -> "NDArray[np.float64]":
    """The boundaries of a histogram's ranges; each has as many whole numbers as any other, if values are whole."""
    if not whole:
        return np.linspace(low, high, BINS + 1) if low < high else np.array([low - 0.5, high + 0.5])
    width = max(1, -(-int(high - low + 1) // BINS))
    count = -(-int(high - low + 1) // width)
    return low - 0.5 + width * np.arange(count + 1, dtype=np.float64)
