"""Temporal aggregation: the periods of constant lineage, and sums and counts that run along them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Order, Positions, Ticks


class Timeline(NamedTuple):
    """The maximal periods during which the same, non-empty set of rows is active, in ascending order.

    Before period k exactly the rows ``by_end[left[k-1]:left[k]]`` leave and ``by_start[entered[k-1]:entered[k]]``
    enter. Whatever aggregates over a timeline removes first and adds then; a row leaves only after it entered.
    """

    starts: Ticks
    ends: Ticks
    by_start: Positions
    by_end: Positions
    entered: Positions
    left: Positions

    @property
    def active(self) -> Positions:
        """The number of active rows of each period."""
        return self.entered - self.left

    def only(self, kept: NDArray[np.bool_]) -> "Timeline":
        """Leave out periods. Every row must be active in a period that is kept."""
        return self._replace(
            starts=self.starts[kept], ends=self.ends[kept], entered=self.entered[kept], left=self.left[kept]
        )


def timeline_of(by_start: Order, by_end: Order) -> Timeline:
    """The timeline of rows whose starts and ends have been sorted."""
    most = 2 * by_start.values.size
    # Room from NumPy comes in huge pages; what a kernel takes costs a page fault every 4 KiB.
    begins, finishes = np.empty(most, np.int64), np.empty(most, np.int64)
    entered, left = np.empty(most, np.int32), np.empty(most, np.int32)
    size = lineage(by_start.values, by_end.values, begins, finishes, entered, left)
    return Timeline(begins[:size], finishes[:size], by_start.ids, by_end.ids, entered[:size], left[:size])


@compiled
def lineage(starts: Ticks, ends: Ticks, begins: Ticks, finishes: Ticks, entered: Positions, left: Positions) -> int:
    """Write the periods of constant lineage from the starts and the ends, each sorted by itself; how many there are.

    No row is empty, so each distinct endpoint changes the set of active rows.
    """
    s, e, size = 0, 0, 0
    while e < ends.size:
        instant = ends[e]
        if s < starts.size and starts[s] < instant:
            instant = starts[s]
        if s > e:
            finishes[size - 1] = instant
        while s < starts.size and starts[s] == instant:
            s += 1
        while e < ends.size and ends[e] == instant:
            e += 1
        if s > e:
            begins[size] = instant
            entered[size] = s
            left[size] = e
            size += 1
    return size


def sums(line: Timeline, values: Ticks) -> Ticks:
    """Sum int64 values over the active rows; the caller knows that no sum overflows."""
    totals = np.empty(line.starts.size, np.int64)
    running_sums(values, line.by_start, line.by_end, line.entered, line.left, 0, totals.size, totals)
    return totals


@compiled
def running_sums(
    values: Ticks,
    by_start: Positions,
    by_end: Positions,
    entered: Positions,
    left: Positions,
    begin: int,
    stop: int,
    totals: Ticks,
) -> int:
    """Add what enters and subtract what leaves, in the periods ``begin:stop``, beginning with zero; the last total."""
    total, s, e = 0, 0, 0
    if begin > 0:
        s, e = entered[begin - 1], left[begin - 1]
    for k in range(begin, stop):
        while e < left[k]:
            total -= values[by_end[e]]
            e += 1
        while s < entered[k]:
            total += values[by_start[s]]
            s += 1
        totals[k] = total
    return total


def distinct(line: Timeline, codes: Positions, size: int) -> Ticks:
    """Count the different codes among the active rows; codes are below ``size``, and negative ones are ignored."""
    return running_distinct(codes, size, line.by_start, line.by_end, line.entered, line.left)


@compiled
def running_distinct(
    codes: Positions, size: int, by_start: Positions, by_end: Positions, entered: Positions, left: Positions
) -> Ticks:
    """Keep the multiplicity of each code; the answer changes when one leaves or returns to zero."""
    counts = np.empty(entered.size, np.int64)
    multiplicity = np.zeros(size, np.int32)
    count, s, e = 0, 0, 0
    for k in range(entered.size):
        while e < left[k]:
            code = codes[by_end[e]]
            e += 1
            if code >= 0:
                multiplicity[code] -= 1
                count -= multiplicity[code] == 0
        while s < entered[k]:
            code = codes[by_start[s]]
            s += 1
            if code >= 0:
                count += multiplicity[code] == 0
                multiplicity[code] += 1
        counts[k] = count
    return counts


class Members(NamedTuple):
    """The active rows of each period, by start and then by position: period k has ``rows[offsets[k]:offsets[k+1]]``."""

    offsets: NDArray[np.int64]
    rows: Positions


def members(line: Timeline) -> Members:
    """List the active rows of every period."""
    offsets = np.zeros(line.starts.size + 1, np.int64)
    np.cumsum(line.active, out=offsets[1:])
    return Members(offsets, list_members(line.by_start, line.by_end, line.entered, line.left, offsets[-1]))


@compiled
def list_members(by_start: Positions, by_end: Positions, entered: Positions, left: Positions, size: int) -> Positions:
    """Walk, in each period, a doubly linked list of the active rows; rows enter at its tail.

    Slot n of the links, n the number of rows, is the list's head and tail.
    """
    n = by_start.size
    after, before = np.empty(n + 1, np.int32), np.empty(n + 1, np.int32)
    after[n], before[n] = n, n
    rows = np.empty(size, np.int32)
    s, e, out = 0, 0, 0
    for k in range(entered.size):
        while e < left[k]:
            row = by_end[e]
            e += 1
            after[before[row]] = after[row]
            before[after[row]] = before[row]
        while s < entered[k]:
            row = by_start[s]
            s += 1
            tail = before[n]
            after[tail], before[row] = row, tail
            after[row], before[n] = n, row
        row = after[n]
        while row != n:
            rows[out] = row
            out += 1
            row = after[row]
    return rows
