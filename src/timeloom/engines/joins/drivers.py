"""Which side probes which endpoint of the other, decided from a relation's bounds alone.

A driver fixes the rows of one side and finds their partners as runs of the other side's starts or ends, sorted. It is
exact when the bounds on that endpoint imply all others; otherwise the runs are candidates that a filter must judge.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

from timeloom.model.box import FREE, Box, Range


@dataclass(frozen=True)
class Driver:
    """One way to find the pairs of a box.

    ``flip`` is False when left rows probe. ``box`` is the box as the probe side sees it, ``by_end`` tells which
    endpoint of the indexed side is sorted, ``exact`` that no filter is needed.
    """

    box: Box
    flip: bool
    by_end: bool
    exact: bool

    @property
    def point(self) -> tuple[Range, Range]:
        """Bounds on the indexed endpoint, relative to the probe row's start and to its end."""
        tight = self.box.tight() or self.box
        return (tight.end_start, tight.end_end) if self.by_end else (tight.start_start, tight.start_end)

    @property
    def rest(self) -> tuple[Range, Range]:
        """Bounds on the indexed side's other endpoint, which the filter checks."""
        return (self.box.start_start, self.box.start_end) if self.by_end else (self.box.end_start, self.box.end_end)

    @property
    def bounded(self) -> bool:
        """Tell whether a run has both a first and a last element by the relation's own bounds."""
        lows, highs = zip(*self.point, strict=True)
        return any(lo is not None for lo in lows) and any(hi is not None for hi in highs)

    @property
    def pinned(self) -> bool:
        """Tell whether a run holds one value only: an endpoint that the relation fixes."""
        return any(lo is not None and lo == hi for lo, hi in self.point)

    def __str__(self) -> str:
        probe, indexed = ("right", "left") if self.flip else ("left", "right")
        return f"{probe} rows probe {indexed} {'ends' if self.by_end else 'starts'}"


@lru_cache(maxsize=1024)
def drivers(box: Box) -> tuple[Driver, ...]:
    """All four ways to probe a box: exact ones first, then those with two-sided runs."""
    found = []
    for flip in (False, True):
        seen = box.inverse() if flip else box
        tight = seen.tight() or seen
        for by_end in (False, True):
            if by_end:
                alone = replace(tight, start_start=FREE, start_end=FREE)
            else:
                alone = replace(tight, end_start=FREE, end_end=FREE)
            found.append(Driver(seen, flip, by_end, exact=alone.implies(seen)))
    return tuple(sorted(found, key=lambda driver: (not driver.exact, not driver.bounded)))


@lru_cache(maxsize=1024)
def exact_pieces(box: Box) -> tuple[Driver, ...] | None:
    """Cover a box by disjoint pieces that need no filter: itself, or its two halves around a zero difference."""
    best = drivers(box)[0]
    if best.exact:
        return (best,)
    for difference in ("start_start", "end_end", "start_end", "end_start"):
        halves = [box & replace(Box(), **{difference: bounds}) for bounds in ((0, None), (None, -1))]
        if all(half.tight() is not None for half in halves):
            found = tuple(drivers(half)[0] for half in halves)
            if all(driver.exact for driver in found):
                return found
    return None
