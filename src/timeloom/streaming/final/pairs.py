"""Pairs of rows of two streams that matter to results still to come."""

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
"""Pairs that are looked at one by one; beyond that, rows are kept by what their bounds let expect."""


def undecided_at(instants: Ticks, keys: Keys, others: Spans, other_keys: Keys, slack: int) -> tuple[Rows, Rows]:
    """The pairs of an instant and a row of equal key that has started by then, and of which more may matter.

    That is so while its end lies ahead, or is not further back than ``slack``, the largest distance that any bound
    speaks of: an end of the other row, which comes later than the instant, can only be held against what is that near.
    """
    until = shift_ticks(others.ends, min(slack + 1, MAX_TICK))
    ends = np.minimum(instants, MAX_TICK - 2) + 1
    return joined(intersects, (instants, ends, keys), (others.starts, until, other_keys))


def joined(relation: Relation, left: tuple[Ticks, Ticks, Keys], right: tuple[Ticks, Ticks, Keys]) -> tuple[Rows, Rows]:
    """The positions of pairs in a relation, by the join of tables; starts, ends and keys are given."""
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
        how="inner",
        left_period=period,
        right_period=period,
        policy=Policy(),
        columns=("left", "right"),
    )
    found = join(tables[0], tables[1], request)
    return np.asarray(found["left"]).astype(np.int64), np.asarray(found["right"]).astype(np.int64)


def feasible_rights(
    decisions: Decisions, left: Spans, left_keys: Keys, right: Spans, right_keys: Keys, complete: int
) -> NDArray[np.bool_]:
    """Which right rows any of these left rows may be in relation with, as far as is known at an instant."""
    lefts, rights = of_equal_keys(left_keys, right_keys)
    found = np.zeros(right.starts.size, np.bool_)
    if lefts is None:
        found[np.isin(right_keys, left_keys)] = True
        return found
    possible = decisions.certainly_out(left.at(lefts), right.at(rights)) > complete
    found[rights[possible]] = True
    return found


def of_equal_keys(left: Keys, right: Keys) -> tuple[Rows | None, Rows]:
    """All pairs of positions with equal keys; none (and no positions) if these are too many to be looked at."""
    order = np.argsort(right, kind="stable")
    first = np.searchsorted(right[order], left, side="left")
    sizes = np.searchsorted(right[order], left, side="right") - first
    total = int(sizes.sum())
    if total > AT_ONCE:
        return None, np.empty(0, np.int64)
    lefts = np.repeat(np.arange(left.size), sizes)
    within = np.arange(total) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return lefts, order[np.repeat(first, sizes) + within]
