"""When pairs are decided, and when a row can have no further partner: closed forms over arrays of rows.

While time passes, an end that is not known yet lies after now, and so does every row that has not come. A box of
difference constraints, closed under shortest paths, can still hold as long as each known endpoint keeps to its bounds,
and each unknown one has room left: its least upper bound lies after now. (A new lower bound on one endpoint closes no
cycle with another one, so looking at each endpoint alone is enough.) A pair is certainly out of a relation once none of
its boxes can hold, and certainly in it once none of the boxes around it can.
"""

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.tables.ticks import shift_ticks
from timeloom.kernels.order import Ticks
from timeloom.model.box import R_END, R_START, S_END, S_START, Box
from timeloom.model.relation import Relation
from timeloom.model.ticks import FOREVER, MAX_TICK, Axis
from timeloom.streaming.deciding import EVENTS

Mask = NDArray[np.bool_]


class Spans(NamedTuple):
    """Rows of one stream: starts, ends (FOREVER while unknown), and the instants at which the ends become known."""

    starts: Ticks
    ends: Ticks
    known: Ticks

    @classmethod
    def of(cls, starts: Ticks, ends: Ticks, arrival: str) -> "Spans":
        """Rows that arrive in this way: whole ones are known at their start."""
        return cls(starts, ends, ends if arrival == EVENTS else starts)

    def at(self, rows: NDArray[np.int64]) -> "Spans":
        """Some of the rows."""
        return Spans(*(column[rows] for column in self))


@dataclass(frozen=True)
class Decisions:
    """A relation's boxes in ticks, and those around it."""

    boxes: tuple[Box, ...]
    inside: tuple["Reach", ...]
    outside: tuple["Reach", ...]

    @classmethod
    def of(cls, relation: Relation, axis: Axis) -> "Decisions":
        """The decisions of a relation on this axis."""
        boxes = relation.boxes(axis)
        rest = [Box()]
        for box in boxes:
            rest = [piece for part in rest for piece in part.minus(box)]
        return cls(boxes, tuple(Reach.of(box) for box in boxes), tuple(Reach.of(box) for box in rest))

    def inverse(self) -> "Decisions":
        """The same with left and right exchanged."""
        sides = (tuple(reach.inverse() for reach in side) for side in (self.inside, self.outside))
        return Decisions(tuple(box.inverse() for box in self.boxes), *sides)

    @property
    def slack(self) -> int:
        """The largest distance that any bound speaks of."""
        return max(
            abs(far) for box in (*self.inside, *self.outside) for row in box.most for far in row if far is not None
        )

    def certainly_in(self, left: Spans, right: Spans) -> Ticks:
        """The first instants at which pairs are certainly in the relation; FOREVER for others."""
        return self._none_holds(self.outside, left, right)

    def certainly_out(self, left: Spans, right: Spans) -> Ticks:
        """The first instants at which pairs are certainly not in it; FOREVER for others."""
        return self._none_holds(self.inside, left, right)

    def _none_holds(self, boxes: tuple["Reach", ...], left: Spans, right: Spans) -> Ticks:
        found = np.maximum(left.starts, right.starts)
        for box in boxes:
            np.maximum(found, box.over(left, right), out=found)
        return found

    def without_future(self, left: Spans) -> Ticks:
        """From when on no right row that is yet to start can be a partner; FOREVER if one always can."""
        found = left.starts.copy()
        for box in self.inside:
            np.maximum(found, box.closed_to_others(left), out=found)
        return found


@dataclass(frozen=True)
class Reach:
    """A closed box: ``most[a][b]`` is how far endpoint b can lie after endpoint a, None for any distance."""

    most: tuple[tuple[int | None, ...], ...]

    @classmethod
    def of(cls, box: Box) -> "Reach":
        """Close a box."""
        return cls(tuple(tuple(None if far == inf else int(far) for far in row) for row in box.distances()))

    def inverse(self) -> "Reach":
        """The same with left and right exchanged."""
        order = (S_START, S_END, R_START, R_END)
        return Reach(tuple(tuple(self.most[a][b] for b in order) for a in order))

    def over(self, left: Spans, right: Spans) -> Ticks:
        """The first instants at which the box can no longer hold; FOREVER where it always can."""
        both = np.maximum(left.starts, right.starts)
        points = {R_START: left.starts, R_END: left.ends, S_START: right.starts, S_END: right.ends}
        known = {R_START: both, S_START: both, R_END: left.known, S_END: right.known}
        found = np.full(both.shape, FOREVER)
        pairs = ((R_START, S_START), (R_START, R_END), (S_START, R_END), (R_START, S_END), (S_START, S_END))
        for a, b in (*pairs, (R_END, S_END)):
            at = np.maximum(both, np.maximum(known[a], known[b]))
            found = np.where(self._broken(a, points[a], b, points[b]), np.minimum(found, at), found)
        for end, other in ((R_END, S_END), (S_END, R_END)):
            room = np.minimum(self._limit(R_START, left.starts, end), self._limit(S_START, right.starts, end))
            later = np.maximum(self._limit(other, points[other], end), known[other])
            beyond = np.where((points[other] == FOREVER) & self._follows(end, other), known[other], FOREVER)
            for limit in (room, later, beyond):
                at = np.maximum(both, limit)
                found = np.where(at < known[end], np.minimum(found, at), found)
        return found

    def closed_to_others(self, left: Spans) -> Ticks:
        """From when on no right row that is yet to start can be in the box with these left ones."""
        latest = self._limit(R_START, left.starts, S_START)
        known = np.maximum(left.starts, left.known)
        bound = np.minimum(latest, self._limit(R_END, left.ends, S_START))
        never = self._broken(R_START, left.starts, R_END, left.ends)
        if self.most[S_START][R_END] is not None or self._follows(S_END, R_END):
            never |= left.ends == FOREVER
        found = np.where(never, known, np.maximum(known, bound))
        while_open = np.maximum(left.starts, np.minimum(latest, self._limit(R_START, left.starts, R_END)))
        return np.where(while_open < left.known, np.minimum(found, while_open), found)

    def _limit(self, a: int, points: Ticks, b: int) -> Ticks:
        """How late endpoint b can be, given endpoint a."""
        far = self.most[a][b]
        if far is None or abs(far) >= MAX_TICK:
            return np.full(points.shape, FOREVER)
        return shift_ticks(points, far)

    def _follows(self, a: int, b: int) -> bool:
        """Whether endpoint a lies after endpoint b; none lies after the end of the axis."""
        far = self.most[a][b]
        return far is not None and far < 0

    def _broken(self, a: int, first: Ticks, b: int, second: Ticks) -> Mask:
        """Whether two endpoints are too far apart, in either direction."""
        never: Mask = ((first == FOREVER) & self._follows(b, a)) | ((second == FOREVER) & self._follows(a, b))
        return never | (second > self._limit(a, first, b)) | (first > self._limit(b, second, a))
