"""Whole numbers and instants in as few bytes as they need: what travels between tasks is copied several times.

Each column is written as what its values are above the least of them, if that takes fewer bytes; or as what they are
above those of the column before it, if that takes still fewer: an end lies near its start; or above those of the row
before: numbers of rows, and times of rows that come in order. Spark copies a block from Python, into a row, through a
compressed file and back, which takes longer than this.
"""

import json
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

FEW = 1 << 10
"""So few rows are left as they are."""

_LEAST, _WIDE = b"least", b"wide"
_WIDTHS: "dict[int, np.dtype[Any]]" = {8: np.dtype(np.int64), 4: np.dtype(np.int32)}
_NARROW: "tuple[np.dtype[Any], ...]" = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32))
_KINDS = (pa.types.is_signed_integer, pa.types.is_timestamp, pa.types.is_date32, pa.types.is_duration)


Above = Literal["nothing", "column", "row"]
"""What values are written above: the column before it, or the row before; or nothing but the least of all."""


class Narrow(NamedTuple):
    """A column in few bytes: above what, above the least of these, and what the first value was."""

    column: pa.Array
    least: int
    above: Above
    first: int


def narrowed(table: pa.Table) -> pa.Table:
    """A table whose columns of whole numbers are as narrow as their values allow; it knows what they were."""
    if table.num_rows < FEW:
        return table
    told: dict[int, tuple[int, Above, int]] = {}
    columns, before = list(table.columns), None
    for at, column in enumerate(columns):
        values = _values(column)
        found = None if values is None else _narrowed(values, before)
        if found is not None:
            columns[at], told[at] = found.column, found[1:]
        before = values
    if not told:
        return table
    known = {_LEAST: json.dumps(told).encode(), _WIDE: table.schema.serialize().to_pybytes()}
    return pa.Table.from_arrays(columns, names=table.column_names).replace_schema_metadata(known)


def widened(table: pa.Table) -> pa.Table:
    """The table that was narrowed."""
    known = table.schema.metadata or {}
    if _LEAST not in known:
        return table
    schema = pa.ipc.read_schema(pa.py_buffer(known[_WIDE]))
    columns = list(table.columns)
    for name, told in json.loads(known[_LEAST]).items():
        at = int(name)
        columns[at] = _widened(columns[at], schema.field(at).type, columns[at - 1], *told)
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


def _narrowed(values: "NDArray[Any]", before: "NDArray[Any] | None") -> Narrow | None:
    """Values in the fewest bytes; None if none were saved. Differences may wrap around; sums do so, too."""
    width, low = _narrowest(values)
    above: Above = "nothing"
    first, apart = int(values[0]), values
    if before is not None and before.dtype == values.dtype and _wider(width, 1):
        above_column = values - before
        closer, least = _narrowest(above_column)
        if closer is not None and _wider(width, closer.itemsize):
            width, low, above, apart = closer, least, "column", above_column
    few = np.diff(values[:FEW])
    promised = _narrowest(few)[0]
    if promised is not None and _wider(width, promised.itemsize):
        above_row = np.diff(values, prepend=values[:1])
        above_row[0] = above_row[1]
        closer, least = _narrowest(above_row)
        if closer is not None and _wider(width, closer.itemsize):
            width, low, above, apart = closer, least, "row", above_row
    if width is None:
        return None
    written = np.subtract(apart, values.dtype.type(low), out=np.empty(values.size, width), casting="unsafe")
    column = pa.Array.from_buffers(pa.from_numpy_dtype(width), values.size, [None, pa.py_buffer(written)])
    return Narrow(column, low, above, first)


def _wider(width: "np.dtype[Any] | None", than: int) -> bool:
    """Whether values take more bytes than so many; without a width they take all that they have."""
    return width is None or width.itemsize > than


def _narrowest(values: "NDArray[Any]") -> "tuple[np.dtype[Any] | None, int]":
    """The type of the fewest bytes for values above the least of them, if there is one, and the least."""
    low, high = int(values.min()), int(values.max())
    fitting = (one for one in _NARROW if one.itemsize < values.itemsize and high - low <= np.iinfo(one).max)
    return next(fitting, None), low


def _widened(
    column: pa.ChunkedArray, kind: pa.DataType, before: pa.ChunkedArray, least: int, above: Above, first: int
) -> pa.ChunkedArray:
    dtype = _WIDTHS[kind.bit_width // 8]
    written = _numbers(column, np.dtype(f"u{column.type.bit_width // 8}"))
    values = np.add(written, dtype.type(least), dtype=dtype, casting="unsafe")
    if above == "column":
        values += _numbers(before, dtype)
    elif above == "row":
        values[0] = first
        np.cumsum(values, out=values)
    return pa.chunked_array([pa.Array.from_buffers(kind, values.size, [None, pa.py_buffer(values)])], kind)
