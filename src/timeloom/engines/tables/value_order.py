"""Rows that are level otherwise, in the order of their values: column by column, from the first to the last.

Tables on Spark have no order of rows, so ties are settled by what both engines know. Nulls come last, before them NaN;
texts by code points; lists and structs by their items, one after the other.
"""

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.engines.tables.arrays import from_numpy, to_numpy
from timeloom.engines.tables.taking import taken
from timeloom.engines.tables.ticks import whole
from timeloom.kernels.order import Order, sealed
from timeloom.kernels.ties import settle_ties

Numbers = NDArray[np.int64]
Settle = Callable[[Numbers, Numbers], Numbers]
"""Puts rows that are level, in ascending groups, into the order of their values."""


def by_values(table: pa.Table, rows: Numbers, groups: Numbers, settled: Collection[str] = ()) -> Numbers:
    """Rows of ascending groups, those of a group in the order of their values; equal ones stay as they come.

    The columns ``settled`` have one value in each group.
    """
    rows, groups, level = rows.copy(), groups.copy(), np.arange(rows.size)
    for name in table.column_names:
        level = level[_among_others(groups[level])]
        if not level.size:
            break
        if name in settled:
            continue
        ranks = value_ranks(taken(table[name], from_numpy(rows[level]), name))
        order = np.lexsort((ranks, groups[level]))
        rows[level] = rows[level][order]
        groups[level] = _numbered(groups[level], ranks[order])
    return rows


def as_they_come(rows: Numbers, groups: Numbers) -> Numbers:
    """Rows that are level, in the order that they have."""
    return rows


def runs_of_equals(values: Numbers) -> tuple[Numbers, Numbers]:
    """The positions in a sorted column whose value occurs more than once, and which of them are level."""
    same = values[1:] == values[:-1]
    if not same.any():
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    positions = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
    return positions, _numbered(values[positions])


def periods_by_values(by_start: Order, settle: Settle) -> Order:
    """Rows in order of start that carry their ends: those of one start by their ends, those level in both by values."""
    level, _ = runs_of_equals(by_start.values)
    if not level.size:
        return by_start
    ids, ends = by_start.ids.copy(), by_start.beside.copy()
    settle_ties(by_start.values, ids, ends)
    ids[level] = settle(ids[level].astype(np.int64), _numbered(by_start.values[level], ends[level]))
    return by_start._replace(ids=ids, beside=sealed(ends))


def value_ranks(column: "pa.Array | pa.ChunkedArray") -> Numbers:
    """Numbers that stand in the order of the values, equal for equal values."""
    array = whole(column) if isinstance(column, pa.ChunkedArray) else column
    simpler = _simpler(array)
    if simpler is not None:
        return value_ranks(simpler)
    kind = array.type
    if pa.types.is_struct(kind):
        ranks = _together([value_ranks(part) for part in array.flatten()], len(array))
    elif pa.types.is_union(kind):
        ranks = _ranked([(repr(value),) for value in array.to_pylist()])
    elif pa.types.is_nested(kind):
        ranks = _ranked(_items(array))
    else:
        found = pc.rank(array, sort_keys="ascending", null_placement="at_end", tiebreaker="dense")
        ranks = to_numpy(found).astype(np.int64)
    if array.null_count:
        ranks[to_numpy(pc.is_null(array))] = len(array) + 1
    return ranks


def _simpler(array: pa.Array) -> pa.Array | None:
    """The same values in a type that Arrow can put into order, if they are of another."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return array.storage
    if pa.types.is_null(kind):
        return pa.array(np.zeros(len(array), np.int64))
    if pa.types.is_dictionary(kind):
        return array.dictionary_decode()
    if pa.types.is_run_end_encoded(kind):
        return pc.run_end_decode(array)
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return array.cast(pa.large_binary())
    if pa.types.is_float16(kind):
        return array.cast(pa.float32())
    if pa.types.is_map(kind):
        pairs = pa.struct([("key", kind.key_type), ("value", kind.item_type)])
        entries = [None if value is None else [{"key": k, "value": v} for k, v in value] for value in array.to_pylist()]
        return pa.array(entries, pa.list_(pairs))
    return None


def _items(array: pa.Array) -> "list[tuple[int, ...]]":
    """The ranks of the items of each list."""
    ranks = value_ranks(pc.list_flatten(array)).tolist()
    stops = np.cumsum(np.asarray(pc.fill_null(pc.list_value_length(array), 0))).tolist()
    return [tuple(ranks[first:last]) for first, last in pairwise([0, *stops])]


def _ranked(values: "Sequence[tuple[Any, ...]]") -> Numbers:
    """The ranks of tuples; one comes before its continuations."""
    known = {value: rank for rank, value in enumerate(sorted(set(values)))}
    return np.array([known[value] for value in values], np.int64)


def _together(columns: list[Numbers], rows: int) -> Numbers:
    """One rank for several columns, the first of which decides first."""
    found = np.zeros(rows, np.int64)
    for ranks in columns:
        _, found = np.unique(np.stack([found, ranks]), axis=1, return_inverse=True)
        found = found.reshape(-1).astype(np.int64)
    return found


def _numbered(*columns: Numbers) -> Numbers:
    """Number the stretches of sorted rows in which no column changes."""
    changes = np.zeros(columns[0].size, bool)
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    return np.cumsum(changes)


def _among_others(groups: Numbers) -> NDArray[np.bool_]:
    """Tell the rows whose group has another row."""
    same = groups[1:] == groups[:-1]
    return np.append(same, False) | np.insert(same, 0, False) if groups.size else np.zeros(0, bool)
