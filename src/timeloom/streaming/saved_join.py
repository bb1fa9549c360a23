"""A streaming join on tables as a file, and back."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from timeloom import storage
from timeloom.streaming import saved
from timeloom.streaming.carried import ID
from timeloom.streaming.saved import Place, relation_fields, relation_of, span_fields, span_of, time_type, type_in
from timeloom.streaming.storage import VERSION

if TYPE_CHECKING:
    from timeloom.streaming.tables import StreamJoin

KIND = "stream-join"


def save_join(join: "StreamJoin", path: Place) -> None:
    """Write a join, of which nothing changes meanwhile."""
    parts: dict[str, Any] = {
        "types": saved.types_table(
            {
                "time": None if join.type is None else join.type.arrow,
                **{
                    f"{side} time": kind and kind.arrow
                    for side, kind in zip(("left", "right"), join._types, strict=True)
                },
                **{f"{names.side} ids": names.type for names in join.names},
            }
        ),
        "counts": np.array([join._given, join._used, join._refused, *join._next], np.int64),
        "rejected": pa.concat_tables([_rejected().empty_table(), *join._rejected]),
        **join.keys.tables(),
    }
    if join._made is not None:
        parts["state"] = join._made.snapshot()
    for side, (names, carried) in enumerate(zip(join.names, join._carried, strict=True)):
        if join._numbered and join._made is not None:
            carried.keep_only(join._made.used_ids(side))
        parts[f"{names.side} names"] = names.table()
        parts[f"{names.side} fields"] = [carried.fields]
        parts[f"{names.side} rows"] = pa.table(carried.columns)
    saved.save(path, KIND, _options(join), parts)


def _options(join: "StreamJoin") -> dict[str, Any]:
    wanted = join.wanted
    return {
        "relation": relation_fields(join.relation),
        "arrivals": join.arrivals,
        "how": join.how,
        "on": wanted.keys,
        "columns": wanted.columns,
        "suffixes": wanted.suffixes,
        "overlap": wanted.overlap,
        "where": None if wanted.where is None else wanted.where.text,
        "event_columns": wanted.roles._asdict(),
        "lateness": None if join.lateness is None else [span_fields(span) for span in join.lateness],
        "payload": join._payload,
        "numbered": join._numbered,
        "state": VERSION,
    }


def load_join(kind: "type[StreamJoin]", path: Place) -> "StreamJoin":
    """Read a join that goes on where it was saved."""
    return saved.load(path, KIND, lambda meta, parts: _read(kind, meta, parts))


def _read(kind: "type[StreamJoin]", meta: dict[str, Any], parts: saved.Parts) -> "StreamJoin":
    left, right = meta["arrivals"]
    late: Any = meta["lateness"]
    join = kind(
        relation_of(meta["relation"]),
        on=meta["on"],
        how=meta["how"],
        left=left,
        right=right,
        columns=meta["columns"],
        suffixes=tuple(meta["suffixes"]),
        overlap=meta["overlap"],
        where=meta["where"],
        event_columns=meta["event_columns"],
        lateness=late and {"left": span_of(late[0]), "right": span_of(late[1])},
    )
    join.type = time_type(type_in(parts["types"], "time"))
    join._types = [time_type(type_in(parts["types"], f"{side} time")) for side in ("left", "right")]
    join._payload = [None if names is None else tuple(names) for names in meta["payload"]]
    join._given, join._used, join._refused, *join._next = parts["counts"].tolist()
    storage.require(
        parts["rejected"].schema == _rejected() and len(join._next) == 2, "what was refused is of another form"
    )
    join._rejected = [parts["rejected"]]
    _restore(join, meta, parts)
    return join


def _restore(join: "StreamJoin", meta: dict[str, Any], parts: saved.Parts) -> None:
    """The state itself, if there is any."""
    made = None
    if "state" in parts:
        storage.require(join.type is not None, "there is a state, but no axis of time")
        made = join._join(numbered=meta["numbered"] is True)
        made.restore(parts["state"], meta["state"])
        storage.require(join._given == sum((join._used, join._refused, made.waiting)), "an event is not accounted for")
    for side, (names, carried) in enumerate(zip(join.names, join._carried, strict=True)):
        used = np.empty(0, np.int64) if made is None else made.used_ids(side)
        table = parts[f"{names.side} rows"]
        columns = {name: table[name] for name in table.column_names}
        kept = used if made is None or not join._numbered else made.kept_rows(side)
        carried.restore(parts[f"{names.side} fields"][0], columns, kept if join._numbered else used[:0])
        if join._numbered and made is not None:
            used = np.concatenate([carried.fields[ID], made.held_ids(side)])
        names.read(parts[f"{names.side} names"], type_in(parts["types"], f"{names.side} ids"), used)
    join.keys.read(parts, set() if made is None else made.keys)


def _rejected() -> pa.Schema:
    return pa.schema([(name, pa.string()) for name in ("side", "id", "time", "reason")])
