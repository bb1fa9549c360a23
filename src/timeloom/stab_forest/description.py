"""A settled index as values of its axis: arrays, a table, and facts by name."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.tables.ticks import TimeType
from timeloom.kernels.order import Ticks
from timeloom.kernels.stab_forest.layout import NODES, dummies, in_use
from timeloom.model.ticks import FOREVER, Axis
from timeloom.stab_forest.index import EventIndex
from timeloom.stab_forest.instants import written
from timeloom.stab_forest.sharing import SharedIndex

Array = NDArray[Any]


def held(index: EventIndex) -> int:
    """The bytes in use."""
    return sum(part.nbytes for part in in_use(index.forest).values()) + (0 if index.ids is None else 4 * len(index))


def described(shared: SharedIndex) -> dict[str, Any]:
    """What a forest holds and how it stands, all at one time, by name."""
    with shared.lock:
        index, kind = shared.pin(), shared.arrivals.axis
        facts = {
            "events": shared.events - shared.forgotten,
            "forgotten": shared.forgotten,
            "not settled": len(shared.arrivals),
            "axis": None if kind is None else kind.axis.value,
            "order": shared.arrivals.order,
        }
    try:
        return facts | _contents(index, kind)
    finally:
        shared.release(index)


def _contents(index: EventIndex, kind: TimeType | None) -> dict[str, Any]:
    starts, ends = index.starts(), index.ends()
    known = ends[ends < FOREVER]
    nodes = int(index.forest.counts[NODES])
    return {
        "open": int(ends.size - known.size),
        "first start": written(int(starts[0]), kind) if starts.size else None,
        "last start": written(int(starts[-1]), kind) if starts.size else None,
        "last end": written(int(known.max()), kind) if known.size else None,
        "distinct starts": nodes + bool(starts.size),
        "heights": [(dummy & -dummy).bit_length() for dummy in dummies(nodes)],
        "bytes": held(index),
    }


def event_arrays(index: EventIndex, kind: TimeType | None) -> tuple[Array, Array]:
    """The starts and ends by id; open ends are missing, of integers FOREVER."""
    starts, ends = _by_id(index)
    if kind is None or kind.axis is Axis.INTEGER:
        return starts, ends
    unit = "datetime64[D]" if kind.axis is Axis.DATE else "datetime64[us]"
    missing = np.iinfo(np.int64).min
    return starts.view(unit), np.where(ends == FOREVER, missing, ends).view(unit)


def _by_id(index: EventIndex) -> tuple[Ticks, Ticks]:
    starts, ends = index.starts().copy(), index.ends().copy()
    if index.ids is None:
        return starts, ends
    by_id = np.argsort(index.ids[: len(index)], kind="stable")
    return starts[by_id], ends[by_id]
