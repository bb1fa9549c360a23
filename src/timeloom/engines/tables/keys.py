"""Equality keys of any type, as dense integers that both sides share."""

from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.engines.resources.threads import in_parallel
from timeloom.engines.tables.arrays import filled, to_numpy
from timeloom.engines.tables.key_types import as_key, common_type, comparable
from timeloom.engines.tables.ticks import whole
from timeloom.errors import InvalidInputError

Keys = NDArray[np.int64]

NO_KEY = -1
"""The id of a row with a null in its key: it matches nothing, not even another null."""

_TRIED, _LONG_RUN = 4096, 16
"""So many rows tell whether values come in runs, and how long these must be."""


def shared_keys(
    left: pa.Table, right: pa.Table, left_on: list[str], right_on: list[str], threads: int = 1
) -> tuple[Keys, Keys, int]:
    """Number the distinct keys of two tables; equal keys get equal numbers. Returns the number of keys, too."""
    found = []
    for names in zip(left_on, right_on, strict=True):
        kind = shared_type(left.schema, right.schema, names)
        sides = [as_key(table[name], kind, name) for table, name in zip((left, right), names, strict=True)]
        found.append(numbered_alike([comparable(side, name) for side, name in zip(sides, names, strict=True)], threads))
    (left_keys, right_keys), count = _all_crossed(found, [left.num_rows, right.num_rows])
    return left_keys, right_keys, count


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
    (found,), count = numbered_alike([column])
    return found, count


def numbered_alike(columns: list[pa.ChunkedArray], threads: int = 1) -> tuple[list[Keys], int]:
    """Number the distinct values of comparable columns of one type, equal ones alike."""
    if pa.types.is_integer(columns[0].type) and not any(column.null_count for column in columns):
        extents = [pc.min_max(column) for column in columns if len(column)]
        low = min((extent["min"].as_py() for extent in extents), default=0)
        high = max((extent["max"].as_py() for extent in extents), default=0)
        if high - low < 4 * sum(map(len, columns)) + 1024:
            return [_from_zero(to_numpy(whole(column)), low) for column in columns], high - low + 1
    encoded = in_parallel([partial(Encoded.of, column) for column in columns], threads)
    values = [each.values for each in encoded]
    together = pc.dictionary_encode(pa.concat_arrays(values)) if len(values) > 1 else None
    numbers = None if together is None else to_numpy(filled(together.indices, NO_KEY))
    firsts = np.cumsum([0, *map(len, values)])
    known = [
        np.arange(len(each)) if numbers is None else numbers[first : first + len(each)]
        for each, first in zip(values, firsts[:-1], strict=True)
    ]
    codes = in_parallel([partial(each.renumbered, to) for each, to in zip(encoded, known, strict=True)], threads)
    return codes, max(1, len(values[0] if together is None else together.dictionary))


class Encoded(NamedTuple):
    """A column as numbers of its distinct values, and these; with ``lengths`` a number stands for so many rows."""

    numbers: "NDArray[np.int64]"
    values: pa.Array
    lengths: "NDArray[np.int64] | None"

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> "Encoded":
        """Number the distinct values, nulls as NO_KEY; equal texts in a row are compared with each other only."""
        array, lengths = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks(), None
        if isinstance(array, pa.Array) and _comes_in_runs(array):
            runs = pc.run_end_encode(array, run_end_type=pa.int64())
            array, lengths = runs.values, np.diff(to_numpy(runs.run_ends), prepend=0)
        encoded = pc.dictionary_encode(array)
        encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
        return cls(to_numpy(filled(encoded.indices, NO_KEY)), encoded.dictionary, lengths)

    def renumbered(self, to: "NDArray[np.integer]") -> Keys:
        """The number of each row, given another one for each distinct value."""
        numbers = np.append(to, NO_KEY).astype(np.int64)[self.numbers]
        return numbers if self.lengths is None else np.repeat(numbers, self.lengths)


def _comes_in_runs(array: pa.Array) -> bool:
    """Tell, by its first rows, whether a column of texts has long stretches of one value."""
    if len(array) < _TRIED or not any(test(array.type) for test in (pa.types.is_string, pa.types.is_large_string)):
        return False
    return len(pc.run_end_encode(array.slice(0, _TRIED)).values) * _LONG_RUN <= _TRIED


def _all_crossed(found: "list[tuple[list[Keys], int]]", rows: list[int]) -> tuple[list[Keys], int]:
    """Cross the numberings of several columns of some tables, which have so many rows."""
    if len(found) == 1:
        return found[0]
    codes, count = np.zeros(sum(rows), np.int64), 1
    for parts, distinct in found:
        codes, count = crossed(codes, count, np.concatenate(parts), distinct)
    return np.split(codes, np.cumsum(rows)[:-1]), count


def _from_zero(values: "NDArray[np.integer]", low: int) -> Keys:
    """Integers less the lowest one; only those of uint64 need not fit into int64 before."""
    if values.dtype == np.uint64:
        return (values - np.uint64(low)).astype(np.int64)
    wide = values.astype(np.int64, copy=False)
    return wide - np.int64(low) if low else wide


def keys_of_all(tables: list[pa.Table], on: list[str]) -> tuple[list[Keys], int, dict[str, pa.DataType]]:
    """Number the distinct keys of any number of tables; also how many there are, and in which types they meet."""
    found, kinds = [], {}
    for name in on:
        kinds[name] = tables[0].schema.field(name).type
        for table in tables[1:]:
            kinds[name] = shared_type(pa.schema([(name, kinds[name])]), table.schema, (name, name))
        found.append(numbered_alike([comparable(as_key(table[name], kinds[name], name), name) for table in tables]))
    return *_all_crossed(found, [table.num_rows for table in tables]), kinds
