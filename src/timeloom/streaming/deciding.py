"""When a pair is certain: the deciding endpoint of each part of a relation.

While time passes, a stream knows the starts that have come and the ends that have come; a period that is
still open may end at any later tick, or never. A pair is *certain* once it is in the relation for every way
in which the future can go on. For one box each bound is certain at an instant of its own, and the pair at the
last of these:

======================  =========================================  ================================
bound                   certain                                    because
======================  =========================================  ================================
``s.start - r.start``   when both have started                     both are known
``s.start - r.end >=``  at r.end                                   an open r may end too late
``s.start - r.end <=``  at s.start + (-bound - 1)                  an open r ends later than now
``s.end - r.start <=``  at s.end                                   an open s may end too late
``s.end - r.start >=``  at r.start + (bound - 1)                   an open s ends later than now
``s.end - r.end >=``    at r.end, and r.end + (bound - 1)          r must be known, s may be open
``s.end - r.end <=``    at s.end, and s.end + (-bound - 1)         s must be known, r may be open
======================  =========================================  ================================

So the deciding instant is ``max(V(r), V(s))``, where V depends on one row alone: the later of its start and
its end, each moved by a constant, or of its start only. A union may be certain before any of its boxes is
(``starts | equals | started_by`` is certain at the common start). Its pairs are found by looking at it as a whole; how
long its rows must be kept follows from the largest boxes that it holds.
"""

from typing import NamedTuple

from timeloom.model.box import Box
from timeloom.streaming.largest import largest_boxes

Constants = tuple[int | None, int | None]
"""How much later than its start and than its end a row is ready; None where that endpoint does not matter."""

EVENTS, AT_START, AT_END = "events", "start", "end"
ARRIVALS = (EVENTS, AT_START, AT_END)
"""How a side arrives: as separate endpoints, or as whole rows that are known at their start or at their end."""

R_START, R_END, S_START, S_END = range(4)


class Decision(NamedTuple):
    """A box, the constants after which its left and right rows are ready, and which side may be ready last."""

    box: Box
    left: Constants
    right: Constants
    left_decides: bool
    right_decides: bool

    def describe(self) -> str:
        """The deciding endpoint in words."""
        names = []
        if self.left_decides:
            names += _words("r", self.left)
        if self.right_decides:
            names += _words("s", self.right)
        return " or ".join(dict.fromkeys(names)) + (", the later one" if len(names) > 1 else "")


def decide(box: Box, left: str = EVENTS, right: str = EVENTS) -> Decision:
    """Derive the deciding endpoints of one box in ticks, for sides that arrive in these ways."""
    _, (se_low, se_high), (es_low, es_high), (ee_low, ee_high) = in_ticks(box)
    left_terms = _ready(
        left,
        own_end_needed=se_low is not None or ee_low is not None,
        outlives_start=es_low if right == EVENTS else None,
        outlives_end=ee_low if right == EVENTS else None,
    )
    right_terms = _ready(
        right,
        own_end_needed=es_high is not None or ee_high is not None,
        outlives_start=None if se_high is None or left != EVENTS else -se_high,
        outlives_end=None if ee_high is None or left != EVENTS else -ee_high,
    )
    left_last = _never_later(right_terms, (S_START, S_END), left_terms, (R_START, R_END), box)
    right_last = _never_later(left_terms, (R_START, R_END), right_terms, (S_START, S_END), box)
    return Decision(box, left_terms, right_terms, not right_last or left_last, not left_last)


def decisions(boxes: tuple[Box, ...], left: str = EVENTS, right: str = EVENTS) -> tuple[Decision, ...]:
    """The decisions of a union of disjoint boxes; a pair is certain at the latest when the first of them says so."""
    every = [decide(box, left, right) for box in largest_boxes(boxes)]
    kept: list[Decision] = []
    for at, decision in enumerate(every):
        rivals = kept + every[at + 1 :]
        if not any(_covers(rival, decision) for rival in rivals):
            kept.append(decision)
    return tuple(kept)


def _covers(rival: Decision, decision: Decision) -> bool:
    """Tell whether the rival decides all pairs of a decision, and none of them later."""
    if not decision.box.implies(rival.box):
        return False
    terms = ((R_START, decision.left[0]), (R_END, decision.left[1]), (S_START, decision.right[0]))
    known = [(end, constant) for end, constant in (*terms, (S_END, decision.right[1])) if constant is not None]
    return all(
        constant is None or any(_at_most(endpoint, against, other - constant, decision.box) for against, other in known)
        for endpoint, constant in zip(range(4), (*rival.left, *rival.right), strict=True)
    )


def _ready(arrival: str, *, own_end_needed: bool, outlives_start: int | None, outlives_end: int | None) -> Constants:
    """When a row is ready: it is known, and an open partner has lasted long enough to outlive its endpoints."""
    after_start = 0 if outlives_start is None else max(0, outlives_start - 1)
    if arrival == AT_START:
        return after_start, None if outlives_end is None else outlives_end - 1
    after_end = None if outlives_end is None else max(0, outlives_end - 1)
    if own_end_needed or arrival == AT_END:
        after_end = after_end or 0
    return after_start, after_end


def _never_later(these: Constants, ends: tuple[int, int], those: Constants, others: tuple[int, int], box: Box) -> bool:
    """Tell whether in this box one side is never ready later than the other."""
    return all(
        constant is None
        or any(
            other is not None and _at_most(endpoint, against, other - constant, box)
            for against, other in zip(others, those, strict=True)
        )
        for endpoint, constant in zip(ends, these, strict=True)
    )


def _at_most(endpoint: int, against: int, limit: int, box: Box) -> bool:
    """Tell whether ``endpoint - against <= limit`` for all pairs of the box."""
    if endpoint == against:
        return limit >= 0
    if endpoint // 2 == against // 2:
        return endpoint < against and limit >= -1
    corners = ((S_START, R_START), (S_START, R_END), (S_END, R_START), (S_END, R_END))
    ranges = dict(zip(corners, in_ticks(box.tight() or box), strict=True))
    if (endpoint, against) in ranges:
        high = ranges[endpoint, against][1]
        return high is not None and high <= limit
    low = ranges[against, endpoint][0]
    return low is not None and -low <= limit


def in_ticks(box: Box) -> tuple[tuple[int | None, int | None], ...]:
    """The ranges of a box whose spans are ticks."""
    return box.ranges  # type: ignore[return-value]


def _words(row: str, constants: Constants) -> list[str]:
    names = []
    after_start, after_end = constants
    if after_end is not None:
        names.append(_moved(f"{row}.end", after_end))
    if after_start is not None and (after_end is None or after_start > after_end + 1):
        names.append(_moved(f"{row}.start", after_start))
    return names


def _moved(name: str, ticks: int) -> str:
    return name if not ticks else f"{name} {'+' if ticks > 0 else '-'} {abs(ticks)}"
