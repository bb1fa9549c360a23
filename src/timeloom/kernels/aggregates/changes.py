"""What changes at each tick: counts and sums of active rows as differences, which add up in any order and grouping.

Rows of one task are put together at their endpoints; the changes of many tasks are put together by tick, and run along
as counts and sums. What has changed is added modulo 2**64, so that only the sums of active rows need fit into int64.
Ticks that lie close together have a slot each, and nothing is sorted.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Order, Positions, Ticks
from timeloom.model.ticks import FOREVER

Flags = NDArray[np.uint8]

HALF = 32
ONE_BEGINS = 1 << HALF
"""How a row that begins is counted, beside those that end, which count in the lower half."""


class Slots(NamedTuple):
    """A slot for each tick from the first to the last one, and one more for the end of time."""

    base: int
    size: int

    def ticks(self, used: NDArray[np.integer]) -> Ticks:
        """The ticks of some slots, in ascending order."""
        found: Ticks = used + np.int64(self.base)
        if used.size and used[-1] == self.size - 1:
            found[-1] = FOREVER
        return found


class Endpoints(NamedTuple):
    """The distinct endpoints of rows in ascending order, and how many rows have begun and ended up to each."""

    ticks: Ticks
    begun: Positions
    ended: Positions


def endpoints_of(by_start: Order, by_end: Order) -> Endpoints:
    """The endpoints of rows whose starts and ends have been sorted; no row is empty."""
    most = 2 * by_start.values.size
    ticks, begun, ended = np.empty(most, np.int64), np.empty(most, np.int32), np.empty(most, np.int32)
    size = meet(by_start.values, by_end.values, ticks, begun, ended)
    return Endpoints(ticks[:size], begun[:size], ended[:size])


@compiled
def meet(starts: Ticks, ends: Ticks, ticks: Ticks, begun: Positions, ended: Positions) -> int:
    """Write the distinct ticks of sorted starts and ends, and how many of either lie at or before each."""
    s, e, size = 0, 0, 0
    while e < ends.size:  # the last end comes after all starts
        instant = ends[e]
        if s < starts.size and starts[s] < instant:
            instant = starts[s]
        while s < starts.size and starts[s] == instant:
            s += 1
        while e < ends.size and ends[e] == instant:
            e += 1
        ticks[size], begun[size], ended[size] = instant, s, e
        size += 1
    return size


@compiled
def net_changes(
    weights: Ticks, by_start: Positions, by_end: Positions, begun: Positions, ended: Positions, changes: Ticks
) -> None:
    """What rows that begin at each tick bring, less what those that end there take back."""
    s, e = 0, 0
    for k in range(begun.size):
        change = 0
        while s < begun[k]:
            change += weights[by_start[s]]
            s += 1
        while e < ended[k]:
            change -= weights[by_end[e]]
            e += 1
        changes[k] = change


@compiled
def dealt_changes(
    starts: Ticks, ends: Ticks, weights: NDArray[np.int64], base: int, changes: NDArray[np.int64]
) -> None:
    """The same by slots: how many rows begin and how many end, in two halves of one number, then what each weighs."""
    last = changes.shape[0] - 1
    for row in range(starts.size):
        begin, stop = starts[row] - base, last if ends[row] == FOREVER else ends[row] - base
        changes[begin, 0] += ONE_BEGINS
        changes[stop, 0] += 1
        for column in range(weights.shape[0]):
            changes[begin, column + 1] += weights[column, row]
            changes[stop, column + 1] -= weights[column, row]


@compiled
def used_slots(changes: NDArray[np.int64], base: int, ticks: Ticks, columns: NDArray[np.int64]) -> int:
    """Write the ticks of slots where rows begin or end, and what changes there, column by column; how many they are."""
    size = 0
    for slot in range(changes.shape[0]):
        counted = changes[slot, 0]
        if counted != 0:
            ticks[size] = FOREVER if slot == changes.shape[0] - 1 else base + slot
            columns[0, size] = (counted >> HALF) - (counted & (ONE_BEGINS - 1))
            for column in range(1, columns.shape[0]):
                columns[column, size] = changes[slot, column]
            size += 1
    return size


@compiled
def deciding(ticks: Ticks, found: Ticks) -> int:
    """Write those ticks, about one of 64, whose bits, folded into six, are none; how many they are."""
    size = 0
    for k in range(ticks.size):
        tick = ticks[k]
        if (tick ^ (tick >> 6) ^ (tick >> 13) ^ (tick >> 20) ^ (tick >> 28) ^ (tick >> 37)) & 63 == 0:
            found[size] = tick
            size += 1
    return size


@compiled
def mark_slots(ticks: Ticks, base: int, used: Flags) -> None:
    """Mark the slots of ticks."""
    for k in range(ticks.size):
        used[used.size - 1 if ticks[k] == FOREVER else ticks[k] - base] = 1


@compiled
def add_by_slot(ticks: Ticks, changes: Ticks, base: int, sums: Ticks) -> None:
    """Add changes to the slots of their ticks."""
    for k in range(ticks.size):
        sums[sums.size - 1 if ticks[k] == FOREVER else ticks[k] - base] += changes[k]


@compiled
def add_in_order(ticks: Ticks, ids: Positions, changes: Ticks, sums: Ticks) -> None:
    """Add up the changes of each distinct one of sorted ticks."""
    at = -1
    for k in range(ticks.size):
        if k == 0 or ticks[k] != ticks[k - 1]:
            at += 1
            sums[at] = 0
        sums[at] += changes[ids[k]]


class Spans(NamedTuple):
    """Periods between distinct ticks in which rows are active, how many are, and how many changes come before."""

    starts: Ticks
    ends: Ticks
    active: Ticks
    changed: Positions


def spans_of(ticks: Ticks, changes: Ticks, active: int, since: int, until: int) -> Spans:
    """The periods from distinct ticks, each between ``since`` and ``until``, and the changes of the number of rows.

    ``active`` is how many rows are active before the first tick.
    """
    most = ticks.size + 1
    starts, ends, counts = (np.empty(most, np.int64) for _ in range(3))
    changed = np.empty(most, np.int32)
    size = active_spans(ticks, changes, active, since, until, starts, ends, counts, changed)
    return Spans(starts[:size], ends[:size], counts[:size], changed[:size])


@compiled
def active_spans(
    ticks: Ticks,
    changes: Ticks,
    active: int,
    since: int,
    until: int,
    starts: Ticks,
    ends: Ticks,
    counts: Ticks,
    changed: Positions,
) -> int:
    """Write the periods with active rows: where they begin and end, how many rows, and how many changes come before."""
    size, begin = 0, since
    for at in range(ticks.size + 1):
        stop = ticks[at] if at < ticks.size else until
        if active > 0 and begin < stop:
            starts[size], ends[size], counts[size], changed[size] = begin, stop, active, at
            size += 1
        if at < ticks.size:
            active += changes[at]
        begin = stop
    return size


@compiled
def running_totals(changes: Ticks, total: int, changed: Positions, totals: Ticks) -> None:
    """Add up changes, beginning with a total, as far as they come before each period."""
    at = 0
    for k in range(changed.size):
        while at < changed[k]:
            total += changes[at]
            at += 1
        totals[k] = total
