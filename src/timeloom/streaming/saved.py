"""Streaming objects in one file each: options, arrays and tables, hashed and versioned, checked when they are read."""

import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom import storage
from timeloom.engines.tables.ticks import TimeType
from timeloom.errors import StorageError
from timeloom.model.box import Box
from timeloom.model.relation import Relation
from timeloom.model.ticks import MAX_TICK, Axis
from timeloom.streaming.intake import Intake
from timeloom.streaming.restoring import check_held
from timeloom.streaming.storage import packed, unpacked

Place = str | os.PathLike[str]
Parts = dict[str, Any]
T = TypeVar("T")

TABLE, LIST = "table ", "list "
"""What the names of stored arrays begin with that hold Arrow tables, or lists of arrays."""

VERSION = 1
"""Of the layout of these files."""

STATE = "state"
"""The option of a file that says of which version the state of its kind is; files of version 1 have none."""


def save(path: Place, kind: str, meta: Mapping[str, Any], parts: Mapping[str, Any]) -> None:
    """Write options, arrays, lists of arrays and tables to one file, whole or not at all."""
    arrays: storage.Arrays = {}
    for name, part in parts.items():
        if isinstance(part, pa.Table):
            arrays[TABLE + name] = _written(part)
        elif isinstance(part, list):
            arrays[LIST + name] = packed(part)
        else:
            arrays[name] = part
    storage.save(path, kind, VERSION, arrays, meta)


def load(path: Place, kind: str, read: Callable[[dict[str, Any], Parts], T]) -> T:
    """Read such a file, and make of it what it holds."""

    def whole(arrays: storage.Arrays, meta: dict[str, Any]) -> T:
        return read(meta, {name.removeprefix(TABLE).removeprefix(LIST): _part(name, arrays[name]) for name in arrays})

    return storage.restore(path, kind, VERSION, whole)


Step = Callable[[dict[str, Any], Parts], None]
"""Brings options and parts of a version to the next one."""


def bring_up_to_date(meta: dict[str, Any], parts: Parts, steps: Mapping[int, Step]) -> None:
    """Bring what a file holds to the present version of its kind, one step after the other."""
    version, present = storage.require_int(meta.get(STATE, 1), STATE, 1, MAX_TICK), max(steps) + 1
    if version > present:
        raise StorageError(
            f"the file is of version {version}, but this is version {present}; load it with the release that saved it, "
            "or one that is newer than this"
        )
    for step in range(version, present):
        steps[step](meta, parts)


def without_tally(meta: dict[str, Any], parts: Parts) -> None:
    """Files of version 1 did not count events: those that are held back are all that is known to have come."""
    held = sum(some.shape[1] for some in parts["intake"][1:])
    parts["tally"] = np.array([held, 0, 0], np.int64)


def tally_of(parts: Parts, held: int) -> list[int]:
    """Events given, used and refused, which must add up with those that are held back."""
    counts: list[int] = parts["tally"].tolist()
    sound = len(counts) == 3 and min(counts) >= 0 and counts[0] == counts[1] + counts[2] + held
    storage.require(sound, "an event is not accounted for")
    return counts


def _part(name: str, stored: NDArray[Any]) -> Any:
    if name.startswith(TABLE):
        storage.require(stored.dtype == np.uint8, f"{name!r} is no table")
        return pa.ipc.open_stream(pa.py_buffer(np.ascontiguousarray(stored))).read_all()
    storage.require(stored.dtype == np.int64, f"{name!r} has no whole numbers")
    return unpacked(stored) if name.startswith(LIST) else stored.copy()


def _written(table: pa.Table) -> NDArray[np.uint8]:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return np.frombuffer(sink.getvalue(), np.uint8)


def relation_fields(relation: Relation) -> dict[str, Any]:
    """A relation as JSON holds it."""
    return {"name": relation._name, "boxes": [[_bounds(ends) for ends in box.ranges] for box in relation.terms]}


def relation_of(fields: Any) -> Relation:
    """The same relation again."""
    boxes = [Box(*(_range(ends) for ends in ranges)) for ranges in fields["boxes"]]
    storage.require(bool(boxes) and isinstance(fields["name"], str), "the relation is of another form")
    return Relation.of(boxes, fields["name"])


def _bounds(ends: Any) -> list[Any]:
    return [{"us": bound // timedelta(microseconds=1)} if isinstance(bound, timedelta) else bound for bound in ends]


def _range(ends: Any) -> tuple[Any, Any]:
    low, high = (timedelta(microseconds=bound["us"]) if isinstance(bound, dict) else bound for bound in ends)
    for bound in (low, high):
        storage.require(bound is None or type(bound) in (int, timedelta), f"{bound!r} is no bound")
    return low, high


def span_fields(span: Any) -> Any:
    """A span of time as JSON holds it."""
    return _bounds((span,))[0]


def span_of(field: Any) -> Any:
    """The same span again."""
    return _range((field, None))[0]


def types_table(types: Mapping[str, pa.DataType | None]) -> pa.Table:
    """Types by name, as the schema of a table without rows; those that are not known are left out."""
    return pa.schema([(name, kind) for name, kind in types.items() if kind is not None]).empty_table()


def type_in(table: pa.Table, name: str) -> pa.DataType | None:
    """A type of such a table."""
    at = table.schema.get_field_index(name)
    return None if at < 0 else table.schema.field(at).type


def time_type(kind: pa.DataType | None) -> TimeType | None:
    """The time type of an Arrow type."""
    return None if kind is None else TimeType.of(kind, "time", "stored")


def axis_of(name: Any) -> Axis:
    """An axis by its name."""
    try:
        return Axis(name)
    except ValueError as error:
        raise StorageError(f"{name!r} is no axis of time; restore the file, or save it again") from error


def intake_arrays(intake: Intake) -> list[NDArray[np.int64]]:
    """The clocks of an intake, and the events that it holds back."""
    return [np.array([intake.clock, *intake.clocks], np.int64), *intake.held()]


def restore_intake(intake: Intake, arrays: list[NDArray[np.int64]]) -> None:
    """Go on from such arrays; what cannot be is a StorageError."""
    storage.require(len(arrays) == 3 and arrays[0].shape == (3,), "the clocks are of another form")
    clock, left, right = arrays[0].tolist()
    storage.require(clock <= min(left, right), "the clock of a side stands before that of both")
    for side, held in zip(intake.sides, arrays[1:], strict=True):
        storage.require(held.ndim == 2 and len(held) == 5, "the events held back are of another form")
        check_held(held, side.arrival, clock)
    intake.restore((clock, left, right), *arrays[1:])
