"""Boxes: bounds on the four differences between the endpoints of two periods.

With r on the left and s on the right, a box bounds ``s.start - r.start``, ``s.start - r.end``, ``s.end - r.start`` and
``s.end - r.end``. Fix r, and what remains is a rectangle over the points (s.start, s.end). The bounds are difference
constraints, so shortest paths over the four endpoints tell which boxes are empty and which bounds follow from others.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from functools import lru_cache
from math import inf

from timeloom.errors import UsageError
from timeloom.model.ticks import MAX_TICK, Axis, Span, ticks_of

Range = tuple[Span | None, Span | None]
"""Inclusive bounds; None leaves that side open."""

FREE: Range = (None, None)
R_START, R_END, S_START, S_END = range(4)


@dataclass(frozen=True)
class Box:
    """Inclusive bounds on the four endpoint differences. Both periods are taken to be non-empty."""

    start_start: Range = FREE
    start_end: Range = FREE
    end_start: Range = FREE
    end_end: Range = FREE

    @property
    def ranges(self) -> tuple[Range, Range, Range, Range]:
        """The four ranges, in the order of the fields."""
        return (self.start_start, self.start_end, self.end_start, self.end_end)

    def holds(self, r: tuple[int, int], s: tuple[int, int]) -> bool:
        """Tell whether the pair of periods satisfies every bound. Spans must be ticks."""
        differences = (s[0] - r[0], s[0] - r[1], s[1] - r[0], s[1] - r[1])
        return all(
            (lo is None or difference >= lo) and (hi is None or difference <= hi)  # type: ignore[operator]
            for difference, (lo, hi) in zip(differences, self.ranges, strict=True)
        )

    def inverse(self) -> "Box":
        """The same condition with left and right exchanged."""
        return Box(
            start_start=_negated(self.start_start),
            start_end=_negated(self.end_start),
            end_start=_negated(self.start_end),
            end_end=_negated(self.end_end),
        )

    def __and__(self, other: "Box") -> "Box":
        return Box(*(_narrowed(a, b) for a, b in zip(self.ranges, other.ranges, strict=True)))

    def in_ticks(self, axis: Axis) -> "Box":
        """Replace durations by the ticks of this axis."""
        return Box(*((_ticks(lo, axis), _ticks(hi, axis)) for lo, hi in self.ranges))

    def tight(self) -> "Box | None":
        """The same box with every bound as narrow as the others imply, or None when no pair can satisfy it."""
        return _tight(self)

    def implies(self, other: "Box") -> bool:
        """Tell whether every pair in this box is in the other one, too."""
        return next(self.minus(other), None) is None

    def minus(self, other: "Box") -> Iterator["Box"]:
        """Yield disjoint boxes that together hold the pairs in this box but not in the other."""
        rest = self
        for field, (lo, hi) in zip(_FIELDS, other.ranges, strict=True):
            if lo is not None:
                yield from _feasible(rest & replace(Box(), **{field: (None, _shifted(lo, -1))}))
                rest = rest & replace(Box(), **{field: (lo, None)})
            if hi is not None:
                yield from _feasible(rest & replace(Box(), **{field: (_shifted(hi, 1), None)}))
                rest = rest & replace(Box(), **{field: (None, hi)})

    def distances(self) -> list[list[float]]:
        """Shortest paths: entry [a][b] bounds x_b - x_a from above."""
        reach: list[list[float]] = [[0 if a == b else inf for b in range(4)] for a in range(4)]
        reach[R_END][R_START] = reach[S_END][S_START] = -1
        for (r, s), (lo, hi) in zip(_CORNERS, self.ranges, strict=True):
            if isinstance(lo, timedelta) or isinstance(hi, timedelta):
                raise UsageError(
                    "a relation with durations has no bounds in ticks before it meets a column; use in_ticks"
                )
            reach[r][s] = inf if hi is None else hi
            reach[s][r] = inf if lo is None else -lo
        for via in range(4):
            for a in range(4):
                for b in range(4):
                    reach[a][b] = min(reach[a][b], reach[a][via] + reach[via][b])
        return reach


_CORNERS = ((R_START, S_START), (R_END, S_START), (R_START, S_END), (R_END, S_END))
_FIELDS = tuple(field.name for field in fields(Box))


@lru_cache(maxsize=1024)
def _tight(box: Box) -> Box | None:
    """Kept, since every call of a verb asks it of the few boxes of its relation, some forty times."""
    reach = box.distances()
    if any(reach[point][point] < 0 for point in range(4)):
        return None
    return Box(*((_finite(-reach[s][r]), _finite(reach[r][s])) for r, s in _CORNERS))


def disjoint(boxes: tuple[Box, ...]) -> tuple[Box, ...]:
    """Rewrite a union of boxes in ticks so that no pair is in two of them; empty boxes vanish."""
    result: list[Box] = []
    for box in boxes:
        pieces = [box]
        for taken in result:
            pieces = [rest for piece in pieces for rest in piece.minus(taken)]
        result.extend(piece for piece in pieces if piece.tight() is not None)
    return tuple(result)


def _feasible(box: Box) -> Iterator[Box]:
    if box.tight() is not None:
        yield box


def _finite(bound: float) -> int | None:
    return None if abs(bound) >= MAX_TICK else int(bound)


def _ticks(span: Span | None, axis: Axis) -> int | None:
    return None if span is None else _finite(ticks_of(span, axis))


def _shifted(span: Span, by: int) -> int:
    if isinstance(span, timedelta):
        raise UsageError("a relation with durations cannot be subtracted before it meets a column; use in_ticks")
    return span + by


def _negated(bounds: Range) -> Range:
    lo, hi = bounds
    return (None if hi is None else -hi, None if lo is None else -lo)


def _narrowed(a: Range, b: Range) -> Range:
    lows = [lo for lo in (a[0], b[0]) if lo is not None]
    highs = [hi for hi in (a[1], b[1]) if hi is not None]
    return (_furthest(lows, largest=True), _furthest(highs, largest=False))


def _furthest(spans: list[Span], *, largest: bool) -> Span | None:
    """The strictest of the bounds. A duration is at least one tick, so it compares with -1, 0 and 1 on any axis."""
    if len(spans) < 2:
        return spans[0] if spans else None
    if all(isinstance(span, int) for span in spans) or all(isinstance(span, timedelta) for span in spans):
        return max(spans) if largest else min(spans)
    ticks = next(span for span in spans if isinstance(span, int))
    duration = next(span for span in spans if isinstance(span, timedelta))
    if abs(ticks) > 1:
        raise UsageError(f"cannot compare {ticks} ticks with the duration {duration}; give both in the same form")
    sign = (duration > timedelta(0)) - (duration < timedelta(0))
    duration_is_larger = sign > ticks or (sign == ticks and sign > 0)
    return duration if duration_is_larger == largest else ticks
