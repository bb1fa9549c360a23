"""Tables of any kind, to Arrow and back."""

import sys
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from timeloom.engines.tables.foreign_types import with_durations
from timeloom.engines.tables.marks import is_index, is_keyed, is_spark
from timeloom.engines.tables.pandas_frames import PandasKind, from_pandas
from timeloom.engines.tables.polars_frames import PolarsKind, from_polars
from timeloom.engines.tables.stored_tables import is_dataset, is_path, read_path
from timeloom.errors import InvalidInputError, TimeloomError, UsageError, did_you_mean

Restore = Callable[[pa.Table], Any]
"""Turns an Arrow table into the kind of table that the user gave."""


def is_of(frame: object, library: str, *kinds: str) -> bool:
    """Tell a table of a library's own kinds; a library that nobody has imported has made none, and stays unloaded."""
    module = sys.modules.get(library)
    return module is not None and type(frame) in [getattr(module, kind, None) for kind in kinds]


def to_arrow(frame: object, side: str) -> tuple[pa.Table, Restore]:
    """Convert a local table to Arrow, and say how to convert a result back into its kind."""
    try:
        table, restore = _converted(frame, side)
    except (pa.ArrowException, OSError, ValueError, TypeError, AttributeError, NotImplementedError) as error:
        if isinstance(error, TimeloomError):
            raise
        raise InvalidInputError(f"the {side} table cannot be read as an Arrow table: {error}") from error
    refuse_repeated(table.column_names, side)
    return table, restore


def beside(restore: Restore, other: Restore, suffixes: tuple[str, str]) -> Restore:
    """How to convert a result that has columns of two tables: those of the other keep their types, too."""
    if isinstance(restore, PandasKind) and isinstance(other, PandasKind):
        return restore.beside(other, suffixes)
    if isinstance(restore, PolarsKind) and isinstance(other, PolarsKind):
        return restore.beside(other, suffixes)
    return restore


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
    if "spark" in families.values():  # an index can be sent to where a DataFrame is
        sent = [side for side, frame in frames.items() if is_index(frame) or is_keyed(frame)]
        families |= dict.fromkeys(sent, "spark")
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
        return from_pandas(frame)
    if is_of(frame, "polars", "DataFrame", "LazyFrame"):
        return from_polars(frame)
    if is_path(frame):
        return read_path(frame, side), _identity
    if is_dataset(frame):
        return frame.to_table(), _identity  # type: ignore[attr-defined]
    if is_of(frame, "duckdb", "DuckDBPyRelation", "DuckDBPyConnection"):
        return with_durations(pa.table(frame.to_arrow_table())), _to_duckdb  # type: ignore[attr-defined]
    if hasattr(frame, "__arrow_c_stream__") and not isinstance(frame, type):
        return pa.table(frame), _identity
    raise UsageError(
        f"the {side} input is a {type(frame).__name__}; give a Spark DataFrame, a table that exports Arrow "
        "(pyarrow, pandas, polars, DuckDB) or the path of a file; pyarrow.table({...}) makes one from lists"
    )


def _identity(table: pa.Table) -> pa.Table:
    return table


def _to_duckdb(table: pa.Table) -> Any:
    import duckdb

    return duckdb.from_arrow(table)
