"""Pairs of rows of two streams that matter to results still to come."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.local.join import join
from timeloom.engines.tables.keys import Keys
from timeloom.engines.tables.ticks import shift_ticks
from timeloom.kernels.order import Ticks
from timeloom.model.allen import intersects
from timeloom.model.join import JoinRequest
from timeloom.model.naming import Keys as KeyNames
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.relation import Relation
from timeloom.model.ticks import FOREVER, MAX_TICK
from timeloom.streaming.final.decisions import Decisions, Spans

Rows = NDArray[np.int64]

AT_ONCE = 1 << 21
"""So many pairs are looked at in one piece of memory."""


def undecided_at(instants: Ticks, keys: Keys, others: Spans, other_keys: Keys, slack: int) -> tuple[Rows, Rows]:
    """The pairs of an instant and a row of equal key that has started by then, and of which more may matter.

    That is so while its end lies ahead, or is not further back than ``slack``, the largest distance that any bound
    speaks of: an end of the other row, which comes later than the instant, can only be held against what is that near.
    """
    until = shift_ticks(others.ends, min(slack + 1, MAX_TICK))
    ends = np.minimum(instants, MAX_TICK - 2) + 1
    return joined(intersects, (instants, ends, keys), (others.starts, until, other_keys))


def joined(
    relation: Relation, left: tuple[Ticks, Ticks, Keys], right: tuple[Ticks, Ticks, Keys], how: str = "inner"
) -> tuple[Rows, Rows]:
    """The positions of pairs in a relation, by the join of tables, or of left rows that are in any (``semi``)."""
    if not (left[0].size and right[0].size):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    tables = []
    for name, (starts, ends, keys) in (("left", left), ("right", right)):
        open_ends = pa.array(ends, mask=ends == FOREVER)
        tables.append(pa.table({"key": keys, "start": starts, "end": open_ends, name: np.arange(starts.size)}))
    period = Period("start", "end")
    request = JoinRequest(
        relation=relation,
        keys=KeyNames(("key",), ("key",)),
        how=how,
        left_period=period,
        right_period=period,
        policy=Policy(),
        columns=("left", "right") if how == "inner" else ("left",),
    )
    found = join(tables[0], tables[1], request)
    lefts = np.asarray(found["left"]).astype(np.int64)
    return lefts, np.asarray(found["right"]).astype(np.int64) if how == "inner" else lefts[:0]


def feasible_rights(
    decisions: Decisions, left: Spans, left_keys: Keys, right: Spans, right_keys: Keys, complete: int
) -> NDArray[np.bool_]:
    """Which right rows any of these left rows may be in relation with, as far as is known at an instant."""
    known, others = np.flatnonzero(left.known <= complete), np.flatnonzero(right.known <= complete)
    found = np.zeros(right.starts.size, np.bool_)
    inverse = Relation.of(box.inverse() for box in decisions.boxes)
    sides = _side(right, right_keys, others), _side(left, left_keys, known)
    found[others[joined(inverse, *sides, how="semi")[0]]] = True
    for _, rights in _with_open_rows(decisions, (left, left_keys, known), (right, right_keys, others), complete):
        found[rights] = True
    return found


def possible_pairs(
    decisions: Decisions, left: Spans, left_keys: Keys, right: Spans, right_keys: Keys, complete: int
) -> tuple[Rows, Rows]:
    """The pairs that may be in a relation, as far as is known at an instant: those that are, and some of open rows."""
    known, others = np.flatnonzero(left.known <= complete), np.flatnonzero(right.known <= complete)
    sides = _side(left, left_keys, known), _side(right, right_keys, others)
    lefts, rights = joined(Relation.of(decisions.boxes), *sides)
    parts = [(known[lefts], others[rights])]
    parts += _with_open_rows(decisions, (left, left_keys, known), (right, right_keys, others), complete)
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


Known = tuple[Spans, Keys, Rows]
"""Rows, their keys, and the positions of those whose ends are known."""


def _side(spans: Spans, keys: Keys, rows: Rows) -> tuple[Ticks, Ticks, Keys]:
    return spans.starts[rows], spans.ends[rows], keys[rows]


def _with_open_rows(decisions: Decisions, left: Known, right: Known, complete: int) -> Iterator[tuple[Rows, Rows]]:
    """The possible pairs with a row that is open: all pairs of these are looked at, so many at a time."""
    (ours, our_keys, known), (theirs, their_keys, others) = left, right
    open_lefts = np.delete(np.arange(our_keys.size), known)
    open_rights = np.delete(np.arange(their_keys.size), others)
    for lefts, rights in ((open_lefts, np.arange(their_keys.size)), (known, open_rights)):
        at_once = max(1, AT_ONCE // max(1, rights.size))
        for first in range(0, lefts.size, at_once):
            some = lefts[first : first + at_once]
            mine, yours = of_equal_keys(our_keys[some], their_keys[rights])
            mine, yours = some[mine], rights[yours]
            possible = decisions.certainly_out(ours.at(mine), theirs.at(yours)) > complete
            yield mine[possible], yours[possible]


def of_equal_keys(left: Keys, right: Keys) -> tuple[Rows, Rows]:
    """All pairs of positions with equal keys."""
    order = np.argsort(right, kind="stable")
    first = np.searchsorted(right[order], left, side="left")
    sizes = np.searchsorted(right[order], left, side="right") - first
    lefts = np.repeat(np.arange(left.size), sizes)
    within = np.arange(lefts.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return lefts, order[np.repeat(first, sizes) + within]
