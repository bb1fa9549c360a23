"""Temporal aggregation by full outer joins of disjoint partitions (DIP paper, section 6.3)."""

from collections.abc import Callable

import numpy as np

from timeloom.kernels.aggregates.timeline import Timeline
from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks
from timeloom.kernels.sequenced.dip import Partitions, partition
from timeloom.kernels.sequenced.dip_full import NO_LINEAGE, full_merge
from timeloom.kernels.sequenced.dip_merge import Counters


def dip_timeline(starts: Ticks, ends: Ticks, counters: Counters | None = None) -> Timeline:
    """The periods that the partitions' full outer join has, and the rows that meet in each of them."""
    return timeline_of_partitions(partition(starts, ends), counters)


Room = Callable[[tuple[int, int]], Ticks]


def timeline_of_partitions(parts: Partitions, counters: Counters | None = None) -> Timeline:
    """Join the partitions one after the other (equation 5).

    Only the periods of the join so far are kept. A row is in a run of the last join's periods, for no row starts or
    ends within one; so two positions for each row say which rows a result tuple has.
    """
    begins, finishes = joined_periods(parts, counters or Counters())
    rows = np.argsort(parts.rows, kind="stable")
    entered, left = np.zeros(begins.size + 1, np.int32), np.zeros(begins.size + 1, np.int32)
    by_start, by_end = np.empty(rows.size, np.int32), np.empty(rows.size, np.int32)
    enter_and_leave(begins, parts.starts[rows], entered, by_start)
    enter_and_leave(begins, parts.ends[rows], left, by_end)
    return Timeline(begins, finishes, by_start, by_end, entered[:-1], left[:-1])


def joined_periods(parts: Partitions, counters: Counters, room_of: Room | None = None) -> tuple[Ticks, Ticks]:
    """The periods of all partitions' full outer join; two rooms are filled in turn, one with the join so far."""
    shape, size = (2, 2 * parts.starts.size), 0
    rooms = [np.empty(shape, np.int64) if room_of is None else room_of(shape) for _ in range(2)]
    for k in range(parts.depth):
        joined, room = rooms[k % 2], rooms[1 - k % 2]
        stretch = slice(parts.offsets[k], parts.offsets[k + 1])
        so_far, part = (joined[0, :size], joined[1, :size]), (parts.starts[stretch], parts.ends[stretch])
        size, comparisons, matches = full_merge(*so_far, *part, room[0], room[1], NO_LINEAGE, NO_LINEAGE)
        counters.comparisons += comparisons if k else 0
        counters.results += matches
    begins, finishes = rooms[parts.depth % 2]
    return begins[:size].copy(), finishes[:size].copy()


@compiled
def enter_and_leave(begins: Ticks, points: Ticks, passed: Positions, rows: Positions) -> None:
    """List rows by the period before which they change, and how many have changed up to each period.

    The last position is for what changes after all periods; rows that change before the same period keep their order.
    """
    positions = np.searchsorted(begins, points)
    for position in positions:
        passed[position] += 1
    total = 0
    for k in range(passed.size):
        total += passed[k]
        passed[k] = total
    at = np.empty(passed.size, np.int32)
    at[0] = 0
    at[1:] = passed[:-1]
    for row in range(positions.size):
        rows[at[positions[row]]] = row
        at[positions[row]] += 1
