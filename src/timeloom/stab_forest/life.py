"""What becomes of a forest in a long life: events are forgotten, forests become one."""

import numpy as np
import pyarrow as pa

from timeloom.errors import UsageError
from timeloom.kernels.order import Ticks
from timeloom.kernels.stab_forest.build import build, event_order
from timeloom.stab_forest.arrivals import Arrivals
from timeloom.stab_forest.index import EventIndex
from timeloom.stab_forest.instants import require_axis
from timeloom.stab_forest.payload import Payload
from timeloom.stab_forest.sharing import SharedIndex


def forget(shared: SharedIndex, before: int) -> int:
    """Drop the events that have ended by an instant, also of those that wait; answers how many. Ids stay."""
    with shared.lock:
        shared.settle()
        index = shared.index
        ends, ids = index.ends(), index.names(np.arange(len(index)))
        kept = ends > before
        dropped = int(kept.size - kept.sum()) + shared.arrivals.forget(before)
        shared.note_forgotten(before)
        if dropped:
            replaced = reindexed(index.starts()[kept], ends[kept], ids[kept])
            waiting = shared.arrivals.waiting()[2]
            alive = np.sort(np.concatenate([ids[kept], waiting]))
            if shared.payload is not None:
                shared.payload.replace(shared.payload.table().take(pa.array(index.ranks_of(alive))).combine_chunks())
            replaced.kept, replaced.moved = (alive, shared.events), index.moved + len(index)
            shared.index = replaced
            shared.forgotten += dropped
        return dropped


def reindexed(starts: Ticks, ends: Ticks, ids: Ticks) -> EventIndex:
    """An index of events that have ids of their own."""
    rows = event_order(starts, ends)
    if rows is not None:
        starts, ends, ids = starts[rows], ends[rows], ids[rows]
    return EventIndex(build(starts, ends), ids.astype(np.int32))


def merged(one: SharedIndex, other: SharedIndex) -> SharedIndex:
    """The events of two forests in one; the ids of the second follow those of the first."""
    states = []
    for shared in (one, other):
        with shared.lock:
            shared.settle()
            if len(shared.arrivals):
                raise UsageError(
                    f"{len(shared.arrivals)} events wait for their watermark; advance it before forests are merged"
                )
            index = shared.index
            payload = None if shared.payload is None else shared.payload.table()
            ids = index.names(np.arange(len(index))).copy()
            states.append(
                (index.starts().copy(), index.ends().copy(), ids, payload, shared.arrivals.axis, shared.events)
            )
    (starts, ends, ids, rows, axis, events), (more_starts, more_ends, more_ids, more_rows, other_axis, added) = states
    require_axis(axis, other_axis, "the other forest")
    index = reindexed(
        np.concatenate([starts, more_starts]),
        np.concatenate([ends, more_ends]),
        np.concatenate([ids, more_ids + events]),
    )
    arrivals = Arrivals(one.arrivals.order, axis or other_axis)
    if len(index):
        arrivals.settle_at(index.starts(), index.ends())
        arrivals.watermark = max(one.arrivals.watermark, other.arrivals.watermark)
        if arrivals.order == "watermark":
            arrivals.watermark = max(arrivals.watermark, arrivals.last_start + 1)
    result = SharedIndex(arrivals, index, events + added)
    result.forgotten = one.forgotten + other.forgotten
    if result.forgotten:
        index.kept = np.sort(index.names(np.arange(len(index)))), events + added
    result.period, result.payload = one.period, _both(rows, more_rows)
    return result


def _both(one: pa.Table | None, other: pa.Table | None) -> Payload | None:
    if one is None and other is None:
        return None
    if one is None or other is None or one.schema != other.schema:
        raise UsageError("the forests carry different payloads; merge forests whose payloads have the same columns")
    return Payload(pa.concat_tables([one, other]))
