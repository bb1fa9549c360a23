"""Dataset functions of Spark's declarative pipelines: plans are made there, and may not be looked at.

Spark may not be asked for columns, sizes or plans. The user tells the columns of inputs; those of all that is made of
them on the way to a task are put into one column, whose name is known.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkRuntimeError
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.versions import from_arrow_schema, to_arrow_schema
from timeloom.engines.tables.validity import Quarantined
from timeloom.errors import TimeloomError, UsageError

ROW = "row"
"""The column that has all others."""

_REGISTRY = "pyspark.pipelines.graph_element_registry"
_KNOWN = "_cached_schema"


def in_pipeline() -> bool:
    """Whether datasets of a declarative pipeline are being defined. Where nobody has imported that, none are."""
    registry = sys.modules.get(_REGISTRY)
    if registry is None:
        return False
    try:
        registry.get_active_graph_element_registry()
    except PySparkRuntimeError:
        return False
    return True


def known_schema(frame: DataFrame, side: str) -> T.StructType:
    """The columns of an input; where Spark may not be asked, they must have been told."""
    try:
        return frame.schema
    except AnalysisException as error:
        if not in_pipeline():
            raise
        raise UsageError(
            f"the columns of the {side} table are not known, and dataset functions of a pipeline may not ask Spark; "
            "tell them: tl.with_schema(df, 'who string, start timestamp, end timestamp')"
        ) from error


def told(frame: DataFrame, schema: T.StructType) -> DataFrame:
    """A DataFrame with exactly these columns that knows so. ``DataFrame.to`` would do, but has its plan looked at."""
    fields = [T.StructField(field.name, field.dataType, metadata=field.metadata) for field in schema]
    found = frame.select(
        *(
            F.col(_quoted(field.name)).cast(field.dataType).alias(field.name, metadata=field.metadata)
            for field in fields
        )
    )
    return knowing(found, T.StructType(fields))


def knowing_result(result: Any, tables: Sequence[Any], again: Callable[..., Any]) -> Any:
    """A verb's result that knows its columns, so that another verb takes it: those of the verb on tables without rows.

    ``again`` calls the verb on local tables.
    """
    if not in_pipeline() or not any(isinstance(table, DataFrame) for table in tables):
        return result
    try:
        found = again(*(empty_of(table) for table in tables))
    except TimeloomError:
        return result  # what is only for Spark; its columns are to be told
    if isinstance(result, Quarantined):
        return Quarantined(_like(result.result, found.result), _like(result.rejected, found.rejected))
    return _like(result, found)


def _like(frame: DataFrame, table: pa.Table) -> DataFrame:
    return told(frame, from_arrow_schema(table.schema))


def empty_of(table: Any) -> Any:
    """A local table without rows for each DataFrame, in lists of them, too."""
    if isinstance(table, list | tuple):
        return [empty_of(one) for one in table]
    return to_arrow_schema(table.schema).empty_table() if isinstance(table, DataFrame) else table


def nested(frame: DataFrame) -> DataFrame:
    """The rows in one column, so that it is known which columns there are."""
    return knowing(frame.select(F.struct("*").alias(ROW)), T.StructType([T.StructField(ROW, T.StructType())]))


@dataclass(frozen=True)
class Unnested:
    """The rows as they were before they were put into one column."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take the rows of one partition out."""
        for batch in batches:
            yield pa.RecordBatch.from_struct_array(batch.column(0))


def knowing(frame: DataFrame, schema: T.StructType) -> DataFrame:
    """Note the columns where a DataFrame of Connect does itself, once it has asked. Classic ones ask nobody."""
    if hasattr(frame, _KNOWN):
        setattr(frame, _KNOWN, schema)
    return frame


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
