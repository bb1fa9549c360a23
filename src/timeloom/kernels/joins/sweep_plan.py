"""How a box is swept: which side is active, which endpoint of the other side fires, what is selected.

These are the rewrites of the sweeping paper, section 4, derived from the bounds instead of listed by name. A
box has four possible rewrites: the intervals are those of the left or of the right side, the points are the
starts or the ends of the other. Bounds on the point's differences become the start and the end of the
intervals; bounds on the other endpoint that do not follow from these become a selection.
"""

from math import inf
from typing import NamedTuple

from timeloom.model.box import Box

Bounds = tuple[int | None, int | None]
"""Two numbers of ticks, of which either may be missing."""


class Rewrite(NamedTuple):
    """One interval-timestamp join.

    ``starts`` and ``ends`` hold the distances from an interval's own start and own end to the first and to
    the last point that it joins with (None: that endpoint does not matter). ``selection`` bounds the
    distances of the point's other endpoint from the interval's start and from its end.
    """

    left_intervals: bool
    end_points: bool
    starts: Bounds
    ends: Bounds
    selection: tuple[Bounds, Bounds]


def rewrites(box: Box) -> tuple[Rewrite, ...]:
    """The best way to sweep a box in ticks: none if it is empty, one, or two with disjoint results.

    Two are needed for boxes such as ``intersects``, where no endpoint is bounded from both sides unless one
    knows which period starts first.
    """
    if box.tight() is None:
        return ()
    best = min(candidates(box), key=_cost)
    if _bounded(best):
        return (best,)
    halves = (box & Box(start_start=(0, None)), box & Box(start_start=(None, -1)))
    parts = [min(candidates(half), key=_cost) for half in halves if half.tight() is not None]
    return tuple(parts) if all(_bounded(part) for part in parts) else (best,)


def candidates(box: Box) -> list[Rewrite]:
    """All four rewrites of a box that is not empty."""
    return [
        _rewrite(side, left_intervals=left_intervals, end_points=end_points)
        for left_intervals, side in ((True, box), (False, box.inverse()))
        for end_points in (False, True)
    ]


def _rewrite(box: Box, *, left_intervals: bool, end_points: bool) -> Rewrite:
    tight = box.tight() or box
    probe, selected = ("end_start", "end_end"), ("start_start", "start_end")
    if not end_points:
        probe, selected = selected, probe
    given = [getattr(box, field) for field in probe]
    from_start, from_end = given
    if not any(low is not None and high is not None for low, high in given):
        from_start, from_end = (
            _tighter(getattr(tight, field), bounds) for field, bounds in zip(probe, given, strict=True)
        )
    indexed = Box(**dict(zip(probe, (from_start, from_end), strict=True)))
    return Rewrite(
        left_intervals,
        end_points,
        _latest(from_start[0], from_end[0]),
        _earliest(from_start[1], from_end[1]),
        (_not_implied(indexed, selected[0], box), _not_implied(indexed, selected[1], box)),
    )


def _tighter(tight: Bounds, given: Bounds) -> Bounds:
    """The tight bounds, or the given ones where the tight ones are out of the range of ticks."""
    return (given[0] if tight[0] is None else tight[0], given[1] if tight[1] is None else tight[1])


def _not_implied(indexed: Box, field: str, box: Box) -> Bounds:
    low, high = getattr(box, field)
    return (
        None if indexed.implies(Box(**{field: (low, None)})) else low,
        None if indexed.implies(Box(**{field: (None, high)})) else high,
    )


def _latest(from_start: int | None, from_end: int | None) -> Bounds:
    """An interval ends at least one tick after it starts, so the start may be too early to matter."""
    if from_start is not None and from_end is not None and from_start <= from_end + 1:
        return (None, from_end)
    return (from_start, from_end)


def _earliest(from_start: int | None, from_end: int | None) -> Bounds:
    if from_start is not None and from_end is not None and from_start <= from_end + 1:
        return (from_start, None)
    return (from_start, from_end)


def _bounded(rewrite: Rewrite) -> bool:
    return rewrite.starts != (None, None) and rewrite.ends != (None, None)


def _cost(rewrite: Rewrite) -> tuple[bool, bool, float, int]:
    """Intervals should start late, end early, last shortly and need little selection, in this order."""
    lasts = [
        ends - starts
        for starts, ends in zip(rewrite.starts, rewrite.ends, strict=True)
        if starts is not None and ends is not None
    ]
    selected = sum(bound is not None for bounds in rewrite.selection for bound in bounds)
    return (
        rewrite.starts == (None, None),
        rewrite.ends == (None, None),
        min(lasts, default=inf),
        selected,
    )
