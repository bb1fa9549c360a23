"""What a join asks of a pair beyond its relation, judged on the candidates page by page: none is kept that fails."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.joins.pairs import Array, Matches, Positions, Source
from timeloom.engines.joins.problem import Side, Ticks
from timeloom.engines.tables.keys import NO_KEY, Keys
from timeloom.model.ticks import FOREVER, MAX_TICK

Keep = Callable[[Positions, Positions], NDArray[np.bool_]]
"""Tells of left and right rows, pairwise, which pairs stay."""


@dataclass(frozen=True)
class Judged:
    """The pairs of a source that pass; it can write row positions only, as it looks the rows up."""

    from_runs: ClassVar[bool] = False
    source: Source
    keep: Keep

    def parts(self, threads: int) -> list[tuple[int, int]]:
        """Ranges of the probe rows."""
        return self.source.parts(threads)

    def arranged(self, left: Array, right: Array) -> tuple[Array, Array]:
        """Row positions in the order that the source needs."""
        return self.source.arranged(left, right)

    def pairs(self, arranged: tuple[Array, Array], first: int, last: int, most: int) -> Iterator[tuple[Array, Array]]:
        """The pairs that pass."""
        for lefts, rights in self.source.pairs(arranged, first, last, most):
            kept = self.keep(lefts, rights)
            yield (lefts, rights) if kept.all() else (lefts[kept], rights[kept])


def judged(found: Matches, keep: Keep) -> Matches:
    """The matches that pass."""
    return Matches(found.left_rows, found.right_rows, [Judged(source, keep) for source in found.sources], found.threads)


def lengths(side: Side) -> Ticks:
    """How long periods last; one that does not end, or longer than ticks can tell, lasts for ever."""
    low = side.starts < 0
    beyond = low & (side.ends > MAX_TICK + np.where(low, side.starts, 0))
    return np.where((side.ends == FOREVER) | beyond, FOREVER, side.ends - np.where(beyond, 0, side.starts))


def without_short(side: Side, keys: int, least: int) -> Side:
    """Rows that are too short to share so many ticks with anyone lose their key, so that they meet nobody."""
    own: Keys = np.zeros(len(side), np.int64) if side.keys is None else side.keys
    return Side(side.starts, side.ends, np.where(lengths(side) < least, NO_KEY, own))


def needed(side: Side, fraction: Fraction) -> Ticks:
    """The ticks that make up at least this fraction of each period."""
    lasting = lengths(side)
    over, under = fraction.numerator, fraction.denominator
    if not len(side) or int(lasting.max()) * over <= MAX_TICK - under:
        return -(-lasting * over // under)
    exact = [-(-int(length) * over // under) for length in lasting]
    return np.array([min(ticks, MAX_TICK) for ticks in exact], np.int64)


def sharing(left: Side, right: Side, of: str, fraction: Fraction) -> Keep:
    """Keep pairs that share at least a fraction of the left, the right or the shorter period."""
    ours = needed(left, fraction) if of != "right" else None
    theirs = needed(right, fraction) if of != "left" else None

    def keep(lefts: Positions, rights: Positions) -> NDArray[np.bool_]:
        starts = np.maximum(left.starts[lefts], right.starts[rights])
        ends = np.minimum(left.ends[lefts], right.ends[rights])
        wanted = [side[rows] for side, rows in ((ours, lefts), (theirs, rights)) if side is not None]
        least = wanted[0] if len(wanted) == 1 else np.minimum(*wanted)
        return lengths(Side(starts, ends)) >= least

    return keep
