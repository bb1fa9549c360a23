"""How far ahead events are read before the index is asked, as a caller may say it; and joins that go by it."""

from typing import Literal, get_args

from timeloom.engines.joins.parallel_skip import skip_join_by
from timeloom.engines.resources.threads import cores
from timeloom.errors import UsageError, did_you_mean, shown
from timeloom.kernels.joins.skip_join import forward_scan
from timeloom.kernels.joins.skip_parts import SkipJoin
from timeloom.kernels.order import Ticks
from timeloom.kernels.stab_forest.layout import NODES
from timeloom.kernels.stab_forest.multi_stab import reach_of
from timeloom.model.ticks import MAX_TICK, MIN_TICK
from timeloom.stab_forest.index import EventIndex

Variant = Literal["auto", "events", "index"]

MOST = 2**31 - 1

SHORT = 1 << 12
"""So many events are read without looking for gaps between them."""


def pairs(ours: EventIndex, theirs: EventIndex, c: int, variant: Variant, begin: int, end: int) -> tuple[Ticks, Ticks]:
    """The ids of all pairs of intersecting events within a window."""
    our_reach, their_reach = reach(ours, c, variant), reach(theirs, c, variant)
    if begin == MIN_TICK and end == MAX_TICK and _is_short(ours, our_reach) and _is_short(theirs, their_reach):
        left, right = forward_scan(ours.starts(), ours.ends(), theirs.starts(), theirs.ends())
    else:
        left, right = skip_join_by(cores, SkipJoin(ours.forest, theirs.forest, our_reach, their_reach, end), begin)
    return ours.names(left), theirs.names(right)


def _is_short(index: EventIndex, ahead: int) -> bool:
    """Whether no instant lies so far ahead that the index would be asked: then both sides are sooner just read."""
    return len(index) <= ahead <= SHORT


def reach(index: EventIndex, c: int, variant: Variant) -> int:
    """How many events ahead an instant may lie before the index is asked."""
    if variant == "auto":
        return reach_of(threshold_of(c), int(index.forest.counts[NODES]))
    if variant not in get_args(Variant):
        raise UsageError(f"variant={shown(variant)} is unknown. {did_you_mean(variant, get_args(Variant))}")
    return len(index) if variant == "events" else 0


def threshold_of(c: int) -> int:
    """Check a threshold constant."""
    if not isinstance(c, int) or isinstance(c, bool) or not 1 <= c <= MOST:
        raise UsageError(f"c={shown(c)} is no threshold; expected an integer from 1 to {MOST}")
    return c
