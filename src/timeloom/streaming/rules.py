"""The decisions of a relation as arrays, for the streaming sweep."""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.sweep_layout import LOOKS, RULE_SIZE
from timeloom.kernels.sweep_pairs import NEVER
from timeloom.model.box import Box
from timeloom.model.ticks import MAX_TICK, MIN_TICK
from timeloom.streaming.deciding import AT_END, EVENTS, Decision, decisions, in_ticks


class Rules(NamedTuple):
    """A relation for the sweep: its decisions, and the union of its boxes for when there are several."""

    decisions: NDArray[np.int64]
    union: NDArray[np.int64]


@cache
def rules_of(boxes: tuple[Box, ...], left: str = EVENTS, right: str = EVENTS) -> Rules:
    """Prepare a union of disjoint boxes in ticks for sides that arrive in these ways."""
    decided = [_decision(decision, at_end=right == AT_END) for decision in decisions(boxes, left, right)]
    return Rules(_table(decided, RULE_SIZE), _union(boxes, _looks(boxes, (left, right))))


def _decision(decision: Decision, *, at_end: bool) -> list[int]:
    box, left, right, left_decides, right_decides = decision
    inverse = box.inverse()
    constants = [NEVER if constant is None else constant for constant in (*left, *right)]
    tight = [*_bounds(box.tight() or Box()), *_bounds(inverse.tight() or Box())]
    sides = [int(left_decides), int(right_decides)]
    return [*_bounds(box), *_bounds(inverse), *constants, *sides, *tight, _open_limit(box, at_end=at_end)]


def _union(boxes: tuple[Box, ...], looks: list[list[int]]) -> NDArray[np.int64]:
    """A row per box, or per distance at which to look; boxes that fill up the rows hold no pair."""
    rows = max(len(boxes), *(len(some) for some in looks))
    nothing = [MAX_TICK, MIN_TICK] * 8
    bounds = [[*_bounds(box), *_bounds(box.inverse())] for box in boxes] + [nothing] * (rows - len(boxes))
    columns = [some + [NEVER] * (rows - len(some)) for some in looks]
    return _table([bounds[row] + [column[row] for column in columns] for row in range(rows)], LOOKS + 4)


def _looks(boxes: tuple[Box, ...], arrivals: tuple[str, str]) -> list[list[int]]:
    """How long after the start and the end of a left and of a right row a union may become certain.

    Whatever an open pair can become that is in no box has an upper limit on one of its ends: below a box's bound
    from the other row, or so much below that of the other end. It is ruled out when that limit has passed.
    """
    looks = []
    for side, arrival in enumerate(arrivals):
        views = [in_ticks(box if side == 0 else box.inverse()) for box in boxes]
        after_start, after_end = {0}, {0}
        for _, _, (end_low, _), (apart_low, _) in views:
            if apart_low is not None:
                after_end.add(apart_low - 1)
            if end_low is not None:
                after_start.add(end_low - 1)
                after_start |= {end_low - 2 - high for *_, (_, high) in views if high is not None}
        earliest = MIN_TICK + 1 if arrival != EVENTS else 0
        looks += [sorted(look for look in some if look >= earliest) for some in (after_start, after_end)]
    return looks


def _table(rows: list[list[int]], columns: int) -> NDArray[np.int64]:
    return np.array(rows, np.int64).reshape(-1, columns)


def _bounds(box: Box) -> list[int]:
    return [
        tick
        for low, high in in_ticks(box)
        for tick in (MIN_TICK if low is None else low, MAX_TICK if high is None else high)
    ]


def _open_limit(box: Box, *, at_end: bool) -> int:
    """How long after the start of a left row that is still open a partner may still become known."""
    (_, ss_high), (se_low, _), (_, es_high), (ee_low, _) = in_ticks(box.tight() or box)
    limits = [es_high if at_end else ss_high]
    for to_start, from_end in ((ss_high, se_low), (es_high, ee_low)):
        limits.append(None if to_start is None or from_end is None else to_start - from_end)
    return min((limit for limit in limits if limit is not None), default=MAX_TICK)
