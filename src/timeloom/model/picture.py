"""A relation as a picture: two bars that are in it."""

from html import escape
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from timeloom.model.relation import Relation

SPAN = 30
LEFT = (12, 18)
"""The axis of a picture, and where the left bar lies on it."""

Bars = tuple[tuple[int, int], tuple[int, int]]


def example(relation: "Relation") -> Bars | None:
    """A pair in the relation, with as few shared endpoints as it allows, and near each other; None if none fits."""
    found = []
    if all(isinstance(bound, int | None) for box in relation.terms for bounds in box.ranges for bound in bounds):
        pairs = product(range(SPAN), range(1, SPAN + 1))
        found = [right for right in pairs if right[0] < right[1] and relation.holds(LEFT, right)]
    if not found:
        return None
    return LEFT, min(found, key=_awkwardness)


def _awkwardness(right: tuple[int, int]) -> tuple[int, int]:
    """Few ends in common come first, then ends far enough apart for the eye, near each other, and equal lengths."""
    shared = 4 - len({*LEFT, *right})
    near = [min(abs(end - other) for other in LEFT) for end in right]
    return shared, sum(2 * min(3, abs(distance - 3)) for distance in near if distance) + abs(right[1] - right[0] - 6)


def text_picture(relation: "Relation") -> str:
    """Two lines of text, or nothing."""
    bars = example(relation)
    if bars is None:
        return ""
    first = min(start for start, _ in bars)
    lines = [f"{name:<6} {' ' * (start - first)}{'█' * (end - start)}" for name, (start, end) in _named(bars)]
    return "\n".join(lines)


def svg_picture(relation: "Relation") -> str:
    """A small SVG image, or nothing."""
    bars = example(relation)
    if bars is None:
        return ""
    colours = {"left": "#3b6fb6", "right": "#d95f02"}
    drawn = "".join(
        f'<text x="0" y="{row * 18 + 12}" font-size="11" fill="currentColor">{name}</text>'
        f'<rect x="{40 + start * 8}" y="{row * 18 + 2}" width="{(end - start) * 8}" height="12" rx="2" '
        f'fill="{colours[name]}"/>'
        for row, (name, (start, end)) in enumerate(_named(bars))
    )
    title = escape(relation.name)
    return f'<svg width="{40 + SPAN * 8}" height="36" role="img" aria-label="{title}">{drawn}</svg>'


def _named(bars: Bars) -> list[tuple[str, tuple[int, int]]]:
    return [("left", bars[0]), ("right", bars[1])]
