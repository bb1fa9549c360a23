"""The k highest counts, overall or of each group, found by selection; only the chosen rows are sorted."""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.counts.ranks import Counts
from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions


def top_rows(counts: Counts, k: int, *, all_ties: bool) -> Positions:
    """Find the rows with the k highest counts, highest first; equal counts keep their row order.

    With ``all_ties`` every row that equals the k-th comes along, otherwise the first of them do.
    """
    rows = np.arange(counts.size, dtype=np.int32)
    return _ranked(counts, select(counts, rows, k, all_ties))


def top_rows_by_group(counts: Counts, groups: NDArray[np.int64], k: int, *, all_ties: bool) -> Positions:
    """Find the rows with the k highest counts of each group; groups come in the order of their first rows."""
    number = int(groups.max(initial=-1)) + 1
    members, bounds = members_of(groups, number)
    chosen = select_by_group(counts, members, bounds, k, all_ties)
    first_rows = members[np.minimum(bounds[:-1], members.size - 1)]
    return chosen[np.lexsort((chosen, -counts[chosen], first_rows[groups[chosen]]))]


def _ranked(counts: Counts, rows: Positions) -> Positions:
    return rows[np.argsort(-counts[rows], kind="stable")]


@compiled
def members_of(groups: NDArray[np.int64], number: int) -> tuple[Positions, NDArray[np.int64]]:
    """Gather the rows of each group, in row order; group g has members bounds[g]..bounds[g + 1]."""
    bounds = np.zeros(number + 1, np.int64)
    for row in range(groups.size):
        bounds[groups[row] + 1] += 1
    for group in range(number):
        bounds[group + 1] += bounds[group]
    free = bounds.copy()
    members = np.empty(groups.size, np.int32)
    for row in range(groups.size):
        members[free[groups[row]]] = row
        free[groups[row]] += 1
    return members, bounds


@compiled
def select_by_group(counts: Counts, members: Positions, bounds: NDArray[np.int64], k: int, all_ties: bool) -> Positions:
    """The chosen rows of all groups, one group after the other."""
    chosen = np.empty(members.size, np.int32)
    size = 0
    for group in range(bounds.size - 1):
        rows = select(counts, members[bounds[group] : bounds[group + 1]], k, all_ties)
        chosen[size : size + rows.size] = rows
        size += rows.size
    return chosen[:size]


@compiled
def select(counts: Counts, rows: Positions, k: int, all_ties: bool) -> Positions:
    """Choose the rows with the k highest counts, in the order in which they are given."""
    if k <= 0:
        return rows[:0]
    if k >= rows.size:
        return rows
    counted = counts[rows]
    bar = np.partition(counted, rows.size - k)[rows.size - k]
    above = np.sum(counted > bar)
    at_bar = rows.size if all_ties else k - above
    chosen = np.empty(rows.size, np.int32)
    size = 0
    for position in range(rows.size):
        if counted[position] > bar or (counted[position] == bar and at_bar > 0):
            at_bar -= counted[position] == bar
            chosen[size] = rows[position]
            size += 1
    return chosen[:size]
