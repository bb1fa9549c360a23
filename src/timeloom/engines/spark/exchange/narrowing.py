"""Whole numbers and instants in as few bytes as they need: what travels between tasks is copied several times.

Each column is written as what its values are above the least of them, if that takes fewer bytes. Spark copies a block
from Python, into a row, through a compressed file and back, which takes longer than this.
"""

import json
from typing import Any

import numpy as np
import pyarrow as pa

FEW = 1 << 10
"""So few rows are left as they are."""

_LEAST, _WIDE = b"least", b"wide"
_WIDTHS: "dict[int, np.dtype[Any]]" = {8: np.dtype(np.int64), 4: np.dtype(np.int32)}
_NARROW: "tuple[np.dtype[Any], ...]" = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32))
_KINDS = (pa.types.is_signed_integer, pa.types.is_timestamp, pa.types.is_date32, pa.types.is_duration)


def narrowed(table: pa.Table) -> pa.Table:
    """A table whose columns of whole numbers are as narrow as their values allow; it knows what they were."""
    if table.num_rows < FEW:
        return table
    least: dict[int, int] = {}
    columns = list(table.columns)
    for at, column in enumerate(columns):
        found = _narrowed(column)
        if found is not None:
            least[at], columns[at] = found
    if not least:
        return table
    known = {_LEAST: json.dumps(least).encode(), _WIDE: table.schema.serialize().to_pybytes()}
    return pa.Table.from_arrays(columns, names=table.column_names).replace_schema_metadata(known)


def widened(table: pa.Table) -> pa.Table:
    """The table that was narrowed."""
    known = table.schema.metadata or {}
    if _LEAST not in known:
        return table
    schema = pa.ipc.read_schema(pa.py_buffer(known[_WIDE]))
    columns = list(table.columns)
    for at, least in json.loads(known[_LEAST]).items():
        columns[int(at)] = _widened(columns[int(at)], int(least), schema.field(int(at)).type)
    return pa.Table.from_arrays(columns, schema=schema)


def _narrowed(column: pa.ChunkedArray) -> tuple[int, pa.Array] | None:
    """The least value of a column, and all values above it; None if they would take as many bytes."""
    kind = column.type
    if not any(suits(kind) for suits in _KINDS) or column.null_count or column.num_chunks != 1:
        return None
    width = kind.bit_width // 8
    if width not in _WIDTHS:
        return None
    array = column.chunk(0)
    values = np.frombuffer(array.buffers()[1], _WIDTHS[width], len(array), array.offset * width)
    low, high = int(values.min()), int(values.max())
    dtype = next((one for one in _NARROW if one.itemsize < width and high - low <= np.iinfo(one).max), None)
    if dtype is None:
        return None
    above = np.subtract(values, values.dtype.type(low), out=np.empty(values.size, dtype), casting="unsafe")
    return low, pa.Array.from_buffers(pa.from_numpy_dtype(dtype), above.size, [None, pa.py_buffer(above)])


def _widened(column: pa.ChunkedArray, least: int, kind: pa.DataType) -> pa.ChunkedArray:
    dtype = _WIDTHS[kind.bit_width // 8]
    chunks = []
    for chunk in column.chunks:
        narrow = np.dtype(f"u{chunk.type.bit_width // 8}")
        above = np.frombuffer(chunk.buffers()[1], narrow, len(chunk), chunk.offset * narrow.itemsize)
        values = np.add(above, dtype.type(least), dtype=dtype, casting="unsafe")
        chunks.append(pa.Array.from_buffers(kind, values.size, [None, pa.py_buffer(values)]))
    return pa.chunked_array(chunks, kind)
