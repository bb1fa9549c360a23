"""Equality keys of any type, as dense integers that both sides share."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.engines.tables.key_types import as_key, common_type, comparable
from timeloom.errors import InvalidInputError

Keys = NDArray[np.int64]

NO_KEY = -1
"""The id of a row with a null in its key: it matches nothing, not even another null."""


def shared_keys(left: pa.Table, right: pa.Table, left_on: list[str], right_on: list[str]) -> tuple[Keys, Keys, int]:
    """Number the distinct keys of two tables; equal keys get equal numbers. Returns the number of keys, too."""
    codes = np.zeros(left.num_rows + right.num_rows, np.int64)
    count = 1
    for names in zip(left_on, right_on, strict=True):
        kind = shared_type(left.schema, right.schema, names)
        sides = [as_key(table[name], kind, name) for table, name in zip((left, right), names, strict=True)]
        columns = [comparable(column, name) for column, name in zip(sides, names, strict=True)]
        chunks = [chunk for column in columns for chunk in column.chunks]
        codes, count = crossed(codes, count, *numbered(pa.chunked_array(chunks, columns[0].type)))
    return codes[: left.num_rows], codes[left.num_rows :], count


def shared_type(left: pa.Schema, right: pa.Schema, names: tuple[str, str]) -> pa.DataType:
    """The type in which two key columns meet, and which the result has; an error if their values cannot be equal."""
    kinds = left.field(names[0]).type, right.field(names[1]).type
    for name, kind in zip(names, kinds, strict=True):
        comparable(pa.chunked_array([], kind), name)
    found = common_type(*kinds)
    if found is None:
        raise unequal(names, kinds)
    return found


def unequal(names: tuple[str, str], kinds: tuple[object, object]) -> InvalidInputError:
    """The error for two key columns that have no type in common."""
    return InvalidInputError(
        f"the keys {names[0]!r} ({kinds[0]}) and {names[1]!r} ({kinds[1]}) cannot be equal; "
        "cast one to the other's type"
    )


def group_keys(table: pa.Table, by: list[str]) -> tuple[Keys, int]:
    """Number the distinct keys of one table, for grouping, where nulls form a group of their own."""
    codes = np.zeros(table.num_rows, np.int64)
    count = 1
    for name in by:
        found, distinct = numbered(comparable(table[name], name, grouping=True))
        if (found == NO_KEY).any():
            found, distinct = np.where(found == NO_KEY, distinct, found), distinct + 1
        codes, count = crossed(codes, count, found, distinct)
    return codes, count


def crossed(codes: Keys, count: int, found: Keys, distinct: int) -> tuple[Keys, int]:
    """Cross two numberings and number the combinations that occur."""
    if count == 1:
        return np.where(codes == NO_KEY, NO_KEY, found), distinct
    null = (codes == NO_KEY) | (found == NO_KEY)
    pairs = np.where(null, NO_KEY, codes * distinct + found)
    _, dense = np.unique(pairs, return_inverse=True)
    shift = 1 if null.any() else 0
    return dense.astype(np.int64) - shift, int(dense.max(initial=-1)) + 1 - shift


def numbered(column: pa.ChunkedArray) -> tuple[Keys, int]:
    """Number the distinct values of a comparable column; nulls have none."""
    if pa.types.is_integer(column.type) and not column.null_count and len(column):
        extent = pc.min_max(column)
        low, high = extent["min"].as_py(), extent["max"].as_py()
        if high - low < 4 * len(column) + 1024:
            return _from_zero(np.asarray(column), low), high - low + 1
    encoded = pc.dictionary_encode(column.combine_chunks())
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return np.asarray(pc.fill_null(encoded.indices, NO_KEY)).astype(np.int64), max(1, len(encoded.dictionary))


def _from_zero(values: "NDArray[np.integer]", low: int) -> Keys:
    """Integers less the lowest one; only those of uint64 need not fit into int64 before."""
    if values.dtype == np.uint64:
        return (values - np.uint64(low)).astype(np.int64)
    wide = values.astype(np.int64, copy=False)
    return wide - np.int64(low) if low else wide


def keys_of_all(tables: list[pa.Table], on: list[str]) -> tuple[list[Keys], int, dict[str, pa.DataType]]:
    """Number the distinct keys of any number of tables; also how many there are, and in which types they meet."""
    codes, count = np.zeros(sum(table.num_rows for table in tables), np.int64), 1
    kinds: dict[str, pa.DataType] = {}
    for name in on:
        kinds[name] = tables[0].schema.field(name).type
        for table in tables[1:]:
            kinds[name] = shared_type(pa.schema([(name, kinds[name])]), table.schema, (name, name))
        columns = [comparable(as_key(table[name], kinds[name], name), name) for table in tables]
        chunks = [chunk for column in columns for chunk in column.chunks]
        codes, count = crossed(codes, count, *numbered(pa.chunked_array(chunks, columns[0].type)))
    cuts = np.cumsum([table.num_rows for table in tables])[:-1]
    return np.split(codes, cuts), count, kinds
