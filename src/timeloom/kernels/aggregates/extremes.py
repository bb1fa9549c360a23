"""Temporal minimum, maximum, first and last: the active row with the greatest code, period by period."""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.aggregates.timeline import Timeline
from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks


def greatest(line: Timeline, ends: Ticks, codes: Ticks, valid: NDArray[np.bool_]) -> Positions:
    """Find the active, valid row with the greatest code, of equals the first to enter; -1 if there is none.

    For the least, complement the codes (``~codes``). For the row that entered last or first, use its rank by start.
    """
    return running_greatest(line.by_start, line.entered, line.left, line.starts, ends, codes, valid)


@compiled
def running_greatest(
    by_start: Positions,
    entered: Positions,
    left: Positions,
    instants: Ticks,
    ends: Ticks,
    codes: Ticks,
    valid: NDArray[np.bool_],
) -> Positions:
    """Keep a heap of rows; rows that ended are dropped when they reach the root, or when they are most of the heap."""
    rows = np.empty(entered.size, np.int32)
    heap_codes, heap_ranks = np.empty(by_start.size, np.int64), np.empty(by_start.size, np.int32)
    size, s = 0, 0
    for k in range(entered.size):
        if left[k] == s:
            size = 0
        elif size > 2 * (s - left[k]) + 64:
            size = drop_ended(heap_codes, heap_ranks, size, by_start, ends, instants[k])
        while s < entered[k]:
            if valid[by_start[s]]:
                push(heap_codes, heap_ranks, size, codes[by_start[s]], s)
                size += 1
            s += 1
        while size > 0 and ends[by_start[heap_ranks[0]]] <= instants[k]:
            size -= 1
            settle(heap_codes, heap_ranks, size, heap_codes[size], heap_ranks[size], 0)
        rows[k] = by_start[heap_ranks[0]] if size > 0 else -1
    return rows


@compiled
def precedes(code: int, rank: int, other_code: int, other_rank: int) -> bool:
    """Order of the heap: greater codes first, then rows that entered earlier."""
    return code > other_code or (code == other_code and rank < other_rank)


@compiled
def push(heap_codes: Ticks, heap_ranks: Positions, size: int, code: int, rank: int) -> None:
    """Add an element to a heap of this size."""
    at = size
    while at > 0 and precedes(code, rank, heap_codes[(at - 1) >> 1], heap_ranks[(at - 1) >> 1]):
        heap_codes[at] = heap_codes[(at - 1) >> 1]
        heap_ranks[at] = heap_ranks[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap_codes[at] = code
    heap_ranks[at] = rank


@compiled
def settle(heap_codes: Ticks, heap_ranks: Positions, size: int, code: int, rank: int, at: int) -> None:
    """Put an element into a slot of a heap of this size, below all children that precede it."""
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and precedes(
            heap_codes[child + 1], heap_ranks[child + 1], heap_codes[child], heap_ranks[child]
        ):
            child += 1
        if not precedes(heap_codes[child], heap_ranks[child], code, rank):
            break
        heap_codes[at] = heap_codes[child]
        heap_ranks[at] = heap_ranks[child]
        at = child
    if size > 0:
        heap_codes[at] = code
        heap_ranks[at] = rank


@compiled
def drop_ended(
    heap_codes: Ticks, heap_ranks: Positions, size: int, by_start: Positions, ends: Ticks, instant: int
) -> int:
    """Rebuild the heap from the rows that are still active; its new size."""
    kept = 0
    for at in range(size):
        if ends[by_start[heap_ranks[at]]] > instant:
            heap_codes[kept] = heap_codes[at]
            heap_ranks[kept] = heap_ranks[at]
            kept += 1
    for at in range(kept // 2 - 1, -1, -1):
        settle(heap_codes, heap_ranks, kept, heap_codes[at], heap_ranks[at], at)
    return kept
