"""Equality keys of any type, as dense integers that both sides share."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.errors import InvalidInputError

Keys = NDArray[np.int64]

NO_KEY = -1
"""The id of a row with a null in its key: it matches nothing, not even another null."""


def shared_keys(left: pa.Table, right: pa.Table, left_on: list[str], right_on: list[str]) -> tuple[Keys, Keys, int]:
    """Number the distinct keys of two tables; equal keys get equal numbers. Returns the number of keys, too."""
    codes = np.zeros(left.num_rows + right.num_rows, np.int64)
    count = 1
    for left_name, right_name in zip(left_on, right_on, strict=True):
        column = _together(left[left_name], right[right_name], left_name, right_name)
        codes, count = _combined(codes, count, *_numbered(column))
    return codes[: left.num_rows], codes[left.num_rows :], count


def group_keys(table: pa.Table, by: list[str], *, nulls_are_equal: bool = True) -> tuple[Keys, int]:
    """Number the distinct keys of one table, for grouping, where nulls form a group of their own."""
    codes = np.zeros(table.num_rows, np.int64)
    count = 1
    for name in by:
        found, distinct = _numbered(table[name])
        if nulls_are_equal and (found == NO_KEY).any():
            found, distinct = np.where(found == NO_KEY, distinct, found), distinct + 1
        codes, count = _combined(codes, count, found, distinct)
    return codes, count


def _combined(codes: Keys, count: int, found: Keys, distinct: int) -> tuple[Keys, int]:
    """Cross two numberings and number the combinations that occur."""
    if count == 1:
        return np.where(codes == NO_KEY, NO_KEY, found), distinct
    null = (codes == NO_KEY) | (found == NO_KEY)
    crossed = np.where(null, NO_KEY, codes * distinct + found)
    _, dense = np.unique(crossed, return_inverse=True)
    shift = 1 if null.any() else 0
    return dense.astype(np.int64) - shift, int(dense.max(initial=-1)) + 1 - shift


def _numbered(column: pa.ChunkedArray) -> tuple[Keys, int]:
    if pa.types.is_integer(column.type) and not column.null_count and len(column):
        extent = pc.min_max(column)
        low, high = extent["min"].as_py(), extent["max"].as_py()
        if high - low < 4 * len(column) + 1024:
            return np.asarray(column.cast(pa.int64())) - low, high - low + 1
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    encoded = pc.dictionary_encode(column.combine_chunks())
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return np.asarray(pc.fill_null(encoded.indices, NO_KEY)).astype(np.int64), max(1, len(encoded.dictionary))


def _together(left: pa.ChunkedArray, right: pa.ChunkedArray, left_name: str, right_name: str) -> pa.ChunkedArray:
    """Put both sides' values of one key into one column of one type."""
    left, right = _plain(left), _plain(right)
    if left.type != right.type:
        common = _common_type(left.type, right.type)
        if common is None:
            raise InvalidInputError(
                f"the keys {left_name!r} ({left.type}) and {right_name!r} ({right.type}) cannot be equal; cast one"
            )
        left, right = left.cast(common), right.cast(common)
    return pa.chunked_array([*left.chunks, *right.chunks], left.type)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    for family in (
        _is_text,
        _is_bytes,
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_decimal,
        _is_time,
    ):
        if family(left) and family(right):
            try:
                return pa.unify_schemas(
                    [pa.schema([("key", left)]), pa.schema([("key", right)])], promote_options="permissive"
                ).types[0]
            except pa.ArrowException:
                return None
    return right if pa.types.is_null(left) else left if pa.types.is_null(right) else None


def _is_text(kind: pa.DataType) -> bool:
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def _is_bytes(kind: pa.DataType) -> bool:
    return any(test(kind) for test in (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary))


def _is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_temporal(kind))
