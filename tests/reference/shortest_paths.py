"""When an answer is certain, without trying futures: bounds on differences are met if no cycle of them is negative.

What is known of four endpoints at an instant, and the bounds of a relation, say that one point is at most so much later
than another. By shortest paths such bounds can be met or not, on the whole axis: so this tells whether the futures that
`certainty` tries are enough.
"""

from collections.abc import Iterable, Sequence

from reference.certainty import NEVER, Arrivals, Span, known_from

Bounds = Sequence[tuple[int | None, int | None]]
"""Of s.start - r.start, s.start - r.end, s.end - r.start and s.end - r.end, inclusive."""
Edge = tuple[int, int, int]
"""Two points, and how much later the second one is at most."""

R_START, R_END, S_START, S_END, ZERO = range(5)
CORNERS = ((R_START, S_START), (R_END, S_START), (R_START, S_END), (R_END, S_END))
PERIODS = [(R_END, R_START, -1), (S_END, S_START, -1)]
AXIS = [edge for point in range(4) for edge in ((ZERO, point, NEVER), (point, ZERO, NEVER + 1))]


def can_be_met(edges: Iterable[Edge]) -> bool:
    """Whether points can lie so, by the algorithm of Bellman and Ford."""
    edges, lies = [*edges, *PERIODS, *AXIS], [0] * 5
    for _ in range(5):
        before = list(lies)
        for first, second, most in edges:
            lies[second] = min(lies[second], lies[first] + most)
        if lies == before:
            return True
    return False


def edges_of(bounds: Bounds) -> list[Edge]:
    """The bounds of one part of a relation."""
    lows = [(s, r, -low) for (r, s), (low, _) in zip(CORNERS, bounds, strict=True) if low is not None]
    return lows + [(r, s, high) for (r, s), (_, high) in zip(CORNERS, bounds, strict=True) if high is not None]


def known_of(period: Span, points: tuple[int, int], instant: int, arrival: str) -> list[Edge]:
    """What is known of a period that is known at an instant: its endpoints, or that it ends later."""
    (start, end), (first, last) = period, points
    starts = [(ZERO, first, start), (first, ZERO, -start)]
    if end <= instant or arrival != "events":
        return [*starts, (ZERO, last, end), (last, ZERO, -end)]
    return [*starts, (last, ZERO, -instant - 1)]


def may_match(parts: Sequence[Bounds], r: Span, others: Sequence[Span], instant: int, arrivals: Arrivals) -> bool:
    """Whether in any future r has a partner among the others or among periods yet to become known."""
    partners = [
        known_of(s, (S_START, S_END), instant, arrivals[1]) for s in others if known_from(s, arrivals[1]) <= instant
    ]
    partners.append([(S_END if arrivals[1] == "end" else S_START, ZERO, -instant - 1)])
    known = known_of(r, (R_START, R_END), instant, arrivals[0])
    return any(can_be_met([*known, *partner, *edges_of(part)]) for partner in partners for part in parts)


def is_certain(parts: Sequence[Bounds], r: Span, s: Span, instant: int, arrivals: Arrivals) -> bool:
    """Whether a pair is in the relation in every future: in none it breaks a bound of each part."""
    known = known_of(r, (R_START, R_END), instant, arrivals[0]) + known_of(s, (S_START, S_END), instant, arrivals[1])
    escapes = [known]
    for part in parts:
        broken = [(second, first, -most - 1) for first, second, most in edges_of(part)]
        escapes = [[*escape, edge] for escape in escapes for edge in broken if can_be_met([*escape, edge])]
    return not escapes
