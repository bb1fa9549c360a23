"""Disjoint interval partitioning: the fewest partitions in which no two periods overlap (DIP paper, section 5)."""

from typing import NamedTuple

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks, sort


class Numbered(NamedTuple):
    """Rows in ascending order of start, with the number of the partition of each, out of ``depth``.

    ``rows`` are the positions in the input.
    """

    starts: Ticks
    ends: Ticks
    rows: Positions
    number: Positions
    depth: int

    def laid_out(self) -> "Partitions":
        """The same rows partition by partition."""
        order, offsets = gather(self.number, self.depth)
        return Partitions(self.starts[order], self.ends[order], self.rows[order], offsets)


class Partitions(NamedTuple):
    """Rows laid out partition by partition; partition p is the stretch ``offsets[p]:offsets[p + 1]``.

    Within a partition the periods are disjoint and ascend. ``rows`` are the positions in the input.
    """

    starts: Ticks
    ends: Ticks
    rows: Positions
    offsets: Positions

    @property
    def depth(self) -> int:
        """The number of partitions: the largest number of rows that are valid at one time."""
        return self.offsets.size - 1


def partition(starts: Ticks, ends: Ticks) -> Partitions:
    """Cut rows into the minimum number of partitions without overlap (algorithm CreateDIP)."""
    return number_rows(starts, ends).laid_out()


def number_rows(starts: Ticks, ends: Ticks) -> Numbered:
    """The same without laying the partitions out."""
    by_start = sort(starts, 1, ends)
    return Numbered(by_start.values, by_start.beside, by_start.ids, *assign(by_start.values, by_start.beside))


@compiled
def assign(starts: Ticks, ends: Ticks) -> tuple[Positions, int]:
    """Give each row, in ascending order of start, the partition that has been free the longest.

    The heap holds the last end of each partition. If even its smallest is later than the row's start, the row
    overlaps a row of every partition, so a new one is needed: the count equals the depth of the input.
    """
    number = np.empty(starts.size, np.int32)
    last_ends = np.empty(starts.size, np.int64)
    names = np.empty(starts.size, np.int32)
    return number, assign_on(starts, ends, number, last_ends, names, 0)


@compiled
def assign_on(starts: Ticks, ends: Ticks, number: Positions, last_ends: Ticks, names: Positions, size: int) -> int:
    """Go on with a heap of so many partitions, which has room for as many more as there are rows; how many it has."""
    for row in range(starts.size):
        if size > 0 and last_ends[0] <= starts[row]:
            number[row] = names[0]
            sink(last_ends, names, size, ends[row])
        else:
            number[row] = size
            size += 1
            rise(last_ends, names, size, ends[row])
    return size


@compiled
def lay_out(
    number: Positions,
    starts: Ticks,
    ends: Ticks,
    rows: Positions,
    at: Positions,
    to_starts: Ticks,
    to_ends: Ticks,
    to_rows: Positions,
) -> None:
    """Put rows, in ascending order of start, to the positions of their partitions; ``at`` says where each goes on."""
    for row in range(number.size):
        position = at[number[row]]
        to_starts[position], to_ends[position], to_rows[position] = starts[row], ends[row], rows[row]
        at[number[row]] = position + 1


@compiled
def sink(last_ends: Ticks, names: Positions, size: int, end: int) -> None:
    """Give the partition at the root a later end; it changes positions with children that end no later."""
    name, at = names[0], 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and last_ends[child + 1] < last_ends[child]:
            child += 1
        if last_ends[child] > end:
            break
        last_ends[at] = last_ends[child]
        names[at] = names[child]
        at = child
    last_ends[at] = end
    names[at] = name


@compiled
def rise(last_ends: Ticks, names: Positions, size: int, end: int) -> None:
    """Add a new partition, named by its number, as the last leaf and move it up past later ends."""
    at = size - 1
    while at > 0 and last_ends[(at - 1) >> 1] >= end:
        last_ends[at] = last_ends[(at - 1) >> 1]
        names[at] = names[(at - 1) >> 1]
        at = (at - 1) >> 1
    last_ends[at] = end
    names[at] = size - 1


@compiled
def gather(number: Positions, count: int) -> tuple[Positions, Positions]:
    """List the rows of each partition, in row order, and where each partition begins."""
    offsets = np.zeros(count + 1, np.int32)
    for row in range(number.size):
        offsets[number[row] + 1] += 1
    for name in range(count):
        offsets[name + 1] += offsets[name]
    order = np.empty(number.size, np.int32)
    at = offsets[:-1].copy()
    for row in range(number.size):
        name = number[row]
        order[at[name]] = row
        at[name] += 1
    return order, offsets
