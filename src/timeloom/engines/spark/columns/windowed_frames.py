"""A DataFrame that windows slide over: its two periods, and the windows of all steps."""

from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.pipelines import known_schema
from timeloom.engines.spark.columns.arrow_types import arrow_schema, numbered
from timeloom.engines.tables.frames import refuse_repeated, require_columns
from timeloom.engines.windows.history import History, read_history
from timeloom.engines.windows.slides import lay_out
from timeloom.kernels.bitemporal.windows import Windows
from timeloom.kernels.jit import as_written
from timeloom.model.sliding_windows import WindowRequest


@dataclass(frozen=True)
class WindowedFrame:
    """The rows of a query, named by position, and a table without rows of the same types."""

    rows: DataFrame
    schema: T.StructType
    request: WindowRequest
    sample: pa.Table
    history: History
    windows: Windows

    @classmethod
    def of(cls, df: DataFrame, request: WindowRequest) -> "WindowedFrame":
        """Read and check a query. Asks for the schema, once."""
        schema = known_schema(df, "input")
        refuse_repeated(schema.names, "input")
        sample = arrow_schema(schema, "input").empty_table()
        require_columns(schema.names, [m.column for m in request.measures if m.column is not None], "input")
        for period in (request.sys_period, request.app_period):
            require_columns(schema.names, list(period.columns), "input")
        with as_written():
            history = read_history(sample, request.sys_period, request.app_period)
        windows = lay_out(request.sys, request.app, request.ratio, request.steps, *history.types)
        return cls(df.toDF(*numbered(len(schema))), schema, request, sample, history, windows)
