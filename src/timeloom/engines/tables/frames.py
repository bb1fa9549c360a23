"""Tables of any kind, to Arrow and back."""

import sys
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from timeloom.engines.tables.foreign_types import with_durations, with_named_zones
from timeloom.errors import InvalidInputError, TimeloomError, UsageError, did_you_mean

Restore = Callable[[pa.Table], Any]
"""Turns an Arrow table into the kind of table that the user gave."""


def is_spark(frame: object) -> bool:
    """Tell a Spark DataFrame, classic or Connect; where nobody has imported Spark there is none."""
    if "pyspark.sql" not in sys.modules:
        return False
    from pyspark.sql import DataFrame

    return isinstance(frame, DataFrame)


def is_of(frame: object, library: str, *kinds: str) -> bool:
    """Tell a table of a library's own kinds; a library that nobody has imported has made none, and stays unloaded."""
    module = sys.modules.get(library)
    return module is not None and type(frame) in [getattr(module, kind, None) for kind in kinds]


def to_arrow(frame: object, side: str) -> tuple[pa.Table, Restore]:
    """Convert a local table to Arrow, and say how to convert a result back into its kind."""
    try:
        table, restore = _converted(frame, side)
    except (pa.ArrowException, ValueError, TypeError, AttributeError, NotImplementedError) as error:
        if isinstance(error, TimeloomError):
            raise
        raise InvalidInputError(f"the {side} table cannot be read as an Arrow table: {error}") from error
    refuse_repeated(table.column_names, side)
    return table, restore


def refuse_repeated(names: "list[str]", side: str) -> None:
    """Refuse a table in which a name stands for several columns."""
    if len(set(names)) == len(names):
        return
    repeated = sorted({name for name in names if names.count(name) > 1})
    raise InvalidInputError(
        f"the {side} table has more than one column named {', '.join(map(repr, repeated))}; rename them first"
    )


def family_of(frames: "dict[str, object]") -> str:
    """Say which engine takes these inputs: ``"spark"`` or ``"local"``; a mixture is an error."""
    families = {side: "spark" if is_spark(frame) else "local" for side, frame in frames.items()}
    if len(set(families.values())) > 1:
        found = ", ".join(f"{side} is {type(frames[side]).__name__}" for side in frames)
        raise UsageError(
            f"the inputs are of different families ({found}); give Spark DataFrames only, or local tables only "
            "(spark.createDataFrame or DataFrame.toArrow convert)"
        )
    return next(iter(families.values()))


def require_columns(names: "list[str]", wanted: "list[str]", side: str) -> None:
    """Refuse column names that the table does not have."""
    for name in wanted:
        if name not in names:
            raise InvalidInputError(f"the {side} table has no column {name!r}. {did_you_mean(name, names)}")


def _converted(frame: object, side: str) -> tuple[pa.Table, Restore]:
    if isinstance(frame, pa.Table):
        return frame, _identity
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame]), _identity
    if is_of(frame, "pandas", "DataFrame"):
        refuse_repeated([str(name) for name in frame.columns], side)  # type: ignore[attr-defined]
        return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None), _to_pandas
    if is_of(frame, "polars", "LazyFrame"):
        raise UsageError(f"the {side} input is a polars LazyFrame, which has no rows yet; call .collect() first")
    if is_of(frame, "polars", "DataFrame"):
        return frame.to_arrow(), _to_polars  # type: ignore[attr-defined]
    if is_of(frame, "duckdb", "DuckDBPyRelation", "DuckDBPyConnection"):
        return with_durations(pa.table(frame.to_arrow_table())), _to_duckdb  # type: ignore[attr-defined]
    if hasattr(frame, "__arrow_c_stream__") and not isinstance(frame, type):
        return pa.table(frame), _identity
    raise UsageError(
        f"the {side} input is a {type(frame).__name__}; give a Spark DataFrame or a table that exports Arrow "
        "(pyarrow, pandas, polars, DuckDB); pyarrow.table({...}) makes one from lists"
    )


def _identity(table: pa.Table) -> pa.Table:
    return table


def _to_pandas(table: pa.Table) -> Any:
    """Convert column by column; integers and booleans with nulls become nullable types instead of floats."""
    frame = table.to_pandas()
    for position, column in enumerate(table.columns):
        if column.null_count and (pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)):
            name = "boolean" if pa.types.is_boolean(column.type) else str(column.type).capitalize()
            name = name.replace("Uint", "UInt")
            frame.isetitem(position, column.to_pandas(types_mapper={column.type: _nullable(name)}.get))
    return frame


def _nullable(name: str) -> Any:
    import pandas as pd

    return pd.api.types.pandas_dtype(name)


def _to_polars(table: pa.Table) -> Any:
    import polars as pl

    return pl.from_arrow(with_named_zones(table))


def _to_duckdb(table: pa.Table) -> Any:
    import duckdb

    return duckdb.from_arrow(table)
