"""Whether a union of boxes holds for a pair of periods whatever comes: also where several boxes are needed for that.

While an end is open it may come at any later tick, or never; a row that arrives whole has no open end, also if it is
that it never ends. So what the pair (r.end, s.end) can become is a point, a ray or a
quadrant, and the pair is certain once the boxes cover all of that. Boxes are those of `sweep_pairs`.
"""

from timeloom.kernels.jit import compiled
from timeloom.kernels.rectangles import shifted
from timeloom.kernels.streaming.foresight import NEAR_BOUND, NEAR_TICK
from timeloom.kernels.streaming.gapless import Cells
from timeloom.kernels.streaming.layout import LATE, LEFT_BOUNDS, LOOKS, RIGHT_BOUNDS, WHOLE
from timeloom.kernels.streaming.pairs import NEVER, Boxes, difference, ends_in_box, holds
from timeloom.model.ticks import MAX_TICK, MIN_TICK


@compiled
def newly_certain(
    r_start: int,
    r_end: int,
    s_start: int,
    s_end: int,
    time: int,
    before: int,
    silently: bool,
    union: Boxes,
    state: Cells,
) -> bool:
    """Tell whether a pair is certain at this instant, and was not at the one before.

    If it may have become so silently, it is asked what it was when it was looked at.
    """
    if not certain(r_start, r_end, s_start, s_end, time, union, state):
        return False
    if not certain(r_start, r_end, s_start, s_end, before, union, state):
        return True
    if not silently:
        return False
    looked = max(last_look(0, r_start, r_end, before, union, state), last_look(1, s_start, s_end, before, union, state))
    return not certain(r_start, r_end, s_start, s_end, looked, union, state)


@compiled
def comes_silently(instant: int, union: Boxes) -> bool:
    """Tell whether pairs may have become certain by this instant although no row looked for partners.

    Just before the end of the axis an open row can only end there, or little before; no look is planned for that.
    """
    if instant >= NEAR_TICK:
        return True
    for box in range(union.shape[0]):
        for bound in union[box, :LOOKS]:
            if bound != MIN_TICK and bound != MAX_TICK and abs(bound) > NEAR_BOUND:
                return True
    return False


@compiled
def last_look(side: int, start: int, end: int, before: int, union: Boxes, state: Cells) -> int:
    """The last instant up to the one before at which a row that was known then has looked for partners."""
    last = end if state[LATE + side] or (end <= before and not state[WHOLE + side]) else start
    for at in range(union.shape[0]):
        after_start, after_end = union[at, LOOKS + 2 * side], union[at, LOOKS + 2 * side + 1]
        if after_start != NEVER and shifted(start, after_start) <= before:
            last = max(last, shifted(start, after_start))
        if after_end != NEVER and end < MAX_TICK and shifted(end, after_end) <= before:
            last = max(last, shifted(end, after_end))
    return last


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
        if first <= below and not covers_ray(r_start, below, s_start, first, boxes, LEFT_BOUNDS):
            return False
        for other in range(boxes.shape[0]):
            above = shifted(r_start, boxes[other, 5])
            if above == MAX_TICK:
                continue
            below = shifted(above, 2 - boxes[box, 6])
            if first <= below and not covers_ray(r_start, below, s_start, first, boxes, LEFT_BOUNDS):
                return False
    return True
