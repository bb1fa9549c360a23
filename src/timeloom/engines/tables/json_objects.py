"""JSON as tables: one object a line, or one array of objects. Types are guessed as for CSV: days are dates."""

import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as lines

BLANKS = b" \t\r\n"
DAY = len("2024-01-31")


def read_objects(file: pa.NativeFile) -> "pa.Table | None":
    """Read objects, one a line, or an array of them: the first character tells. None if there are none."""
    first = file.read(1)
    while first and first in BLANKS:
        first = file.read(1)
    if not first:
        return None
    file.seek(0)
    return read_array(file) if first == b"[" else _read_lines(file)


def read_array(file: pa.NativeFile) -> "pa.Table | None":
    """Read an array of objects. They go to Arrow as lines, so that types are guessed as for lines."""
    written = "\n".join(json.dumps(row) for row in objects(file))
    return _read_lines(pa.BufferReader(written.encode())) if written else None


def objects(file: pa.NativeFile) -> list[Any]:
    """The elements of an array, all of which must be objects."""
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


def _read_lines(file: pa.NativeFile) -> pa.Table:
    """Read objects, one a line. Arrow takes days for instants at midnight; their texts are looked at once more."""
    found = lines.read_json(file)
    guessed = [field.name for field in found.schema if pa.types.is_timestamp(field.type)]
    if not guessed:
        return found
    file.seek(0)
    as_text = pa.schema([(name, pa.string()) for name in guessed])
    texts = lines.read_json(file, parse_options=lines.ParseOptions(explicit_schema=as_text))
    for name in guessed:
        if pc.all(pc.equal(pc.utf8_length(texts[name]), DAY)).as_py():
            at = found.schema.get_field_index(name)
            found = found.set_column(at, name, found[name].cast(pa.date32()))
    return found
