"""A log of records, one behind the other, of what has happened since a file was written.

It begins with the edition of that file; a log of another edition was left behind by a crash, and says nothing. Each
record has a hash over itself and the hash before it. A record that was not written to its end is as if it had never
been begun, and any other damage is refused.
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import xxhash

from timeloom.errors import StorageError
from timeloom.storage.replacing import lock

_HEAD = struct.Struct("<Q16s")
_MAGIC = b"timeloom-records-1:"


class RecordLog:
    """A log that is open for writing, by one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file: BinaryIO = open(path, "r+b" if path.exists() else "x+b", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise StorageError(f"{str(path)!r} could not be opened ({error}); look at its permissions") from error
        if not lock(self._file) and os.name == "posix":
            self._file.close()
            raise StorageError(f"{str(path)!r} is being written by another process, or was opened before; close that")
        self._edition, self._digest, self.offset = b"", b"", 0

    def begin(self, edition: str) -> None:
        """Start anew behind another edition of the file; what the log said is in that."""
        self._edition = self._digest = edition.encode()
        self.offset = 0

    def read(self, edition: str) -> Iterator[bytes]:
        """The records behind an edition of the file; afterwards the log goes on behind the last whole one."""
        self.begin(edition)
        content = self.path.read_bytes()
        opening = _MAGIC + self._edition
        if not content.startswith(opening):
            return
        self.offset = len(opening)
        while len(content) - self.offset >= _HEAD.size:
            size, digest = _HEAD.unpack_from(content, self.offset)
            begin = self.offset + _HEAD.size
            if begin + size > len(content):
                return
            record = content[begin : begin + size]
            if digest != self._hashed(record):
                raise StorageError(
                    f"{str(self.path)!r} is damaged at byte {self.offset}: its checksum does not match its content; "
                    "restore it, or remove it to go on with what the file itself holds"
                )
            self._digest, self.offset = digest, begin + size
            yield record

    def append(self, record: bytes) -> None:
        """Write a record; it is on the disk when this returns, and as if it had never been begun if it fails."""
        digest = self._hashed(record)
        opening = b"" if self.offset else _MAGIC + self._edition
        try:
            self._file.truncate(self.offset)
            self._file.seek(self.offset)
            self._file.write(opening + _HEAD.pack(len(record), digest) + record)
            os.fsync(self._file.fileno())
        except OSError as error:
            raise StorageError(f"{str(self.path)!r} could not be written ({error}); nothing has changed") from error
        self._digest, self.offset = digest, self._file.tell()

    def close(self) -> None:
        """Let others write."""
        self._file.close()

    def _hashed(self, record: bytes) -> bytes:
        digest = xxhash.xxh3_128(self._digest)
        digest.update(record)
        return digest.digest()
