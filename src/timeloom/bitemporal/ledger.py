"""A bitemporal table that lasts: a file, and behind it a log of the batches since."""

import json
import os
import struct
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.bitemporal.chronicle import Chronicle
from timeloom.bitemporal.draft import Draft
from timeloom.bitemporal.persistence import bytes_table, table_bytes
from timeloom.engines.tables.taking import chosen_rows
from timeloom.engines.tables.ticks import TimeType, column_ticks
from timeloom.model.ticks import FOREVER
from timeloom.storage.records import RecordLog

LEAST = 1 << 20
"""A log shorter than this is never worth a new file."""

_LENGTH = struct.Struct("<Q")


def log_of(path: "str | os.PathLike[str]") -> Path:
    """Where the log of a file stands; a link is followed."""
    target = Path(os.path.realpath(path))
    return target.with_name(target.name + ".log")


@dataclass(frozen=True)
class Record:
    """What a batch has done: versions that left, ends of versions by their positions then, new versions, the time."""

    undone: list[int]
    ended: pa.Table
    fresh: pa.Table | None
    latest: int

    @classmethod
    def of(cls, draft: Draft, after: Chronicle) -> "Record":
        """What a finished draft has done."""
        ends = draft.ends_of_kept()
        ended = pa.table({"row": pa.array(ends.keys(), pa.int64()), "at": pa.array(ends.values(), pa.int64())})
        fresh = after.since(draft.kept) if after.layout.schema.names else None
        return cls(sorted(row for row in draft.undone if row < draft.first), ended, fresh, after.latest)

    def packed(self) -> bytes:
        """The record as bytes."""
        meta = json.dumps({"undone": self.undone, "latest": self.latest})
        ended = table_bytes(self.ended.replace_schema_metadata({"timeloom": meta})).tobytes()
        fresh = b"" if self.fresh is None else table_bytes(self.fresh).tobytes()
        return _LENGTH.pack(len(ended)) + ended + fresh

    @classmethod
    def read(cls, content: bytes) -> "Record":
        """A record from its bytes."""
        (size,) = _LENGTH.unpack_from(content)
        begin = _LENGTH.size
        ended = bytes_table(np.frombuffer(content, np.uint8, size, begin))
        rest = np.frombuffer(content, np.uint8, offset=begin + size)
        meta = json.loads(ended.schema.metadata[b"timeloom"])
        return cls(meta["undone"], ended, bytes_table(rest) if rest.size else None, meta["latest"])


class Ledger:
    """The log of an open table, and the edition of the file that it follows."""

    def __init__(self, path: "str | os.PathLike[str]") -> None:
        self.path = Path(os.path.realpath(path))
        self._log = RecordLog(log_of(path))
        self._limit = LEAST

    def begin(self, edition: str) -> None:
        """Go on behind a file that was just written."""
        self._log.begin(edition)
        self._limit = max(LEAST, self.path.stat().st_size // 2)

    def records(self, edition: str) -> Iterator[Record]:
        """What has happened since the file was written."""
        self._limit = max(LEAST, self.path.stat().st_size // 2)
        return map(Record.read, self._log.read(edition))

    def write(self, record: Record) -> None:
        """Make a batch last."""
        self._log.append(record.packed())

    @property
    def is_long(self) -> bool:
        """Whether the file is better written anew."""
        return self._log.offset > self._limit

    def postpone(self) -> None:
        """Try again to write the file anew when the log is twice as long."""
        self._limit = 2 * self._log.offset

    def close(self) -> None:
        """Let others write."""
        self._log.close()


def new_edition() -> str:
    """A name for a file's content that no other has."""
    return uuid.uuid4().hex


class Replay:
    """A history to which records are applied, one after the other."""

    def __init__(self, history: "pa.Table | None", latest: int) -> None:
        self.parts = [] if history is None else [history]
        self.ended: list[pa.Table] = []
        self.latest = latest

    def apply(self, record: Record) -> None:
        """Do what a batch has done."""
        if record.undone:
            history = self.history()
            assert history is not None
            keep = np.ones(history.num_rows, np.bool_)
            keep[record.undone] = False
            self.parts = [chosen_rows(history, keep)]
        self.ended.append(record.ended)
        if record.fresh is not None:
            self.parts.append(record.fresh)
        self.latest = record.latest

    def history(self) -> "pa.Table | None":
        """All versions, with the ends that they have by now; None if no column is known yet."""
        if not self.parts:
            return None
        history = pa.concat_tables(self.parts)
        ended = pa.concat_tables(self.ended) if self.ended else None
        self.parts, self.ended = [history], []
        if ended is None or not ended.num_rows:
            return history
        kind = TimeType.of(history.schema.field("sys_end").type, "sys_end", "bitemporal")
        ticks, is_open = column_ticks(history["sys_end"], kind, truncate=False)
        ends = np.where(is_open, FOREVER, ticks)
        ends[np.asarray(ended["row"])] = np.asarray(ended["at"])
        position = history.column_names.index("sys_end")
        self.parts = [history.set_column(position, "sys_end", kind.to_arrow(ends, ends == FOREVER))]
        return self.parts[0]


def described(state: Chronicle, extra: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays and metadata of a table's file."""
    known = bool(state.layout.schema.names)
    meta = {"key": list(state.layout.key), "latest": state.latest, **extra}
    return {"history": table_bytes(state.history) if known else np.empty(0, np.uint8)}, meta
