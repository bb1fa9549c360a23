"""Arrow columns that another library writes or reads in a way of its own."""

import re

import numpy as np
import pyarrow as pa

_OFFSET = re.compile(r"[+-]\d\d(:?\d\d)?|Z")
_INTERVAL = np.dtype([("months", np.int32), ("days", np.int32), ("nanoseconds", np.int64)])


def with_named_zones(table: pa.Table) -> pa.Table:
    """Timestamps of a fixed offset such as ``+05:30`` as the same instants of UTC: Polars knows zones by name only."""
    schema = pa.schema([field.with_type(_named(field.type)) for field in table.schema], table.schema.metadata)
    return table if schema.equals(table.schema) else table.cast(schema)


def _named(kind: pa.DataType) -> pa.DataType:
    """A type whose zones all have names, at any depth."""
    if pa.types.is_timestamp(kind) and kind.tz and _OFFSET.fullmatch(kind.tz):
        return pa.timestamp(kind.unit, "UTC")
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_named(field.type)) for field in kind.fields])
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_named(kind.value_type), kind.list_size)
    if pa.types.is_large_list(kind):
        return pa.large_list(_named(kind.value_type))
    return pa.list_(_named(kind.value_type)) if pa.types.is_list(kind) else kind


def with_durations(table: pa.Table) -> pa.Table:
    """Intervals without months and days as the durations that they are; DuckDB has one type for both."""
    for at, field in enumerate(table.schema):
        if field.type == pa.month_day_nano_interval():
            column = _durations(table.column(at))
            if column is not None:
                table = table.set_column(at, field.with_type(column.type), column)
    return table


def _durations(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """A column of intervals as durations in microseconds; None if one has months, days or finer parts."""
    parts = []
    for chunk in column.chunks:
        buffer = chunk.buffers()[1]
        raw = np.frombuffer(buffer, _INTERVAL, len(chunk), chunk.offset * _INTERVAL.itemsize)
        null = np.asarray(chunk.is_null())
        inexact = (raw["months"] != 0) | (raw["days"] != 0) | (raw["nanoseconds"] % 1000 != 0)
        if (inexact & ~null).any():
            return None
        parts.append(pa.array(raw["nanoseconds"] // 1000, pa.int64(), mask=null).cast(pa.duration("us")))
    return pa.chunked_array(parts, pa.duration("us"))
