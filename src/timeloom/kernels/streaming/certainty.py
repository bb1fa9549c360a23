"""Whether a union of boxes holds for a pair of periods whatever comes: also where several boxes are needed for that.

While an end is open it may come at any later tick, or never; a row that arrives whole has no open end, also if it is
that it never ends. So what the pair (r.end, s.end) can become is a point, a ray or a
quadrant, and the pair is certain once the boxes cover all of that. Boxes are those of `sweep_pairs`.
"""

from timeloom.kernels.jit import compiled
from timeloom.kernels.rectangles import shifted
from timeloom.kernels.streaming.gapless import Cells
from timeloom.kernels.streaming.layout import LATE, LEFT_BOUNDS, RIGHT_BOUNDS, WHOLE
from timeloom.kernels.streaming.pairs import Boxes, difference, ends_in_box, holds
from timeloom.model.ticks import MAX_TICK, MIN_TICK


@compiled
def newly_certain(
    r_start: int, r_end: int, s_start: int, s_end: int, time: int, before: int, union: Boxes, state: Cells
) -> bool:
    """Tell whether a pair is certain at this instant, and was not at the one before."""
    now = certain(r_start, r_end, s_start, s_end, time, union, state)
    return now and not certain(r_start, r_end, s_start, s_end, before, union, state)


@compiled
def certain(r_start: int, r_end: int, s_start: int, s_end: int, time: int, union: Boxes, state: Cells) -> bool:
    """Tell whether a pair is known at this instant and is in the union for every way to go on."""
    if time < (r_end if state[LATE] else r_start) or time < (s_end if state[LATE + 1] else s_start):
        return False
    r_is_open, s_is_open = r_end > time and not state[WHOLE], s_end > time and not state[WHOLE + 1]
    if time == MAX_TICK or not (r_is_open or s_is_open):
        for box in range(union.shape[0]):
            if holds(r_start, r_end, s_start, s_end, union, box):
                return True
        return False
    if r_is_open and s_is_open:
        return covers_quadrant(r_start, s_start, time + 1, union)
    if s_is_open:
        return covers_ray(r_start, r_end, s_start, time + 1, union, LEFT_BOUNDS)
    return covers_ray(s_start, s_end, r_start, time + 1, union, RIGHT_BOUNDS)


@compiled
def covers_ray(r_start: int, r_end: int, s_start: int, first: int, boxes: Boxes, view: int) -> bool:
    """Tell whether the boxes, seen from the side of r, hold for every s.end from the first one on."""
    end = first
    while True:
        furthest = MIN_TICK
        for box in range(boxes.shape[0]):
            low, high = ends_in_box(r_start, r_end, s_start, boxes, box, view)
            if low <= end <= high:
                furthest = max(furthest, high)
        if furthest < end:
            return False
        if furthest == MAX_TICK:
            return True
        end = furthest + 1


@compiled
def covers_quadrant(r_start: int, s_start: int, first: int, boxes: Boxes) -> bool:
    """Tell whether the boxes hold for all ends from the first one on.

    If not, there is a point outside with a least r.end. One step before it a box ended, by its bound on r.end or by
    that on the difference of the ends; so only some r.ends must be tried.
    """
    if not covers_ray(r_start, first, s_start, first, boxes, LEFT_BOUNDS):
        return False
    for box in range(boxes.shape[0]):
        after = difference(s_start, boxes[box, 2])
        if first <= after < MAX_TICK and not covers_ray(r_start, after + 1, s_start, first, boxes, LEFT_BOUNDS):
            return False
        if boxes[box, 6] == MIN_TICK:
            continue
        below = shifted(first, 1 - boxes[box, 6])
        if first <= below < MAX_TICK and not covers_ray(r_start, below, s_start, first, boxes, LEFT_BOUNDS):
            return False
        for other in range(boxes.shape[0]):
            above = shifted(r_start, boxes[other, 5])
            if above == MAX_TICK:
                continue
            below = shifted(above, 2 - boxes[box, 6])
            if first <= below < MAX_TICK and not covers_ray(r_start, below, s_start, first, boxes, LEFT_BOUNDS):
                return False
    return True
