"""When a statement of a paper holds: one rule for every figure, by the kind of statement.

Measured is a ratio, above 1 if it goes the way that the paper says. A factor that is exceeded holds, too: papers claim
to be so far ahead, they do not foretell another machine.

=========  ======================================  ============  ====================
kind       the paper says                          holds         goes the same way
=========  ======================================  ============  ====================
factor     "ten times as fast"                     0.8 of it     from 1 on
more       "faster", "slower", "smaller"           from 1 on     level: from 1 / 1.5
much       "many times", "far", "huge", "peaks"    from 3 on     from 1 on
grows      "grows", "drops"                        from 1.2 on   from 1.05 on
near       "about", "close", "slightly"            up to 1.5     up to 5
about      a number of the data                    within 1.5    within 5
conceded   a rival is ahead of the paper's own     from 1 on     (below 1: better)
little     a part of its own method gains little   up to 1.5     (above: better)
=========  ======================================  ============  ====================

What is near another cost may be below it. The last two kinds are limits that a paper sets to its own method: where ours
is ahead of a rival that was to be ahead of it, or gains more than it was to, the statement counts as one that holds,
and the reason tells it: "better than stated". A part that loses by more than 1.5 goes against what is said of it.
"""

from typing import Literal

Grade = Literal["yes", "better", "partly", "no", "aside"]
Kind = Literal["factor", "more", "much", "grows", "near", "about", "conceded", "little"]

HOLDING: tuple[Grade, ...] = ("yes", "better")
SHARE, LEVEL, MUCH, GROWS, WIDE = 0.8, 1.5, 3.0, 1.2, 5.0
LIMITS: dict[str, tuple[float, float]] = {
    "more": (1.0, 1 / LEVEL),
    "much": (MUCH, 1.0),
    "grows": (GROWS, 1.05),
    "little": (1.0, 1 / LEVEL),
}
STEP = 0.25
"""So far may an exponent of growth be from the one that is stated."""


def grade_of(kind: Kind, ratio: float, stated: float = 1.0) -> Grade:
    """What is to be said of a statement; ``stated`` is the paper's number, of a factor or of data."""
    if kind == "conceded":
        return "yes" if ratio >= 1 else "better"
    if kind == "little" and ratio > 1 / LEVEL:
        return "yes" if ratio <= LEVEL else "better"
    if kind in ("near", "about"):
        off = max(ratio / stated, stated / ratio) if kind == "about" else ratio
        return "yes" if off <= LEVEL else "partly" if off <= WIDE else "no"
    holds, same_way = (SHARE * stated, 1.0) if kind == "factor" else LIMITS[kind]
    return "yes" if ratio >= holds else "partly" if ratio >= same_way else "no"


def grade_of_growth(exponent: float, least: float, most: float) -> Grade:
    """Of a cost that grows as n to some power: whether the exponent lies where the paper says."""
    off = max(least - exponent, exponent - most)
    return "yes" if off <= STEP else "partly" if off <= 2 * STEP else "no"
