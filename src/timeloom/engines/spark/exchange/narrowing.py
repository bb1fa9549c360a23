"""Whole numbers and instants in as few bytes as they need: what travels between tasks is copied several times.

Each column is written as what its values are above the least of them, if that takes fewer bytes; or as what they are
above those of the column before it, if that takes still fewer: an end lies near its start. Spark copies a block from
Python, into a row, through a compressed file and back, which takes longer than this.
"""

import json
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

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
    least: dict[int, tuple[int, bool]] = {}
    columns, before = list(table.columns), None
    for at, column in enumerate(columns):
        values = _values(column)
        found = None if values is None else _narrowed(values, before)
        if found is not None:
            columns[at], least[at] = found[0], found[1:]
        before = values
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
    for name, (least, above) in json.loads(known[_LEAST]).items():
        at = int(name)
        columns[at] = _widened(columns[at], least, schema.field(at).type, columns[at - 1] if above else None)
    return pa.Table.from_arrays(columns, schema=schema)


def _values(column: pa.ChunkedArray) -> "NDArray[Any] | None":
    """The values of a column of whole numbers or instants without nulls; None if it is none."""
    kind = column.type
    if not any(suits(kind) for suits in _KINDS) or column.null_count or column.num_chunks != 1:
        return None
    width = kind.bit_width // 8
    if width not in _WIDTHS:
        return None
    return _numbers(column, _WIDTHS[width])


def _numbers(column: pa.ChunkedArray, dtype: "np.dtype[Any]") -> "NDArray[Any]":
    """The values of a column without nulls."""
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * dtype.itemsize)


def _narrowed(values: "NDArray[Any]", before: "NDArray[Any] | None") -> tuple[pa.Array, int, bool] | None:
    """Values above the least of them or above those of the column before; None if they would take as many bytes.

    The least is told, and whether the column before counts. Differences may wrap around; sums do so, too.
    """
    width, low = _narrowest(values)
    relative = False
    if before is not None and before.dtype == values.dtype and (width is None or width.itemsize > 1):
        apart = values - before
        closer, least = _narrowest(apart)
        if closer is not None and (width is None or closer.itemsize < width.itemsize):
            values, width, low, relative = apart, closer, least, True
    if width is None:
        return None
    above = np.subtract(values, values.dtype.type(low), out=np.empty(values.size, width), casting="unsafe")
    return pa.Array.from_buffers(pa.from_numpy_dtype(width), above.size, [None, pa.py_buffer(above)]), low, relative


def _narrowest(values: "NDArray[Any]") -> "tuple[np.dtype[Any] | None, int]":
    """The type of the fewest bytes for values above the least of them, if there is one, and the least."""
    low, high = int(values.min()), int(values.max())
    fitting = (one for one in _NARROW if one.itemsize < values.itemsize and high - low <= np.iinfo(one).max)
    return next(fitting, None), low


def _widened(column: pa.ChunkedArray, least: int, kind: pa.DataType, before: pa.ChunkedArray | None) -> pa.ChunkedArray:
    dtype = _WIDTHS[kind.bit_width // 8]
    above = _numbers(column, np.dtype(f"u{column.type.bit_width // 8}"))
    values = np.add(above, dtype.type(least), dtype=dtype, casting="unsafe")
    if before is not None:
        values += _numbers(before, dtype)
    return pa.chunked_array([pa.Array.from_buffers(kind, values.size, [None, pa.py_buffer(values)])], kind)
