"""A forest as one file, and as what pickles hold."""

import os
from typing import Any, get_args

import numpy as np
import pyarrow as pa

from timeloom import storage
from timeloom.engines.tables.ticks import TimeType
from timeloom.kernels.order import MAX_ROWS
from timeloom.kernels.stab_forest.check import FAULTS, fault_of
from timeloom.kernels.stab_forest.layout import ENTRY, NODE, Forest, in_use, mark_open, no_late
from timeloom.model.ticks import MAX_TICK, MIN_TICK, Axis
from timeloom.stab_forest.arrivals import Arrivals, Order
from timeloom.stab_forest.index import EventIndex
from timeloom.stab_forest.instants import DATE, INTEGER, TIMESTAMP
from timeloom.stab_forest.sharing import SharedIndex

KIND, VERSION = "stab-forest", 2
"""The second version knows its axis; forests of the first are read as integers, which they were."""

_AXES = {"integer": INTEGER, "date": DATE, "timestamp": TIMESTAMP}


def save_forest(path: str | os.PathLike[str], shared: SharedIndex) -> None:
    """Write the index, what has not settled yet, and where arrivals stand; others may read and write meanwhile."""
    with shared.lock:
        arrays, meta = packed(shared)
        index = shared.pin()
    try:
        storage.save(path, KIND, VERSION, arrays, meta)
    finally:
        shared.release(index)


def packed(shared: SharedIndex) -> tuple[storage.Arrays, dict[str, Any]]:
    """The state as arrays, some of which are the index's own, and metadata; the lock must be held."""
    index, arrivals = shared.settled() if shared.index.untidy or shared.arrivals.due else shared.index, shared.arrivals
    arrays: storage.Arrays = {name: part.view(np.int64) for name, part in in_use(index.forest).items()}
    arrays["ids"] = np.zeros(0, np.int32) if index.ids is None else index.ids[: len(index)]
    for name, column in zip(("starts", "ends", "ids"), arrivals.waiting(), strict=True):
        arrays[f"waiting_{name}"] = column
    meta = {
        "order": arrivals.order,
        "axis": _axis_fields(arrivals.axis),
        "events": shared.events,
        "named": index.ids is not None,
        "last_start": arrivals.last_start,
        "last_end": arrivals.last_end,
        "watermark": arrivals.watermark,
    }
    return arrays, meta


def load_forest(path: str | os.PathLike[str]) -> SharedIndex:
    """Read what `save_forest` wrote; the arrays are mapped, not copied."""
    return storage.restore(path, KIND, VERSION, _checked)


def unpacked(arrays: storage.Arrays, meta: dict[str, Any]) -> SharedIndex:
    """The state that arrays and metadata describe."""
    forest = _forest(arrays)
    mark_open(forest)
    arrivals = Arrivals(meta["order"], _axis(meta.get("axis", ["integer", None])))
    arrivals.last_start, arrivals.last_end = meta["last_start"], meta["last_end"]
    arrivals.watermark = meta["watermark"]
    arrivals.wait(arrays["waiting_starts"], arrays["waiting_ends"], arrays["waiting_ids"])
    return SharedIndex(arrivals, EventIndex(forest, arrays["ids"] if meta["named"] else None), meta["events"])


def _checked(arrays: storage.Arrays, meta: dict[str, Any]) -> SharedIndex:
    """The state, if it contradicts itself nowhere: whatever is done with it then stays within its arrays."""
    for name in ("counts", "starts", "ends", "dkey", "guide", "nodes", "lists"):
        storage.require_vector(arrays, name, np.int64)
    forest = _forest(arrays)
    fault = fault_of(forest)
    storage.require(not fault, FAULTS.get(fault, ""))
    settled = forest.starts.size
    storage.require(meta["order"] in get_args(Order), f"the order {meta['order']!r} is unknown")
    for name in ("last_start", "last_end", "watermark"):
        storage.require_int(meta[name], name, MIN_TICK, MAX_TICK)
    last = int(forest.starts[-1]) if settled else MIN_TICK
    if meta["order"] == "watermark":
        storage.require(not settled or last < meta["watermark"], "events are settled that start after the watermark")
    else:
        storage.require(not settled or last == meta["last_start"], "the last start is another one")
    _check_identities(arrays, meta, settled)
    storage.require(meta.get("axis", True) is not None or not meta["events"], "there are events, but no axis")
    return unpacked(arrays, meta)


def _check_identities(arrays: storage.Arrays, meta: dict[str, Any], settled: int) -> None:
    """Each id from 0 on is that of one event: a settled one, or one that waits."""
    events = storage.require_int(meta["events"], "events", 0, 2 * MAX_ROWS)
    storage.require(type(meta["named"]) is bool, "the ids are given and not given")
    ids = storage.require_vector(arrays, "ids", np.int32, settled if meta["named"] else 0)
    waiting = storage.require_vector(arrays, "waiting_ids", np.int64)
    starts = storage.require_vector(arrays, "waiting_starts", np.int64, waiting.size)
    ends = storage.require_vector(arrays, "waiting_ends", np.int64, waiting.size)
    storage.require(settled + waiting.size == events, "the number of events is another one")
    storage.require(bool((ends > starts).all()), "events that wait are empty")
    storage.require(bool((waiting[1:] > waiting[:-1]).all()), "events that wait are out of order")
    floor = meta["watermark"] if meta["order"] == "watermark" else MAX_TICK
    storage.require(bool((starts >= floor).all()), "events wait that are settled")
    seen = np.zeros(events, np.bool_)
    seen[:settled] = not meta["named"]
    for part in (ids, waiting):
        storage.require(not part.size or (part.min() >= 0 and part.max() < events), "an id is out of bounds")
        seen[part] = True
    storage.require(seen.all(), "an id is given twice")


def _forest(arrays: storage.Arrays) -> Forest:
    return Forest(
        counts=np.concatenate([arrays["counts"], [0, 0]]),
        starts=arrays["starts"],
        ends=arrays["ends"],
        dkey=arrays["dkey"],
        guide=arrays["guide"],
        nodes=arrays["nodes"].view(NODE),
        lists=arrays["lists"].view(ENTRY),
        slot=np.empty(arrays["starts"].size, np.int32),
        **no_late(arrays["starts"].size),
    )


def _axis_fields(kind: TimeType | None) -> list[str | None] | None:
    if kind is None:
        return None
    if kind.axis is Axis.ZONED:
        return ["zoned", kind.arrow.tz]
    return [next(name for name, known in _AXES.items() if known.axis is kind.axis), None]


def _axis(fields: list[str | None] | None) -> TimeType | None:
    if fields is None:
        return None
    name, zone = fields
    if name == "zoned":
        storage.require(type(zone) is str and zone, "the zone has no name")
        return TimeType(Axis.ZONED, pa.timestamp("us", zone))
    return _AXES[str(name)]
