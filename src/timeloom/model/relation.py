"""Relations between periods, as data: unions of boxes with a name and a definition that can be printed."""

from collections.abc import Iterable
from html import escape

from timeloom.errors import UsageError, shown
from timeloom.model.box import FREE, Box, Range, disjoint
from timeloom.model.picture import svg_picture, text_picture
from timeloom.model.ticks import Axis, Span, parse_span


class Relation:
    """A relation between a left period r and a right period s, given by inclusive bounds on endpoint differences.

    Parameters
    ----------
    start_start, start_end, end_start, end_end
        ``(lo, hi)`` bounds on ``s.start - r.start``, ``s.start - r.end``, ``s.end - r.start`` and ``s.end - r.end``.
        A bound is a number of ticks, a `timedelta`, a text such as ``"5 minutes"``, or None for unbounded.

    Combine relations with ``|`` (either; no pair twice), ``&`` (both) and ``~`` (left and right exchanged).

    Examples
    --------
    >>> soon_after = Relation(start_end=(0, 5))
    >>> soon_after.holds((1, 4), (9, 10)), soon_after.holds((1, 4), (10, 12))
    (True, False)
    >>> soon_after
    Relation(0 <= s.start - r.end <= 5)
    """

    __slots__ = ("_boxes", "_name")

    def __init__(
        self,
        *,
        start_start: "tuple[Span | str | None, Span | str | None]" = FREE,
        start_end: "tuple[Span | str | None, Span | str | None]" = FREE,
        end_start: "tuple[Span | str | None, Span | str | None]" = FREE,
        end_end: "tuple[Span | str | None, Span | str | None]" = FREE,
    ) -> None:
        given = {
            "start_start": start_start,
            "start_end": start_end,
            "end_start": end_start,
            "end_end": end_end,
        }
        self._boxes: tuple[Box, ...] = (Box(**{field: _range(field, bounds) for field, bounds in given.items()}),)
        self._name = ""

    @classmethod
    def of(cls, boxes: Iterable[Box], name: str = "") -> "Relation":
        """Make a relation from boxes; a pair is in the relation when it is in any of them."""
        relation = cls()
        relation._boxes = tuple(dict.fromkeys(boxes))
        relation._name = name
        return relation

    @property
    def name(self) -> str:
        """The name under which the relation is known, or a name made up from its parts."""
        return self._name or "custom"

    @property
    def terms(self) -> tuple[Box, ...]:
        """The boxes as they were given; they may share pairs."""
        return self._boxes

    def boxes(self, axis: Axis = Axis.INTEGER) -> tuple[Box, ...]:
        """The relation as disjoint, non-empty boxes in the ticks of this axis."""
        return disjoint(tuple(box.in_ticks(axis) for box in self._boxes))

    def holds(self, r: tuple[int, int], s: tuple[int, int]) -> bool:
        """Tell whether r is in this relation with s; both half-open, in ticks."""
        return any(box.holds(r, s) for box in self._boxes)

    def __or__(self, other: "Relation") -> "Relation":
        if not isinstance(other, Relation):
            return NotImplemented
        return Relation.of(self._boxes + other._boxes, f"{self.name} | {other.name}")

    def __and__(self, other: "Relation") -> "Relation":
        if not isinstance(other, Relation):
            return NotImplemented
        return Relation.of((a & b for a in self._boxes for b in other._boxes), f"({self.name}) & ({other.name})")

    def __invert__(self) -> "Relation":
        name = self.name[1:] if self.name.startswith("~") else f"~{self.name}"
        return Relation.of((box.inverse() for box in self._boxes), f"~({self.name})" if "|" in name else name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Relation) and set(self._boxes) == set(other._boxes)

    def __hash__(self) -> int:
        return hash(frozenset(self._boxes))

    def __repr__(self) -> str:
        label = f"{self._name}: " if self._name else ""
        return f"Relation({label}{' or '.join(_definition(box) for box in self._boxes)})"

    def __str__(self) -> str:
        """The definition, and below it two periods that are in the relation.

        >>> from timeloom.model.names import relation
        >>> print(relation("during"))
        Relation(during: s.start - r.start <= -1 and 1 <= s.end - r.end)
        left      ██████
        right  ████████████
        """
        return "\n".join(part for part in (repr(self), text_picture(self)) if part)

    def _repr_html_(self) -> str:
        return f"<div>{svg_picture(self)}<div><code>{escape(repr(self))}</code></div></div>"


_DIFFERENCES = ("s.start - r.start", "s.start - r.end", "s.end - r.start", "s.end - r.end")


def _range(option: str, bounds: object) -> Range:
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise UsageError(f"{option}={shown(bounds)} is no pair of bounds; give (lo, hi), with None for unbounded")
    lo, hi = (None if bound is None else parse_span(bound, option) for bound in bounds)
    return (lo, hi)


def _definition(box: Box) -> str:
    parts = [_bounded(name, bounds) for name, bounds in zip(_DIFFERENCES, box.ranges, strict=True) if bounds != FREE]
    return " and ".join(parts) or "always"


def _bounded(difference: str, bounds: Range) -> str:
    lo, hi = bounds
    if lo == hi:
        return f"{difference} = {lo}"
    left = "" if lo is None else f"{lo} <= "
    right = "" if hi is None else f" <= {hi}"
    return f"{left}{difference}{right}"
