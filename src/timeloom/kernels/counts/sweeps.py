"""The three counting sweeps of the count semi-join paper, over the merged endpoint list.

``naive`` writes out every pair and then aggregates; ``simple`` (algorithm 2, with the lazy buffering of section 4.1)
touches the open left rows once for each run of right starts; ``smart`` (algorithm 3) keeps two counters and touches
nothing but the row at hand. All three give the same counts.
"""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.counts.endpoints import LEFT_END, LEFT_START, RIGHT_START, Endpoints
from timeloom.kernels.counts.ranks import Counts
from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions

PAIRS_BUFFERED = 1 << 16

Counters = NDArray[np.int64]
"""Two numbers: the right rows that are open now, and those that have started so far."""


def naive_count(endpoints: Endpoints, left_rows: int, right_rows: int) -> Counts:
    """Enumerate the pairs and count them by left row."""
    counts = np.zeros(left_rows, np.int64)
    enumerate_pairs(endpoints.kinds, endpoints.rows, right_rows, np.empty(PAIRS_BUFFERED, np.int32), counts)
    return counts


def simple_count(endpoints: Endpoints, left_rows: int) -> tuple[Counts, int]:
    """Count with an active set of left rows; also say how often that set was scanned."""
    counts = np.zeros(left_rows, np.int64)
    scans = sweep_active(endpoints.kinds, endpoints.rows, counts)
    return counts, scans


def smart_count(endpoints: Endpoints, left_rows: int) -> Counts:
    """Count with counters only."""
    counts = np.zeros(left_rows, np.int64)
    feed(endpoints.kinds, endpoints.rows, np.zeros(2, np.int64), counts)
    return counts


@compiled
def feed(kinds: NDArray[np.int8], rows: Positions, counters: Counters, counts: Counts) -> None:
    """Count one batch of sorted endpoints.

    ``counters`` and ``counts`` carry over from batch to batch. The count of a left row is final when its end has
    been fed; until then it is the count less the number of right rows that have started.
    """
    active, started = counters[0], counters[1]
    for event in range(kinds.size):
        kind = kinds[event]
        if kind == RIGHT_START:
            active += 1
            started += 1
        elif kind == LEFT_START:
            counts[rows[event]] = active - started
        elif kind == LEFT_END:
            counts[rows[event]] += started
        else:
            active -= 1
    counters[0], counters[1] = active, started


@compiled
def sweep_active(kinds: NDArray[np.int8], rows: Positions, counts: Counts) -> int:
    """Simple counting. The active set has no gaps: the last member moves into the place of one that leaves.

    Right starts are buffered until a left row starts or ends; only then does the active set or the count matter.
    """
    members = np.empty(counts.size, np.int32)
    positions = np.empty(counts.size, np.int32)
    open_left, open_right, buffered, scans = 0, 0, 0, 0
    for event in range(kinds.size):
        kind, row = kinds[event], rows[event]
        if kind == RIGHT_START:
            open_right += 1
            buffered += 1
            continue
        if kind != LEFT_START and kind != LEFT_END:
            open_right -= 1
            continue
        if buffered:
            scans += 1
            for position in range(open_left):
                counts[members[position]] += buffered
            buffered = 0
        if kind == LEFT_START:
            counts[row] = open_right
            members[open_left] = row
            positions[row] = open_left
            open_left += 1
        else:
            open_left = leave(members, positions, open_left, row)
    return scans + (buffered > 0)


@compiled
def enumerate_pairs(
    kinds: NDArray[np.int8], rows: Positions, right_rows: int, buffer: Positions, counts: Counts
) -> None:
    """Walk the sweep join pair by pair; the left half of each pair is buffered, and counted when the buffer is full."""
    left, left_positions = np.empty(counts.size, np.int32), np.empty(counts.size, np.int32)
    right, right_positions = np.empty(right_rows, np.int32), np.empty(right_rows, np.int32)
    open_left, open_right, buffered = 0, 0, 0
    for event in range(kinds.size):
        kind, row = kinds[event], rows[event]
        if kind == LEFT_START or kind == RIGHT_START:
            partners = open_right if kind == LEFT_START else open_left
            for position in range(partners):
                if buffered == buffer.size:
                    aggregate(buffer, buffered, counts)
                    buffered = 0
                buffer[buffered] = row if kind == LEFT_START else left[position]
                buffered += 1
        if kind == LEFT_START:
            left[open_left], left_positions[row] = row, open_left
            open_left += 1
        elif kind == RIGHT_START:
            right[open_right], right_positions[row] = row, open_right
            open_right += 1
        elif kind == LEFT_END:
            open_left = leave(left, left_positions, open_left, row)
        else:
            open_right = leave(right, right_positions, open_right, row)
    aggregate(buffer, buffered, counts)


@compiled
def leave(members: Positions, positions: Positions, size: int, row: int) -> int:
    """Take a row out of a gapless set; the new size."""
    moved = members[size - 1]
    members[positions[row]] = moved
    positions[moved] = positions[row]
    return size - 1


@compiled
def aggregate(buffer: Positions, size: int, counts: Counts) -> None:
    """Count the buffered left rows."""
    for at in range(size):
        counts[buffer[at]] += 1
