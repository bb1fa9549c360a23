"""What can be said of a pair of periods while either may still be open.

The bounds of a box are the first eight numbers of a row, ``lo, hi`` of ``s.start - r.start``, ``s.start - r.end``,
``s.end - r.start`` and ``s.end - r.end``, with the smallest and the largest tick for unbounded. An open end
is the largest tick. All sums saturate.
"""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.rectangles import overflows, shifted
from timeloom.kernels.streaming.layout import LEFT_BOUNDS, RIGHT_BOUNDS
from timeloom.model.ticks import MAX_TICK, MIN_TICK

Boxes = NDArray[np.int64]

NEVER = MIN_TICK
"""As a constant: this endpoint does not matter. As an instant: no such instant."""


@compiled
def range_of(start: int, end: int, least_a: int, most_a: int, least_b: int, most_b: int) -> tuple[int, int]:
    """The inclusive range of a point x, from bounds on x - start (a) and on x - end (b)."""
    impossible = (
        overflows(start, least_a) > 0
        or overflows(end, least_b) > 0
        or overflows(start, most_a) < 0
        or overflows(end, most_b) < 0
    )
    low, high = MAX_TICK, MIN_TICK
    if not impossible:
        low = max(shifted(start, least_a), shifted(end, least_b))
        high = min(shifted(start, most_a), shifted(end, most_b))
    return low, high


@compiled
def window(start: int, end: int, bounds: Boxes, box: int, low: int, high: int) -> tuple[int, int]:
    """The inclusive range of a point x, from the box's bounds on x - start (column low) and on x - end (high)."""
    return range_of(start, end, bounds[box, low], bounds[box, low + 1], bounds[box, high], bounds[box, high + 1])


@compiled
def ready(start: int, end: int, after_start: int, after_end: int) -> int:
    """The instant from which on a row can be part of a certain pair; the end of the axis while its end is awaited."""
    instant = start if after_start == NEVER else shifted(start, after_start)
    if after_end == NEVER:
        return instant
    if end == MAX_TICK:
        return MAX_TICK
    return max(instant, shifted(end, after_end))


@compiled
def holds(r_start: int, r_end: int, s_start: int, s_end: int, bounds: Boxes, box: int) -> bool:
    """Tell whether the pair is in the box, with open ends at the end of the axis."""
    first, last = window(r_start, r_end, bounds, box, 0, 2)
    if s_start < first or s_start > last:
        return False
    first, last = window(r_start, r_end, bounds, box, 4, 6)
    return first <= s_end <= last


@compiled
def difference(a: int, b: int) -> int:
    """Subtract and saturate; the ends of the axis are infinitely far."""
    if a == MAX_TICK or b == MIN_TICK:
        return MAX_TICK
    if a == MIN_TICK or b == MAX_TICK:
        return MIN_TICK
    return shifted(a, -b)


@compiled
def apart(a: int, b: int) -> int:
    """Subtract and saturate; the ends of the axis are ticks like others, so that never is near to the last ones."""
    if b < 0 and a > MAX_TICK + b:
        return MAX_TICK
    if b > 0 and a < MIN_TICK + b:
        return MIN_TICK
    return a - b


@compiled
def ends_in_box(r_start: int, r_end: int, s_start: int, boxes: Boxes, box: int, view: int) -> tuple[int, int]:
    """The inclusive range of s.end for which the pair is in the box."""
    first, last = window(r_start, r_end, boxes, box, view, view + 2)
    if s_start < first or s_start > last:
        return MAX_TICK, MIN_TICK
    return window(r_start, r_end, boxes, box, view + 4, view + 6)


@compiled
def later(instant: int, by: int) -> int:
    """Move an instant; what never comes comes neither sooner nor later."""
    return MAX_TICK if instant == MAX_TICK else shifted(instant, by)


@compiled
def possible_until(
    r_start: int, r_end: int, r_is_open: bool, s_start: int, s_end: int, s_is_open: bool, time: int, boxes: Boxes
) -> int:
    """The last tick at which the pair is still possible if nothing happens to it, or NEVER if it is not at this one.

    At a tick all ends up to it are known, and open periods end later. A pair whose ends are known and that is in the
    relation is possible for ever.
    """
    last = NEVER
    for number in range(boxes.shape[0]):
        if r_is_open and s_is_open:
            until = open_until(r_start, s_start, time, boxes, number)
        elif s_is_open:
            until = ray_until(r_start, r_end, s_start, boxes, number, LEFT_BOUNDS)
        elif r_is_open:
            until = ray_until(s_start, s_end, r_start, boxes, number, RIGHT_BOUNDS)
        else:
            until = MAX_TICK if holds(r_start, r_end, s_start, s_end, boxes, number) else NEVER
        if until >= time:
            last = max(last, until)
    return last


@compiled
def ray_until(r_start: int, r_end: int, s_start: int, boxes: Boxes, number: int, view: int) -> int:
    """The last tick at which an open s may still be in a box with a known r, seen from the side of r, or NEVER."""
    low, high = ends_in_box(r_start, r_end, s_start, boxes, number, view)
    if low > high:
        return NEVER
    is_endless = high == MAX_TICK or (r_end == MAX_TICK and boxes[number, view + 5] == MAX_TICK)
    return MAX_TICK if is_endless else high - 1


@compiled
def open_until(r_start: int, s_start: int, time: int, boxes: Boxes, number: int) -> int:
    """The last tick at which two open periods may still be in a box, or NEVER."""
    distance = difference(s_start, r_start)
    if distance < boxes[number, 0] or distance > boxes[number, 1]:
        return NEVER
    soonest = shifted(time, 1)
    x_low = max(soonest, difference(s_start, boxes[number, 3]))
    y_low = max(soonest, shifted(r_start, boxes[number, 4]))
    x_high, y_high = difference(s_start, boxes[number, 2]), shifted(r_start, boxes[number, 5])
    lowest = max(boxes[number, 6], apart(y_low, x_high))
    highest = min(boxes[number, 7], apart(y_high, x_low))
    if x_low > x_high or y_low > y_high or lowest > highest:
        return NEVER
    x_most = min(x_high, difference(y_high, boxes[number, 6]))
    y_most = min(y_high, later(x_high, boxes[number, 7]))
    until = MAX_TICK
    if x_most < MAX_TICK:
        until = x_most - 1
    if y_most < MAX_TICK:
        until = min(until, y_most - 1)
    return until
