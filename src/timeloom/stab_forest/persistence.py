"""A forest as one file, and as what pickles hold."""

import os
import uuid
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa

from timeloom import storage
from timeloom.engines.tables.ticks import TimeType
from timeloom.errors import StorageError
from timeloom.kernels.order import MAX_ROWS
from timeloom.kernels.stab_forest.check import FAULTS, fault_of
from timeloom.kernels.stab_forest.layout import ENTRY, NODE, Forest, in_use, mark_open, no_late, note_latest
from timeloom.model.period import Period
from timeloom.model.ticks import MAX_TICK, MIN_TICK, Axis
from timeloom.stab_forest.arrivals import Arrivals, Order
from timeloom.stab_forest.index import EventIndex
from timeloom.stab_forest.instants import DATE, INTEGER, TIMESTAMP
from timeloom.stab_forest.journal import (
    ADD,
    ADVANCE,
    FINISH,
    Journal,
    Operation,
    grouped,
    log_of,
    records,
    stamp_of,
    stream_of,
)
from timeloom.stab_forest.life import forget
from timeloom.stab_forest.payload import Payload
from timeloom.stab_forest.sharing import SharedIndex

KIND, VERSION = "stab-forest", 3
"""The second version knows its axis; forests of the first are read as integers, which they were. The third may carry a
payload, have forgotten events, and be followed by a log."""

_AXES = {"integer": INTEGER, "date": DATE, "timestamp": TIMESTAMP}


def save_forest(path: str | os.PathLike[str], shared: SharedIndex, *, incremental: bool) -> None:
    """Write the index, what has not settled yet, and where arrivals stand; others may read and write meanwhile.

    Incrementally, only what changed since the last save to this path is written, to a log beside it, until that is so
    long that the file is better written anew. Saves follow one another: a log is of the file that was written last.
    """
    with shared.saving:
        _save(path, shared, incremental=incremental)


def _save(path: str | os.PathLike[str], shared: SharedIndex, *, incremental: bool) -> None:
    place = Path(os.path.realpath(path))
    with shared.lock:
        journal = shared.journal
        if incremental and journal is not None and journal.goes_on(place):
            journal.write({"axis": _axis_fields(shared.arrivals.axis)})
            return
        arrays, meta = packed(shared)
        index = shared.hold()
        meta["edition"] = edition = uuid.uuid4().hex
        if incremental:
            shared.journal = Journal(place, edition, sum(part.nbytes for part in arrays.values()))
        elif journal is not None and journal.path == place:
            shared.journal = None
    try:
        storage.save(path, KIND, VERSION, arrays, meta)
    except BaseException:
        shared.journal = None
        raise
    finally:
        shared.release(index)
    log_of(place).unlink(missing_ok=True)
    if incremental and shared.journal is not None and shared.journal.edition == edition:
        shared.journal.stamp = stamp_of(place)


def packed(shared: SharedIndex) -> tuple[storage.Arrays, dict[str, Any]]:
    """The state as arrays, some of which are the index's own, and metadata; the lock must be held.

    Whoever goes on with these arrays holds the index before the lock is let go.
    """
    shared.settle()
    index, arrivals = shared.settled() if shared.index.untidy else shared.index, shared.arrivals
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
        "period": [shared.period.start, shared.period.end, shared.period.closed, shared.period.truncate],
        "carries": shared.payload is not None,
    }
    if shared.payload is not None:
        arrays["payload"] = np.frombuffer(stream_of(shared.payload.table()), np.uint8)
    return arrays, meta


def load_forest(path: str | os.PathLike[str]) -> SharedIndex:
    """Read what `save_forest` wrote; the arrays are mapped, not copied. What a log beside it holds is done again.

    If the file is replaced meanwhile, its log may be gone before it was read: then all is read again.
    """
    place = Path(os.path.realpath(path))
    while True:
        stamp = stamp_of(place)
        shared = _read(path, place, stamp)
        if stamp_of(place) == stamp:
            return shared


def _read(path: str | os.PathLike[str], place: Path, stamp: "tuple[int, int, int] | None") -> SharedIndex:
    shared, edition = storage.restore(path, KIND, VERSION, checked_parts)
    if edition is not None:
        journal = Journal(place, edition, os.path.getsize(place), stamp=stamp)
        for operations, meta, rows in records(journal):
            try:
                _repeat(shared, operations, _axis(meta["axis"]), rows)
            except Exception as error:
                raise StorageError(
                    f"{str(journal.log)!r} does not fit its file ({error}); restore it, or remove it to go on with "
                    "what the file itself holds"
                ) from error
        shared.journal = journal
    return shared


