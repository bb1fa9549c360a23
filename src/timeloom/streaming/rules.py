"""The decisions of a relation as arrays, for the streaming sweep."""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.streaming.direct_sweep import ANY, BEFORE_END, NOT_AT_ALL, SAME_END, SAME_START, UNSEEN
from timeloom.kernels.streaming.direct_sweep import AT_END as AT_END_POINT
from timeloom.kernels.streaming.direct_sweep import AT_START as AT_START_POINT
from timeloom.kernels.streaming.foresight import NEAR_BOUND
from timeloom.kernels.streaming.gapless import END, START
from timeloom.kernels.streaming.layout import DECIDES, LEFT_BOUNDS, LEFT_READY, LOOKS, RULE_SIZE, TIGHT
from timeloom.kernels.streaming.pairs import NEVER
from timeloom.model.box import Box
from timeloom.model.ticks import MAX_TICK, MIN_TICK
from timeloom.streaming.deciding import AT_END, AT_START, EVENTS, Decision, decisions, in_ticks


class Rules(NamedTuple):
    """A relation for the sweep: its decisions, and the union of its boxes, empty where one decision says all."""

    decisions: NDArray[np.int64]
    union: NDArray[np.int64]


class Directly(NamedTuple):
    """At which of their own endpoints the rows of each side look for partners, and leave; what partners share."""

    fires: tuple[int, int]
    leaves: tuple[int, int]
    same: int


@cache
def rules_of(boxes: tuple[Box, ...], left: str = EVENTS, right: str = EVENTS) -> Rules:
    """Prepare a union of disjoint boxes in ticks for sides that arrive in these ways.

    Where a row that is known to last for ever meets one whose end is awaited, a bound on the distance of their ends is
    certain at once or at the very end, which no decision of one box says; looking at the union does.
    """
    at_end = (left == AT_END, right == AT_END)
    decided = [_decision(decision, at_end) for decision in decisions(boxes, left, right)]
    union = _table([], LOOKS + 4)
    if len(decided) != 1 or {left, right} == {EVENTS, AT_START}:
        union = _union(boxes, _looks(boxes, (left, right)))
    return Rules(_table(decided, RULE_SIZE), union)


def _decision(decision: Decision, at_end: tuple[bool, bool]) -> list[int]:
    box, left, right, left_decides, right_decides = decision
    inverse = box.inverse()
    constants = [NEVER if constant is None else constant for constant in (*left, *right)]
    tight = [*_bounds(box.tight() or Box()), *_bounds(inverse.tight() or Box())]
    sides = [int(left_decides), int(right_decides)]
    limits = [_open_limit(box, at_end=at_end[1]), _open_limit(inverse, at_end=at_end[0])]
    return [*_bounds(box), *_bounds(inverse), *constants, *sides, *tight, *limits]


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
    """How long after the start of a row that is still open a partner may still become known, at its start or end."""
    (_, ss_high), (se_low, _), (_, es_high), (ee_low, _) = in_ticks(box.tight() or box)
    limits = [es_high if at_end else ss_high]
    for to_start, from_end in ((ss_high, se_low), (es_high, ee_low)):
        limits.append(None if to_start is None or from_end is None else to_start - from_end)
    return min((limit for limit in limits if limit is not None), default=MAX_TICK)


def alike(rules: Rules) -> int:
    """Which endpoint partners share, up to a constant for starts: ``START``, ``END`` or, if neither, 0."""
    if not len(rules.decisions):
        return 0
    tight = rules.decisions[:, TIGHT : TIGHT + 8]
    for by, low, distance in ((START, 0, tight[0, 0]), (END, 6, np.int64(0))):
        if bool((tight[:, [low, low + 1]] == distance).all()):
            return by
    return 0


def is_near(rules: Rules) -> bool:
    """Tell whether there is one decision, whose bounds added to ticks far from the ends of the axis stay on it."""
    bounds = rules.decisions[(rules.decisions != MIN_TICK) & (rules.decisions != MAX_TICK)]
    return len(rules.decisions) == 1 and bool((np.abs(bounds) <= NEAR_BOUND).all())


def directly(rules: Rules) -> Directly | None:
    """How to sweep for one decision without a plan, if that is possible."""
    rule = rules.decisions[0].tolist()
    fires, leaves = zip(*((_fires(rule, side), _leaves(rule, side)) for side in (0, 1)), strict=True)
    return None if None in fires or None in leaves else Directly(fires, leaves, _same(rule, leaves))


def _same(rule: list[int], leaves: tuple[int, int]) -> int:
    """What partners have in common; rows that end now are all there only if rows stay until then."""
    start_low, start_high, *_, end_low, end_high = rule[LEFT_BOUNDS : LEFT_BOUNDS + 8]
    if end_low == end_high == 0 and set(leaves) <= {AT_END_POINT, UNSEEN}:
        return SAME_END
    return SAME_START if start_low == start_high else ANY


def _fires(rule: list[int], side: int) -> int | None:
    """The endpoint at which a row looks for partners, or None if it is later than either."""
    after_start, after_end = rule[LEFT_READY + 2 * side : LEFT_READY + 2 * side + 2]
    if not rule[DECIDES + side]:
        return NOT_AT_ALL
    if after_end == NEVER:
        return AT_START_POINT if after_start <= 0 else None
    return AT_END_POINT if after_end == 0 and after_start <= 1 else None


def _leaves(rule: list[int], side: int) -> int | None:
    """The endpoint at which a row can match no more, or None if that is planned; a row ends after its start."""
    if not rule[DECIDES + 1 - side]:
        return UNSEEN
    first, own, other = TIGHT + 8 * side, LEFT_READY + 2 * side, LEFT_READY + 2 * (1 - side)
    _, start_start, _, start_end, _, end_start, _, end_end = rule[first : first + 8]
    after_start, after_end = max(rule[other], 0), rule[other + 1]
    open_ones, ended = [start_start + after_start], [min(start_start - 1, start_end) + after_start]
    if after_end != NEVER:
        open_ones.append(end_start + after_end)
        ended.append(min(end_start - 1, end_end) + after_end)
    waits_for_end = rule[DECIDES + side] and rule[own + 1] != NEVER
    if max(open_ones) <= 0 and not waits_for_end:
        return AT_START_POINT
    if max(open_ones) < MAX_TICK and not waits_for_end:
        return None
    if max(ended) <= 0:
        return BEFORE_END if max(ended) < 0 else AT_END_POINT
    return NOT_AT_ALL if {start_start, start_end, end_start, end_end} == {MAX_TICK} else None
