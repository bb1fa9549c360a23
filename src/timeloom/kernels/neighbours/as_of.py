"""As-of joins: for each left instant the last right instant before it, or the first after it.

Two sides in order of time are merged in one pass: what a key has seen last is kept in an array, so keys have no stretch
of the axis and nothing is searched. A part of the axis can be merged by itself; what it looks for before its first row
is what the parts before have seen last. Otherwise only the right side is sorted, keys folded into the axis, and left
rows look their partners up.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled, written_out
from timeloom.kernels.order import Order, Positions, Ticks, rank
from timeloom.model.ticks import MAX_TICK

Keys = NDArray[np.int64]

Bounds = tuple[int, int, int, int]
"""Where a stretch of the left and of the right side begins and ends."""

NO_ROW = -1


class Side(NamedTuple):
    """Instants in ascending order with their rows, and keys by row; empty for rows as they come, and for no keys.

    A negative key meets nothing.
    """

    ticks: Ticks
    rows: Positions
    keys: Keys


@written_out
def row_at(side: Side, at: int) -> int:
    """The row at a position in the order of time."""
    return side.rows[at] if side.rows.size else at


@written_out
def key_of(side: Side, row: int) -> int:
    """The key of a row."""
    return side.keys[row] if side.keys.size else 0


@written_out
def distance(high: int, low: int) -> int:
    """How far two ticks are apart, at most the last tick."""
    if low < 0 and high > MAX_TICK + low:  # asked before the difference is taken: compiled code need not wrap
        return MAX_TICK
    return high - low


@compiled
def backward(left: Side, right: Side, bounds: Bounds, exact: bool, last: Positions, found: Positions) -> int:
    """Write for left rows the last right row not after them; of rows level in time, the last in order.

    ``bounds`` are the stretches of both sides that are merged. Without ``exact`` the right row must be earlier.
    ``last`` has, by key, NO_ROW before and the last right row of the stretch afterwards. Answers how many left rows
    have no partner here.
    """
    at, missing = bounds[2], 0
    for number in range(bounds[0], bounds[1]):
        time = left.ticks[number]
        while at < bounds[3] and (right.ticks[at] < time or (exact and right.ticks[at] == time)):
            row = row_at(right, at)
            key = key_of(right, row)
            if key >= 0:
                last[key] = row
            at += 1
        row = row_at(left, number)
        key = key_of(left, row)
        found[row] = last[key] if key >= 0 else NO_ROW
        missing += found[row] == NO_ROW
    for number in range(at, bounds[3]):
        row = row_at(right, number)
        key = key_of(right, row)
        if key >= 0:
            last[key] = row
    return missing


@compiled
def forward(left: Side, right: Side, bounds: Bounds, exact: bool, last: Positions, found: Positions) -> int:
    """The same for the first right row not before each left row; of rows level in time again the last."""
    at, missing = bounds[3] - 1, 0
    times = np.zeros(last.size, np.int64)
    for number in range(bounds[1] - 1, bounds[0] - 1, -1):
        time = left.ticks[number]
        while at >= bounds[2] and (right.ticks[at] > time or (exact and right.ticks[at] == time)):
            meet(right, at, last, times)
            at -= 1
        row = row_at(left, number)
        key = key_of(left, row)
        found[row] = last[key] if key >= 0 else NO_ROW
        missing += found[row] == NO_ROW
    for number in range(at, bounds[2] - 1, -1):
        meet(right, number, last, times)
    return missing


@written_out
def meet(right: Side, at: int, last: Positions, times: Ticks) -> None:
    """Remember a right row, unless one that stands behind it is level with it."""
    row = row_at(right, at)
    key = key_of(right, row)
    if key >= 0 and (last[key] == NO_ROW or times[key] != right.ticks[at]):
        last[key] = row
        times[key] = right.ticks[at]


@compiled
def carry_over(left: Side, first: int, last: int, carried: Positions, found: Positions) -> None:
    """Give left rows without a partner in their own stretch what their keys have seen before it."""
    for number in range(first, last):
        row = row_at(left, number)
        if found[row] == NO_ROW:
            key = key_of(left, row)
            if key >= 0:
                found[row] = carried[key]


@compiled
def look_up(
    right: Order,
    left: Ticks,
    rows: Positions,
    width: int,
    bounds: tuple[int, int],
    back: bool,
    exact: bool,
    found: Positions,
) -> None:
    """Look up the partners of a stretch of left rows among right rows in order of key and time.

    ``left`` has their positions on the axis on which keys have stretches of ``width`` (0 without keys), below 0 without
    a key; ``rows`` which they are, empty for rows as they come. Of right rows that are level each has the id of the
    last. No instant is at the last tick.
    """
    values, ids, offsets, base, shift = right.values, right.ids, right.offsets, right.base, right.shift
    size, step, further = values.size, int(back), int(back == exact)
    for number in range(bounds[0], bounds[1]):
        value, partner = left[number], NO_ROW
        low = value - value % width if width else 0
        at = rank(values, offsets, base, shift, value + further) - step
        if low >= 0 and 0 <= at < size and (not width or low <= values[at] < low + width):
            partner = ids[at]
        found[rows[number] if rows.size else number] = partner


@compiled
def level_rows(right: Side, keys: int) -> tuple[Positions, Positions]:
    """The positions of rows level in time with another one of their key, and which of them are level.

    Groups are numbered as they are met; their positions come one after the other, not group by group.
    """
    seen, group_of = np.full(max(1, keys), NO_ROW, np.int32), np.full(max(1, keys), NO_ROW, np.int32)
    size = right.ticks.size
    positions, groups = np.empty(size, np.int32), np.empty(size, np.int32)
    count, known, first = 0, 0, 0
    for at in range(size):
        if right.ticks[at] != right.ticks[first]:
            first = at
        if at == first and (at + 1 == size or right.ticks[at + 1] != right.ticks[at]):
            continue
        key = key_of(right, row_at(right, at))
        if key < 0:
            continue
        before = seen[key]
        seen[key] = at
        if before < first:
            group_of[key] = NO_ROW
            continue
        if group_of[key] == NO_ROW:
            group_of[key] = known
            positions[count], groups[count] = before, known
            known += 1
            count += 1
        positions[count], groups[count] = at, group_of[key]
        count += 1
    return positions[:count].copy(), groups[:count].copy()


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
