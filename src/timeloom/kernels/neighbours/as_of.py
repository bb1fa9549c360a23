"""As-of merges: for each left instant the last right instant before it, by one pass over both in order of time.

What a key has seen last is kept in an array, so keys need no position on the axis and nothing is searched.
"""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks
from timeloom.model.ticks import MAX_TICK

Keys = NDArray[np.int64]

NO_ROW = -1


@compiled
def distance(high: int, low: int) -> int:
    """How far two ticks are apart, at most the last tick."""
    if low < 0 and high > MAX_TICK + low:  # asked before the difference is taken: compiled code need not wrap
        return MAX_TICK
    return high - low


@compiled
def backward(
    left: Ticks,
    left_rows: Positions,
    left_keys: Keys,
    right: Ticks,
    right_rows: Positions,
    right_keys: Keys,
    keys: int,
    exact: bool,
    found: Positions,
) -> None:
    """Write for each left row the last right row not after it; of rows level in time, the last in row order.

    ``left`` and ``right`` ascend, with their rows beside them; keys are by row, empty for none; a negative key meets
    nothing. Without ``exact`` the right row must be earlier.
    """
    last = np.full(max(1, keys), NO_ROW, np.int32)
    at = 0
    for number in range(left.size):
        time = left[number]
        while at < right.size and (right[at] < time or (exact and right[at] == time)):
            key = right_keys[right_rows[at]] if right_keys.size else 0
            if key >= 0:
                last[key] = right_rows[at]
            at += 1
        row = left_rows[number]
        key = left_keys[row] if left_keys.size else 0
        found[row] = last[key] if key >= 0 else NO_ROW


@compiled
def forward(
    left: Ticks,
    left_rows: Positions,
    left_keys: Keys,
    right: Ticks,
    right_rows: Positions,
    right_keys: Keys,
    keys: int,
    exact: bool,
    found: Positions,
) -> None:
    """The same for the first right row not before each left row; of rows level in time again the last."""
    last = np.full(max(1, keys), NO_ROW, np.int32)
    times = np.zeros(max(1, keys), np.int64)
    at = right.size - 1
    for number in range(left.size - 1, -1, -1):
        time = left[number]
        while at >= 0 and (right[at] > time or (exact and right[at] == time)):
            key = right_keys[right_rows[at]] if right_keys.size else 0
            if key >= 0 and (last[key] == NO_ROW or times[key] != right[at]):
                last[key] = right_rows[at]
                times[key] = right[at]
            at -= 1
        row = left_rows[number]
        key = left_keys[row] if left_keys.size else 0
        found[row] = last[key] if key >= 0 else NO_ROW


@compiled
def within(left: Ticks, right: Ticks, tolerance: int, found: Positions) -> None:
    """Forget partners that are further away than the tolerance; distances are compared without overflow."""
    for row in range(found.size):
        partner = found[row]
        if partner != NO_ROW:
            low, high = min(left[row], right[partner]), max(left[row], right[partner])
            if distance(high, low) > tolerance:
                found[row] = NO_ROW


@compiled
def closer(left: Ticks, right: Ticks, before: Positions, after: Positions) -> None:
    """Keep in ``before`` the nearer of two partners; the earlier one if both are equally far."""
    for row in range(before.size):
        one, other = before[row], after[row]
        if other == NO_ROW:
            continue
        if one == NO_ROW or distance(right[other], left[row]) < distance(left[row], right[one]):
            before[row] = other
