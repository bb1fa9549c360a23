"""How a relation is cut for distribution: every pair belongs to the one time slice that holds its deciding point.

One side of a relation's box, or of each half of it, probes one endpoint of the other. The indexed row is a point and
lies in exactly one slice; the probe row is an interval of ticks and visits each slice that it touches. A pair is
found in the slice of its indexed row and nowhere else, so nothing is left to remove.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from timeloom.engines.joins.drivers import Driver, drivers, exact_pieces
from timeloom.engines.spark.slicing.boundaries import COPIES
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.model.box import Box

POINT, WINDOW, DURATION, UNBOUNDED = range(4)
"""How far a probe row reaches: to one tick, over a span of the relation's, over its own length, without end."""


@dataclass(frozen=True)
class JoinPart:
    """A box (r on the left), and which side probes which endpoint."""

    box: Box
    driver: Driver

    @property
    def indexed_side(self) -> str:
        """The side whose rows are points."""
        return "left" if self.driver.flip else "right"

    @property
    def probe_side(self) -> str:
        """The side whose rows are intervals."""
        return "right" if self.driver.flip else "left"


def cover(boxes: Sequence[Box]) -> tuple[JoinPart, ...]:
    """Cut disjoint boxes into join parts, so that probe rows reach as little as possible."""
    found = []
    for box in boxes:
        ways: list[tuple[Driver, ...]] = [(driver,) for driver in drivers(box)]
        halves = exact_pieces(box)
        if halves is not None:
            ways.append(halves)
        best = min(ways, key=lambda way: (max(spread(driver) for driver in way), len(way)))
        found += [JoinPart(driver.box.inverse() if driver.flip else driver.box, driver) for driver in best]
    return tuple(found)


def spread(driver: Driver) -> int:
    """How far a probe row reaches, by the bounds of the relation alone."""
    if any(lo is not None and lo == hi for lo, hi in driver.point):
        return POINT
    if any(lo is not None and hi is not None for lo, hi in driver.point):
        return WINDOW
    return DURATION if driver.bounded else UNBOUNDED


def replication(parts: Sequence[JoinPart], slicing: Slicing) -> tuple[str, str]:
    """A bound on the copies that are made of a row, and why there are not more."""
    if slicing.agreed:
        why = "the inputs are small, so nothing is sampled: each task gets all rows, and all agree where to cut"
        return str(slicing.slices), why
    if slicing.slices == 1:
        return "1", "the inputs are small, so nothing is sampled, and all rows of a key go to one task"
    reaches = {
        side: max((spread(p.driver) for p in parts if p.probe_side == side), default=POINT)
        for side in ("left", "right")
    }
    most = max(reaches.values())
    if most == POINT:
        return "at most 2, most rows 1", "each row goes to the slices of single ticks"
    which = "of keys that share too many rows, time is" if slicing.by_key else "time is"
    why = (
        f"{which} sliced at quantiles of a sample; a row goes to the slices that it touches, and if that were "
        f"more than {COPIES:g} on average, fewer slices are made, but not less than {slicing.least}"
    )
    if most == UNBOUNDED:
        why += "; the relation has no bound on one side, so rows go to every slice on that side"
    return f"at most {slicing.slices}, on average at most {max(COPIES, slicing.least):g}", why
