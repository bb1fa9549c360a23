"""How a relation is cut for distribution: every pair belongs to the one time slice that holds its deciding point.

A relation's box, or each half of it, is driven from one side over one endpoint of the other. The driven row is a point
and has exactly one home slice; the driving row is an interval of ticks and visits each slice that it touches. A pair is
found in the home slice of its driven row and nowhere else, so nothing is left to remove.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from timeloom.engines.drivers import Driver, drivers, exact_pieces
from timeloom.model.box import Box

POINT, WINDOW, DURATION, UNBOUNDED = range(4)
"""How far a driving row reaches: to one tick, over a span of the relation's, over its own length, without end."""


@dataclass(frozen=True)
class Piece:
    """A box (r on the left), and how it is driven."""

    box: Box
    driver: Driver

    @property
    def driven(self) -> str:
        """The side whose rows are points."""
        return "left" if self.driver.flip else "right"

    @property
    def driving(self) -> str:
        """The side whose rows are intervals."""
        return "right" if self.driver.flip else "left"


def cover(boxes: Sequence[Box]) -> tuple[Piece, ...]:
    """Cut disjoint boxes into pieces, so that driving rows reach as little as possible."""
    found = []
    for box in boxes:
        ways = [[driver] for driver in drivers(box)]
        halves = exact_pieces(box)
        if halves is not None:
            ways.append(halves)
        best = min(ways, key=lambda way: (max(spread(driver) for driver in way), len(way)))
        found += [Piece(driver.box.inverse() if driver.flip else driver.box, driver) for driver in best]
    return tuple(found)


def spread(driver: Driver) -> int:
    """How far a driving row reaches, by the bounds of the relation alone."""
    if any(lo is not None and lo == hi for lo, hi in driver.point):
        return POINT
    if any(lo is not None and hi is not None for lo, hi in driver.point):
        return WINDOW
    return DURATION if driver.bounded else UNBOUNDED
