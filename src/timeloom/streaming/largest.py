"""The largest boxes inside a union of boxes, as far as they can be certain early.

A union may be certain where none of its boxes is. So each cell of the union is grown, bound by bound, as far
as the union reaches; first the bounds that keep a stream waiting for an end. What is left covers the union,
and nearly every pair lies in a box that is certain as early as the union is.
"""

from collections.abc import Iterator
from itertools import pairwise

from timeloom.model.box import Box

FIELDS = ("start_start", "start_end", "end_start", "end_end")
Bound = tuple[str, int]

S_WAITS: tuple[Bound, ...] = (("end_start", 1), ("end_end", 1))
"""Upper bounds on s.end: an open s cannot satisfy them for certain."""

R_WAITS: tuple[Bound, ...] = (("start_end", 0), ("end_end", 0))
STARTS: tuple[Bound, ...] = (("start_start", 0), ("start_start", 1))
LASTING: tuple[Bound, ...] = (("start_end", 1), ("end_start", 0))

ORDERS: tuple[tuple[Bound, ...], ...] = (
    (*S_WAITS, *R_WAITS, *STARTS, *LASTING),
    (*S_WAITS, *STARTS, *LASTING, *R_WAITS),
    (*R_WAITS, *STARTS, *LASTING, *S_WAITS),
    (*STARTS, *LASTING, *S_WAITS, *R_WAITS),
    (*S_WAITS, *R_WAITS, *LASTING, *STARTS),
)


def largest_boxes(boxes: tuple[Box, ...]) -> tuple[Box, ...]:
    """Cover a union of disjoint boxes in ticks by the largest boxes that it holds."""
    if len(boxes) < 2:
        return boxes
    found: list[Box] = []
    for order in ORDERS:
        grown: list[Box] = []
        for cell in _cells(boxes):
            if not any(cell.implies(box) for box in grown):
                grown.append(_grow(cell, order, boxes))
        found += [box for box in grown if box not in found]
    return tuple(found)


def covered(box: Box, boxes: tuple[Box, ...]) -> bool:
    """Tell whether every pair of a box is in the union."""
    pieces = [box]
    for other in boxes:
        pieces = [rest for piece in pieces for rest in piece.minus(other)]
    return not pieces


def _values(boxes: tuple[Box, ...], field: str) -> list[int]:
    """Where a bound of this field may lie: at the bounds of the boxes, given or implied, and next to them."""
    found: set[int] = set()
    for box in boxes:
        for shape in (box, box.tight() or box):
            for bound in getattr(shape, field):
                if bound is not None:
                    found |= {bound - 1, bound, bound + 1}
    return sorted(found)


def _cells(boxes: tuple[Box, ...]) -> Iterator[Box]:
    """Cut every box at the bounds of all others, but for the difference of the ends."""
    for box in boxes:
        cells = [box]
        for field in FIELDS[:3]:
            cuts = sorted({cut for other in boxes for cut in _cuts(getattr(other, field))})
            edges = [None, *cuts, None]
            cells = [
                part
                for cell in cells
                for low, high in pairwise(edges)
                if (part := cell & Box(**{field: (low, None if high is None else high - 1)})).tight()
            ]
        yield from cells


def _cuts(bounds: tuple[int | None, int | None]) -> Iterator[int]:
    low, high = bounds
    if low is not None:
        yield low
    if high is not None:
        yield high + 1


def _grow(box: Box, order: tuple[Bound, ...], boxes: tuple[Box, ...]) -> Box:
    for field, side in order:
        values = _values(boxes, field)
        bound = getattr(box, field)[side]
        if bound is None:
            continue
        further = [value for value in values if (value < bound if side == 0 else value > bound)]
        for value in (None, *(further if side == 0 else reversed(further))):
            wider = _with_bound(box, field, side, value)
            if covered(wider, boxes):
                box = wider
                break
    return box


def _with_bound(box: Box, field: str, side: int, value: int | None) -> Box:
    changed = dict(zip(FIELDS, box.ranges, strict=True))
    low, high = changed[field]
    changed[field] = (value, high) if side == 0 else (low, value)
    return Box(**changed)
