"""What has changed since a forest was saved, as records behind each other in a log beside its file.

A log begins with the edition of the file that it follows; one of another edition was left behind by a crash, and says
nothing. A record holds operations in their order, and the payload of the events among them. Each has a hash over itself
and the hash before it. A record that was not written to its end is as if it had never been begun: the file ends within
it, or in zeros where a power cut left room for it and no more. Any other damage is refused.
"""

import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from timeloom.errors import StorageError

ADD, FINISH, ADVANCE, FORGET = range(4)
Operation = tuple[int, int, int]

_HEAD = struct.Struct("<QQ16s")
_MAGIC = b"timeloom-log-1:"

_END = 8
"""A record ends with the end mark of an Arrow stream, of so many bytes that are not all zeros."""


@dataclass
class Journal:
    """The operations since the last save, and where the log of that save ends."""

    path: Path
    edition: str
    base_bytes: int
    digest: bytes = b""
    offset: int = 0
    stamp: "tuple[int, int, int] | None" = None
    operations: list[Operation] = field(default_factory=list)
    rows: list[pa.Table] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.digest = self.digest or self.edition.encode()

    @property
    def log(self) -> Path:
        """The file of the log."""
        return log_of(self.path)

    def goes_on(self, path: Path) -> bool:
        """Whether the log can be continued: it is of this file, which nobody has replaced, and not yet too long."""
        known = self.stamp is not None and self.path == path and self.stamp == stamp_of(path)
        return known and self.offset <= max(1 << 20, self.base_bytes // 2)

    def write(self, meta: dict[str, Any]) -> None:
        """Append all operations as one record, and forget them; it is on the disk when this returns."""
        if not self.operations:
            return
        body = _operations(self.operations, meta)
        rows = stream_of(pa.concat_tables(self.rows)) if self.rows else b""
        digest = _digest(self.digest, body, rows)
        try:
            with open(self.log, "r+b" if self.offset else "wb") as file:
                file.seek(self.offset)
                file.write(b"" if self.offset else _MAGIC + self.edition.encode())
                file.write(_HEAD.pack(len(body), len(rows), digest) + body + rows)
                file.truncate()
                file.flush()
                os.fsync(file.fileno())
                self.offset = file.tell()
        except OSError as error:
            raise StorageError(f"{str(self.log)!r} could not be written ({error}); the forest is unchanged") from error
        self.digest, self.operations, self.rows = digest, [], []


def stamp_of(path: Path) -> "tuple[int, int, int] | None":
    """What tells a file from another that took its place."""
    try:
        known = path.stat()
    except OSError:
        return None
    return known.st_ino, known.st_mtime_ns, known.st_size


def log_of(path: Path) -> Path:
    """Where the log of a file stands."""
    return path.with_name(path.name + ".log")


def records(journal: Journal) -> Iterator[tuple[list[Operation], dict[str, Any], pa.Table | None]]:
    """Read the records of a journal's log one by one; afterwards the journal stands behind the last."""
    try:
        content = journal.log.read_bytes()
    except FileNotFoundError:
        return
    opening = _MAGIC + journal.edition.encode()
    if not content.startswith(opening):
        return
    journal.offset = len(opening)
    while len(content) - journal.offset >= _HEAD.size:
        body_size, rows_size, digest = _HEAD.unpack_from(content, journal.offset)
        begin = journal.offset + _HEAD.size
        end = begin + body_size + rows_size
        if end > len(content) or _is_blank(content, journal.offset):
            return
        body, rows = content[begin : begin + body_size], content[begin + body_size : end]
        if digest != _digest(journal.digest, body, rows):
            if _is_blank(content, end - _END):
                return
            raise StorageError(
                f"{str(journal.log)!r} is damaged at byte {journal.offset}: its checksum does not match its content; "
                "restore it, or remove it to go on with what the file itself holds"
            )
        table = pa.ipc.open_stream(body).read_all()
        operations = list(zip(*(table[name].to_pylist() for name in ("operation", "first", "second")), strict=True))
        meta = json.loads(table.schema.metadata[b"timeloom"])
        journal.digest, journal.offset = digest, begin + body_size + rows_size
        yield operations, meta, pa.ipc.open_stream(rows).read_all() if rows_size else None


def grouped(operations: list[Operation]) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
    """Stretches of equal operations, their arguments as columns."""
    begin = 0
    while begin < len(operations):
        stop = begin + 1
        while stop < len(operations) and operations[stop][0] == operations[begin][0]:
            stop += 1
        yield operations[begin][0], np.array([part[1:] for part in operations[begin:stop]], np.int64).T.copy()
        begin = stop


def _operations(operations: list[Operation], meta: dict[str, Any]) -> bytes:
    codes, first, second = zip(*operations, strict=True)
    table = pa.table(
        {
            "operation": pa.array(codes, pa.int8()),
            "first": pa.array(first, pa.int64()),
            "second": pa.array(second, pa.int64()),
        }
    )
    return stream_of(table.replace_schema_metadata({"timeloom": json.dumps(meta)}))


def stream_of(table: pa.Table) -> bytes:
    """A table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _is_blank(content: bytes, offset: int) -> bool:
    """Whether nothing but zeros follows."""
    return content.count(0, offset) == len(content) - offset


def _digest(previous: bytes, body: bytes, rows: bytes) -> bytes:
    digest = xxhash.xxh3_128(previous)
    digest.update(body)
    digest.update(rows)
    return digest.digest()
