"""JSON: one object a line, or one array of objects."""

import base64
import json
from collections.abc import Callable, Iterable
from datetime import date, datetime, time
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from timeloom.pipeline.formats.record import Csv

if TYPE_CHECKING:
    import pyarrow as pa

BLANKS = b" \t\r\n"
BLOCK = 1 << 20


def read_json(file: "pa.NativeFile", how: Csv) -> "pa.Table":
    """Read objects, one a line, or an array of them: the first character tells."""
    from pyarrow import json as lines

    first = file.read(1)
    while first and first in BLANKS:
        first = file.read(1)
    if not first:
        return _without_rows(how)
    file.seek(0)
    return read_array(file, how) if first == b"[" else lines.read_json(file)


def read_array(file: "pa.NativeFile", how: Csv) -> "pa.Table":
    """Read an array of objects. They go to Arrow as lines, so that types are guessed as for lines."""
    import pyarrow as pa
    from pyarrow import json as lines

    written = "\n".join(json.dumps(row) for row in _objects(file))
    if not written:
        return _without_rows(how)
    return lines.read_json(pa.BufferReader(written.encode()))


def _without_rows(how: Csv) -> "pa.Table":
    """The columns that are known otherwise; their types are told by whoever knows them."""
    import pyarrow as pa

    if not how.known:
        raise pa.ArrowInvalid(
            "it has no objects, so nothing tells its columns; give all their types (commands take --type NAME=TYPE, "
            "pipelines a schema)"
        )
    return pa.table({name: pa.nulls(0) for name in how.known})


def _objects(file: "pa.NativeFile") -> list[Any]:
    import pyarrow as pa

    try:
        rows = json.loads(file.read())
    except ValueError as error:
        raise pa.ArrowInvalid(str(error)) from error
    if not isinstance(rows, list):
        raise pa.ArrowInvalid(f"it holds one {type(rows).__name__}, expected an array of objects")
    strange = [at for at, row in enumerate(rows) if not isinstance(row, dict)]
    if strange:
        raise pa.ArrowInvalid(
            f"{len(strange)} of {len(rows)} elements are no objects, the first is element {strange[0]}"
        )
    return rows


def count_lines(opened: "Callable[[], pa.NativeFile]") -> int:
    """Count lines without reading values."""
    with opened() as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(BLOCK), b""))


def count_elements(opened: "Callable[[], pa.NativeFile]") -> int:
    """Count the objects of an array."""
    with opened() as file:
        return len(_objects(file))


class JsonLines:
    """Writes one object a line."""

    def __init__(self, file: "IO[bytes] | pa.NativeFile", schema: "pa.Schema") -> None:
        self.file = file

    def __enter__(self) -> "JsonLines":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Lines need no end."""

    def write(self, batch: "pa.RecordBatch") -> None:
        """Write one batch."""
        for text in _texts(batch):
            self.file.write(text + b"\n")


class JsonArray(JsonLines):
    """Writes an array, one element a line."""

    before = b"[\n"

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the array, if it got so far."""
        if kind is None:
            self.file.write(b"\n]\n" if self.before == b",\n" else b"[]\n")

    def write(self, batch: "pa.RecordBatch") -> None:
        """Write one batch."""
        for text in _texts(batch):
            self.file.write(self.before + text)
            self.before = b",\n"


def _texts(batch: "pa.RecordBatch") -> "Iterable[bytes]":
    for row in batch.to_pylist():
        yield json.dumps(row, default=plain, ensure_ascii=False).encode()


def plain(value: Any) -> Any:
    """Write a value that JSON does not know: times as ISO text, bytes in base 64, the rest as text."""
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value)