def _repeat(shared: SharedIndex, operations: list[Operation], kind: TimeType | None, rows: pa.Table | None) -> None:
    """Do the operations of a record once more."""
    used = 0
    for code, (first, second) in grouped(operations):
        if code == ADD:
            part = None if rows is None else rows.slice(used, first.size)
            used += first.size
            shared.extend(kind, first, second, part)
        elif code == FINISH:
            for event, end in zip(first.tolist(), second.tolist(), strict=True):
                shared.finish_at(event, end)
        elif code == ADVANCE:
            shared.advance(kind or INTEGER, int(first[-1]))
        else:
            forget(shared, int(first.max()))


def unpacked(arrays: storage.Arrays, meta: dict[str, Any]) -> SharedIndex:
    """The state that arrays and metadata describe."""
    forest = _forest(arrays)
    mark_open(forest)
    note_latest(forest)
    arrivals = Arrivals(meta["order"], _axis(meta.get("axis", ["integer", None])))
    arrivals.last_start, arrivals.last_end = meta["last_start"], meta["last_end"]
    arrivals.watermark = meta["watermark"]
    arrivals.wait(arrays["waiting_starts"], arrays["waiting_ends"], arrays["waiting_ids"])
    index = EventIndex(forest, arrays["ids"] if meta["named"] else None)
    shared = SharedIndex(arrivals, index, meta["events"])
    shared.forgotten = shared.events - len(index) - len(arrivals)
    if shared.forgotten:
        alive = np.concatenate([index.names(np.arange(len(index))), arrays["waiting_ids"]])
        index.kept = np.sort(alive), shared.events
    if meta.get("carries"):
        start, end, closed, truncate = meta["period"]
        shared.period = Period(start, end, closed=closed, truncate=truncate)
        shared.payload = Payload(pa.ipc.open_stream(pa.py_buffer(arrays["payload"])).read_all())
        storage.require(len(shared.payload) == shared.events - shared.forgotten, "the payload has other rows")
    return shared


def checked_parts(arrays: storage.Arrays, meta: dict[str, Any]) -> tuple[SharedIndex, str | None]:
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
    _check_identities(arrays, meta, settled)
    if meta["order"] != "watermark":
        is_forgotten = last < meta["last_start"] and settled < meta["events"]
        storage.require(not settled or last == meta["last_start"] or is_forgotten, "the last start is another one")
    storage.require(meta.get("axis", True) is not None or not meta["events"], "there are events, but no axis")
    edition = meta.get("edition")
    storage.require(edition is None or (isinstance(edition, str) and edition.isalnum()), "the edition is no name")
    return unpacked(arrays, meta), edition


def _check_identities(arrays: storage.Arrays, meta: dict[str, Any], settled: int) -> None:
    """No id is that of two events, settled ones or such that wait; those that are missing have been forgotten."""
    events = storage.require_int(meta["events"], "events", 0, 2 * MAX_ROWS)
    storage.require(type(meta["named"]) is bool, "the ids are given and not given")
    ids = storage.require_vector(arrays, "ids", np.int32, settled if meta["named"] else 0)
    waiting = storage.require_vector(arrays, "waiting_ids", np.int64)
    starts = storage.require_vector(arrays, "waiting_starts", np.int64, waiting.size)
    ends = storage.require_vector(arrays, "waiting_ends", np.int64, waiting.size)
    storage.require(settled + waiting.size <= events, "the number of events is another one")
    storage.require(bool((ends > starts).all()), "events that wait are empty")
    storage.require(bool((waiting[1:] > waiting[:-1]).all()), "events that wait are out of order")
    floor = meta["watermark"] if meta["order"] == "watermark" else MAX_TICK
    storage.require(bool((starts >= floor).all()), "events wait that are settled")
    given = np.concatenate([np.arange(settled) if not meta["named"] else ids.astype(np.int64), waiting])
    storage.require(not given.size or (given.min() >= 0 and given.max() < events), "an id is out of bounds")
    given.sort()
    storage.require(not (given[1:] == given[:-1]).any(), "an id is given twice")


def _forest(arrays: storage.Arrays) -> Forest:
    return Forest(
        counts=np.concatenate([arrays["counts"], [0, 0]]),
        starts=arrays["starts"],
        ends=arrays["ends"],
        dkey=arrays["dkey"],
        guide=arrays["guide"],
        latest=np.empty(arrays["guide"].size, np.int64),
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
