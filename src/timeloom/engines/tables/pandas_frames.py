"""pandas' frames, to Arrow and back in the types that they had."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from timeloom.engines.tables.one_column import ZonedIntervals, interval_parts, is_interval

INDEX = "index"
"""The column of an index of intervals that has no name."""


@dataclass(frozen=True)
class PandasKind:
    """What a frame was: the types of its columns, in pandas and in Arrow, and its index if that holds periods."""

    dtypes: Mapping[str, tuple[Any, pa.DataType]] = field(default_factory=dict)
    index: str | None = None
    named: bool = True

    def __call__(self, table: pa.Table) -> Any:
        """A result as a frame. Types that pandas has several of come back as they were given."""
        zoned = [at for at, kind in enumerate(table.schema.types) if isinstance(kind, ZonedIntervals)]
        frame = _without(table, zoned).to_pandas()
        for at in zoned:
            frame.insert(at, table.column_names[at], _intervals(table.column(at)))
        for position, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
            dtype, kind = self.dtypes.get(name, (None, None))
            if kind == column.type and hasattr(dtype, "__from_arrow__") and not is_interval(column.type):
                frame.isetitem(position, dtype.__from_arrow__(column))
            elif column.null_count and (pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)):
                frame.isetitem(position, column.to_pandas(types_mapper={column.type: _nullable(column.type)}.get))
        if self.index is None or self.index not in frame.columns:
            return frame
        frame = frame.set_index(self.index)
        return frame if self.named else frame.rename_axis(None)

    def beside(self, other: "PandasKind", suffixes: tuple[str, str]) -> "PandasKind":
        """The kind of a result that has columns of another frame, too."""
        dtypes = {f"{name}{suffix}": kind for suffix in ("", suffixes[1]) for name, kind in other.dtypes.items()}
        dtypes |= {f"{name}{suffixes[0]}": kind for name, kind in self.dtypes.items()}
        return replace(self, dtypes=dtypes | dict(self.dtypes))


def from_pandas(frame: Any) -> tuple[pa.Table, PandasKind]:
    """A frame as an Arrow table; an index of intervals is a column, any other index is left out."""
    import pandas as pd

    index, named = None, True
    if isinstance(frame.index, pd.IntervalIndex):
        named = frame.index.name is not None
        index = str(frame.index.name) if named else INDEX
        frame = frame.reset_index(names=index)
    table = _to_arrow(frame).replace_schema_metadata(None)
    dtypes = zip(table.column_names, frame.dtypes, table.schema.types, strict=True)
    return table, PandasKind({name: (dtype, kind) for name, dtype, kind in dtypes}, index, named)


def _without(table: pa.Table, columns: "list[int]") -> pa.Table:
    return table.select([at for at in range(table.num_columns) if at not in columns])


def _intervals(column: pa.ChunkedArray) -> Any:
    """Intervals between instants with a zone, as pandas has them."""
    import pandas as pd

    left, right = (part.to_pandas() for part in interval_parts(column))
    return pd.arrays.IntervalArray.from_arrays(left, right, closed=column.type.closed)


def _to_arrow(frame: Any) -> pa.Table:
    """A frame as Arrow reads it, and intervals between instants with a zone, which it cannot read."""
    import pandas as pd

    zoned = [
        at
        for at, dtype in enumerate(frame.dtypes)
        if isinstance(dtype, pd.IntervalDtype) and isinstance(dtype.subtype, pd.DatetimeTZDtype)
    ]
    if not zoned:
        return pa.Table.from_pandas(frame, preserve_index=False)
    rest = [at for at in range(len(frame.columns)) if at not in zoned]
    table = pa.Table.from_pandas(frame.iloc[:, rest], preserve_index=False)
    for at in zoned:
        values = frame.iloc[:, at].array
        left, right = (pa.Array.from_pandas(part) for part in (values.left, values.right))
        absent = pa.array(values.isna())
        parts = pa.StructArray.from_arrays([left, right], ["left", "right"], mask=absent)
        kind = ZonedIntervals(left.type, values.closed)
        table = table.add_column(at, str(frame.columns[at]), pa.ExtensionArray.from_storage(kind, parts))
    return table


def _nullable(kind: pa.DataType) -> Any:
    """The type for integers and booleans with nulls; by itself pandas would make them floats and objects."""
    import pandas as pd

    name = "boolean" if pa.types.is_boolean(kind) else str(kind).capitalize().replace("Uint", "UInt")
    return pd.api.types.pandas_dtype(name)
