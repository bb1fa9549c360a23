"""What becomes of results on periods: pairs judged by a condition, and the columns of what is left."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.tables.conditions import held
from timeloom.kernels.order import Ticks
from timeloom.kernels.streaming.layout import LEFT_SIDE
from timeloom.kernels.streaming.unmatched import kept_sides
from timeloom.model.conditions import Condition
from timeloom.model.ticks import FOREVER
from timeloom.streaming.carried import MATCHED, NO_ROW, Carried
from timeloom.streaming.emitted import HOWS
from timeloom.streaming.intake import Ids
from timeloom.streaming.keyed import PAIR, Found

Sides = tuple[Carried, Carried]
Whole = tuple[bool, bool]
"""Which sides arrive whole, so that their ends are known as soon as their rows are."""

Nullable = tuple[Ticks, NDArray[np.bool_]]
"""Ticks, and which of them are null."""


class ResultPositions(NamedTuple):
    """Where the rows of results lie among those that are carried, or NO_ROW; and the instants of the results."""

    lefts: Ids
    rights: Ids
    instants: Ticks

    @classmethod
    def of(cls, found: Found, sides: Sides) -> "ResultPositions":
        """Look up numbered rows."""
        lefts, rights = (
            carried.positions(rows) for carried, rows in zip(sides, (found.lefts, found.rights), strict=True)
        )
        lefts, rights = np.where(found.sides == 1, NO_ROW, lefts), np.where(found.sides == 0, NO_ROW, rights)
        return cls(lefts, rights, found.instants)

    def of_side(self, side: int) -> Ids:
        """The positions of one side's rows."""
        return self.rights if side else self.lefts


def settled(found: Found, sides: Sides, how: str, holds: "Callable[[ResultPositions], NDArray[np.bool_]]") -> Found:
    """The results of a kind of join of which only pairs that hold are partners.

    Given are all pairs, and all rows that can match no more; which of these have had a partner is remembered.
    """
    pairs = found.pick(found.sides == PAIR)
    positions = ResultPositions.of(pairs, sides)
    good = holds(positions) if pairs.instants.size else np.zeros(0, np.bool_)
    if how == "semi":
        return _first_partners(pairs, positions, good, sides[0])
    for side, carried in enumerate(sides):
        carried.fields[MATCHED, positions.of_side(side)[good]] = 1
    keeps = np.zeros(found.sides.size, np.bool_)
    if how != "anti":
        keeps[found.sides == PAIR] = good
    for side, kept in enumerate(kept_sides(HOWS.index(how))):
        own = found.sides == side
        if kept and own.any():
            rows = sides[side].positions((found.rights if side else found.lefts)[own])
            keeps[own] = sides[side].fields[MATCHED, rows] == 0
    return found.pick(keeps)


def _first_partners(pairs: Found, positions: ResultPositions, good: "NDArray[np.bool_]", left: Carried) -> Found:
    """The left rows of pairs that hold, each at its first one, if it has had none before."""
    fresh = np.flatnonzero(good & (left.fields[MATCHED, positions.lefts] == 0)) if good.size else np.empty(0, np.int64)
    order = fresh[np.lexsort((pairs.instants[fresh], positions.lefts[fresh]))]
    _, firsts = np.unique(positions.lefts[order], return_index=True)
    chosen = np.sort(order[firsts])
    left.fields[MATCHED, positions.lefts[chosen]] = 1
    single = pairs.pick(chosen)
    return single._replace(sides=np.full(chosen.size, LEFT_SIDE, np.int64))


def condition_on(
    condition: Condition, columns: "Callable[[ResultPositions], dict[str, pa.ChunkedArray]]"
) -> "Callable[[ResultPositions], NDArray[np.bool_]]":
    """A test of pairs by a condition over columns."""
    return lambda positions: held(condition, columns(positions), positions.instants.size)


def period_ticks(positions: ResultPositions, side: int, endpoint: str, sides: Sides, whole: Whole) -> Nullable:
    """The starts or ends of one side's rows, null where they are not known at the instant."""
    rows, carried = positions.of_side(side), sides[side]
    ticks = carried.starts(rows)
    if endpoint == "end":
        ticks = carried.known_ends(rows, positions.instants, whole=whole[side])
    none = (rows == NO_ROW) | (ticks == FOREVER)
    return np.where(none, 0, ticks), none


def overlap_ticks(positions: ResultPositions, which: str, sides: Sides, whole: Whole) -> Nullable:
    """The time that both rows share, as far as it is known at the instant; null where they share none."""
    absent = (positions.lefts == NO_ROW) | (positions.rights == NO_ROW)
    left, right = (
        (carried.starts(rows), carried.known_ends(rows, positions.instants, whole=is_whole))
        for carried, rows, is_whole in zip(sides, (positions.lefts, positions.rights), whole, strict=True)
    )
    starts, ends = np.maximum(left[0], right[0]), np.minimum(left[1], right[1])
    none = absent | (starts >= ends)
    if which != "overlap_start":
        none = none | (ends == FOREVER)
    ends = np.where(none, 0, ends)
    found = {"overlap_start": starts, "overlap_end": ends, "overlap_length": ends - np.where(none, 0, starts)}
    return np.where(none, 0, found[which]), none
