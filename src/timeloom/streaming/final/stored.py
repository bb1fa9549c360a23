"""The state of a stream of final results as bytes: sealed by a hash, bound to its query, Arrow tables inside."""

import hashlib
import hmac
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from timeloom.engines.tables.key_types import plain_type
from timeloom.engines.tables.ticks import TimeType
from timeloom.errors import StorageError
from timeloom.streaming.final.rows import Batch, Live, Refused, Role, StreamRows
from timeloom.streaming.intake import REASONS
from timeloom.streaming.storage import SEAL, malformed, mark

if TYPE_CHECKING:
    from timeloom.streaming.final.stream import FinalStream

VERSION = 2
"""Of the layout of a stored state."""


def _with_refused(header: dict[str, Any]) -> dict[str, Any]:
    """Version 1 left out refused events that nobody had taken yet."""
    return {**header, "refused": []}


STEPS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: _with_refused}
"""How the header of a state of a version becomes one of the next."""


def write_state(stream: "FinalStream") -> bytes:
    """The whole state of a stream."""
    parts = [_table({"type": pa.nulls(0, stream._type.arrow)})]
    for rows in stream.streams:
        if rows is not None:
            parts += _tables(rows)
    for _, some in stream.refused:
        parts.append(_table(_numbered([some.times, some.timeless, some.verdicts], some.table)))
    header = {
        "version": VERSION,
        "typed": stream.type is not None,
        "numbers": [stream.clock, stream.since, stream.wake],
        "counts": stream.counts,
        "streams": [None if rows is None else rows.count for rows in stream.streams],
        "refused": [stream.roles.index(role) for role, _ in stream.refused],
        "lengths": [len(part) for part in parts],
    }
    content = mark(stream.query) + json.dumps(header).encode() + b"\n" + b"".join(parts)
    return hashlib.blake2b(content, digest_size=SEAL).digest() + content


def read_state(stream: "FinalStream", stored: bytes) -> None:
    """Let a stream go on from what one with the same options wrote; anything else is a StorageError."""
    content = stored[SEAL:]
    if not hmac.compare_digest(stored[:SEAL], hashlib.blake2b(content, digest_size=SEAL).digest()):
        raise StorageError(
            f"a streaming state of {len(stored):,} bytes is damaged: its hash does not match its content; "
            "restore it from a copy, or start anew"
        )
    if content[:SEAL] != mark(stream.query):
        raise StorageError(
            f"the streaming state is that of another query; go on with the one that wrote it, or start anew "
            f"(this query: {stream.query})"
        )
    try:
        _restore(stream, content[SEAL:])
    except (ValueError, KeyError, TypeError, IndexError, pa.ArrowException) as error:
        raise malformed(str(error)) from error


def _restore(stream: "FinalStream", content: bytes) -> None:
    text, _, body = content.partition(b"\n")
    header = _migrated(json.loads(text))
    parts = _split(body, header["lengths"])
    kind = next(parts).schema.field(0).type
    streams = [
        None if count is None else _rows(role, count, next(parts), next(parts), next(parts))
        for role, count in zip(stream.roles, header["streams"], strict=True)
    ]
    refused = [(stream.roles[side], _refused(next(parts))) for side in header["refused"] if side >= 0]
    stream.type = TimeType.of(kind, "time", "input") if header["typed"] else None
    stream.clock, stream.since, stream.wake = header["numbers"]
    stream.counts, stream.streams, stream.refused = header["counts"], streams, refused


def _migrated(header: dict[str, Any]) -> dict[str, Any]:
    """The header of a known version in the present layout."""
    version = header["version"]
    if version != VERSION and version not in STEPS:
        raise StorageError(
            f"the streaming state is of version {version}, but this is version {VERSION}, which reads versions from "
            f"{min(STEPS)} on; finish the query with the release that began it, or start from a new checkpoint"
        )
    for step in range(version, VERSION):
        header = STEPS[step](header)
    return header


def _refused(stored: pa.Table) -> Refused:
    """Events that take no part, and that nobody has taken yet."""
    times, timeless, verdicts = (_array(stored, at) for at in range(3))
    if verdicts.size and not 0 < verdicts.min() <= verdicts.max() < len(REASONS):
        raise malformed("an event was refused for no reason")
    return Refused(_rest(stored), times, timeless.astype(np.bool_), verdicts.astype(np.int8))


def _split(body: bytes, lengths: list[int]) -> Any:
    at = 0
    for length in lengths:
        yield pa.ipc.open_stream(body[at : at + length]).read_all()
        at += length


def _table(columns: "dict[str, Any] | pa.Table") -> bytes:
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue())


def _tables(rows: StreamRows) -> list[bytes]:
    """Live rows, held events and open ids, with numbers in front of the user's columns, which may have any name."""
    live, held = rows.live, rows.held
    opened = np.array(list(rows.opened.values()), np.int64).reshape(-1, 2)
    return [
        _table(_numbered([live.starts, live.ends, live.numbers], live.table)),
        _table(_numbered([held.times, held.starting, held.ends], held.table)),
        _table(_numbered([opened[:, 0], opened[:, 1]], opened_table(rows))),
    ]


def opened_table(rows: StreamRows) -> pa.Table:
    """The keys and ids of open rows."""
    names, kinds = (*rows.role.keys, rows.role.columns.id), rows.live.table.schema
    columns = list(zip(*rows.opened, strict=True)) if rows.opened else [()] * len(names)
    ids = [pa.array(column, plain_type(kinds.field(name).type)) for name, column in zip(names, columns, strict=True)]
    return pa.table(ids, [f"n{at}" for at in range(len(names))])


def _numbered(numbers: list[Any], table: pa.Table) -> pa.Table:
    arrays = [pa.chunked_array([pa.array(np.ascontiguousarray(array))]) for array in numbers]
    names = [f"{at}" for at in range(len(numbers))]
    return pa.Table.from_arrays([*arrays, *table.columns], [*names, *table.column_names])


def _rows(role: Role, count: int, live: pa.Table, held: pa.Table, opened: pa.Table) -> StreamRows:
    rows = StreamRows(
        role,
        Live(_rest(live), *(_array(live, at) for at in range(3))),
        Batch(_rest(held), _array(held, 0), np.asarray(held.column(1)).astype(np.bool_), _array(held, 2)),
        {},
        count,
    )
    names = rows.names_of(_rest(opened, 2).columns)
    positions = zip(opened.column(0).to_pylist(), opened.column(1).to_pylist(), strict=True)
    rows.opened.update(zip(names, positions, strict=True))
    return rows


def _array(table: pa.Table, at: int) -> Any:
    return np.asarray(table.column(at)).astype(np.int64)


def _rest(table: pa.Table, first: int = 3) -> pa.Table:
    names = table.column_names[first:]
    return pa.Table.from_arrays(
        table.columns[first:], schema=pa.schema([table.schema.field(at) for at in range(first, first + len(names))])
    )
