"""NumPy arrays and Arrow columns over the same memory.

Arrow's own conversions ask what pandas makes of a value, and load it for that if it is installed, which takes a fresh
Spark worker as long as loading the compiler does. Plain numbers need no pandas.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_PLAIN = {
    pa.from_numpy_dtype(dtype): np.dtype(dtype)
    for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
}

_ARROW = {dtype: kind for kind, dtype in _PLAIN.items()}


def to_numpy(column: "pa.Array | pa.ChunkedArray") -> NDArray[Any]:
    """A column as a read-only array; of numbers without nulls without a copy, unless it is in several pieces."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if array.null_count or isinstance(array, pa.ChunkedArray):
        return np.asarray(array)
    if pa.types.is_boolean(array.type):
        return _bits(array)
    dtype = _PLAIN.get(array.type)
    if dtype is None:
        return np.asarray(array)
    if not len(array):
        return np.zeros(0, dtype)
    found = np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * dtype.itemsize)
    found.flags.writeable = False
    return found


def _bits(array: pa.Array, buffer: int = 1) -> NDArray[np.bool_]:
    if not len(array):
        return np.zeros(0, np.bool_)
    skipped, first = divmod(array.offset, 8)
    packed = np.frombuffer(array.buffers()[buffer], np.uint8, offset=skipped)
    return np.unpackbits(packed, count=first + len(array), bitorder="little")[first:].view(np.bool_)


def missing(array: pa.Array) -> NDArray[np.bool_]:
    """Which values are null, read from the column's own bits where it has them."""
    if not array.null_count:
        return np.zeros(len(array), np.bool_)
    return to_numpy(array.is_null()) if array.buffers()[0] is None else ~_bits(array, 0)


def filled_values(array: pa.Array, value: int, null: "NDArray[np.bool_]") -> NDArray[Any]:
    """Numbers or times in one piece as an array, with a value in the place of those that are null."""
    dtype = _PLAIN.get(array.type) or np.dtype(f"i{array.type.bit_width // 8}")
    content = array.buffers()[1]
    if content is None:
        return np.full(len(array), value, dtype)
    known = np.frombuffer(content, dtype, len(array), array.offset * dtype.itemsize)
    return np.where(null, dtype.type(value), known)


def filled(column: "pa.Array | pa.ChunkedArray", value: int) -> pa.Array:
    """Numbers or times with a value in the place of nulls."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not array.null_count or isinstance(array, pa.ChunkedArray):
        return array
    values = filled_values(array, value, missing(array))
    return pa.Array.from_buffers(array.type, len(array), [None, pa.py_buffer(values)])


def words(runs: "Sequence[tuple[str, int]]") -> pa.Array:
    """Texts, each as often as it says, one after the other."""
    texts = [text.encode() for text, _ in runs]
    lengths = np.repeat([len(text) for text in texts], [count for _, count in runs]) if runs else np.zeros(0, np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    content = b"".join(text * count for text, (_, count) in zip(texts, runs, strict=True))
    return pa.Array.from_buffers(pa.string(), lengths.size, [None, pa.py_buffer(offsets), pa.py_buffer(content)])


def from_numpy(
    values: NDArray[Any], kind: pa.DataType | None = None, mask: "NDArray[np.bool_] | None" = None
) -> pa.Array:
    """Plain numbers or truth values as a column, null where the mask says so; numbers in a row are not copied."""
    plain = _ARROW.get(values.dtype)
    if values.dtype == np.bool_ and kind is None:
        return _column(pa.bool_(), values.size, np.packbits(values, bitorder="little"), mask)
    if plain is None or kind not in (None, plain):
        return pa.array(values, kind, mask=mask)
    return _column(plain, values.size, np.ascontiguousarray(values), mask)


def _column(kind: pa.DataType, size: int, values: NDArray[Any], mask: "NDArray[np.bool_] | None") -> pa.Array:
    present = None if mask is None else pa.py_buffer(np.packbits(~mask, bitorder="little"))
    return pa.Array.from_buffers(kind, size, [present, pa.py_buffer(values)])
