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

BLOCK = 1 << 20


def read_json(file: "pa.NativeFile", how: Csv) -> "pa.Table":
    """Read objects, one a line, or an array of them."""
    from timeloom.engines.tables.json_objects import read_objects

    found = read_objects(file)
    return _without_rows(how) if found is None else found


def read_array(file: "pa.NativeFile", how: Csv) -> "pa.Table":
    """Read an array of objects."""
    from timeloom.engines.tables import json_objects

    found = json_objects.read_array(file)
    return _without_rows(how) if found is None else found


def _without_rows(how: Csv) -> "pa.Table":
    """The columns that are known otherwise; their types are told by whoever knows them."""
    import pyarrow as pa

    if not how.known:
        raise pa.ArrowInvalid(
            "it has no objects, so nothing tells its columns; give all their types (commands take --type NAME=TYPE, "
            "pipelines a schema)"
        )
    return pa.table({name: pa.nulls(0) for name in how.known})


def count_lines(opened: "Callable[[], pa.NativeFile]") -> int:
    """Count lines without reading values."""
    with opened() as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(BLOCK), b""))


def count_elements(opened: "Callable[[], pa.NativeFile]") -> int:
    """Count the objects of an array."""
    from timeloom.engines.tables.json_objects import objects

    with opened() as file:
        return len(objects(file))


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
