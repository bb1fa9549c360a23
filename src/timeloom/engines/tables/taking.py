"""Rows of columns of any Arrow type: also of those that Arrow has no kernel for."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.engines.tables.arrays import from_numpy
from timeloom.engines.tables.key_types import plain
from timeloom.errors import InvalidInputError


def take_rows(table: pa.Table, rows: pa.Array) -> pa.Table:
    """Rows of a table; null positions give null."""
    columns = [taken(table.column(at), rows, name) for at, name in enumerate(table.column_names)]
    if not columns:
        return without_columns(len(rows), table.schema.metadata)
    return pa.Table.from_arrays(columns, schema=table.schema)


def stacked(tables: "Sequence[pa.Table]") -> pa.Table:
    """The rows of tables with the same columns, also if these are none."""
    whole = pa.concat_tables(tables)
    return whole if whole.num_columns else without_columns(sum(table.num_rows for table in tables))


def without_columns(rows: int, metadata: "dict[bytes, bytes] | None" = None) -> pa.Table:
    """So many rows of no columns, which Arrow counts, but forgets when it puts tables together."""
    return pa.table({"_": pa.nulls(rows)}).replace_schema_metadata(metadata).select([])


def chosen_rows(table: pa.Table, chosen: "NDArray[np.bool_]") -> pa.Table:
    """The rows of a table that are marked."""
    return take_rows(table, from_numpy(np.flatnonzero(chosen)))


def taken(column: "pa.Array | pa.ChunkedArray", rows: pa.Array, name: str) -> "pa.Array | pa.ChunkedArray":
    """Rows of a column; null positions give null. A type that cannot be taken apart is refused by name."""
    kind = column.type
    solid = _solid(kind)
    if solid is None:
        return pc.take(column, rows)
    if _has_map(kind):
        raise _unfit(kind, solid, name)
    try:
        if pa.types.is_run_end_encoded(kind):
            return _encoded(column, rows, name)
        return pc.take(column.cast(solid), rows).cast(kind)
    except pa.ArrowNotImplementedError as error:
        raise _unfit(kind, solid, name) from error


def _unfit(kind: pa.DataType, solid: pa.DataType, name: str) -> InvalidInputError:
    return InvalidInputError(
        f"column {name!r} is {kind}, which cannot be carried over to a result; cast it to {solid}, or leave it out"
    )


def _has_map(kind: pa.DataType) -> bool:
    """Tell maps, which Arrow must not cast: it aborts the process where they are null."""
    if pa.types.is_map(kind):
        return True
    return pa.types.is_nested(kind) and any(_has_map(kind.field(at).type) for at in range(kind.num_fields))


def _encoded(column: "pa.Array | pa.ChunkedArray", rows: pa.Array, name: str) -> "pa.Array | pa.ChunkedArray":
    kind = column.type
    values = plain(column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column]))
    runs = pc.run_end_encode(taken(values, rows, name), run_end_type=kind.run_end_type)
    if isinstance(column, pa.ChunkedArray):
        return runs
    return runs.combine_chunks() if runs.num_chunks != 1 else runs.chunk(0)


def _solid(kind: pa.DataType) -> pa.DataType | None:
    """The type in which rows of this one can be taken; None if it is this one."""
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_run_end_encoded(kind):
        return _solid(kind.value_type) or kind.value_type
    if not pa.types.is_nested(kind) or pa.types.is_union(kind):
        return None
    inner = [kind.field(at) for at in range(kind.num_fields)]
    if all(_solid(field.type) is None for field in inner):
        return None
    return _rebuilt(kind, [field.with_type(_solid(field.type) or field.type) for field in inner])


def _rebuilt(kind: pa.DataType, fields: list[pa.Field]) -> pa.DataType:
    """A nested type with other fields."""
    if pa.types.is_struct(kind):
        return pa.struct(fields)
    if pa.types.is_map(kind):
        entries = fields[0].type
        return pa.map_(entries.field(0), entries.field(1), keys_sorted=kind.keys_sorted)
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(fields[0], kind.list_size)
    makers: dict[Callable[[pa.DataType], bool], Callable[[pa.Field], pa.DataType]] = {
        pa.types.is_list: pa.list_,
        pa.types.is_large_list: pa.large_list,
        pa.types.is_list_view: pa.list_view,
        pa.types.is_large_list_view: pa.large_list_view,
    }
    return next(make(fields[0]) for test, make in makers.items() if test(kind))
